#include "cli/refusal.h"

#include "base/utf8.h"
#include "cli/cluster_client.h"
#include "lang/json_pointer.h"
#include "model/document_location.h"

static const RefusalRow refusal_rows[] = {
    { "invalid", 400, ERROR_INVALID, "E0850", "", NULL },
    { "unauthenticated", 401, ERROR_DENIED, "E0851",
      "log in again with 'eden login'; 'eden context list' shows the context in use", NULL },
    { "denied", 403, ERROR_DENIED, "E0852",
      "'eden roles list' lists the roles; anyone who can create tokens can give you one with a "
      "different role",
      NULL },
    { "not-found", 404, ERROR_NOT_FOUND, "E0853", "", "'eden {} list' lists them" },
    { "conflict", 409, ERROR_CONFLICT, "E0854", "check the current state, then retry",
      "'eden {} list' shows the current state" },
    { "precondition", 412, ERROR_CONFLICT, "E0855", "fetch it again and repeat the change", NULL },
    { "unprocessable", 422, ERROR_CONFLICT, "E0856", "use a new Idempotency-Key", NULL },
    { "limit", 429, ERROR_LIMIT, "E0857",
      "retry later; 'eden doctor' shows the state of the server", NULL },
    { "too-large", 413, ERROR_LIMIT, "E0857", "", NULL },
    { "too-many-headers", 431, ERROR_LIMIT, "E0857", "", NULL },
    { "failed", 500, ERROR_OS, "E0858", "see the server's log, and run 'eden doctor' on the server",
      NULL },
    { "unavailable", 503, ERROR_UNAVAILABLE, "E0859", "retry later; 'eden doctor' shows the cause",
      NULL },
    { "timeout", 504, ERROR_TIMEOUT, "E0860",
      "the request may still be executed: check before you repeat it; --timeout waits longer",
      NULL },
    { "method", 405, ERROR_INVALID, "E0861",
      "'eden schema openapi' lists endpoints and their methods", NULL },
    { "media-type", 415, ERROR_INVALID, "E0861",
      "'eden schema openapi' lists the content types that endpoints accept", NULL },
    { "misdirected", 421, ERROR_INVALID, "E0861",
      "use a name that its certificate contains: 'eden login https://NAME:PORT'", NULL },
    { "version", 505, ERROR_INVALID, "E0861", "use HTTP/1.1 or newer", NULL },
    { NULL, 0, ERROR_OS, "E0812",
      "is there a proxy in between, or a different program at this address? 'eden doctor' shows "
      "more",
      NULL },
};

static const RefusalRow *refusal_row(Str code)
{
    const RefusalRow *row = refusal_rows;
    while (row->code != NULL && !str_eq_c(code, row->code)) {
        row++;
    }
    return row;
}

const RefusalRow *refusal_row_of_status(int status)
{
    const RefusalRow *row = refusal_rows;
    while (row->code != NULL && row->status != status) {
        row++;
    }
    return row;
}

/* Errors that are not from a server (ERROR_OS) map to the last row. */
static const RefusalRow *refusal_row_of_kind(ErrorKind kind)
{
    const RefusalRow *row = refusal_rows;
    while (row->code != NULL && (row->kind != kind || kind == ERROR_OS)) {
        row++;
    }
    return row;
}

/* Returns the command that lists the names that an endpoint accepts: "nodes" for facts, which
 * belong to nodes. Empty if there is none. */
static Str list_command_of(Str plural)
{
    Str name = str_eq_c(plural, "facts") ? STR("nodes") : plural;
    const Command *command = command_find(name);
    return command != NULL && verb_find(command, STR("list")) != NULL ? name : STR_EMPTY;
}

/* Returns "'eden nodes list' lists them". */
static Str hint_of(Arena *arena, const RefusalRow *row, const RefusedRequest *request)
{
    Str list_command = list_command_of(request->plural);
    if (row->kind == ERROR_NOT_FOUND && str_eq_c(request->plural, "store")) {
        return STR("'eden get / --prefix' lists them");
    }
    if (row->of_kind == NULL || list_command.len == 0) {
        return str_from_c(row->hint);
    }
    Str text = str_from_c(row->of_kind);
    size_t at = str_find(text, STR("{}"), 0);
    return arena_format(arena, "%" STR_FMT "%" STR_FMT "%" STR_FMT, STR_ARG(str_slice(text, 0, at)),
                        STR_ARG(list_command), STR_ARG(str_from_offset(text, at + 2)));
}

/* --- Fields ---------------------------------------------------------------------------------- */

/* In a server's message, advice follows a semicolon; in a problem, it becomes the hint. */
static Str split_advice(Str *detail)
{
    static const char *const starts[] = { "; did you mean ", "; write ", "; expected " };
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        size_t at = str_find(*detail, str_from_c(starts[i]), 0);
        if (at != STR_NOT_FOUND) {
            Str advice = str_from_offset(*detail, at + 2);
            *detail = str_slice(*detail, 0, at);
            return advice;
        }
    }
    return STR_EMPTY;
}

/* Underlines the word at the column, since the length of the invalid part is unknown. */
static void find_part(const Sources *sources, Value text, uint32_t column, uint32_t *start,
                      uint32_t *length)
{
    Str all = value_str(text);
    size_t from = utf8_index_to_offset(all, column - 1), to = from;
    while (to < all.len && !ascii_is_space(all.data[to])) {
        to++;
    }
    *start = document_offset(sources, text, from);
    uint32_t end = document_offset(sources, text, to);
    *length = end > *start ? end - *start : 1;
}

static bool is_group(Value value)
{
    return value.kind == VALUE_MAP || value.kind == VALUE_LIST;
}

static void add_field(Problems *problems, const RefusedRequest *request, const RefusalRow *row,
                      const FieldProblem *field)
{
    Str text = field->text, advice = split_advice(&text);
    JsonMatch location = { .is_found = false };
    const Source *source = NULL;
    uint32_t start = 0, length = 0;
    if (request->sources != NULL) {
        location = json_pointer_find(request->document, field->pointer);
        bool by_name = (field->is_name || !location.is_found || is_group(location.value)) &&
                       location.name.kind != VALUE_NULL;
        Value at = by_name ? location.name : location.value;
        source = sources_get(request->sources, at.source);
        start = at.start;
        length = is_group(at) ? 1 : at.span; /* start of the value */
        if (!by_name && field->column > 0 && value_is_string(at)) {
            find_part(request->sources, at, field->column, &start, &length);
        }
    }
    /* Prefixes the JSON pointer if there is no location, or if the problem is a missing field. */
    bool is_specific = source != NULL && location.is_found;
    Problem *problem =
        problems_add(problems, row->problem, source, start, length, "%" STR_FMT "%s%" STR_FMT,
                     STR_ARG(is_specific ? STR_EMPTY : field->pointer),
                     is_specific || field->pointer.len == 0 ? "" : ": ", STR_ARG(text));
    problem->hint = arena_copy(problems->arena, advice);
    problem->server_code = str_from_c(row->code);
    problem->pointer = arena_copy(problems->arena, field->pointer);
}

void refusal_add_fields(Problems *problems, const RefusedRequest *request,
                        const FieldProblems *fields)
{
    for (uint32_t i = 0; i < fields->count; i++) {
        add_field(problems, request, &refusal_rows[0], &fields->items[i]);
    }
}

void refusal_add(Problems *problems, const RefusedRequest *request, Value response,
                 const Error *err)
{
    Str code = value_get_text(response, "code");
    const RefusalRow *row = refusal_row(code);
    const List *fields = value_get_list(response, "problems");
    row = row->code == NULL ? refusal_row_of_kind(err->kind) : row;
    for (uint32_t i = 0; i < fields->len; i++) {
        int64_t column = value_get_int(fields->items[i], "column");
        FieldProblem field = {
            .pointer = value_get_text(fields->items[i], "pointer"),
            .text = value_get_text(fields->items[i], "detail"),
            .column = column > 0 && column < UINT16_MAX ? (uint32_t)column : 0,
            .is_name = str_eq_c(value_get_text(fields->items[i], "part"), "name"),
        };
        add_field(problems, request, row, &field);
    }
    if (fields->len > 0) {
        return;
    }
    const Source *source = NULL;
    uint32_t start = 0, length = 0;
    if (request->sources != NULL) {
        /* A problem with the entire object is shown at its name. */
        JsonMatch name = json_pointer_find(request->document, STR("/metadata/name"));
        source = sources_get(request->sources, name.value.source);
        start = name.value.start;
        length = name.is_found ? name.value.span : 0;
    }
    Problem *problem = problems_add(problems, row->problem, source, start, length, "%s", err->text);
    problem->hint = hint_of(problems->arena, row, request);
    problem->server_code = row->code == NULL ? STR_EMPTY : str_from_c(row->code);
}
