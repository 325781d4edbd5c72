/* eden api: sends any request to the server. */
#include <stdlib.h>
#include <string.h>

#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/output.h"
#include "lang/json.h"
#include "sys/file.h"

enum {
    BODY_MAX = 64 << 20,
    FIELDS_MAX = 32,
    SILENCE_MS = 60 * 60 * 1000, /* idle timeout of a watch */
};

typedef struct Asking {
    Invocation *invocation;
    Buf body;     /* buffered body, if it has to be reformatted */
    bool gathers; /* false: print as it arrives */
} Asking;

static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };

/* --- Request --------------------------------------------------------------------------------- */

static const char *find_method(const Invocation *invocation)
{
    Str given = str_from_c(invocation->args[0]);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (str_eq_ignore_case(given, str_from_c(methods[i]))) {
            return methods[i];
        }
    }
    return NULL;
}

/* Whether the path can be used verbatim in a request line: absolute and percent-encoded. */
static bool is_target(Str path)
{
    for (size_t i = 0; i < path.len; i++) {
        unsigned char c = (unsigned char)path.data[i];
        if (c <= ' ' || c >= 0x7f) {
            return false;
        }
    }
    return str_starts(path, STR("/"));
}

static bool read_fields(const Invocation *invocation, ClusterRequest *request)
{
    uint32_t count;
    const char **given = invocation_texts(invocation, "header", &count);
    HttpCallField *fields = ARENA_ARRAY(invocation->arena, HttpCallField, count);
    for (uint32_t i = 0; i < count; i++) {
        Str line = str_from_c(given[i]);
        size_t colon = str_find(line, STR(":"), 0);
        Str name = str_slice(line, 0, colon);
        Str value = colon == STR_NOT_FOUND ? STR_EMPTY : str_trim(str_from_offset(line, colon + 1));
        if (colon == STR_NOT_FOUND || count > FIELDS_MAX || !http1_is_field(name, value)) {
            usage_error(invocation, "-H must be 'Name: value', not '%s'", given[i]);
            return false;
        }
        if (str_eq_ignore_case(name, STR("content-type"))) {
            request->content_type = arena_copy_c(invocation->arena, value);
            continue;
        }
        if (str_eq_ignore_case(name, STR("host")) ||
            str_eq_ignore_case(name, STR("content-length")) ||
            str_eq_ignore_case(name, STR("transfer-encoding")) ||
            str_eq_ignore_case(name, STR("connection")) ||
            str_eq_ignore_case(name, STR("authorization"))) {
            usage_error(invocation,
                        "header '%" STR_FMT "' is set by eden and cannot be given with -H",
                        STR_ARG(name));
            return false;
        }
        fields[request->field_count++] =
            (HttpCallField){ arena_copy_c(invocation->arena, name), value };
    }
    request->fields = fields;
    return true;
}

/* Returns EXIT_OK, or reports the error and returns its exit code. */
static int read_body(Invocation *invocation, ClusterRequest *request)
{
    const char *data = invocation_text(invocation, "data");
    const char *file = invocation_text(invocation, "file");
    Error err;
    if (data != NULL && file != NULL) {
        return usage_error(invocation, "-d and -f are mutually exclusive");
    }
    if (data != NULL && strcmp(data, "-") != 0) {
        request->body = str_from_c(data);
    } else if ((data != NULL || file != NULL) &&
               !file_read(invocation->arena, file != NULL ? file : "-", BODY_MAX, &request->body,
                          &err)) {
        return daemon_command_fail(invocation, "E0001", &err);
    }
    return EXIT_OK;
}

/* --- Response -------------------------------------------------------------------------------- */

static void print_head(void *context, const Http1Head *head)
{
    Asking *asking = context;
    Stream *out = asking->invocation->out;
    if (!invocation_flag(asking->invocation, "include")) {
        return;
    }
    stream_put_format(out, "HTTP/1.1 %d %s\n", head->status, http1_status_text(head->status));
    for (uint32_t i = 0; i < head->header_count; i++) {
        stream_put_format(out, "%" STR_FMT ": %" STR_FMT "\n", STR_ARG(head->headers[i].name),
                          STR_ARG(head->headers[i].value));
    }
    stream_put(out, STR("\n"));
}

static bool take(void *context, Str bytes)
{
    Asking *asking = context;
    if (asking->gathers) {
        buf_put(&asking->body, bytes);
        return !asking->body.overflow;
    }
    output_text(asking->invocation->out, bytes);
    return stream_flush(asking->invocation->out);
}

/* Reformats the body if it is JSON; prints it verbatim otherwise. */
static void print_body(const Asking *asking, Str body)
{
    const Invocation *invocation = asking->invocation;
    Value value;
    Error err;
    bool as_value = output_wants_value(invocation) &&
                    json_parse_text(invocation->arena, body, NULL, &value, &err);
    if (as_value) {
        output_answer(invocation, value);
        return;
    }
    output_text(invocation->out, body);
    if (body.len > 0 && !str_ends(body, STR("\n")) && !invocation_prints(invocation, "raw")) {
        stream_put(invocation->out, STR("\n"));
    }
}

static int ask(Invocation *invocation, const ClusterRequest *request)
{
    Asking asking = { .invocation = invocation,
                      .body = buf_make(CLUSTER_ANSWER_MAX),
                      .gathers = output_wants_value(invocation) };
    ClusterPieces pieces = { take, &asking, SILENCE_MS, print_head };
    ClusterAnswer answer;
    Error err = { 0 };
    bool answered = cluster_exchange(invocation, request, &pieces, &answer, &err);
    if (!answered) {
        buf_clear(&asking.body);
        return cluster_tell(invocation, &err, false);
    }
    if (asking.body.overflow) {
        buf_clear(&asking.body);
        error_set(&err, ERROR_LIMIT, "the response exceeds %d bytes; -o raw has no limit",
                  CLUSTER_ANSWER_MAX);
        return cluster_tell(invocation, &err, true);
    }
    Str body = asking.body.len > 0 ? buf_str(&asking.body) : answer.body;
    if (answer.status >= 300 && body.len == 0 && !invocation_flag(invocation, "include")) {
        /* The body went to stdout; report the error on stderr too. */
        error_set(&err, cluster_answer_kind(invocation->arena, &answer),
                  "the server responded with status %d", answer.status);
        return cluster_tell(invocation, &err, true);
    }
    print_body(&asking, body);
    buf_clear(&asking.body);
    return error_kind_exit_code(cluster_answer_kind(invocation->arena, &answer));
}

static int api_run(Invocation *invocation)
{
    ClusterRequest request = { .method = find_method(invocation),
                               .target = str_from_c(invocation->args[1]) };
    if (request.method == NULL) {
        return usage_error(invocation, "unknown method '%s'", invocation->args[0]);
    }
    if (!is_target(request.target)) {
        return usage_error(invocation, "PATH must start with '/' and be percent-encoded, not '%s'",
                           invocation->args[1]);
    }
    if (!read_fields(invocation, &request)) {
        return EXIT_USAGE;
    }
    int code = read_body(invocation, &request);
    return code == EXIT_OK ? ask(invocation, &request) : code;
}

static const Option options[] = {
    { .name = "data",
      .letter = 'd',
      .argument = "JSON",
      .help = "request body; - reads standard input" },
    { .name = "file",
      .letter = 'f',
      .argument = "FILE",
      .word = WORD_FILE,
      .help = "file with the request body; - reads standard input" },
    { .name = "header",
      .letter = 'H',
      .argument = "'NAME: VALUE'",
      .repeats = true,
      .help = "add a header to the request, such as 'If-Match: \"7\"'" },
    { .name = "include",
      .letter = 'i',
      .help = "also print the status and headers of the response" },
    OUTPUT_OPTION("raw|json|yaml", "raw", "output format; raw: as received"),
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden api GET /v1/nodes -o yaml", "list nodes" },
    { "eden api GET /v1/health -i", "include status and headers" },
    { "eden api PUT '/v1/store?key=%2Ftest%2Fa' -d '{\"value\": \"b\"}'", "write a key" },
    { 0 },
};

const Command command_api = {
    .name = "api",
    .group = GROUP_CLUSTER,
    .args = { { "METHOD" }, { "PATH" } },
    .help = "Send a request to the API.",
    .text =
        "Uses the same server and credentials as the other commands ('eden context'). The body is\n"
        "JSON unless -H 'Content-Type: ...' says otherwise. The response is printed as it "
        "arrives,\n"
        "with control characters escaped on a terminal; -o json and -o yaml print it as one "
        "value.\n"
        "Error responses are printed too. Exit codes: 4 permission denied, 5 conflict, 3 "
        "temporarily\n"
        "unavailable, 124 timeout, otherwise 1.",
    .options = options,
    .examples = examples,
    .run = api_run,
};
