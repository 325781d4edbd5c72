/* Sends events from the file to the server. The server's response contains the number of the next
 * expected event, which may be lower than before, for example after a server was restored. */
#include "agent/run_upload.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "rpc/methods.h"
#include "rpc/run_append.h"
#include "run/run_events.h"

/* The call in progress; may outlive the upload. */
typedef struct Sending {
    RunUpload *upload; /* NULL once freed */
} Sending;

struct RunUpload {
    RunUploadOptions options;
    Arena arena;
    Str node, run;
    AppendFile file;
    LoopTimer timer;
    LoopTask notify_task;
    Sending *sending;  /* NULL: no call in progress */
    uint64_t next;     /* number of the event that the server expects */
    int64_t offset;    /* of that event in the file */
    uint64_t sent;     /* number of events in the call */
    int64_t sent_size; /* size of these events */
    uint32_t failures; /* number of consecutive failures */
    bool is_refused;   /* the server permanently rejects the events */
};

static void read_file(RunUpload *upload, int64_t ms)
{
    if (upload->sending == NULL && !upload->is_refused) {
        loop_timer_start(&upload->timer, ms);
    }
}

static void retry(RunUpload *upload)
{
    int64_t delay = UPLOAD_RETRY_MS;
    for (uint32_t i = 0; i < upload->failures && delay < UPLOAD_RETRY_MAX_MS; i++) {
        delay *= 2;
    }
    upload->failures++;
    read_file(upload, delay < UPLOAD_RETRY_MAX_MS ? delay : UPLOAD_RETRY_MAX_MS);
}

/* --- Reading ---------------------------------------------------------------------------------- */

/* Reads the complete lines of a range of the file, and counts them. */
static bool read_bytes(const RunUpload *upload, size_t max, Arena *arena, Str *out, bool *has_more,
                       uint64_t *count, Error *err)
{
    RunEventLine line;
    size_t offset = 0, complete = 0;
    *count = 0;
    if (!append_file_read_from(&upload->file, upload->offset, arena, max, out, err)) {
        return false;
    }
    *has_more = out->len == max;
    while (offset < UPLOAD_BYTES && run_event_next(*out, &offset, &line) &&
           line.n == upload->next + *count) {
        ++*count;
        complete = offset;
    }
    *out = str_slice(*out, 0, complete);
    return true;
}

/* Events must be durable here before they are sent, or their numbers would be reused. */
static bool read_lines(RunUpload *upload, Arena *arena, Str *out, uint64_t *count, Error *err)
{
    bool has_more;
    return read_bytes(upload, UPLOAD_BYTES, arena, out, &has_more, count, err) &&
           (*count > 0 || !has_more || /* otherwise the line is longer */
            read_bytes(upload, RUN_LINES_MAX, arena, out, &has_more, count, err)) &&
           (*count == 0 || append_file_sync(&upload->file, err));
}

/* Advances to the event that the server expects, which may be beyond the last one. */
static bool seek(RunUpload *upload, uint64_t next, Error *err)
{
    upload->next = 1;
    upload->offset = 0;
    while (upload->next < next) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        Str text;
        RunEventLine line;
        size_t offset = 0;
        if (!append_file_read_from(&upload->file, upload->offset, &arena, RUN_LINES_MAX, &text,
                                   err)) {
            return false;
        }
        while (upload->next < next && run_event_next(text, &offset, &line) &&
               line.n == upload->next) {
            upload->next++;
            upload->offset += (int64_t)line.text.len + 1;
        }
        if (offset == 0) {
            break;
        }
    }
    upload->next = next;
    return true;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static void read_next(RunUpload *upload, uint64_t next)
{
    Error err;
    bool has_moved = next != upload->next;
    if (next == upload->next + upload->sent) {
        upload->next = next;
        upload->offset += upload->sent_size;
    } else if (!seek(upload, next, &err)) {
        log_warning("cannot read the events of a run", LOG_STR("run", upload->run),
                    LOG_C("error", err.text));
        retry(upload);
        return;
    }
    if (!has_moved) {
        retry(upload);
        return;
    }
    upload->failures = 0;
    read_file(upload, 0);
    loop_defer(upload->options.loop, &upload->notify_task);
}

/* A server that is behind another one may not know the run yet. */
static bool is_final(const RunUpload *upload, GrpcStatus status)
{
    return status == GRPC_UNIMPLEMENTED || (status == GRPC_NOT_FOUND && upload->failures > 0) ||
           status == GRPC_PERMISSION_DENIED || status == GRPC_INVALID_ARGUMENT ||
           status == GRPC_FAILED_PRECONDITION;
}

static void response_received(void *context, GrpcStatus status, Str text, Str response)
{
    Sending *sending = context;
    RunUpload *upload = sending->upload;
    uint64_t next;
    Error err;
    free(sending);
    if (upload == NULL) {
        return;
    }
    upload->sending = NULL;
    if (status == GRPC_OK && run_append_reply_decode(response, &next, &err) && next > 0) {
        read_next(upload, next);
    } else if (is_final(upload, status)) {
        log_warning("the server rejects the events of a run", LOG_STR("run", upload->run),
                    LOG_STR("reason", text));
        upload->is_refused = true;
        loop_defer(upload->options.loop, &upload->notify_task);
    } else {
        retry(upload);
    }
}

static bool call(RunUpload *upload, GrpcClient *client, Str lines, Error *err)
{
    AUTO_CLEAR(Buf) request = buf_make(BUF_UNLIMITED);
    run_append_encode(&(RunAppend){ upload->node, upload->run, upload->next, lines }, &request);
    Sending *sending = memory_new(sizeof *sending);
    sending->upload = upload;
    if (!grpc_client_unary(client, method_rows[METHOD_RUNS_APPEND].path, buf_str(&request),
                           UPLOAD_CALL_MS, response_received, sending, err)) {
        free(sending);
        return false;
    }
    upload->sending = sending;
    return true;
}

static void send_next(void *context)
{
    RunUpload *upload = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    GrpcClient *client = upload->options.client(upload->options.context);
    Str lines;
    Error err;
    if (upload->sending != NULL || upload->is_refused || client == NULL) {
        return;
    }
    bool ok = read_lines(upload, &arena, &lines, &upload->sent, &err);
    if (ok && lines.len == 0) {
        return;
    }
    upload->sent_size = (int64_t)lines.len;
    if (!ok || !call(upload, client, lines, &err)) {
        log_debug("cannot send the events of a run now", LOG_STR("run", upload->run),
                  LOG_C("error", err.text));
        retry(upload);
    }
}

static void notify(void *context)
{
    RunUpload *upload = context;
    upload->options.progressed(upload->options.context);
}

/* --- Public API ------------------------------------------------------------------------------- */

bool run_upload_new(const RunUploadOptions *options, RunUpload **out, Error *err)
{
    RunUpload *upload = memory_new(sizeof *upload);
    if (!append_file_open(options->directory, options->name, &upload->file, err)) {
        free(upload);
        return false;
    }
    upload->options = *options;
    upload->next = 1;
    arena_init(&upload->arena, ARENA_UNLIMITED);
    upload->node = arena_copy(&upload->arena, options->node);
    upload->run = arena_copy(&upload->arena, options->run);
    loop_timer_init(&upload->timer, options->loop, send_next, upload);
    loop_task_init(&upload->notify_task, notify, upload);
    *out = upload;
    return true;
}

void run_upload_free(RunUpload *upload)
{
    if (upload == NULL) {
        return;
    }
    if (upload->sending != NULL) {
        upload->sending->upload = NULL;
    }
    loop_timer_stop(&upload->timer);
    loop_task_stop(upload->options.loop, &upload->notify_task);
    append_file_close(&upload->file);
    arena_clear(&upload->arena);
    free(upload);
}

void run_upload_check(RunUpload *upload)
{
    if (!loop_timer_started(&upload->timer)) {
        read_file(upload, UPLOAD_SETTLE_MS);
    }
}

void run_upload_connected(RunUpload *upload)
{
    upload->failures = 0;
    read_file(upload, 0);
}

bool run_upload_is_complete(const RunUpload *upload, uint64_t last)
{
    return upload->is_refused || upload->next > last;
}
