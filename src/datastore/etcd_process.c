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
    LOG_LOOK_MS = 60 * 1000,
    LAST_BYTES = 4096, /* of the log, in which the last error is looked for */
    WHY_MAX = 400,
};

struct EtcdProcess {
    EtcdProcessOptions options;
    DetachedProcess *running; /* NULL: not running */
    LoopTimer kill, log;
};

/* --- The log --------------------------------------------------------------------------------- */

static Str read_end(const AppendFile *file, int64_t bytes, Arena *arena)
{
    Str text;
    Error err;
    int64_t from = file->size > bytes ? file->size - bytes : 0;
    return append_file_read_from(file, from, arena, (size_t)bytes, &text, &err) ? text : STR_EMPTY;
}

/* etcd appends to the open file, so it continues at the start of what was cut. */
static void cut_log(void *context)
{
    EtcdProcess *process = context;
    const Directory *directory = process->options.directory;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    Error err;
    if (append_file_open(directory, LOG_FILE, &file, &err) && file.size > ETCD_LOG_MAX &&
        (!directory_write(directory, LOG_FILE_OLD, read_end(&file, ETCD_LOG_KEEP, &arena), false,
                          &err) ||
         !append_file_cut(&file, 0, &err))) {
        log_warning("cannot cut the log of etcd", LOG_C("error", err.text));
    }
    loop_timer_start(&process->log, LOG_LOOK_MS);
}

/* The last error in the log, which is a JSON object in each line; otherwise its last line. */
static Str last_error(const EtcdProcess *process, Arena *arena)
{
    AUTO_CLEAR(AppendFile) file = { .descriptor = -1 };
    Error err;
    Str line, last = STR_EMPTY;
    if (!append_file_open(process->options.directory, LOG_FILE, &file, &err)) {
        return STR_EMPTY;
    }
    for (Str rest = read_end(&file, LAST_BYTES, arena); str_split_next(&rest, '\n', &line);) {
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

static Str describe(const EtcdProcess *process, DetachedProcessEnd end, Arena *arena)
{
    Str error = last_error(process, arena);
    Str how = !end.is_known   ? STR("ended")
              : end.by_signal ? arena_format(arena, "killed by %" STR_FMT,
                                             STR_ARG(process_signal_name(arena, end.number)))
                              : arena_format(arena, "exited with status %d", end.number);
    return error.len == 0
               ? how
               : arena_format(arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(how), STR_ARG(error));
}

static void process_ended(void *context, DetachedProcessEnd end)
{
    EtcdProcess *process = context;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    char why[WHY_MAX];
    snprintf(why, sizeof why, "%" STR_FMT, STR_ARG(describe(process, end, &arena)));
    detached_process_release(TAKE(process->running));
    loop_timer_stop(&process->kill);
    process->options.ended(process->options.context, why);
}

static void kill_it(void *context)
{
    EtcdProcess *process = context;
    log_warning("etcd did not stop in time; killing it");
    detached_process_kill(process->running);
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

/* The process id in a lock that is held. */
static bool read_holder(const EtcdProcess *process, uint64_t *out)
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
    loop_timer_init(&process->kill, options->loop, kill_it, process);
    loop_timer_init(&process->log, options->loop, cut_log, process);
    loop_timer_start(&process->log, 0);
    return process;
}

void etcd_process_free(EtcdProcess *process)
{
    if (process != NULL) {
        loop_timer_stop(&process->kill);
        loop_timer_stop(&process->log);
        detached_process_release(process->running);
        free(process);
    }
}

/* The holder may end, and its number be reused, until it is followed: then it does not hold the
 * lock any more. */
bool etcd_process_find(EtcdProcess *process)
{
    uint64_t number, again;
    DetachedProcessOptions how = detached_options(process);
    Error err;
    if (process->running != NULL) {
        return true;
    }
    if (!read_holder(process, &number) ||
        !detached_process_find(&how, (pid_t)number, &process->running, &err)) {
        return false;
    }
    if (!read_holder(process, &again) || again != number) {
        detached_process_release(TAKE(process->running));
        return false;
    }
    log_info("etcd is running already", LOG_INT("pid", (int64_t)number));
    return true;
}

bool etcd_process_start(EtcdProcess *process, const char *const *arguments,
                        const char *const *environment, Error *err)
{
    BUG_IF(process->running != NULL);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Directory *directory = process->options.directory;
    DetachedProcessOptions how = detached_options(process);
    FileLock lock;
    Str found;
    char output[sizeof directory->path + sizeof LOG_FILE];
    if (!file_lock_take(directory, LOCK_FILE, STR_EMPTY, &arena, &lock, &found, err)) {
        return false;
    }
    snprintf(output, sizeof output, "%s/" LOG_FILE, directory->path);
    how.env = environment;
    how.lock = &lock;
    bool ok = detached_process_start(&how, arguments, output, &process->running, err);
    close(lock.descriptor); /* the process holds it */
    return ok;
}

void etcd_process_stop(EtcdProcess *process)
{
    if (process->running != NULL && !loop_timer_started(&process->kill)) {
        detached_process_interrupt(process->running, false);
        loop_timer_start(&process->kill, ETCD_GRACE_MS);
    }
}

pid_t etcd_process_pid(const EtcdProcess *process)
{
    return process->running == NULL ? 0 : detached_process_number(process->running);
}
