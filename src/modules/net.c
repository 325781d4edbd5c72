/* net.*: waiting for others. Waiting changes nothing, so it takes place in check; a plan asks once
 * and does not wait. */
#include "modules/call.h"
#include "sys/clock.h"
#include "sys/probe.h"

enum {
    TRY_MS_MAX = 5000,
    TRY_MS_MIN = 200 /* also at the very end: a try that is cut short says nothing */
};

typedef struct Wish {
    Str host;
    uint16_t port;
    Str path;
    int64_t status; /* 0: any answer on the port will do */
    bool closed;
} Wish;

static bool read_wish(Call *call, Wish *wish, Error *err)
{
    int64_t port = call_int(call, "port", 0);
    if (port < 1 || port > UINT16_MAX) {
        return error_set(err, ERROR_INVALID, "'port' must be from 1 to 65535");
    }
    *wish = (Wish){ .host = call_str(call, "host"),
                    .port = (uint16_t)port,
                    .path = call_str(call, "path"),
                    .status = call_int(call, "status", 0),
                    .closed = str_eq(call_str(call, "state"), STR("closed")) };
    wish->status = wish->status == 0 && wish->path.len > 0 ? 200 : wish->status;
    wish->path = wish->path.len > 0 ? wish->path : STR("/");
    return !(wish->closed && wish->status != 0) ||
           error_set(err, ERROR_INVALID, "a closed port has no status");
}

/* False with what is missing; ERROR_INVALID will not get better. */
static bool ask(Call *call, const Wish *wish, int64_t timeout_ms, Error *err)
{
    int status;
    if (wish->status == 0) {
        bool open =
            probe_port(call->arena, wish->host, wish->port, timeout_ms, call->cancelled, err);
        if (open && wish->closed) {
            return error_set(err, ERROR_UNAVAILABLE, "the port is still open");
        }
        return open || (wish->closed && err->kind != ERROR_INVALID && !call_cancelled(call));
    }
    if (!probe_http(call->arena, wish->host, wish->port, wish->path, timeout_ms, call->cancelled,
                    &status, err)) {
        return false;
    }
    return status == wish->status ||
           error_set(err, ERROR_UNAVAILABLE, "answered with status %d, not %d", status,
                     (int)wish->status);
}

static bool wait_for_check(Call *call, Outcome *outcome, Error *err)
{
    Wish wish = { 0 };
    if (!read_wish(call, &wish, err)) {
        return false;
    }
    int64_t interval_ms = call_int(call, "interval", 1000);
    int64_t deadline_us = clock_monotonic_us() + call_int(call, "timeout", 60000) * 1000;
    for (;;) {
        ArenaMark mark = arena_mark(call->arena);
        int64_t left_ms = (deadline_us - clock_monotonic_us()) / 1000;
        int64_t try_ms = left_ms < TRY_MS_MIN   ? TRY_MS_MIN
                         : left_ms > TRY_MS_MAX ? TRY_MS_MAX
                                                : left_ms;
        bool ok = ask(call, &wish, try_ms, err);
        arena_release(call->arena, mark);
        if (ok) {
            outcome->comment = wish.closed ? STR("no answer") : STR("answers");
            return true;
        }
        if (err->kind == ERROR_INVALID || call_cancelled(call)) {
            return false;
        }
        if (call->planning) {
            outcome->unknown = true;
            outcome->comment = arena_copy(call->arena, str_from_c(err->text));
            return true;
        }
        if (clock_monotonic_us() + interval_ms * 1000 >= deadline_us) {
            err->kind = ERROR_TIMEOUT;
            return error_wrap(err, "%" STR_FMT " port %u, asked for %g s", STR_ARG(wish.host),
                              wish.port, (double)call_int(call, "timeout", 60000) / 1000);
        }
        if (!call_sleep(call, interval_ms, err)) {
            return false;
        }
    }
}

static const ParamSpec wait_for_params[] = {
    { "host", PARAM_STRING, .fallback = "127.0.0.1", .help = "whom to ask, address or name" },
    { "port", PARAM_INT, .required = true, .help = "the TCP port" },
    { "state", PARAM_STRING, .fallback = "open", .choices = "open|closed",
      .help = "what to wait for" },
    { "path", PARAM_STRING, .help = "a path to ask for over HTTP, such as /health" },
    { "status", PARAM_INT, .help = "the HTTP status to wait for; 200 when 'path' is given" },
    { "timeout", PARAM_DURATION, .fallback = "60s", .help = "when to give up" },
    { "interval", PARAM_DURATION, .fallback = "1s", .help = "how long to wait between two tries" },
    { 0 },
};

static const Action actions[] = {
    { "wait_for", "Wait until a port answers, or HTTP has a status.", wait_for_params,
      wait_for_check, .id_param = "port", .waits = true,
      .text =
          "With 'path' or 'status' a request is made over HTTP/1.1, without TLS. A plan asks once\n"
          "and says 'unknown' when there is no answer yet.\n",
      .example = "- name: until the database is gone\n"
                 "  net.wait_for:\n"
                 "    - port: 1\n"
                 "    - state: closed\n"
                 "    - timeout: 5s\n" },
    { 0 },
};

const Module modules_net = {
    .name = "net",
    .help = "Waiting for others.",
    .actions = actions,
};
