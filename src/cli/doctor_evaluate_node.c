/* Evaluators of the machine and the node. */
#include <inttypes.h>

#include "cli/cluster_client.h"
#include "cli/doctor_evaluators.h"
#include "cli/output.h"

enum {
    CLOCK_WARNING_MS = 30 * 1000,
    CLOCK_FAILED_MS = 5 * 60 * 1000, /* certificates are backdated by this duration */
    SPOOL_WARNING_BYTES = 32 << 20,
};

static DoctorResult skip_no_node(Arena *arena)
{
    return doctor_result(arena, DOCTOR_SKIPPED, "this machine is not a node");
}

static DoctorResult skip_no_root(Arena *arena)
{
    return doctor_result(arena, DOCTOR_SKIPPED, "requires root");
}

static bool is_hidden(const DoctorView *view, const Error *err)
{
    return !view->is_root && err->kind == ERROR_DENIED;
}

DoctorResult evaluate_state(Arena *arena, const DoctorView *view)
{
    const DoctorPath *state = &view->state;
    if (state->err.kind == ERROR_NOT_FOUND && view->queries_remote) {
        return doctor_result(arena, DOCTOR_SKIPPED, "none exists, and none is needed");
    }
    if (state->err.kind == ERROR_NOT_FOUND) {
        return doctor_result(arena, DOCTOR_WARNING, "%s", state->err.text);
    }
    if (state->err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", state->err.text);
    }
    if (state->is_foreign || (state->mode & 022) != 0) {
        return doctor_result(arena, DOCTOR_FAILED,
                             "users other than root can change it (mode %04o)", state->mode);
    }
    return doctor_result(arena, DOCTOR_OK, "mode %04o", state->mode);
}

DoctorResult evaluate_member(Arena *arena, const DoctorView *view)
{
    if (view->is_server && view->settings_err.kind == ERROR_NONE) {
        return doctor_result(arena, DOCTOR_OK, "server '%s' of cluster '%s'", view->settings.node,
                             view->settings.cluster);
    }
    if (view->is_node && view->node_err.kind == ERROR_NONE) {
        return doctor_result(arena, DOCTOR_OK, "node '%s' of cluster '%s'", view->node.node,
                             view->node.cluster);
    }
    if (view->is_node || view->is_server) {
        return doctor_result(arena,
                             is_hidden(view, &view->node_err) ? DOCTOR_SKIPPED : DOCTOR_FAILED,
                             "%s", view->is_server ? view->settings_err.text : view->node_err.text);
    }
    return view->queries_remote
               ? doctor_result(arena, DOCTOR_OK,
                               "this machine is not a member; checking the selected server instead")
               : doctor_result(arena, DOCTOR_WARNING, "this machine does not belong to a cluster");
}

static DoctorResult evaluate_directory(Arena *arena, const DoctorView *view,
                                       const DoctorPath *directory, const Error *content)
{
    if (is_hidden(view, &directory->err)) {
        return skip_no_root(arena);
    }
    if (directory->err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", directory->err.text);
    }
    if ((directory->mode & 077) != 0) {
        return doctor_result(arena, DOCTOR_FAILED, "other users can read its keys (mode %04o)",
                             directory->mode);
    }
    if (is_hidden(view, content)) {
        return skip_no_root(arena);
    }
    if (content->kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", content->text);
    }
    return doctor_result(arena, DOCTOR_OK, "mode %04o", directory->mode);
}

/* On a server, the agent can recreate the node's files. */
static const char by_server[] =
    "'systemctl restart eden': the agent recreates it from the server's files";

DoctorResult evaluate_agent_files(Arena *arena, const DoctorView *view)
{
    if (!view->is_node) {
        return skip_no_node(arena);
    }
    DoctorResult result = evaluate_directory(arena, view, &view->agent_directory, &view->node_err);
    return view->is_server && view->node_err.kind == ERROR_NOT_FOUND ? doctor_fix(result, by_server)
                                                                     : result;
}

DoctorResult evaluate_server_files(Arena *arena, const DoctorView *view)
{
    return view->is_server
               ? evaluate_directory(arena, view, &view->server_directory, &view->settings_err)
               : doctor_result(arena, DOCTOR_SKIPPED, "this machine is not a server");
}

DoctorResult evaluate_agent_key(Arena *arena, const DoctorView *view)
{
    if (!view->is_node) {
        return skip_no_node(arena);
    }
    if (is_hidden(view, &view->own.err) && !view->own.is_exposed) {
        return skip_no_root(arena);
    }
    if (view->own.err.kind != ERROR_NONE) {
        const char *lost =
            view->is_server
                ? by_server
                : "restore the file from a copy; or 'eden leave --force', then 'eden join'";
        return doctor_fix(doctor_result(arena, DOCTOR_FAILED, "%s", view->own.err.text),
                          doctor_key_fix(&view->own, lost));
    }
    const Identity *identity = &view->own.certificate.identity;
    if (view->node_err.kind == ERROR_NONE &&
        (!view->own.certificate.has_identity || strcmp(identity->node, view->node.node) != 0 ||
         strcmp(identity->cluster, view->node.cluster) != 0)) {
        return doctor_result(
            arena, DOCTOR_FAILED,
            "the certificate belongs to '%s' of cluster '%s', but this node is '%s'",
            identity->node, identity->cluster, view->node.node);
    }
    return doctor_result(arena, DOCTOR_OK, "serial number %s", view->own.certificate.serial);
}

DoctorResult evaluate_agent_certificate(Arena *arena, const DoctorView *view)
{
    if (!view->is_node || view->own.err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_SKIPPED, "nothing to check");
    }
    DoctorCertificate certificate = view->own;
    certificate.trust = (Error){ 0 }; /* evaluate_clock() checks this */
    DoctorResult result = doctor_certificate(arena, &certificate, view->now_ms);
    const Value *reported =
        view->agent.err.kind == ERROR_NONE ? value_get(view->agent.json, STR("certificate")) : NULL;
    Str why = reported != NULL && reported->kind == VALUE_MAP ? value_get_text(*reported, "why")
                                                              : STR_EMPTY;
    if (result.state == DOCTOR_WARNING && why.len > 0) {
        return doctor_result(arena, DOCTOR_WARNING, "%" STR_FMT ": %" STR_FMT, STR_ARG(result.text),
                             STR_ARG(why));
    }
    return result;
}

DoctorResult evaluate_agent_trust(Arena *arena, const DoctorView *view)
{
    if (!view->is_node || view->own.err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_SKIPPED, "there is no certificate to check");
    }
    if (view->bundle_err.kind != ERROR_NONE) {
        DoctorResult result = doctor_result(arena, DOCTOR_FAILED, "%s", view->bundle_err.text);
        return view->is_server && view->bundle_err.kind == ERROR_NOT_FOUND
                   ? doctor_fix(result, by_server)
                   : result;
    }
    /* evaluate_agent_certificate() reports expiry. */
    bool is_time = view->own.plan.state == RENEWAL_EXPIRED || view->own.plan.state == RENEWAL_EARLY;
    if (view->own.trust.kind != ERROR_NONE && !is_time) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", view->own.trust.text);
    }
    return doctor_result(arena, DOCTOR_OK, "the certificate was issued by a trusted CA");
}

DoctorResult evaluate_agent(Arena *arena, const DoctorView *view)
{
    if (!view->is_node) {
        return skip_no_node(arena);
    }
    if (is_hidden(view, &view->agent.err)) {
        return skip_no_root(arena);
    }
    if (view->agent.err.kind != ERROR_NONE) {
        return doctor_result(arena, DOCTOR_FAILED, "%s", view->agent.err.text);
    }
    Str version = value_get_text(view->agent.json, "version");
    if (!str_eq_c(version, EDEN_VERSION)) {
        return doctor_result(arena, DOCTOR_WARNING,
                             "running version %" STR_FMT ", but this program is %s: restart it",
                             STR_ARG(version), EDEN_VERSION);
    }
    return doctor_result(arena, DOCTOR_OK, "since %" STR_FMT,
                         STR_ARG(value_get_text(view->agent.json, "started")));
}

static bool agent_reports(const DoctorView *view, const char *name, Value *out)
{
    const Value *value = view->agent.was_queried && view->agent.err.kind == ERROR_NONE
                             ? value_get(view->agent.json, str_from_c(name))
                             : NULL;
    *out = value != NULL ? *value : value_null();
    return out->kind == VALUE_MAP;
}

DoctorResult evaluate_session(Arena *arena, const DoctorView *view)
{
    Value session;
    if (!agent_reports(view, "session", &session)) {
        return doctor_result(arena, DOCTOR_SKIPPED, "no agent has reported a session");
    }
    Str state = value_get_text(session, "state"), why = value_get_text(session, "why");
    Str server = value_get_text(session, "server"), since = value_get_text(session, "since");
    DoctorResult result;
    if (str_eq_c(state, "live")) {
        return doctor_result(arena, DOCTOR_OK, "with '%" STR_FMT "' since %" STR_FMT,
                             STR_ARG(server), STR_ARG(since));
    }
    if (why.len > 0) {
        result = doctor_result(arena, DOCTOR_FAILED,
                               "none since %" STR_FMT ", after %" PRId64 " attempts: %" STR_FMT,
                               STR_ARG(since), value_get_int(session, "failures"), STR_ARG(why));
    } else {
        result =
            doctor_result(arena, DOCTOR_WARNING, "%" STR_FMT " to '%" STR_FMT "' since %" STR_FMT,
                          STR_ARG(state), STR_ARG(server), STR_ARG(since));
    }
    return view->is_server ? doctor_fix(result, "see 'server': it runs on this machine") : result;
}

DoctorResult evaluate_spool(Arena *arena, const DoctorView *view)
{
    Value spool;
    if (!agent_reports(view, "spool", &spool)) {
        return doctor_result(arena, DOCTOR_SKIPPED, "no agent has reported its spool");
    }
    Str why = value_get_text(spool, "why");
    int64_t records = value_get_int(spool, "records"), dropped = value_get_int(spool, "dropped");
    Str waiting = output_count(arena, records, "pending record", "pending records");
    if (why.len > 0) {
        return doctor_result(arena, DOCTOR_FAILED, "cannot write it: %" STR_FMT, STR_ARG(why));
    }
    if (value_get_bool(spool, "damaged")) {
        return doctor_fix(doctor_result(arena, DOCTOR_WARNING,
                                        "%" STR_FMT
                                        "; records were lost because part of the spool was damaged",
                                        STR_ARG(waiting)),
                          "check the disk; the damaged part is in agent/spool/spool.damaged in "
                          "the state directory: delete it when it is no longer needed");
    }
    if (dropped > 0 || value_get_int(spool, "bytes") > SPOOL_WARNING_BYTES) {
        return doctor_result(arena, DOCTOR_WARNING, "%" STR_FMT "; %" PRId64 " log%s were dropped",
                             STR_ARG(waiting), dropped, dropped == 1 ? "" : "s");
    }
    return doctor_result(arena, DOCTOR_OK, "%" STR_FMT, STR_ARG(waiting));
}

/* --- Servers, from here ---------------------------------------------------------------------- */

DoctorResult evaluate_names(Arena *arena, const DoctorView *view)
{
    Buf wrong = buf_make_in(arena, BUF_UNLIMITED);
    if (view->server_count == 0) {
        return doctor_result(arena, DOCTOR_SKIPPED, "no server is known on this machine");
    }
    for (uint32_t i = 0; i < view->server_count; i++) {
        const DoctorServer *server = &view->servers[i];
        if (server->rpc.err.kind == ERROR_NOT_FOUND || server->rpc.err.kind == ERROR_INVALID) {
            buf_put_format(&wrong, "%s%s", wrong.len > 0 ? "; " : "", server->rpc.err.text);
        }
    }
    return wrong.len > 0
               ? doctor_result(arena, DOCTOR_FAILED, "%" STR_FMT, STR_ARG(buf_str(&wrong)))
               : doctor_result(arena, DOCTOR_OK, "%u known", view->server_count);
}

static void put_unreachable(Buf *out, const DoctorServer *server)
{
    const DoctorPort *ports[] = { &server->rpc, &server->api };
    for (size_t i = 0; i < COUNT_OF(ports); i++) {
        if (ports[i]->err.kind != ERROR_NONE) {
            buf_put_format(out, "%s%" STR_FMT ": %s", out->len > 0 ? "; " : "",
                           STR_ARG(ports[i]->address), ports[i]->err.text);
        }
    }
    if (server->api.err.kind == ERROR_NONE && !server->responded) {
        buf_put_format(out, "%s%" STR_FMT ": %s", out->len > 0 ? "; " : "",
                       STR_ARG(server->api.address), server->err.text);
    }
}

/* Whether its ports are open but it is not responding. */
static bool is_silent(const DoctorServer *server)
{
    return server->rpc.err.kind == ERROR_NONE && server->api.err.kind == ERROR_NONE &&
           !server->responded && server->err.kind == ERROR_TIMEOUT;
}

DoctorResult evaluate_reach(Arena *arena, const DoctorView *view)
{
    Buf wrong = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t reachable = 0, silent = 0;
    if (view->server_count == 0) {
        return doctor_result(arena, DOCTOR_SKIPPED, "no server is known on this machine");
    }
    for (uint32_t i = 0; i < view->server_count; i++) {
        size_t before = wrong.len;
        put_unreachable(&wrong, &view->servers[i]);
        reachable += wrong.len == before;
        silent += is_silent(&view->servers[i]);
    }
    if (wrong.len == 0) {
        return doctor_result(arena, DOCTOR_OK, "%u of %u", reachable, view->server_count);
    }
    DoctorResult result = doctor_result(arena, reachable == 0 ? DOCTOR_FAILED : DOCTOR_WARNING,
                                        "%" STR_FMT, STR_ARG(buf_str(&wrong)));
    return reachable + silent < view->server_count
               ? result
               : doctor_fix(result, "the ports are open, but the server is not responding: 'eden "
                                    "doctor' and the log there show the reason");
}

/* Also compares the clock of the current context's server. */
static void compare_context_clocks(const DoctorView *view, DoctorServer *worst, int64_t *most)
{
    for (uint32_t i = 0; i < view->context_count; i++) {
        const DoctorContext *context = &view->contexts[i];
        int64_t ahead = context->local_ms - context->time_ms, apart = ahead < 0 ? -ahead : ahead;
        if (context->time_ms > 0 && apart > *most) {
            *most = apart;
            *worst = (DoctorServer){ .node = context->server,
                                     .time_ms = context->time_ms,
                                     .local_ms = context->local_ms };
        }
    }
}

DoctorResult evaluate_clock(Arena *arena, const DoctorView *view)
{
    const DoctorServer *worst = NULL;
    DoctorServer remote = { 0 };
    int64_t most = -1;
    for (uint32_t i = 0; i < view->server_count; i++) {
        const DoctorServer *server = &view->servers[i];
        int64_t ahead = server->local_ms - server->time_ms;
        int64_t apart = ahead < 0 ? -ahead : ahead;
        if (server->responded && apart > most) {
            most = apart;
            worst = server;
        }
    }
    int64_t suggestion = most;
    compare_context_clocks(view, &remote, &most);
    worst = most > suggestion ? &remote : worst;
    if (worst == NULL) {
        return doctor_result(arena, DOCTOR_SKIPPED, "no server has reported its time");
    }
    if (most <= CLOCK_WARNING_MS) {
        return doctor_result(arena, DOCTOR_OK, "%" PRId64 " ms apart", most);
    }
    Str own = utc_text(arena, worst->local_ms), other_ms = utc_text(arena, worst->time_ms);
    return doctor_result(arena, most > CLOCK_FAILED_MS ? DOCTOR_FAILED : DOCTOR_WARNING,
                         "here it is %" STR_FMT ", on '%" STR_FMT "' it is %" STR_FMT, STR_ARG(own),
                         STR_ARG(worst->node), STR_ARG(other_ms));
}
