#include "datastore/etcd_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "lang/json.h"
#include "sys/append_file.h"
#include "sys/detached_process.h"
#include "sys/process.h"

#define LOCK_FILE    "etcd.lock"
#define LOG_FILE     "etcd.log"
#define LOG_FILE_OLD "etcd.log.1"

enum {
    LOG_CHECK_MS = 60 * 1000,
    LOG_TAIL_BYTES = 4096, /* size of the log's tail that is searched for the last error */
    WHY_MAX = 400,
};

struct EtcdProcess {
    EtcdProcessOptions options;
    DetachedProcess *child; /* NULL: not running */
    LoopTimer kill_timer, log_timer;
};

/* --- The log --------------------------------------------------------------------------------- */

static Str read_tail(const AppendFile *file, int64_t bytes, Arena *arena)
{
    Str text;
    Error err;
    int64_t from = file->size > bytes ? file->size - bytes : 0;
    return append_file_read_from(file, from, arena, (size_t)bytes, &text, &err) ? text : STR_EMPTY;
}

/* etcd opened the log for appending, so it continues at the new end of the truncated file. */
static void truncate_log(void *context)
{
    EtcdProcess *process = context;
    const Directory *directory = process->options.directory;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    Error err;
    if (append_file_open(directory, LOG_FILE, &file, &err) && file.size > ETCD_LOG_MAX &&
        (!directory_write(directory, LOG_FILE_OLD, read_tail(&file, ETCD_LOG_KEEP, &arena), false,
                          &err) ||
         !append_file_truncate(&file, 0, &err))) {
        log_warning("cannot truncate the etcd log", LOG_C("error", err.text));
    }
    loop_timer_start(&process->log_timer, LOG_CHECK_MS);
}

/* The message of the last line of the log if the line is a JSON object, otherwise the line
 * itself. */
static Str last_error(const EtcdProcess *process, Arena *arena)
{
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    Error err;
    Str line, last = STR_EMPTY;
    if (!append_file_open(process->options.directory, LOG_FILE, &file, &err)) {
        return STR_EMPTY;
    }
    for (Str rest = read_tail(&file, LOG_TAIL_BYTES, arena); str_split_next(&rest, '\n', &line);) {
        last = str_trim(line).len > 0 ? str_trim(line) : last;
    }
    Value entry;
    if (!json_parse_text(arena, last, NULL, &entry, &err) || entry.kind != VALUE_MAP) {
        return last;
    }
    Str message = value_get_text(entry, "msg"), error = value_get_text(entry, "error");
    return arena_format(arena, "%" STR_FMT "%s%" STR_FMT, STR_ARG(message),
                        error.len > 0 ? ": " : "", STR_ARG(error));
}

/* --- The process ----------------------------------------------------------------------------- */

static Str describe_exit(const EtcdProcess *process, DetachedProcessExit end, Arena *arena)
{
    Str error = last_error(process, arena);
    Str exit = !end.has_status ? STR("ended")
               : end.by_signal ? arena_format(arena, "killed by %" STR_FMT,
                                              STR_ARG(process_signal_name(arena, end.status)))
                               : arena_format(arena, "exited with status %d", end.status);
    return error.len == 0
               ? exit
               : arena_format(arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(exit), STR_ARG(error));
}

static void process_ended(void *context, DetachedProcessExit end)
{
    EtcdProcess *process = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char why[WHY_MAX];
    snprintf(why, sizeof why, "%" STR_FMT, STR_ARG(describe_exit(process, end, &arena)));
    detached_process_release(TAKE(process->child));
    loop_timer_stop(&process->kill_timer);
    process->options.ended(process->options.context, why);
}

static void kill_process(void *context)
{
    EtcdProcess *process = context;
    log_warning("etcd did not stop in time; killing it");
    detached_process_kill(process->child);
}

static DetachedProcessOptions detached_options(EtcdProcess *process)
{
    const EtcdProcessOptions *options = &process->options;
    return (DetachedProcessOptions){ .loop = options->loop,
                                     .program = options->program,
                                     .name = "etcd",
                                     .limits = options->limits,
                                     .appends = true,
                                     .as_user = options->as_user,
                                     .uid = options->uid,
                                     .gid = options->gid,
                                     .ended = process_ended,
                                     .context = process };
}

/* Reads the PID from the lock file if the lock is held. */
static bool read_lock_pid(const EtcdProcess *process, uint64_t *out)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Directory *directory = process->options.directory;
    Str text;
    Error err;
    return file_lock_is_held(directory, LOCK_FILE) &&
           directory_read(directory, &arena, LOCK_FILE, 64, &text, &err) && str_to_u64(text, out) &&
           *out > 0 && *out <= INT32_MAX;
}

EtcdProcess *etcd_process_new(const EtcdProcessOptions *options)
{
    EtcdProcess *process = memory_new(sizeof *process);
    process->options = *options;
    loop_timer_init(&process->kill_timer, options->loop, kill_process, process);
    loop_timer_init(&process->log_timer, options->loop, truncate_log, process);
    loop_timer_start(&process->log_timer, 0);
    return process;
}

void etcd_process_free(EtcdProcess *process)
{
    if (process != NULL) {
        loop_timer_stop(&process->kill_timer);
        loop_timer_stop(&process->log_timer);
        detached_process_release(process->child);
        free(process);
    }
}

/* The process may exit, and its PID be reused, before it is monitored. So the lock is read again
 * afterwards: it would no longer be held by that PID. */
bool etcd_process_find(EtcdProcess *process)
{
    uint64_t pid, pid_now;
    DetachedProcessOptions options = detached_options(process);
    Error err;
    if (process->child != NULL) {
        return true;
    }
    if (!read_lock_pid(process, &pid) ||
        !detached_process_find(&options, (pid_t)pid, &process->child, &err)) {
        return false;
    }
    if (!read_lock_pid(process, &pid_now) || pid_now != pid) {
        detached_process_release(TAKE(process->child));
        return false;
    }
    log_info("etcd is already running", LOG_INT("pid", (int64_t)pid));
    return true;
}

bool etcd_process_start(EtcdProcess *process, const char *const *arguments,
                        const char *const *environment, Error *err)
{
    BUG_IF(process->child != NULL);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Directory *directory = process->options.directory;
    DetachedProcessOptions options = detached_options(process);
    FileLock lock;
    Str found;
    char output[sizeof directory->path + sizeof LOG_FILE];
    if (!file_lock_take(directory, LOCK_FILE, STR_EMPTY, &arena, &lock, &found, err)) {
        return false;
    }
    snprintf(output, sizeof output, "%s/" LOG_FILE, directory->path);
    options.env = environment;
    options.lock = &lock;
    bool ok = detached_process_start(&options, arguments, output, &process->child, err);
    close(lock.descriptor); /* inherited by the process */
    return ok;
}

void etcd_process_stop(EtcdProcess *process)
{
    if (process->child != NULL && !loop_timer_started(&process->kill_timer)) {
        detached_process_interrupt(process->child, false);
        loop_timer_start(&process->kill_timer, ETCD_GRACE_MS);
    }
}

pid_t etcd_process_pid(const EtcdProcess *process)
{
    return process->child == NULL ? 0 : detached_process_pid(process->child);
}
