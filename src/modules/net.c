/* net.*: waiting for a port or an HTTP response. Waiting changes nothing, so check does it; a plan
 * tests once and does not wait. */
#include "modules/call.h"
#include "sys/clock.h"
#include "sys/probe.h"

enum {
    TRY_MS_MAX = 5000,
    TRY_MS_MIN = 200 /* minimum, even for the last attempt: a shorter one would be inconclusive */
};

typedef struct Probe {
    Str host;
    uint16_t port;
    Str path;
    int64_t status; /* 0: only the port is tested */
    bool closed;
} Probe;

static bool read_params(Call *call, Probe *probe, Error *err)
{
    int64_t port = call_int(call, "port", 0);
    if (port < 1 || port > UINT16_MAX) {
        return error_set(err, ERROR_INVALID, "'port' must be from 1 to 65535");
    }
    *probe = (Probe){ .host = call_str(call, "host"),
                      .port = (uint16_t)port,
                      .path = call_str(call, "path"),
                      .status = call_int(call, "status", 0),
                      .closed = str_eq(call_str(call, "state"), STR("closed")) };
    probe->status = probe->status == 0 && probe->path.len > 0 ? 200 : probe->status;
    probe->path = probe->path.len > 0 ? probe->path : STR("/");
    return !(probe->closed && probe->status != 0) ||
           error_set(err, ERROR_INVALID, "'status' requires 'state: open'");
}

static bool verify_params(Call *call, Error *err)
{
    Probe probe;
    return read_params(call, &probe, err);
}
CALL_VERIFY(wait_for_verify, verify_params)

/* Returns false and sets `err` to what is missing; after ERROR_INVALID, retrying is pointless. */
static bool run_probe(Call *call, const Probe *probe, int64_t timeout_ms, Error *err)
{
    int status;
    if (probe->status == 0) {
        bool open =
            probe_port(call->arena, probe->host, probe->port, timeout_ms, call->canceled, err);
        if (open && probe->closed) {
            return error_set(err, ERROR_UNAVAILABLE, "the port is still open");
        }
        return open || (probe->closed && err->kind != ERROR_INVALID && !call_canceled(call));
    }
    const ProbeUrl url = { probe->host, probe->port, probe->path };
    if (!probe_http(call->arena, &url, timeout_ms, call->canceled, &status, err)) {
        return false;
    }
    return status == probe->status ||
           error_set(err, ERROR_UNAVAILABLE, "responded with status %d, not %d", status,
                     (int)probe->status);
}

static bool wait_for_check(Call *call, Outcome *outcome, Error *err)
{
    Probe probe = { 0 };
    if (!read_params(call, &probe, err)) {
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
        bool ok = run_probe(call, &probe, try_ms, err);
        arena_release(call->arena, mark);
        if (ok) {
            outcome->comment = probe.closed ? STR("not reachable") : STR("answers");
            return true;
        }
        if (err->kind == ERROR_INVALID || call_canceled(call)) {
            return false;
        }
        if (call->planning) {
            outcome->unknown = true;
            outcome->comment = arena_copy(call->arena, str_from_c(err->text));
            return true;
        }
        if (clock_monotonic_us() + interval_ms * 1000 >= deadline_us) {
            err->kind = ERROR_TIMEOUT;
            return error_wrap(err, "%" STR_FMT " port %u, after %g s", STR_ARG(probe.host),
                              probe.port, (double)call_int(call, "timeout", 60000) / 1000);
        }
        if (!call_sleep(call, interval_ms, err)) {
            return false;
        }
    }
}

static const ParamSpec wait_for_params[] = {
    { "host", PARAM_STRING, .fallback = "127.0.0.1", .help = "address or name of the host" },
    { "port", PARAM_INT, .required = true, .help = "TCP port" },
    { "state", PARAM_STRING, .fallback = "open", .choices = "open|closed",
      .help = "state to wait for" },
    { "path", PARAM_STRING, .help = "path of an HTTP request, such as /health" },
    { "status", PARAM_INT, .help = "HTTP status to wait for; default: 200 if 'path' is set" },
    { "timeout", PARAM_DURATION, .fallback = "60s", .help = "when to give up" },
    { "interval", PARAM_DURATION, .fallback = "1s", .help = "how long to wait between attempts" },
    { 0 },
};

static const Action actions[] = {
    { "wait_for", "Wait until a port is open, or an HTTP request returns the given status.",
      wait_for_params, wait_for_check, .verify_all = wait_for_verify, .id_param = "port",
      .may_sleep = true,
      .text = "With 'path' or 'status' it sends an HTTP/1.1 request, without TLS. A plan tests\n"
              "once and reports 'unknown' if the condition has not been met yet.\n",
      .example = "- name: wait until the database has stopped\n"
                 "  net.wait_for:\n"
                 "    - port: 1\n"
                 "    - state: closed\n"
                 "    - timeout: 5s\n" },
    { 0 },
};

const Module modules_net = {
    .name = "net",
    .help = "Waiting for ports and HTTP responses.",
    .actions = actions,
};
