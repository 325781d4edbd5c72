/* Status of the agent, as a line of text and as JSON. */
#include "agent/agent_inner.h"
#include "base/json_out.h"
#include "lang/json.h"

static void put_session(Buf *out, const MembershipStatus *status)
{
    const SessionNodeStatus *session = &status->session;
    json_out_open(out, "session", '{');
    json_out_text(out, "state", str_from_c(session_node_state_name(session->state)));
    json_out_time(out, "since", status->session_since_ms);
    json_out_text(out, "server", str_from_c(status->server->node));
    json_out_text(out, "address", status->server->rpc);
    json_out_int(out, "failures", session->failures);
    if (session->state == SESSION_WAITING) {
        json_out_text(out, "why", str_from_c(session->why->text));
        json_out_int(out, "next_try_ms", status->next_try_ms);
    }
    json_out_close(out, '}');
}

static void put_spool(Buf *out, const MembershipStatus *status)
{
    json_out_open(out, "spool", '{');
    json_out_int(out, "records", status->outbox.records);
    json_out_int(out, "bytes", (int64_t)status->outbox.bytes);
    json_out_int(out, "dropped", (int64_t)status->outbox.dropped);
    json_out_int(out, "file_bytes", status->spool.bytes);
    json_out_bool(out, "damaged", status->spool.was_damaged);
    if (status->spool.why != NULL) {
        json_out_text(out, "why", str_from_c(status->spool.why->text));
    }
    json_out_close(out, '}');
}

static void put_certificate(Buf *out, const MembershipStatus *status)
{
    const TrustStatus *trust = &status->trust;
    char pin[PIN_TEXT + 1];
    json_out_open(out, "certificate", '{');
    json_out_text(out, "serial", str_from_c(trust->certificate->serial));
    json_out_time(out, "not_after", trust->certificate->not_after_ms);
    json_out_time(out, "renew_at", trust->plan.due_ms);
    json_out_bool(out, "renewing", trust->renewing);
    json_out_int(out, "failures", trust->failures);
    if (trust->why != NULL) {
        json_out_text(out, "why", str_from_c(trust->why->text));
    }
    json_out_open(out, "cas", '[');
    for (uint32_t i = 0; i < trust->bundle.count; i++) {
        pin_text(&trust->bundle.items[i].pin, pin);
        buf_put_format(out, "%s\"%s\"", i > 0 ? "," : "", pin);
    }
    json_out_close(out, ']');
    json_out_close(out, '}');
}

static void put_time(Buf *out, const char *name, int64_t ms)
{
    if (ms == 0) {
        json_out_null(out, name);
    } else {
        json_out_time(out, name, ms);
    }
}

static void put_labels(Buf *out, Value labels)
{
    Error err;
    if (labels.kind != VALUE_MAP) {
        json_out_null(out, "labels");
        return;
    }
    json_out_name(out, "labels");
    (void)!json_print(out, labels, NULL, &err);
}

static void put_membership(Buf *out, const Membership *membership)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    MembershipStatus status;
    membership_status(membership, &arena, &status);
    json_out_text(out, "cluster", str_from_c(status.state->cluster));
    json_out_text(out, "node", str_from_c(status.state->node));
    json_out_text(out, "boot_id", status.boot_id);
    put_labels(out, status.labels);
    json_out_int(out, "revision", status.node.revision);
    put_session(out, &status);
    put_spool(out, &status);
    put_certificate(out, &status);
    json_out_open(out, "facts", '{');
    put_time(out, "collected", status.facts.collected_ms);
    put_time(out, "sent", status.facts.sent_ms);
    json_out_close(out, '}');
}

static void put_server(Buf *out, const ServerSupervisor *supervisor)
{
    SupervisorStatus status = server_supervisor_status(supervisor);
    json_out_open(out, "server", '{');
    json_out_text(out, "state", str_from_c(supervisor_state_name(status.state)));
    json_out_time(out, "since", status.since_ms);
    if (status.pid != 0) {
        json_out_int(out, "pid", status.pid);
    }
    json_out_int(out, "ends", status.exits);
    if (status.why[0] != '\0') {
        json_out_text(out, "why", str_from_c(status.why));
    }
    json_out_close(out, '}');
}

void agent_status_print(const Agent *agent, Buf *out)
{
    json_out_start(out, "eden.agent-status/1");
    json_out_text(out, "version", STR(EDEN_VERSION));
    json_out_time(out, "started", agent->started_ms);
    if (agent->membership != NULL) {
        put_membership(out, agent->membership);
    } else {
        json_out_null(out, "node");
        json_out_text(out, "why", str_from_c(agent->why.text));
    }
    put_server(out, agent->supervisor);
    datastore_supervisor_print(agent->datastore, out);
    json_out_close(out, '}');
}

void agent_line(const Agent *agent, Buf *out)
{
    if (agent->membership == NULL) {
        if (agent->why.kind == ERROR_NOT_FOUND) {
            buf_put_c(out, "not a node of a cluster; 'eden join' adds it to one");
        } else {
            buf_put_format(out, "cannot act as a node: %s", agent->why.text);
        }
        return;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    MembershipStatus status;
    membership_status(agent->membership, &arena, &status);
    buf_put_format(out, "node '%s' of '%s': ", status.state->node, status.state->cluster);
    if (status.session.state == SESSION_LIVE) {
        buf_put_format(out, "session with %s (%" STR_FMT ")", status.server->node,
                       STR_ARG(status.server->rpc));
    } else if (status.session.state == SESSION_WAITING) {
        buf_put_format(out, "no session: %s", status.session.why->text);
    } else {
        buf_put_format(out, "%s to %s", session_node_state_name(status.session.state),
                       status.server->node);
    }
}
