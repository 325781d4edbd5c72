#include "run/lock.h"

#include <unistd.h>

#include "base/buf.h"
#include "base/utc.h"
#include "lang/record.h"
#include "sys/clock.h"

enum {
    HOLDER_MAX = 16 << 10, /* in bytes */
};

static const char lock_name[] = "lock";

/* The holder of the lock, as one line. It is valid only while the lock is held, so it has no format
 * version. */
typedef struct Holder {
    int64_t pid;
    Str since, command;
} Holder;

static const RecordField holder_fields[] = {
    { "pid", RECORD_INT, RECORD_INT_AT(Holder, pid), .is_required = true,
      .help = "process ID of the holder" },
    { "since", RECORD_TEXT, RECORD_STR_AT(Holder, since), .is_required = true,
      .help = "when the lock was acquired" },
    { "command", RECORD_TEXT, RECORD_STR_AT(Holder, command), .is_required = true,
      .help = "command of the holder" },
    { 0 },
};

static const RecordFormat holder_format = {
    .what = "the holder of the lock",
    .fields = holder_fields,
    .size = sizeof(Holder),
    .text_max = HOLDER_MAX,
};

static Str describe_self(Arena *arena, Str command)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    record_print(
        &holder_format,
        &(Holder){ getpid(), utc_text(arena, clock_now_ms()), str_slice(command, 0, 1000) }, &text);
    buf_put_char(&text, '\n');
    return buf_str(&text);
}

/* The data of the holder, who may be writing it right now. */
static bool describe_holder(Arena *arena, Str found, Error *err)
{
    Holder holder;
    Error torn;
    if (!record_read(&holder_format, arena, found, RECORD_STORED, &holder, &torn)) {
        return error_set(err, ERROR_CONFLICT, "another run is in progress; it has just started");
    }
    return error_set(err, ERROR_CONFLICT,
                     "another run is in progress: pid %lld ('%" STR_FMT "') since %" STR_FMT,
                     (long long)holder.pid, STR_ARG(holder.command), STR_ARG(holder.since));
}

bool run_lock_take(const Directory *state, Str command, FileLock *out, Problems *problems,
                   Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str found;
    if (file_lock_take(state, lock_name, describe_self(&arena, command), &arena, out, &found,
                       err)) {
        return true;
    }
    if (err->kind == ERROR_CONFLICT) {
        describe_holder(&arena, found, err);
        problems_add(problems, "E0701", NULL, 0, 0, "%s", err->text);
    }
    return false;
}

bool run_lock_is_held(const Directory *state)
{
    return file_lock_is_held(state, lock_name);
}

bool run_lock_holder(const Directory *state, Arena *arena, Str *out)
{
    Holder holder;
    Str text;
    Error err;
    if (!run_lock_is_held(state) ||
        !directory_read(state, arena, lock_name, HOLDER_MAX, &text, &err) ||
        !record_read(&holder_format, arena, text, RECORD_STORED, &holder, &err)) {
        return false;
    }
    *out = arena_format(arena, "'%" STR_FMT "' (pid %lld)", STR_ARG(holder.command),
                        (long long)holder.pid);
    return true;
}
