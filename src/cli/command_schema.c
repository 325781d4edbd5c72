/* eden schema: prints JSON Schemas of kinds, or the OpenAPI document. */
#include "api/openapi.h"
#include "base/bug.h"
#include "base/suggest.h"
#include "cli/output.h"
#include "lang/json.h"

/* Accepts "Node", "node" and "nodes". */
static const Kind *find_kind(Str name)
{
    for (size_t i = 0; kinds[i] != NULL; i++) {
        if (str_eq_ignore_case(name, str_from_c(kinds[i]->name)) ||
            str_eq_ignore_case(name, str_from_c(kinds[i]->plural))) {
            return kinds[i];
        }
    }
    return NULL;
}

static int report_unknown(const Invocation *invocation, Str name)
{
    Suggest suggest = suggest_make(name);
    Str suggestion;
    suggest_offer(&suggest, STR("openapi"));
    for (size_t i = 0; kinds[i] != NULL; i++) {
        suggest_offer(&suggest, str_from_c(kinds[i]->name));
        suggest_offer(&suggest, str_from_c(kinds[i]->plural));
    }
    if (suggest_found(&suggest, &suggestion)) {
        return usage_error(invocation, "unknown kind '%" STR_FMT "'; did you mean '%" STR_FMT "'?",
                           STR_ARG(name), STR_ARG(suggestion));
    }
    return usage_error(invocation, "unknown kind '%" STR_FMT "'; 'eden schema' lists all kinds",
                       STR_ARG(name));
}

static int print_names(const Invocation *invocation)
{
    stream_put(invocation->out, STR("openapi\n"));
    for (size_t i = 0; kinds[i] != NULL; i++) {
        stream_put_format(invocation->out, "%s\n", kinds[i]->name);
    }
    return EXIT_OK;
}

static int schema_run(Invocation *invocation)
{
    Buf json = buf_make_in(invocation->arena, BUF_UNLIMITED);
    Value value;
    Error err;
    if (invocation->arg_count == 0) {
        return print_names(invocation);
    }
    Str name = str_from_c(invocation->args[0]);
    const Kind *kind = find_kind(name);
    if (str_eq_ignore_case(name, STR("openapi"))) {
        openapi_print(&json, STR(EDEN_VERSION));
    } else if (kind != NULL) {
        openapi_print_kind(&json, kind);
    } else {
        return report_unknown(invocation, name);
    }
    bool parsed = json_parse_text(invocation->arena, buf_str(&json), NULL, &value, &err);
    BUG_IF(!parsed);
    return output_response(invocation, value);
}

static const Option options[] = {
    OUTPUT_OPTION("json|yaml", "json", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden schema", "list all kinds" },
    { "eden schema openapi", "print the entire API, as OpenAPI 3" },
    { "eden schema Role -o yaml", "print the fields of a role" },
    { 0 },
};

const Command command_schema = {
    .name = "schema",
    .group = GROUP_SYSTEM,
    .args = { { "[KIND|openapi]", WORD_KIND } },
    .help = "Print the schema of an object kind or of the entire API.",
    .text = "Servers validate requests against these schemas, which use the OpenAPI 3.0\n"
            "dialect of JSON Schema. A server also provides them at /v1/openapi.json.",
    .options = options,
    .examples = examples,
    .run = schema_run,
};
