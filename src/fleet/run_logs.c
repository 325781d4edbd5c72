/* Files are scanned on first use, to determine the next number of each node. After a power failure,
 * unsynced data may be missing in part: an incomplete last line, or NUL bytes in place of lines.
 * The file is truncated at that point, because later events would hide that earlier ones are
 * missing. After a failed write the cached numbers are dropped: the next use truncates what may not
 * be on disk, and scans the file again. */
#include "fleet/run_logs.h"

#include <stdlib.h>

#include "base/json_out.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/str_map.h"
#include "base/vec.h"
#include "fleet/log_lines.h"
#include "fleet/records.h"
#include "lang/json.h"
#include "run/run_events.h"
#include "sys/append_file.h"
#include "sys/file_stream.h"
#include "sys/worker.h"

#define SUFFIX ".ndjson"

enum {
    OPEN_MAX = 64, /* maximum number of logs in memory */
    READ_BYTES = 256 << 10,
    FILES_MAX = 100 * 1000,
    NAME_BYTES = RUN_ID_MAX + sizeof SUFFIX,
    NUMBER_DIGITS = 18,
    BUF_RETAINED = 64 << 10, /* capacity that is retained for the next lines */
};

/* The part of the log from one node. */
typedef struct NodeLog {
    uint64_t next; /* number of the next event */
    int64_t bytes;
    bool is_truncated; /* unimportant events are dropped */
} NodeLog;

typedef struct RunLog {
    struct RunLog *next;
    char name[NAME_BYTES]; /* name of the file */
    Str run;               /* ID of the run, part of the name */
    AppendFile file;
    Arena arena;
    StrMap nodes;    /* NodeLog by node */
    int64_t bytes;   /* size of all lines */
    int64_t synced;  /* size of the file when it was opened, or after the last write */
    bool is_opened;  /* not synced since it was opened: an earlier process may not have synced it */
    Buf pending;     /* lines of the next group */
    Buf writing;     /* owned by the thread while a group is written */
    bool has_failed; /* set by the thread: the group could not be written */
    Error failure;
    bool is_unwritten; /* the loop thread's copy of has_failed */
    Error why;
    bool is_in_group;
    uint32_t appends; /* number of appends in progress */
    uint64_t used;    /* counter of the last use */
} RunLog;

typedef struct Append {
    struct Append *next;
    RunLog *log;
    size_t bytes;
    uint64_t stored; /* next number of the node once the append is durable */
    RunLogsAppended *done;
    void *context;
} Append;

struct RunLogs {
    Loop *loop;
    Directory directory;
    char *path; /* path of the directory */
    RunLog *logs;
    uint64_t uses;
    RunLogReader *readers;
    Append *pending, **pending_last; /* appends that wait for the next group */
    size_t pending_bytes;
    Append *writing;     /* appends of the group that is being written */
    VEC(RunLog *) group; /* logs of that group, read by the thread */
    Arena group_arena;
    bool is_writing;
    Worker *worker;
    LoopTask written, start;
};

struct RunLogReader {
    RunLogs *logs;
    RunLogReader *next;
    char name[NAME_BYTES];
    Str start; /* start of lines of the requested node; empty: all nodes */
    Str step;  /* empty: all steps */
    Arena arena;
    const char *path;
    int64_t from; /* offset at which to start */
    bool is_started;
    LogLines lines;
    LoopRun *grown;
    void *context;
};

/* --- Nodes ----------------------------------------------------------------------------------- */

static NodeLog *find_node_log(RunLog *log, Str node)
{
    NodeLog *found = str_map_find(&log->nodes, node);
    if (found == NULL) {
        found = ARENA_NEW(&log->arena, NodeLog);
        *found = (NodeLog){ .next = 1 };
        str_map_put(&log->nodes, arena_copy(&log->arena, node), found);
    }
    return found;
}

/* Events without which the result could not be interpreted. */
static bool is_important(Str event)
{
    return str_eq(event, STR("begin")) || str_eq(event, STR("step")) ||
           str_eq(event, STR("leave")) || str_eq(event, STR("end"));
}

/* --- Opening --------------------------------------------------------------------------------- */

/* The event that replaces all dropped ones. */
#define TRUNCATED "\"event\":\"truncated\"}"

static void scan_line(RunLog *log, Str line)
{
    Str node, event;
    if (!log_line_split(line, &node, &event)) {
        return; /* damaged */
    }
    NodeLog *node_log = find_node_log(log, node);
    uint64_t n = 0;
    for (size_t i = 4; i < event.len && ascii_is_digit(event.data[i]); i++) {
        if (i == 4 + NUMBER_DIGITS) {
            return; /* damaged */
        }
        n = n * 10 + (uint64_t)(event.data[i] - '0');
    }
    node_log->next = n >= node_log->next ? n + 1 : node_log->next;
    node_log->bytes += (int64_t)line.len;
    node_log->is_truncated = node_log->is_truncated || str_ends(line, STR(TRUNCATED));
}

static bool scan_lines(RunLog *log, LogLines *lines, Error *err)
{
    Str line;
    do {
        log->bytes = lines->offset;
        if (!log_lines_next(lines, INT64_MAX, &line, err)) {
            return false;
        }
        if (log_line_is_torn(line)) {
            return true;
        }
        scan_line(log, line);
    } while (line.data != NULL);
    return true;
}

static bool scan_log(RunLog *log, Error *err)
{
    LogLines lines = { .chunk = buf_make(BUF_UNLIMITED) };
    arena_reset(&log->arena);
    str_map_init(&log->nodes, &log->arena);
    bool ok = file_reader_open(log->file.name, &lines.file, err) && scan_lines(log, &lines, err);
    log_lines_clear(&lines);
    return ok &&
           (log->bytes == log->file.size || append_file_truncate(&log->file, log->bytes, err));
}

static bool is_busy(const RunLog *log)
{
    return log->appends > 0 || log->is_in_group;
}

static void log_free(RunLog *log)
{
    append_file_close(&log->file);
    buf_clear(&log->pending);
    buf_clear(&log->writing);
    arena_clear(&log->arena);
    free(log);
}

/* After a failed sync, the page cache may contain data that is not on disk. */
static bool drop_unwritten(RunLog *log, Error *err)
{
    return log->file.size <= log->synced || append_file_truncate(&log->file, log->synced, err);
}

/* Closes the log that was used least recently. */
static void close_oldest(RunLogs *logs)
{
    RunLog **oldest = NULL;
    uint32_t count = 0;
    for (RunLog **link = &logs->logs; *link != NULL; link = &(*link)->next) {
        count++;
        if (!is_busy(*link) && (oldest == NULL || (*link)->used < (*oldest)->used)) {
            oldest = link;
        }
    }
    if (count >= OPEN_MAX && oldest != NULL) {
        RunLog *log = *oldest;
        Error ignored;
        if (log->is_unwritten && !drop_unwritten(log, &ignored)) {
            return; /* as above: it must not be read as if it were on disk */
        }
        *oldest = log->next;
        log_free(log);
    }
}

static void set_name(Str run, char *out)
{
    memcpy(out, run.data, run.len);
    memcpy(out + run.len, SUFFIX, sizeof SUFFIX);
}

static RunLog *find_open(const RunLogs *logs, Str run)
{
    RunLog *log = logs->logs;
    while (log != NULL && !str_eq(log->run, run)) {
        log = log->next;
    }
    return log;
}

static bool find_log(RunLogs *logs, Str run, RunLog **out, Error *err)
{
    RunLog *log = find_open(logs, run);
    if (log == NULL) {
        close_oldest(logs);
        log = memory_new(sizeof *log);
        log->file.descriptor = -1;
        log->pending = log->writing = buf_make(BUF_UNLIMITED);
        arena_init(&log->arena, ARENA_UNLIMITED);
        set_name(run, log->name);
        log->run = str_from(log->name, run.len);
        if (!append_file_open(&logs->directory, log->name, &log->file, err) ||
            !scan_log(log, err)) {
            log_free(log);
            return false;
        }
        log->synced = log->file.size;
        log->is_opened = true;
        log->next = logs->logs;
        logs->logs = log;
    } else if (log->is_unwritten && !is_busy(log)) {
        if (!drop_unwritten(log, err) || !scan_log(log, err)) {
            return false;
        }
        log->is_unwritten = false;
    }
    log->used = ++logs->uses;
    *out = log;
    return !log->is_unwritten || error_set(err, ERROR_UNAVAILABLE, "%s", log->why.text);
}

/* --- Writing --------------------------------------------------------------------------------- */

static bool write_log(const RunLogs *logs, RunLog *log, Error *err)
{
    if ((log->writing.len > 0 && !append_file_add(&log->file, buf_str(&log->writing), err)) ||
        !append_file_sync(&log->file, err)) {
        return false;
    }
    if (log->is_opened) {
        directory_sync(&logs->directory);
    }
    return true;
}

/* Runs on the thread. */
static void write_group(void *context)
{
    RunLogs *logs = context;
    for (uint32_t i = 0; i < logs->group.len; i++) {
        RunLog *log = logs->group.items[i];
        log->has_failed = !write_log(logs, log, &log->failure);
    }
    loop_post(logs->loop, &logs->written);
}

static void start_group(void *context)
{
    RunLogs *logs = context;
    if (logs->is_writing || logs->pending == NULL) {
        return;
    }
    logs->is_writing = true;
    logs->writing = logs->pending;
    logs->pending = NULL;
    logs->pending_last = &logs->pending;
    logs->pending_bytes = 0;
    logs->group.len = 0;
    for (RunLog *log = logs->logs; log != NULL; log = log->next) {
        /* After a failed write, the content of the disk is unknown until the log is read again. */
        if (!log->is_unwritten && (log->pending.len > 0 || log->is_opened)) {
            Buf empty = log->writing;
            log->writing = log->pending;
            log->pending = empty;
            log->is_in_group = true;
            VEC_PUSH(&logs->group_arena, &logs->group, log);
        }
    }
    worker_wake(logs->worker);
}

static void notify_readers(RunLogs *logs, const RunLog *log)
{
    for (RunLogReader *reader = logs->readers, *next; reader != NULL; reader = next) {
        next = reader->next;
        if (reader->grown != NULL && strcmp(reader->name, log->name) == 0) {
            reader->grown(reader->context);
        }
    }
}

static void finish(Append *append, const Error *err)
{
    append->done(append->context, append->stored, err);
    append->log->appends--;
    free(append);
}

/* Appends that follow a failed write cannot be stored either. */
static void fail_pending(RunLogs *logs, RunLog *log)
{
    Append *append = logs->pending, *next, *failed = NULL, **failed_last = &failed;
    buf_reset(&log->pending);
    logs->pending = NULL;
    logs->pending_last = &logs->pending;
    for (; append != NULL; append = next) {
        next = append->next;
        append->next = NULL;
        if (append->log == log) {
            logs->pending_bytes -= append->bytes;
            *failed_last = append;
            failed_last = &append->next;
        } else {
            *logs->pending_last = append;
            logs->pending_last = &append->next;
        }
    }
    for (; failed != NULL; failed = next) {
        next = failed->next;
        finish(failed, &log->why);
    }
}

/* Logs remain open after the last write. */
static void release(Buf *written)
{
    if (written->cap > BUF_RETAINED) {
        buf_clear(written);
    } else {
        buf_reset(written);
    }
}

/* Called when a group was written. */
static void on_written(void *context)
{
    RunLogs *logs = context;
    Append *append = logs->writing, *next;
    logs->is_writing = false;
    logs->writing = NULL;
    for (uint32_t i = 0; i < logs->group.len; i++) {
        RunLog *log = logs->group.items[i];
        log->is_unwritten = log->has_failed;
        log->why = log->failure;
        if (!log->has_failed) {
            log->synced = log->file.size;
            log->is_opened = false;
        }
        release(&log->writing);
    }
    for (; append != NULL; append = next) {
        next = append->next;
        finish(append, append->log->is_unwritten ? &append->log->why : NULL);
    }
    for (uint32_t i = 0; i < logs->group.len; i++) {
        RunLog *log = logs->group.items[i];
        if (log->is_unwritten) {
            log_warning("cannot write the log of a run", LOG_STR("run", log->run),
                        LOG_C("error", log->why.text));
            fail_pending(logs, log);
        } else {
            notify_readers(logs, log);
        }
        log->is_in_group = false;
    }
    start_group(logs);
}

/* --- Appending ------------------------------------------------------------------------------- */

/* Important events are limited too: a node determines how many it sends, and how large they are. */
static bool has_room(const RunLog *log, const NodeLog *node_log, const RunEventLine *event)
{
    int64_t factor = is_important(event->event) ? 2 : 1;
    return node_log->bytes <= factor * RUN_LOG_NODE_BYTES && log->bytes <= factor * RUN_LOG_BYTES;
}

static void put_event(RunLog *log, NodeLog *node_log, const LogSender *sender,
                      const RunEventLine *event)
{
    bool is_stored = has_room(log, node_log, event);
    node_log->next = event->n + 1;
    if (!is_stored && node_log->is_truncated) {
        return;
    }
    size_t before = log->pending.len;
    if (is_stored) {
        log_sender_put(sender, event, &log->pending);
    } else {
        node_log->is_truncated = true;
        buf_put(&log->pending, buf_str(&sender->prefix));
        buf_put_format(&log->pending, "\"n\":%llu,\"at_ms\":%lld," TRUNCATED,
                       (unsigned long long)event->n, (long long)event->at_ms);
    }
    buf_put_char(&log->pending, '\n');
    node_log->bytes += (int64_t)(log->pending.len - before);
    log->bytes += (int64_t)(log->pending.len - before);
}

/* Validates all lines before any is stored. */
static bool append_lines(RunLog *log, Str node, uint64_t from, Str lines, Error *err)
{
    NodeLog *node_log = find_node_log(log, node);
    uint64_t n = from;
    size_t at = 0;
    RunEventLine event;
    if (from > node_log->next) {
        return true;
    }
    AUTO_CLEAR(LogSender) sender;
    log_sender_init(&sender, node);
    for (size_t end; at < lines.len; at = end + 1, n++) {
        end = str_find(lines, STR("\n"), at);
        if (end == STR_NOT_FOUND) {
            return error_set(err, ERROR_INVALID, "the last line is incomplete");
        }
        if (!log_sender_check(&sender, str_slice(lines, at, end + 1), n, &event, err)) {
            return false;
        }
    }
    for (at = 0; run_event_next(lines, &at, &event);) {
        if (event.n >= node_log->next) {
            put_event(log, node_log, &sender, &event);
        }
    }
    return true;
}

bool run_logs_is_open(const RunLogs *logs, Str run)
{
    return find_open(logs, run) != NULL;
}

bool run_logs_append(RunLogs *logs, const RunLogLines *lines, RunLogsAppended *done, void *context,
                     Error *err)
{
    RunLog *log;
    size_t bytes = lines->lines.len;
    if (!run_id_check(lines->run, err)) {
        return false;
    }
    if (logs->pending_bytes + bytes > RUN_LOG_PENDING_MAX) {
        return error_set(err, ERROR_LIMIT, "too many events are waiting to be written");
    }
    if (directory_disk_unreserved(&logs->directory) < (int64_t)(logs->pending_bytes + bytes)) {
        return error_set(err, ERROR_UNAVAILABLE, "the server's disk is nearly full");
    }
    if (!find_log(logs, lines->run, &log, err) ||
        !append_lines(log, lines->node, lines->from, lines->lines, err)) {
        return false;
    }
    Append *append = memory_new(sizeof *append);
    *append = (Append){
        .log = log,
        .bytes = bytes,
        .stored = find_node_log(log, lines->node)->next,
        .done = done,
        .context = context,
    };
    log->appends++;
    *logs->pending_last = append;
    logs->pending_last = &append->next;
    logs->pending_bytes += bytes;
    loop_defer(logs->loop, &logs->start);
    return true;
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

bool run_logs_open(Loop *loop, const char *directory, RunLogs **out, Error *err)
{
    RunLogs *logs = memory_new(sizeof *logs);
    logs->loop = loop;
    logs->directory.descriptor = -1;
    logs->pending_last = &logs->pending;
    arena_init(&logs->group_arena, ARENA_UNLIMITED);
    loop_task_init(&logs->written, on_written, logs);
    loop_task_init(&logs->start, start_group, logs);
    if (!directory_make(directory, &logs->directory, err)) {
        free(logs);
        return false;
    }
    logs->path = strdup(directory);
    if (logs->path == NULL) {
        memory_exhausted(strlen(directory) + 1);
    }
    logs->worker = worker_new(write_group, logs);
    *out = logs;
    return true;
}

static void fail_all(Append *appends)
{
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "the server is stopping");
    for (Append *append = appends, *next; append != NULL; append = next) {
        next = append->next;
        append->done(append->context, append->stored, &err);
        free(append);
    }
}

void run_logs_close(RunLogs *logs)
{
    if (logs == NULL) {
        return;
    }
    worker_free(logs->worker);
    loop_task_stop(logs->loop, &logs->written);
    loop_task_stop(logs->loop, &logs->start);
    fail_all(logs->writing);
    fail_all(logs->pending);
    while (logs->logs != NULL) {
        RunLog *log = logs->logs;
        logs->logs = log->next;
        log_free(log);
    }
    directory_close(&logs->directory);
    arena_clear(&logs->group_arena);
    free(logs->path);
    free(logs);
}

/* Closes the log if it is in memory. False if it is being written. */
static bool close_log(RunLogs *logs, Str run)
{
    for (RunLog **link = &logs->logs; *link != NULL; link = &(*link)->next) {
        RunLog *log = *link;
        if (str_eq(log->run, run)) {
            if (is_busy(log)) {
                return false;
            }
            *link = log->next;
            log_free(log);
            return true;
        }
    }
    return true;
}

void run_logs_remove(RunLogs *logs, Str run)
{
    char name[NAME_BYTES];
    Error err;
    if (!close_log(logs, run)) {
        return; /* the next sweep removes the file */
    }
    set_name(run, name);
    if (!directory_remove(&logs->directory, name, &err) && err.kind != ERROR_NOT_FOUND) {
        log_warning("cannot remove the log of a run", LOG_C("error", err.text));
    }
}

bool run_logs_replace(RunLogs *logs, Str run, Str text, Error *err)
{
    char name[NAME_BYTES];
    set_name(run, name);
    return (close_log(logs, run) || error_set(err, ERROR_UNAVAILABLE, "it is being written")) &&
           directory_write(&logs->directory, name, text, false, err);
}

bool run_logs_list(const RunLogs *logs, Arena *arena, RunLogFile **out, uint32_t *count, Error *err)
{
    DirectoryEntry *entries;
    uint32_t all;
    *count = 0;
    if (!directory_list(&logs->directory, arena, FILES_MAX, &entries, &all, err)) {
        return false;
    }
    *out = ARENA_ARRAY(arena, RunLogFile, all + 1);
    for (uint32_t i = 0; i < all; i++) {
        Str name = entries[i].name;
        Error ignored;
        Str run =
            str_ends(name, STR(SUFFIX)) ? str_slice(name, 0, name.len - strlen(SUFFIX)) : STR_EMPTY;
        if (run_id_check(run, &ignored)) {
            (*out)[(*count)++] = (RunLogFile){ run, entries[i].size };
        }
    }
    return true;
}

int64_t run_logs_disk_bytes(const RunLogs *logs)
{
    return directory_disk_size(&logs->directory);
}

/* --- Reading --------------------------------------------------------------------------------- */

bool run_log_read(RunLogs *logs, Str run, Str node, Str step, RunLogReader **out, Error *err)
{
    if (!run_id_check(run, err)) {
        return false;
    }
    RunLogReader *reader = memory_new(sizeof *reader);
    arena_init(&reader->arena, ARENA_UNLIMITED);
    reader->logs = logs;
    set_name(run, reader->name);
    Str path = arena_format(&reader->arena, "%s/%s", logs->path, reader->name);
    reader->path = path.data;
    reader->lines.chunk = buf_make(BUF_UNLIMITED);
    if (node.len > 0) {
        Buf start = buf_make_in(&reader->arena, BUF_UNLIMITED);
        log_line_put_prefix(&start, node);
        reader->start = buf_str(&start);
    }
    reader->step = arena_copy(&reader->arena, step);
    reader->next = logs->readers;
    logs->readers = reader;
    *out = reader;
    return true;
}

void run_log_reader_free(RunLogReader *reader)
{
    if (reader == NULL) {
        return;
    }
    RunLogReader **link = &reader->logs->readers;
    while (*link != reader) {
        link = &(*link)->next;
    }
    *link = reader->next;
    log_lines_clear(&reader->lines);
    arena_clear(&reader->arena);
    free(reader);
}

void run_log_reader_follow(RunLogReader *reader, LoopRun *grown, void *context)
{
    reader->grown = grown;
    reader->context = context;
}

static bool has_step(const RunLogReader *reader, Str line)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value value;
    Error err;
    return json_parse_text(&arena, line, &json_options_default, &value, &err) &&
           str_eq(value_get_text(value, "step"), reader->step);
}

static bool is_wanted(const RunLogReader *reader, Str line)
{
    return str_starts(line, STR(RUN_LOG_REMOVED)) ||
           (str_starts(line, reader->start) && (reader->step.len == 0 || has_step(reader, line)));
}

void run_log_reader_start(RunLogReader *reader, int64_t from)
{
    reader->from = from;
}

int64_t run_log_reader_offset(const RunLogReader *reader)
{
    return reader->lines.offset;
}

/* No line starts at this offset, so the log is not the one for which it was returned. */
static bool start(RunLogReader *reader, Error *err)
{
    LogLines *lines = &reader->lines;
    char before = '\0';
    size_t read_size = 0;
    if (reader->from > 0 && (!file_reader_seek(lines->file, reader->from - 1, err) ||
                             !file_reader_next(lines->file, &before, 1, &read_size, err))) {
        return false;
    }
    return log_lines_seek(lines, read_size == 1 && before == '\n' ? reader->from : 0, err);
}

/* Lines beyond that may still disappear in a power failure. A log that is not open was written by
 * an earlier process. */
static int64_t durable_bytes(const RunLogReader *reader)
{
    for (const RunLog *log = reader->logs->logs; log != NULL; log = log->next) {
        if (strcmp(log->name, reader->name) == 0) {
            return log->synced;
        }
    }
    return INT64_MAX;
}

bool run_log_reader_next(RunLogReader *reader, size_t max, Buf *out, bool *is_end, Error *err)
{
    Str line;
    int64_t until = durable_bytes(reader);
    max += out->len;
    *is_end = true;
    if (reader->lines.file == NULL && !file_reader_open(reader->path, &reader->lines.file, err)) {
        return err->kind == ERROR_NOT_FOUND;
    }
    if (!reader->is_started && !start(reader, err)) {
        return false;
    }
    reader->is_started = true;
    int64_t from = reader->lines.offset;
    while (out->len < max && reader->lines.offset - from < READ_BYTES) {
        if (!log_lines_next(&reader->lines, until, &line, err)) {
            return false;
        }
        if (line.data == NULL) {
            /* a reader that waits for more events holds no memory */
            buf_clear(&reader->lines.chunk);
            return true;
        }
        if (!log_line_is_torn(line) && is_wanted(reader, line)) {
            buf_put(out, line);
            buf_put_char(out, '\n');
        }
    }
    *is_end = false;
    return true;
}
