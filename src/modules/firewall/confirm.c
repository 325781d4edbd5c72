#include "modules/firewall/confirm.h"

#include "modules/command.h"
#include "sys/clock.h"
#include "sys/probe.h"

enum {
    TIMEOUT_MS_MAX = 600000,
    PAUSE_MS = 100
};

static const ParamSpec specs[] = {
    { "address", PARAM_STRING, .help = "whom to connect to" },
    { "port", PARAM_INT, .help = "its TCP port" },
    { "cmd", PARAM_COMMAND, .help = "a command that must succeed" },
    { "timeout", PARAM_DURATION, .help = "how long to try" },
};

enum {
    CONFIRM_ADDRESS,
    CONFIRM_PORT,
    CONFIRM_COMMAND,
    CONFIRM_TIMEOUT,
    CONFIRM_PARAMS
};

static bool read_params(Call *call, Value given, Value *values, Error *err)
{
    for (uint32_t i = 0; i < given.map->len; i++) {
        MapEntry entry = given.map->entries[i];
        Str key = value_is_string(entry.key) ? value_str(entry.key) : STR("?");
        uint32_t at = 0;
        while (at < CONFIRM_PARAMS && !str_eq_c(key, specs[at].name)) {
            at++;
        }
        if (at == CONFIRM_PARAMS) {
            return error_set(err, ERROR_INVALID,
                             "there is no '%" STR_FMT "': it has address, port, cmd, timeout",
                             STR_ARG(key));
        }
        if (entry.value.kind == VALUE_NULL) {
            continue;
        }
        if (!param_convert(call->arena, NULL, &specs[at], entry.value, &values[at], err)) {
            return error_wrap(err, "%s", specs[at].name);
        }
    }
    return true;
}

static bool read_map(Call *call, Value given, Confirm *out, Error *err)
{
    Value values[CONFIRM_PARAMS];
    for (uint32_t i = 0; i < CONFIRM_PARAMS; i++) {
        values[i] = value_missing();
    }
    if (!read_params(call, given, values, err)) {
        return false;
    }
    bool by_port =
        !value_is_missing(values[CONFIRM_ADDRESS]) || !value_is_missing(values[CONFIRM_PORT]);
    out->command = values[CONFIRM_COMMAND];
    if (by_port == !value_is_missing(out->command)) {
        return error_set(err, ERROR_INVALID, "needs either 'address' and 'port', or 'cmd'");
    }
    if (by_port) {
        int64_t port = values[CONFIRM_PORT].kind == VALUE_INT ? values[CONFIRM_PORT].integer : 0;
        if (value_is_missing(values[CONFIRM_ADDRESS]) || port < 1 || port > UINT16_MAX) {
            return error_set(err, ERROR_INVALID, "needs 'address', and 'port' from 1 to 65535");
        }
        out->address = value_str(values[CONFIRM_ADDRESS]);
        out->port = (uint16_t)port;
    }
    if (!value_is_missing(values[CONFIRM_TIMEOUT])) {
        out->timeout_ms = values[CONFIRM_TIMEOUT].integer;
    }
    return (out->timeout_ms > 0 && out->timeout_ms <= TIMEOUT_MS_MAX) ||
           error_set(err, ERROR_INVALID, "'timeout' is from 1ms to %d minutes",
                     TIMEOUT_MS_MAX / 60000);
}

bool confirm_read(Call *call, Confirm *out, Error *err)
{
    *out = (Confirm){ .command = value_missing(), .timeout_ms = 5000 };
    out->wanted = call_has(call, "confirm");
    return !out->wanted || read_map(call, call_param(call, "confirm"), out, err) ||
           error_wrap(err, "confirm");
}

static bool ask_once(Call *call, const Confirm *confirm, int64_t timeout_ms, Error *err)
{
    if (value_is_missing(confirm->command)) {
        return probe_port(call->arena, confirm->address, confirm->port, timeout_ms, call->cancelled,
                          err) ||
               error_wrap(err, "%" STR_FMT " port %u", STR_ARG(confirm->address), confirm->port);
    }
    Command command = { .command = confirm->command, .timeout_ms = timeout_ms };
    ProcessResult result;
    Str words = command_words(call->arena, confirm->command);
    bool ran = command_run(call, &command, &result, err);
    if (ran && result.ending == PROCESS_EXITED && result.exit_code == 0) {
        return true;
    }
    if (ran) {
        command_failure(call, &command, &result, err);
    }
    return error_wrap(err, "'%" STR_FMT "'", STR_ARG(words));
}

bool confirm_ask(Call *call, const Confirm *confirm, int64_t timeout_ms, Error *err)
{
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
    for (int64_t left_ms = timeout_ms;; left_ms = (deadline_us - clock_monotonic_us()) / 1000) {
        ArenaMark mark = arena_mark(call->arena);
        bool ok = ask_once(call, confirm, left_ms, err);
        arena_release(call->arena, mark);
        Error cancelled;
        if (ok || clock_monotonic_us() + (int64_t)PAUSE_MS * 1000 >= deadline_us ||
            !call_sleep(call, PAUSE_MS, &cancelled)) {
            return ok;
        }
    }
}
