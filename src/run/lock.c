#include "run/lock.h"

#include <unistd.h>

#include "base/buf.h"
#include "base/json_text.h"
#include "base/utc.h"
#include "lang/json.h"
#include "sys/clock.h"

static const char lock_name[] = "lock";

static Str describe_self(Arena *arena, Str command)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&text,
                   "{\"pid\":%lld,\"since\":\"%" STR_FMT "\",\"command\":", (long long)getpid(),
                   STR_ARG(utc_text(arena, clock_now_ms())));
    json_text_put(&text, str_slice(command, 0, 1000));
    buf_put_c(&text, "}\n");
    return buf_str(&text);
}

/* What the holder wrote; it may be writing just now. */
static bool tell_holder(Arena *arena, Str found, Error *err)
{
    Value holder;
    Error none;
    if (json_parse_text(arena, found, NULL, &holder, &none)) {
        const Value *pid = value_get(holder, STR("pid"));
        const Value *since = value_get(holder, STR("since"));
        const Value *command = value_get(holder, STR("command"));
        if (pid != NULL && pid->kind == VALUE_INT && since != NULL && value_is_string(*since) &&
            command != NULL && value_is_string(*command)) {
            return error_set(err, ERROR_CONFLICT,
                             "another run goes on: pid %lld ('%" STR_FMT "') since %" STR_FMT,
                             (long long)pid->integer, STR_ARG(value_str(*command)),
                             STR_ARG(value_str(*since)));
        }
    }
    return error_set(err, ERROR_CONFLICT, "another run goes on; it has just started");
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
        tell_holder(&arena, found, err);
        problems_add(problems, "E0701", NULL, 0, 0, "%s", err->text);
    }
    return false;
}

bool run_lock_is_held(const Directory *state)
{
    return file_lock_is_held(state, lock_name);
}
