#include "modules/http/transfer.h"

#include <stdio.h>

#include "modules/tool.h"

enum {
    SHOW_EVERY_US = 500000,
    PROBE_MS = 15 * 1000, /* longer than curl's connect timeout */
    STATUS_OK = 200,
    STATUS_UNAUTHORIZED = 401,
    STATUS_NOT_FOUND = 404,
    STATUS_GONE = 410,
};

/* Exit codes of curl. */
enum {
    CURL_REFUSED = 22, /* the status is an error */
    CURL_TIMED_OUT = 28,
    CURL_REDIRECTS = 47,
    CURL_TOO_LARGE = 63,
};

/* --- Progress -------------------------------------------------------------------------------- */

static void show(Transfer *transfer)
{
    int64_t now = clock_monotonic_us();
    if (transfer->shown_us != 0 && now - transfer->shown_us < SHOW_EVERY_US) {
        return;
    }
    char line[64];
    long long size = transfer->size, total = transfer->total;
    int len = total > 0 ? snprintf(line, sizeof line, "%lld of %lld bytes", size, total)
                        : snprintf(line, sizeof line, "%lld bytes", size);
    transfer->shown_us = now;
    call_progress(transfer->call, str_from(line, (size_t)len));
}

static bool refuse_size(Transfer *transfer, Error *err)
{
    return error_set(err, ERROR_LIMIT, "the response is larger than 'max_size' (%lld bytes)",
                     (long long)transfer->request.max_size);
}

static bool receive_data(void *context, Str piece)
{
    Transfer *transfer = context;
    if ((uint64_t)piece.len > (uint64_t)(transfer->request.max_size - transfer->size)) {
        transfer->refused = true;
        return refuse_size(transfer, &transfer->failure);
    }
    if (!host_writer_put(transfer->writer, piece, &transfer->failure)) {
        transfer->refused = true;
        return false;
    }
    digester_add(&transfer->digester, piece);
    transfer->size += (int64_t)piece.len;
    show(transfer);
    return true;
}

/* Lines of the header of each response, and our own status line at the end. */
static void read_line(void *context, Str line)
{
    Transfer *transfer = context;
    size_t colon = str_find(line, STR(":"), 0);
    int64_t number;
    if (str_starts(line, REQUEST_STATUS)) {
        Str digits = str_from_offset(line, REQUEST_STATUS.len);
        transfer->status = str_to_i64(digits, &number) ? number : 0;
    } else if (str_starts(line, STR("HTTP/"))) {
        transfer->total = 0;
    } else if (colon != STR_NOT_FOUND &&
               str_eq_ignore_case(str_slice(line, 0, colon), STR("Content-Length")) &&
               str_to_i64(str_trim(str_from_offset(line, colon + 1)), &number)) {
        transfer->total = number;
    }
}

/* --- Results --------------------------------------------------------------------------------- */

/* "curl: (6) Could not resolve host: x" */
static Str last_message(Str text)
{
    Str line, message = STR_EMPTY;
    while (text.len > 0 && str_split_next(&text, '\n', &line)) {
        size_t end = str_find(line, STR(") "), 0);
        if (str_starts(line, STR("curl: (")) && end != STR_NOT_FOUND) {
            message = str_trim(str_from_offset(line, end + 2));
        }
    }
    return message;
}

static bool set_failure(Transfer *transfer, const Tool *tool, const ProcessResult *result,
                        Error *err)
{
    Str message = last_message(result->error_out);
    if (transfer->refused) {
        *err = transfer->failure;
        return false;
    }
    if (result->ending != PROCESS_EXITED || message.len == 0) {
        return tool_failure(transfer->call, tool, result, err);
    }
    switch (result->exit_code) {
    case CURL_TOO_LARGE: return refuse_size(transfer, err);
    case CURL_TIMED_OUT: return error_set(err, ERROR_TIMEOUT, "%" STR_FMT, STR_ARG(message));
    case CURL_REDIRECTS:
        if (!request_follows(&transfer->request)) {
            return error_set(err, ERROR_DENIED,
                             "the server redirects to another address, which must not receive the "
                             "secret in 'headers'");
        }
        break;
    default: break;
    }
    return error_set(err, ERROR_OS, "%" STR_FMT, STR_ARG(message));
}

/* Whether curl can write the header to standard error: it needs /proc to reopen the pipe. */
static bool can_dump_header(Call *call)
{
    FileInfo info;
    Error ignored;
    return host_is_live(call->host) && host_stat(call->host, STR("/dev/stderr"), &info, &ignored) &&
           info.kind == FILE_LINK;
}

static const char *const argv[] = { "curl", "--disable", "--config", "-", NULL };

static bool discard_output(void *context, Str piece)
{
    (void)context;
    (void)piece;
    return true;
}

static void read_status(void *context, Str line)
{
    int64_t *status = context;
    if (str_starts(line, REQUEST_STATUS) &&
        !str_to_i64(str_from_offset(line, REQUEST_STATUS.len), status)) {
        *status = 0;
    }
}

bool transfer_probe(Call *call, const Request *request, Error *err)
{
    Transfer transfer = { .call = call, .request = *request };
    int64_t status = 0;
    ProcessResult result;
    transfer.request.only_head = true;
    Tool tool = { .argv = argv,
                  .input = request_options(call->arena, &transfer.request),
                  .timeout_ms = PROBE_MS,
                  .take = discard_output,
                  .line = read_status,
                  .line_context = &status };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    bool refused =
        status == STATUS_UNAUTHORIZED || status == STATUS_NOT_FOUND || status == STATUS_GONE;
    /* A server that accepts connections but does not respond to such requests may still have the
     * file. */
    bool answered = result.ending == PROCESS_EXITED &&
                    (result.exit_code == 0 || result.exit_code == CURL_REFUSED);
    bool is_silent = result.ending == PROCESS_TIMED_OUT;
    return is_silent || (answered && !refused) || set_failure(&transfer, &tool, &result, err);
}

bool transfer_run(Transfer *transfer, Error *err)
{
    Call *call = transfer->call;
    ProcessResult result;
    transfer->request.dumps_header = can_dump_header(call);
    digester_start(&transfer->digester, transfer->kind);
    Tool tool = { .argv = argv,
                  .input = request_options(call->arena, &transfer->request),
                  .timeout_ms = transfer->timeout_ms,
                  .take = receive_data,
                  .sink_context = transfer,
                  .line = read_line,
                  .line_context = transfer };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED || result.exit_code != 0 || transfer->refused) {
        return set_failure(transfer, &tool, &result, err);
    }
    if (transfer->status != STATUS_OK) {
        return error_set(err, ERROR_OS, "the server responded with status %lld",
                         (long long)transfer->status);
    }
    transfer->digest = digester_finish(&transfer->digester, call->arena);
    return true;
}
