#include "fleet/run_logs_limit.h"

#include "base/log.h"

enum {
    REMOVED_MAX = 100, /* bytes of what remains of a log */
    DISK_FRACTION = 8, /* of the disk, for all logs */
    MIB = 1 << 20,
};

static bool list(const RunLogs *logs, Arena *arena, RunLogFile **files, uint32_t *count)
{
    Error err;
    if (!run_logs_list(logs, arena, files, count, &err)) {
        log_warning("cannot list the logs of runs", LOG_C("error", err.text));
        return false;
    }
    return true;
}

void run_logs_sweep(RunLogs *logs, bool (*keeps)(void *context, Str run), void *context)
{
    AUTO_CLEAR(Arena) arena;
    RunLogFile *files;
    uint32_t count;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!list(logs, &arena, &files, &count)) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!keeps(context, files[i].run)) {
            run_logs_remove(logs, files[i].run);
        }
    }
}

int64_t run_logs_limit_default(const RunLogs *logs)
{
    int64_t part = run_logs_disk_bytes(logs) / DISK_FRACTION, limit = (int64_t)RUN_LOGS_MIB * MIB;
    return part < limit ? part : limit;
}

static int64_t sum(const RunLogFile *files, uint32_t count)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        bytes += files[i].bytes;
    }
    return bytes;
}

int64_t run_logs_bytes(const RunLogs *logs)
{
    AUTO_CLEAR(Arena) arena;
    RunLogFile *files;
    uint32_t count;
    arena_init(&arena, ARENA_UNLIMITED);
    return list(logs, &arena, &files, &count) ? sum(files, count) : 0;
}

/* Returns the bytes that it occupied. */
static int64_t remove_log(RunLogs *logs, const RunLogFile *file, int64_t now_ms)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Error err;
    buf_put_format(&text, RUN_LOG_REMOVED "\"at_ms\":%lld,\"bytes\":%lld}\n", (long long)now_ms,
                   (long long)file->bytes);
    if (!run_logs_replace(logs, file->run, buf_str(&text), &err)) {
        log_warning("cannot remove the log of a run", LOG_STR("run", file->run),
                    LOG_C("error", err.text));
        return 0;
    }
    log_info("log of a run removed: all logs together are too large", LOG_STR("run", file->run),
             LOG_INT("bytes", file->bytes));
    return file->bytes;
}

uint32_t run_logs_limit(RunLogs *logs, int64_t max, int64_t now_ms,
                        bool (*may_remove)(void *context, Str run), void *context)
{
    AUTO_CLEAR(Arena) arena;
    RunLogFile *files;
    uint32_t count, removed = 0;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!list(logs, &arena, &files, &count)) {
        return 0;
    }
    int64_t bytes = sum(files, count);
    for (uint32_t i = 0; i < count && bytes > max; i++) {
        if (files[i].bytes > REMOVED_MAX && may_remove(context, files[i].run)) {
            int64_t freed = remove_log(logs, &files[i], now_ms);
            removed += freed > 0;
            bytes -= freed;
        }
    }
    return removed;
}
