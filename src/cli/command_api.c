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
    IDLE_TIMEOUT_MS = 60 * 60 * 1000, /* idle timeout of a watch */
};

typedef struct ApiCall {
    Invocation *invocation;
    Buf body;         /* the body, buffered if it has to be reformatted */
    bool is_buffered; /* false: print data as it arrives */
} ApiCall;

static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS" };

/* --- Request --------------------------------------------------------------------------------- */

static const char *find_method(const Invocation *invocation)
{
    Str input = str_from_c(invocation->args[0]);
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        if (str_eq_ignore_case(input, str_from_c(methods[i]))) {
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
    const char **input = invocation_texts(invocation, "header", &count);
    HttpCallField *fields = ARENA_ARRAY(invocation->arena, HttpCallField, count);
    for (uint32_t i = 0; i < count; i++) {
        Str line = str_from_c(input[i]);
        size_t colon = str_find(line, STR(":"), 0);
        Str name = str_slice(line, 0, colon);
        Str value = colon == STR_NOT_FOUND ? STR_EMPTY : str_trim(str_from_offset(line, colon + 1));
        if (colon == STR_NOT_FOUND || count > FIELDS_MAX || !http1_is_field(name, value)) {
            usage_error(invocation, "-H must be 'Name: value', not '%s'", input[i]);
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
    ApiCall *call = context;
    Stream *out = call->invocation->out;
    if (!invocation_flag(call->invocation, "include")) {
        return;
    }
    stream_put_format(out, "HTTP/1.1 %d %s\n", head->status, http1_status_text(head->status));
    for (uint32_t i = 0; i < head->header_count; i++) {
        stream_put_format(out, "%" STR_FMT ": %" STR_FMT "\n", STR_ARG(head->headers[i].name),
                          STR_ARG(head->headers[i].value));
    }
    stream_put(out, STR("\n"));
}

static bool on_chunk(void *context, Str bytes)
{
    ApiCall *call = context;
    if (call->is_buffered) {
        buf_put(&call->body, bytes);
        return !call->body.overflow;
    }
    output_text(call->invocation->out, bytes);
    return stream_flush(call->invocation->out);
}

/* Reformats the body if it is JSON; prints it verbatim otherwise. */
static void print_body(const ApiCall *call, Str body)
{
    const Invocation *invocation = call->invocation;
    Value value;
    Error err;
    bool as_value = output_wants_value(invocation) &&
                    json_parse_text(invocation->arena, body, NULL, &value, &err);
    if (as_value) {
        output_response(invocation, value);
        return;
    }
    output_text(invocation->out, body);
    if (body.len > 0 && !str_ends(body, STR("\n")) && !invocation_prints(invocation, "raw")) {
        stream_put(invocation->out, STR("\n"));
    }
}

static int send_request(Invocation *invocation, const ClusterRequest *request)
{
    ApiCall call = { .invocation = invocation,
                     .body = buf_make(CLUSTER_RESPONSE_MAX),
                     .is_buffered = output_wants_value(invocation) };
    ClusterStreamHandler handler = { on_chunk, &call, IDLE_TIMEOUT_MS, print_head };
    ClusterResponse response;
    Error err = { 0 };
    bool responded = cluster_exchange(invocation, request, &handler, &response, &err);
    if (!responded) {
        buf_clear(&call.body);
        return cluster_report_error(invocation, &err, false);
    }
    if (call.body.overflow) {
        buf_clear(&call.body);
        error_set(&err, ERROR_LIMIT, "the response exceeds %d bytes; -o raw has no limit",
                  CLUSTER_RESPONSE_MAX);
        return cluster_report_error(invocation, &err, true);
    }
    Str body = call.body.len > 0 ? buf_str(&call.body) : response.body;
    if (response.status >= 300 && body.len == 0 && !invocation_flag(invocation, "include")) {
        /* The body was printed to stdout; report the error on stderr too. */
        error_set(&err, cluster_response_kind(invocation->arena, &response),
                  "the server responded with status %d", response.status);
        return cluster_report_error(invocation, &err, true);
    }
    print_body(&call, body);
    buf_clear(&call.body);
    return error_kind_exit_code(cluster_response_kind(invocation->arena, &response));
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
    return code == EXIT_OK ? send_request(invocation, &request) : code;
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
        "Uses the same server and credentials as the other commands ('eden context'). The body\n"
        "is sent as JSON unless -H 'Content-Type: ...' is given. The response is printed as it\n"
        "arrives, with control characters escaped on a terminal; -o json and -o yaml print it as\n"
        "one value. Error responses are printed too. Exit codes for errors: 4 (permission\n"
        "denied), 5 (conflict), 3 (temporarily unavailable), 124 (timeout), 1 (all others).",
    .options = options,
    .examples = examples,
    .run = api_run,
};
