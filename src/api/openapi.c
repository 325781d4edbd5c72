/* Builds the OpenAPI document from the tables of routes and kinds, so it cannot differ from what
 * the server accepts. */
#include "api/openapi.h"

#include <stdio.h>

#include "api/handlers.h"
#include "api/kind.h"
#include "api/problem_json.h"
#include "api/watch_event.h"
#include "base/bug.h"
#include "base/json_out.h"

#define SCHEMAS "#/components/schemas/"

/* --- Helpers --------------------------------------------------------------------------------- */

static void put_reference(Buf *out, const char *prefix, const char *name, const char *suffix)
{
    json_out_name(out, "$ref");
    buf_put_format(out, "\"%s%s%s\"", prefix, name, suffix);
}

/* Appends TYPE:{"schema":{"$ref":...}}; `schema` NULL: any object. */
static void put_media(Buf *out, const char *type, const char *schema, const char *suffix)
{
    json_out_open(out, type, '{');
    json_out_open(out, "schema", '{');
    if (schema != NULL) {
        put_reference(out, SCHEMAS, schema, suffix);
    } else {
        json_out_text(out, "type", STR("object"));
    }
    json_out_close(out, '}');
    json_out_close(out, '}');
}

/* --- Headers --------------------------------------------------------------------------------- */

/* Request headers. */
static const struct {
    const char *name, *help;
    RouteFlags flag; /* of the rows that support it */
} request_fields[] = {
    { "If-Match", "fails with 412 unless the object has this ETag; *: unless it exists",
      ROUTE_CONDITIONAL },
    { "If-None-Match", "*: fails with 412 if the object exists", ROUTE_CONDITIONAL },
    { "Idempotency-Key",
      "executes the request only once, even if it is sent repeatedly with this key within a day",
      ROUTE_IDEMPOTENT },
    { "Eden-Reason", "reason for the request; stored in the audit log", ROUTE_AUDITED },
    { "Last-Event-ID", "for a watch: continue after the event with this ID", ROUTE_WATCHABLE },
};

static bool returns_object(const RouteRow *row)
{
    return route_is_kind_route(row) && row->handler != kind_route_list &&
           row->handler != kind_route_delete;
}

static bool creates_object(const RouteRow *row)
{
    return row->handler == kind_route_create || row->handler == kind_route_put;
}

static bool is_idempotent(const RouteRow *row)
{
    return route_has(row, ROUTE_IDEMPOTENT);
}

static bool is_read(const RouteRow *row)
{
    return !route_is_public(row) && strcmp(row->method, "GET") == 0;
}

static bool changes_session(const RouteRow *row)
{
    return row->handler == session_post || row->handler == session_delete;
}

/* Response headers; `status` NULL: all successful responses. */
static const struct {
    const char *name, *status, *help;
    bool (*applies)(const RouteRow *row);
} response_fields[] = {
    { "ETag", NULL, "revision of the object, in quotes", returns_object },
    { "Location", "201", "URL of the object", creates_object },
    { "Idempotent-Replayed", NULL,
      "true: the request was executed earlier, and this is its response", is_idempotent },
    { "Set-Cookie", NULL, "the session cookie", changes_session },
    { "Eden-Stale-Since", NULL,
      "present only while the store is unavailable: the response may be out of date since then",
      is_read },
};

/* Headers of error responses, by status. */
static const struct {
    int status;
    const char *name, *help;
} error_fields[] = {
    { 401, "WWW-Authenticate", "supported authentication schemes" },
    { 405, "Allow", "methods that the caller may use" },
    { 415, "Accept", "supported content types of the body" },
    { 429, "Retry-After", "seconds to wait; absent if waiting does not help" },
};

static void put_field(Buf *out, const char *name, const char *help)
{
    json_out_open(out, name, '{');
    json_out_text(out, "description", str_from_c(help));
    json_out_open(out, "schema", '{');
    json_out_text(out, "type", STR("string"));
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_response_fields(Buf *out, const RouteRow *row, const char *status)
{
    json_out_open(out, "headers", '{');
    for (size_t i = 0; i < COUNT_OF(response_fields); i++) {
        bool fits =
            response_fields[i].status == NULL || strcmp(response_fields[i].status, status) == 0;
        if (fits && response_fields[i].applies(row)) {
            put_field(out, response_fields[i].name, response_fields[i].help);
        }
    }
    json_out_close(out, '}');
}

/* --- Parameters ------------------------------------------------------------------------------ */

static const struct {
    const char *name, *type, *choices, *help;
} parameters[] = {
    { "limit", "integer", NULL, "maximum number of results" },
    { "continue", "string", NULL, "where the page starts: the value from the previous page" },
    { "after", "string", NULL, "where the page starts: `next` of the previous page" },
    { "node", "string", NULL, "only this node" },
    { "step", "string", NULL, "only this step" },
    { "now", "boolean", NULL, "stop running steps at once" },
    { "follow", "boolean", NULL, "keep streaming until the run ends" },
    { "now", "boolean", NULL, "stop running steps at once, rather than after them" },
    { "outcome", "string", "pending|waiting|running|ok|changed|failed|skipped|canceled|silent",
      "only targets with this outcome" },
    { "selector", "string", NULL,
      "only objects with matching names and labels, such as 'role=web'" },
    { "watch", "string", "sse|ndjson", "stream changes as they happen, in this format" },
    { "port", "integer", NULL, "port of the targets; default: 9100" },
    { "key", "string", NULL, "key in the store" },
    { "prefix", "string", NULL, "prefix of keys in the store" },
    { "from", "integer", NULL,
      "revision to start from; number of the first audit entry; position in a log" },
    { "previous", "boolean", NULL, "whether to include the previous value" },
    { "only", "string", "keys", "omit the values" },
};

static void put_parameter(Buf *out, const char *in, Str name, bool is_required)
{
    size_t i = 0;
    while (i < COUNT_OF(parameters) && !str_eq_c(name, parameters[i].name)) {
        i++;
    }
    bool is_known = i < COUNT_OF(parameters);
    bool in_path = strcmp(in, "path") == 0;
    BUG_IF(!is_known && !in_path);
    json_out_open(out, NULL, '{');
    json_out_text(out, "name", name);
    json_out_text(out, "in", str_from_c(in));
    json_out_bool(out, "required", is_required);
    if (!in_path) {
        json_out_text(out, "description", str_from_c(parameters[i].help));
    }
    json_out_open(out, "schema", '{');
    json_out_text(out, "type", str_from_c(in_path ? "string" : parameters[i].type));
    if (!in_path && parameters[i].choices != NULL) {
        Str rest = str_from_c(parameters[i].choices), word;
        json_out_open(out, "enum", '[');
        while (str_split_next(&rest, '|', &word)) {
            json_out_item(out, word);
        }
        json_out_close(out, ']');
    }
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_request_field(Buf *out, const char *name, const char *help)
{
    json_out_open(out, NULL, '{');
    json_out_text(out, "name", str_from_c(name));
    json_out_text(out, "in", STR("header"));
    json_out_bool(out, "required", false);
    json_out_text(out, "description", str_from_c(help));
    json_out_open(out, "schema", '{');
    json_out_text(out, "type", STR("string"));
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_parameters(Buf *out, const RouteRow *row)
{
    Str pattern = str_from_c(row->pattern), rest = str_from_c(row->query == NULL ? "" : row->query);
    Str word;
    size_t open = str_find(pattern, STR("<"), 0);
    json_out_open(out, "parameters", '[');
    if (open != STR_NOT_FOUND) {
        size_t close = str_find(pattern, STR(">"), open);
        put_parameter(out, "path", str_slice(pattern, open + 1, close), true);
    }
    while (rest.len > 0 && str_split_next(&rest, ' ', &word)) {
        bool optional = word.data[0] == '[';
        word = optional ? str_slice(word, 1, word.len - 1) : word;
        put_parameter(out, "query", word, !optional);
    }
    for (size_t i = 0; i < COUNT_OF(request_fields); i++) {
        if (route_has(row, request_fields[i].flag)) {
            put_request_field(out, request_fields[i].name, request_fields[i].help);
        }
    }
    json_out_close(out, ']');
}

/* --- Operations ------------------------------------------------------------------------------ */

static bool is_list(const RouteRow *row)
{
    return row->handler == kind_route_list;
}

static bool creates(const RouteRow *row)
{
    return row->handler == kind_route_create || row->handler == kind_route_put ||
           row->handler == session_post;
}

/* Responses that are not JSON objects. */
static const struct {
    RouteHandler *handler;
    const char *content_type, *schema;
} other_responses[] = {
    { metrics_get, "text/plain", "{\"type\":\"string\"}" },
    { prometheus_targets_get, "application/json",
      "{\"type\":\"array\",\"items\":{\"type\":\"object\"}}" },
    { backup_get, "application/octet-stream", "{\"type\":\"string\",\"format\":\"binary\"}" },
    { watch_get, "application/jsonl",
      ("{\"type\":\"string\",\"description\":\"a stream with one line of JSON per change\"}") },
};

static void put_content(Buf *out, const RouteRow *row)
{
    bool is_object = route_is_kind_route(row) && strcmp(row->method, "DELETE") != 0;
    for (size_t i = 0; i < COUNT_OF(other_responses); i++) {
        if (row->handler == other_responses[i].handler) {
            json_out_open(out, "content", '{');
            json_out_open(out, other_responses[i].content_type, '{');
            json_out_name(out, "schema");
            buf_put(out, str_from_c(other_responses[i].schema));
            json_out_close(out, '}');
            json_out_close(out, '}');
            return;
        }
    }
    json_out_open(out, "content", '{');
    put_media(out, "application/json", is_object ? row->kind : NULL, is_list(row) ? "List" : "");
    if (route_has(row, ROUTE_WATCHABLE)) {
        put_media(out, watch_format_type(WATCH_SSE), row->kind, "Event");
        put_media(out, watch_format_type(WATCH_NDJSON), row->kind, "Event");
    }
    json_out_close(out, '}');
}

static void put_response(Buf *out, const RouteRow *row, const char *status, const char *help)
{
    json_out_open(out, status, '{');
    json_out_text(out, "description", str_from_c(help));
    put_response_fields(out, row, status);
    put_content(out, row);
    json_out_close(out, '}');
}

/* --- Errors ---------------------------------------------------------------------------------- */

static bool is_any(const RouteRow *row)
{
    return true;
}

static bool is_not_public(const RouteRow *row)
{
    return !route_is_public(row);
}

/* Whether the endpoint refers to an object, which may be missing. */
static bool names_object(const RouteRow *row)
{
    return strchr(row->pattern, '<') != NULL || (row->query != NULL && row->query[0] != '[');
}

static bool is_change(const RouteRow *row)
{
    return !route_is_public(row) && strcmp(row->method, "GET") != 0;
}

static bool has_body(const RouteRow *row)
{
    return row->body_max > 0;
}

static bool is_conditional(const RouteRow *row)
{
    return route_has(row, ROUTE_CONDITIONAL);
}

/* Errors specific to certain rows; others apply to all. */
static const struct {
    int status;
    bool (*applies)(const RouteRow *row);
} errors[] = {
    { 400, is_any },    { 401, is_not_public },  { 403, is_not_public }, { 404, names_object },
    { 409, is_change }, { 412, is_conditional }, { 413, has_body },      { 415, has_body },
    { 421, is_any },    { 422, is_idempotent },  { 429, is_any },        { 503, is_any },
};

static void put_error(Buf *out, const char *status, const char *name)
{
    json_out_open(out, status, '{');
    put_reference(out, "#/components/responses/", "Problem", name);
    json_out_close(out, '}');
}

static void put_errors(Buf *out, const RouteRow *row)
{
    char status[16];
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        if (errors[i].applies(row)) {
            snprintf(status, sizeof status, "%d", errors[i].status);
            put_error(out, status, status);
        }
    }
    /* Not "default", which generated clients treat as a possible success. */
    put_error(out, "4XX", "");
    put_error(out, "5XX", "");
}

static void put_responses(Buf *out, const RouteRow *row)
{
    json_out_open(out, "responses", '{');
    if (!creates(row) || row->handler == kind_route_put) {
        put_response(out, row, "200", "Done.");
    }
    if (creates(row)) {
        put_response(out, row, "201", "Created.");
    }
    put_errors(out, row);
    json_out_close(out, '}');
}

static void put_request(Buf *out, const RouteRow *row)
{
    if (row->body_max == 0) {
        return;
    }
    bool is_full_object = route_is_kind_route(row) && row->handler != kind_route_patch;
    Str rest = str_from_c(row->types), type;
    char name[64];
    json_out_open(out, "requestBody", '{');
    json_out_name(out, "description");
    buf_put_format(out, "\"at most %u bytes\"", row->body_max);
    json_out_bool(out, "required", route_is_kind_route(row));
    json_out_open(out, "content", '{');
    while (route_next_type(&rest, &type)) {
        snprintf(name, sizeof name, "%" STR_FMT, STR_ARG(type));
        put_media(out, name, is_full_object ? row->kind : NULL, "");
    }
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_operation(Buf *out, const RouteRow *row)
{
    AUTO_CLEAR(Buf) name = buf_make(BUF_UNLIMITED);
    for (const char *c = row->name; *c != '\0'; c++) {
        buf_put_char(&name, ascii_lower(*c));
    }
    for (const char *c = row->method; *c != '\0'; c++) {
        buf_put_char(&name, ascii_lower(*c));
    }
    size_t id = strlen(row->name);
    json_out_open(out, buf_c(&name) + id, '{');
    json_out_text(out, "operationId", str_slice(buf_str(&name), 0, id));
    json_out_text(out, "summary", str_from_c(row->help));
    json_out_open(out, "tags", '[');
    json_out_item(out, str_from_c(route_is_public(row) ? "Public" : row->kind));
    json_out_close(out, ']');
    if (route_is_public(row)) {
        json_out_open(out, "security", '[');
        json_out_close(out, ']');
    } else {
        json_out_name(out, "description");
        buf_put_format(out, "\"Requires a role that allows '%s' on %s.%s\"", row->verb, row->kind,
                       route_has(row, ROUTE_AUDITED) ? " Recorded in the audit log." : "");
    }
    put_parameters(out, row);
    put_request(out, row);
    put_responses(out, row);
    json_out_close(out, '}');
}

static bool is_first_of_path(size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (route_is_offered(&route_rows[i]) &&
            strcmp(route_rows[i].pattern, route_rows[index].pattern) == 0) {
            return false;
        }
    }
    return route_is_offered(&route_rows[index]);
}

/* Opens "/v1/nodes/{name}" for "/v1/nodes/<name>". */
static void open_path(Buf *out, const char *pattern)
{
    AUTO_CLEAR(Buf) path = buf_make(BUF_UNLIMITED);
    for (const char *c = pattern; *c != '\0'; c++) {
        buf_put_char(&path, *c == '<' ? '{' : *c == '>' ? '}' : *c);
    }
    json_out_open(out, buf_c(&path), '{');
}

static void put_paths(Buf *out)
{
    json_out_open(out, "paths", '{');
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!is_first_of_path(i)) {
            continue;
        }
        open_path(out, route_rows[i].pattern);
        for (size_t k = i; k < ROUTE_COUNT; k++) {
            if (route_is_offered(&route_rows[k]) &&
                strcmp(route_rows[k].pattern, route_rows[i].pattern) == 0) {
                put_operation(out, &route_rows[k]);
            }
        }
        json_out_close(out, '}');
    }
    json_out_close(out, '}');
}

/* --- Schemas --------------------------------------------------------------------------------- */

static const RecordField metadata_fields[] = {
    { .name = "apiVersion",
      .type = RECORD_CHOICE,
      .choices = OBJECT_API_VERSION,
      .help = "version of the API" },
    { .name = "kind", .help = "kind of the object" },
    { .name = "name", .help = "unique within its kind" },
    { .name = "labels", .shape = RECORD_MAP, .help = "labels for selectors" },
    { .name = "annotations", .shape = RECORD_MAP, .help = "free-form notes" },
    { .name = "uuid", .help = "set by the server; changes if the object is created again" },
    { .name = "revision", .type = RECORD_INT, .help = "revision of its last change" },
    { .name = "created", .type = RECORD_TIME, .is_nullable = true, .help = "when it was created" },
    { 0 },
};

static const RecordField list_metadata_fields[] = {
    { .name = "apiVersion",
      .type = RECORD_CHOICE,
      .is_required = true,
      .choices = OBJECT_API_VERSION,
      .help = "version of the API" },
    { .name = "kind", .is_required = true, .help = "kind of the list" },
    { .name = "revision",
      .type = RECORD_INT,
      .is_required = true,
      .help = "revision of the store that the list shows" },
    { .name = "staleSince",
      .help =
          "present only while the store is unavailable: the list may be out of date since then" },
    { .name = "continue",
      .is_required = true,
      .is_nullable = true,
      .help = "where the next page starts; null: this is the last page" },
    { .name = "truncated",
      .type = RECORD_BOOL,
      .is_required = true,
      .help = "whether there are more" },
    { .name = "archived",
      .type = RECORD_INT,
      .help = "audit log only: entries up to this number are archived and no longer listed" },
    { 0 },
};

static const RecordField problem_fields[] = {
    { .name = "type", .is_required = true, .help = "the code as a URN" },
    { .name = "title", .is_required = true, .help = "the kind of problem" },
    { .name = "status", .type = RECORD_INT, .is_required = true, .help = "HTTP status" },
    { .name = "code", .is_required = true, .help = "stable identifier for programs" },
    { .name = "detail", .is_required = true, .help = "what is wrong with this request" },
    { .name = "problems",
      .type = RECORD_ANY,
      .shape = RECORD_LIST,
      .help = "invalid fields of an object, each with a JSON pointer" },
    { 0 },
};

static void put_fields(Buf *out, const char *name, const RecordField *fields)
{
    json_out_open(out, name, '{');
    fields_schema(out, fields);
    json_out_close(out, '}');
}

static void put_kind_schema(Buf *out, const Kind *kind, bool is_standalone)
{
    json_out_text(out, "type", STR("object"));
    json_out_text(out, "description", str_from_c(kind->help));
    json_out_open(out, "properties", '{');
    if (is_standalone) {
        put_fields(out, "metadata", metadata_fields);
    } else {
        json_out_open(out, "metadata", '{');
        put_reference(out, SCHEMAS, "Metadata", "");
        json_out_close(out, '}');
    }
    put_fields(out, "spec", kind->spec);
    put_fields(out, "status", kind->status);
    json_out_close(out, '}');
}

static void put_list_schema(Buf *out, const Kind *kind)
{
    AUTO_CLEAR(Buf) name = buf_make(BUF_UNLIMITED);
    buf_put_format(&name, "%sList", kind->name);
    json_out_open(out, buf_c(&name), '{');
    json_out_text(out, "type", STR("object"));
    json_out_open(out, "required", '[');
    json_out_item(out, STR("metadata"));
    json_out_item(out, STR("items"));
    json_out_close(out, ']');
    json_out_open(out, "properties", '{');
    json_out_open(out, "metadata", '{');
    put_reference(out, SCHEMAS, "ListMetadata", "");
    json_out_close(out, '}');
    json_out_open(out, "items", '{');
    json_out_text(out, "type", STR("array"));
    json_out_open(out, "items", '{');
    put_reference(out, SCHEMAS, kind->name, "");
    json_out_close(out, '}');
    json_out_close(out, '}');
    json_out_close(out, '}');
    json_out_close(out, '}');
}

/* A line of "application/x-ndjson", and the data of an event of "text/event-stream". */
static void put_event_schema(Buf *out, const Kind *kind)
{
    AUTO_CLEAR(Buf) name = buf_make(BUF_UNLIMITED);
    buf_put_format(&name, "%sEvent", kind->name);
    json_out_open(out, buf_c(&name), '{');
    json_out_text(out, "type", STR("object"));
    json_out_text(out, "description", STR("One event of a watch."));
    json_out_open(out, "required", '[');
    json_out_item(out, STR("type"));
    json_out_item(out, STR("revision"));
    json_out_close(out, ']');
    json_out_open(out, "properties", '{');
    json_out_open(out, "type", '{');
    json_out_text(out, "type", STR("string"));
    json_out_open(out, "enum", '[');
    for (WatchType type = 0; type < WATCH_EVENTS; type++) {
        json_out_item(out, str_from_c(watch_type_name(type)));
    }
    json_out_close(out, ']');
    json_out_close(out, '}');
    json_out_open(out, "revision", '{');
    json_out_text(out, "type", STR("integer"));
    json_out_close(out, '}');
    json_out_open(out, "object", '{');
    put_reference(out, SCHEMAS, kind->name, "");
    json_out_close(out, '}');
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_schemas(Buf *out)
{
    json_out_open(out, "schemas", '{');
    put_fields(out, "Metadata", metadata_fields);
    put_fields(out, "ListMetadata", list_metadata_fields);
    put_fields(out, "Problem", problem_fields);
    for (size_t i = 0; kinds[i] != NULL; i++) {
        json_out_open(out, kinds[i]->name, '{');
        put_kind_schema(out, kinds[i], false);
        json_out_close(out, '}');
        put_list_schema(out, kinds[i]);
        put_event_schema(out, kinds[i]);
    }
    json_out_close(out, '}');
}

void openapi_print_kind(Buf *out, const Kind *kind)
{
    json_out_open(out, NULL, '{');
    put_kind_schema(out, kind, true);
    json_out_close(out, '}');
}

/* --- Document -------------------------------------------------------------------------------- */

static void put_security(Buf *out)
{
    json_out_open(out, "securitySchemes", '{');
    json_out_open(out, "token", '{');
    json_out_text(out, "type", STR("http"));
    json_out_text(out, "scheme", STR("bearer"));
    json_out_text(out, "description", STR("A token created by 'eden tokens create --role'."));
    json_out_close(out, '}');
    json_out_open(out, "session", '{');
    json_out_text(out, "type", STR("apiKey"));
    json_out_text(out, "in", STR("cookie"));
    json_out_text(out, "name", STR("__Host-eden-session"));
    json_out_text(out, "description",
                  STR("A browser session; changes also require the header Eden-CSRF."));
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_info(Buf *out, Str version)
{
    json_out_open(out, "info", '{');
    json_out_text(out, "title", STR("eden"));
    json_out_text(out, "version", version);
    json_out_text(out, "description", STR("The API of a cluster."));
    json_out_open(out, "license", '{');
    json_out_text(out, "name", STR("Apache-2.0"));
    json_out_text(out, "url", STR("https://www.apache.org/licenses/LICENSE-2.0"));
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_required_security(Buf *out)
{
    static const char *const names[] = { "token", "session" };
    json_out_open(out, "security", '[');
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        json_out_open(out, NULL, '{');
        json_out_open(out, names[i], '[');
        json_out_close(out, ']');
        json_out_close(out, '}');
    }
    json_out_close(out, ']');
}

/* `status` 0: any. */
static void put_problem(Buf *out, const char *name, const char *help, int status)
{
    json_out_open(out, name, '{');
    json_out_text(out, "description", str_from_c(help));
    json_out_open(out, "headers", '{');
    for (size_t i = 0; i < COUNT_OF(error_fields); i++) {
        if (status == 0 || error_fields[i].status == status) {
            put_field(out, error_fields[i].name, error_fields[i].help);
        }
    }
    json_out_close(out, '}');
    json_out_open(out, "content", '{');
    put_media(out, PROBLEM_JSON_TYPE, "Problem", "");
    json_out_close(out, '}');
    json_out_close(out, '}');
}

static void put_problems(Buf *out)
{
    json_out_open(out, "responses", '{');
    put_problem(out, "Problem", "The request failed.", 0);
    for (const ProblemCode *code = problem_codes; code->status != 0; code++) {
        char name[32], help[120];
        snprintf(name, sizeof name, "Problem%d", code->status);
        snprintf(help, sizeof help, "%s: %s.", code->code, code->title);
        put_problem(out, name, help, code->status);
    }
    json_out_close(out, '}');
}

static void put_components(Buf *out)
{
    json_out_open(out, "components", '{');
    put_security(out);
    put_problems(out);
    put_schemas(out);
    json_out_close(out, '}');
}

void openapi_print(Buf *out, Str version)
{
    json_out_open(out, NULL, '{');
    json_out_text(out, "openapi", STR("3.0.3"));
    put_info(out, version);
    json_out_open(out, "servers", '[');
    json_out_open(out, NULL, '{');
    json_out_text(out, "url", STR("/"));
    json_out_close(out, '}');
    json_out_close(out, ']');
    put_required_security(out);
    put_paths(out);
    put_components(out);
    json_out_close(out, '}');
}
