#include "cli/kind_command.h"

#include "api/object_draft.h"
#include "cli/kind_watch.h"
#include "cli/output.h"
#include "cli/refusal.h"
#include "cli/responses.h"
#include "cli/selector_input.h"
#include "lang/json.h"

const Option kind_options[] = {
    OUTPUT_OPTION(KIND_FORMATS, "table", "output format"),
    CLUSTER_OPTIONS,
    { 0 },
};
const Option kind_list_options[] = { SELECTOR_OPTION, WATCH_OPTION, { 0 } };
const Option kind_file_options[] = {
    { .name = "file",
      .letter = 'f',
      .argument = "FILE",
      .repeats = true,
      .word = WORD_FILE,
      .help = "YAML or JSON file with the object; '-' reads standard input" },
    { 0 },
};

/* The kind that the command's row names. */
static const Kind *kind_of(const Invocation *invocation)
{
    return kind_find(str_from_c(invocation->command->kind));
}

static Str target_of(Arena *arena, const Kind *kind, Str name)
{
    Str before = arena_format(arena, "/v1/%s/", kind->plural);
    return cluster_target(arena, before.data, name);
}

/* --- Reading --------------------------------------------------------------------------------- */

int kind_list_as(Invocation *invocation, KindTable *table, const char *none)
{
    const Kind *kind = kind_of(invocation);
    SelectorInput selector;
    Value list;
    int code = selector_input_read(
        invocation, kind->selects_facts && !invocation_flag(invocation, "watch"), &selector);
    if (code != EXIT_OK) {
        return code;
    }
    if (invocation_flag(invocation, "watch")) {
        return kind_watch(invocation, kind, invocation_text(invocation, "selector"));
    }
    code = kind_fetch(invocation, kind, invocation_text(invocation, "selector"), &list);
    if (code != EXIT_OK) {
        return code;
    }
    uint32_t count = object_items(list)->len;
    if (!kind_print_value(invocation, list, &code)) {
        if (count > 0) {
            table(invocation, kind, object_items(list));
        } else if (!selector.is_given) {
            stream_put_format(invocation->err, "%s\n", none);
        }
    }
    return code == EXIT_OK && count == 0 && selector.is_given
               ? selector_input_no_match(invocation, &selector)
               : code;
}

int kind_list_part(Invocation *invocation, KindTable *table, const char *field, const char *value,
                   int64_t max)
{
    const Kind *kind = kind_of(invocation);
    SelectorInput selector;
    Value list;
    int code = selector_input_read(invocation, kind->selects_facts, &selector);
    code = code == EXIT_OK
               ? kind_fetch(invocation, kind, invocation_text(invocation, "selector"), &list)
               : code;
    if (code != EXIT_OK) {
        return code;
    }
    const List *all = object_items(list);
    List *part = list_new(invocation->arena, 16);
    for (uint32_t i = 0; i < all->len && part->len < max; i++) {
        if (value == NULL || str_eq_c(value_get_text(object_status(all->items[i]), field), value)) {
            list_push(invocation->arena, part, all->items[i]);
        }
    }
    map_set_str(invocation->arena, list.map, STR("items"), value_list(part));
    if (!kind_print_value(invocation, list, &code) && part->len > 0) {
        table(invocation, kind, part);
    }
    if (part->len == 0) {
        output_line(invocation->err, "nothing matches");
    }
    return part->len == 0 && code == EXIT_OK ? EXIT_NOT_MATCHED : code;
}

int kind_run_list(Invocation *invocation)
{
    return kind_list_as(invocation, kind_print_table, "nothing found");
}

int kind_show(Invocation *invocation, Str name)
{
    Value object;
    Str target = target_of(invocation->arena, kind_of(invocation), name);
    int code =
        cluster_call(invocation, &(ClusterRequest){ .method = "GET", .target = target }, &object);
    if (code == EXIT_OK && !kind_print_value(invocation, object, &code)) {
        code = output_yaml(invocation, object);
    }
    return code;
}

int kind_run_show(Invocation *invocation)
{
    return kind_show(invocation, str_from_c(invocation->args[0]));
}

/* --- Creating -------------------------------------------------------------------------------- */

/* Validates a document as far as possible without a server. Adds problems and returns false if it
 * is invalid. */
static bool check_document(Inputs *inputs, const Kind *kind, Value document)
{
    Arena *arena = inputs->arena;
    RefusedRequest request = { str_from_c(kind->plural), &inputs->sources, document };
    FieldProblems fields = { .count = 0 };
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    ObjectBody body;
    KindDraft draft;
    Error err;
    if (!json_print(&text, document, NULL, &err) ||
        !object_body_read(arena, kind, buf_str(&text), &body, &fields, &err)) {
        err.kind = ERROR_INVALID;
        refusal_add(&inputs->problems, &request, value_null(), &err);
        return false;
    }
    object_draft(arena, kind, &body, false, NULL, &draft, &fields);
    refusal_add_fields(&inputs->problems, &request, &fields);
    return fields.count == 0;
}

/* Reads and validates all documents of all files. */
static bool read_documents(Inputs *inputs, const Kind *kind, const char **files, uint32_t count,
                           List *out)
{
    bool ok = true;
    for (uint32_t i = 0; i < count; i++) {
        List *documents;
        if (!inputs_load_all(inputs, files[i], INPUT_STRICT, &documents)) {
            ok = false;
            continue;
        }
        for (uint32_t k = 0; k < documents->len; k++) {
            ok = check_document(inputs, kind, documents->items[k]) && ok;
            list_push(inputs->arena, out, documents->items[k]);
        }
    }
    return ok;
}

static int report_no_documents(const Invocation *invocation)
{
    output_line(invocation->err, "no documents found; nothing was created");
    return EXIT_NOT_MATCHED;
}

typedef enum SendMode {
    SEND_CREATE, /* fails if the object exists */
    /* creates or replaces the object; if the document has a revision, replaces only that
     * revision */
    SEND_APPLY,
} SendMode;

/* Returns false if the server is unreachable, after reporting it; the caller must stop. */
static bool send_one(Responses *responses, const Kind *kind, SendMode mode, const Sources *sources,
                     Value object)
{
    Invocation *invocation = responses->invocation;
    Str name = object_name(object);
    Value response;
    bool responded;
    Error err;
    ClusterRequest request = { .method = "POST",
                               .target = arena_format(invocation->arena, "/v1/%s", kind->plural),
                               .body = cluster_body(invocation->arena, object) };
    if (mode == SEND_APPLY && name.len > 0) { /* without a name the server reports the error */
        request.method = "PUT";
        request.target = target_of(invocation->arena, kind, name);
    }
    if (cluster_send(invocation, &request, &response, &responded, &err)) {
        if (!responses_add(responses, object_name(response), response)) {
            output_line(invocation->out, "%" STR_FMT " is %s", STR_ARG(object_name(response)),
                        mode == SEND_CREATE ? "created" : "applied");
        }
        return true;
    }
    if (!responded && responses->items->len + responses->problems->len == 0) {
        responses->worst =
            exit_code_worse(responses->worst, cluster_report_error(invocation, &err, responded));
        responses->is_document = false;
        return false;
    }
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    int code = error_kind_exit_code(err.kind);
    if (responded) {
        RefusedRequest refused = { str_from_c(kind->plural), sources, object };
        refusal_add(&inputs.problems, &refused, response, &err);
    } else {
        ClusterRefusal no_server = { .response = value_null() };
        code = cluster_add_refusal(invocation, &no_server, &err, &inputs.problems);
    }
    responses_add_problems(responses, name, &inputs, code);
    return responded;
}

static int send_all(Invocation *invocation, SendMode mode)
{
    const Kind *kind = kind_of(invocation);
    uint32_t count;
    const char **files = invocation_texts(invocation, "file", &count);
    List *documents = list_new(invocation->arena, count);
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    if (count == 0) {
        return usage_error(invocation, "--file FILE is required");
    }
    if (!read_documents(&inputs, kind, files, count, documents)) {
        int code = inputs_report(&inputs, invocation);
        if (documents->len > 1) {
            stream_put_format(invocation->err, "nothing was created\n");
        }
        return code;
    }
    (void)inputs_report(&inputs, invocation); /* hints */
    if (documents->len == 0) {
        return report_no_documents(invocation);
    }
    Responses responses;
    responses_init(&responses, invocation, documents->len);
    for (uint32_t i = 0; i < documents->len; i++) {
        if (!send_one(&responses, kind, mode, &inputs.sources, documents->items[i])) {
            break;
        }
    }
    return responses_end(&responses);
}

int kind_run_create(Invocation *invocation)
{
    return send_all(invocation, SEND_CREATE);
}

int kind_run_apply(Invocation *invocation)
{
    return send_all(invocation, SEND_APPLY);
}

/* --- Changing -------------------------------------------------------------------------------- */

static bool read_json(const Invocation *invocation, Str field, Str text, Value *out)
{
    Error err;
    if (!json_parse_text(invocation->arena, text, NULL, out, &err)) {
        usage_error(invocation, "%" STR_FMT ":= requires JSON: %s", STR_ARG(field), err.text);
        return false;
    }
    return true;
}

static bool read_field(const Invocation *invocation, Str word, Map *spec)
{
    size_t equals = str_find(word, STR("="), 0);
    bool unset = equals == STR_NOT_FOUND && str_ends(word, STR("-"));
    bool is_json = equals != STR_NOT_FOUND && equals > 0 && word.data[equals - 1] == ':';
    Str field = str_slice(word, 0, unset ? word.len - 1 : is_json ? equals - 1 : equals);
    Value value = value_null();
    if ((equals == STR_NOT_FOUND && !unset) || field.len == 0) {
        usage_error(invocation,
                    "a setting must be FIELD=VALUE, or FIELD- to unset it, not '%" STR_FMT "'",
                    STR_ARG(word));
        return false;
    }
    if (is_json && !read_json(invocation, field, str_from_offset(word, equals + 1), &value)) {
        return false;
    }
    if (!unset && !is_json) {
        value = value_string(str_from_offset(word, equals + 1));
    }
    map_set_str(invocation->arena, spec, field, value);
    return true;
}

int kind_set(Invocation *invocation, Str name)
{
    Arena *arena = invocation->arena;
    Map *spec = map_new(arena, 4), *body = map_new(arena, 1);
    Value object;
    bool responded;
    Error err;
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        if (!read_field(invocation, str_from_c(invocation->args[i]), spec)) {
            return EXIT_USAGE;
        }
    }
    map_set_str(arena, body, STR("spec"), value_map(spec));
    ClusterRequest request = { .method = "PATCH",
                               .target = target_of(arena, kind_of(invocation), name),
                               .body = cluster_body(arena, value_map(body)) };
    bool ok = cluster_send(invocation, &request, &object, &responded, &err);
    if (!ok && responded && err.kind == ERROR_NOT_FOUND) {
        request.method = "PUT";
        ok = cluster_send(invocation, &request, &object, &responded, &err);
    }
    if (!ok) {
        ClusterRefusal refusal = { .responded = responded,
                                   .target = request.target,
                                   .response = object };
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    int code;
    if (!kind_print_value(invocation, object, &code)) {
        Str text = kind_cell(arena, object, "spec", NULL);
        output_line(invocation->out, "%" STR_FMT ": %" STR_FMT, STR_ARG(name), STR_ARG(text));
    }
    return code;
}

int kind_run_delete(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    uint32_t count = invocation->arg_count;
    Str *names = ARENA_ARRAY(arena, Str, count);
    for (uint32_t i = 0; i < count; i++) {
        names[i] = str_from_c(invocation->args[i]);
    }
    EachRequest request = { .method = "DELETE",
                            .prefix =
                                arena_format(arena, "/v1/%s/", kind_of(invocation)->plural).data,
                            .suffix = "",
                            .done = "is deleted" };
    return responses_request_each(invocation, &request, names, count);
}
