#include "membership/rotation_nodes.h"

/* A server has its own certificates in addition to those of its agent. */
static void add_own(const RotationView *view, RotationNode *node, bool has_agent)
{
    const Rotation *rotation = view->rotation;
    const Pin *issuer = rotation_issuer(rotation);
    bool own = view->has_issuer;
    bool trusts_current = rotation_trusts_present(rotation);
    bool trusts_next = rotation_trusts_next(rotation);
    if (!has_agent) {
        node->trusts_current = trusts_current;
        node->trusts_next = trusts_next;
        node->has_issuer = own;
        node->issuer = *issuer;
        node->silent = false;
        node->reported_ms = view->now_ms;
        return;
    }
    /* A CA can only be removed when both no longer use it, and a required CA must be trusted by
     * both. In the first phase it is sufficient that the server itself has loaded the next CA. */
    node->trusts_current = rotation->state == ROTATION_RETIRE
                               ? trusts_current || node->trusts_current
                               : trusts_current && node->trusts_current;
    node->trusts_next = trusts_next && (rotation->state == ROTATION_PREPARE || node->trusts_next);
    node->has_issuer = node->has_issuer && own && pin_equal(&node->issuer, issuer);
}

/* Another server reports the CA keys that it has, in addition to its agent's report; see
 * add_own(). */
static void add_server(const RotationView *view, const ServerRecord *server, RotationNode *node)
{
    const Rotation *rotation = view->rotation;
    bool has_next = server_record_has_ca(server, &rotation->next);
    const Pin *issuer = rotation_issuer(rotation);
    node->trusts_next = has_next && (rotation->state == ROTATION_PREPARE || node->trusts_next);
    node->has_issuer = node->has_issuer && pin_equal(&server->issuer, issuer);
    node->trusts_current =
        rotation->state == ROTATION_RETIRE
            ? server_record_has_ca(server, &rotation->present) || node->trusts_current
            : node->trusts_current;
}

static RotationNode rotation_node(const RotationView *view, const NodeTrust *trust)
{
    const NodeRecord *record = &trust->node->record;
    const Rotation *rotation = view->rotation;
    RotationNode node = { .name = str_from_c(record->name),
                          .is_server = record->is_server,
                          .silent = !trust->node->is_alive,
                          .reported_ms = record->joined_ms };
    if (trust->has_report) {
        node.trusts_current = trust_report_trusts(&trust->report, &rotation->present);
        node.trusts_next = trust_report_trusts(&trust->report, &rotation->next);
        node.has_issuer = trust->report.has_issuer;
        node.issuer = trust->report.issuer;
        node.reported_ms = trust->report.time_ms;
    }
    if (str_eq(node.name, view->server)) {
        add_own(view, &node, trust->has_report);
    } else if (servers_find(view->servers, node.name) != NULL) {
        add_server(view, &servers_find(view->servers, node.name)->record, &node);
    }
    return node;
}

/* A node without a valid certificate cannot connect anyway. */
static bool must_wait_for(const RotationView *view, const NodeTrust *trust)
{
    const NodeRecord *record = &trust->node->record;
    /* After a restore, the report of the node may be newer than its record. */
    bool report_is_newer = trust->has_report && trust->report.not_after_ms > record->not_after_ms;
    int64_t not_after_ms = report_is_newer ? trust->report.not_after_ms : record->not_after_ms;
    bool is_locked_out = trust->is_excluded || trust->is_revoked || not_after_ms <= view->now_ms;
    /* It is unknown whether a node with an unreadable
     * record is locked out: an operator has to exclude it. */
    bool is_unreadable = trust->node->error.len > 0 && !trust->is_excluded;
    return record->is_server || is_unreadable || !is_locked_out;
}

const RotationNode *rotation_nodes(Arena *arena, const RotationView *view, uint32_t *count)
{
    RotationNode *nodes = ARENA_ARRAY(arena, RotationNode, view->nodes->count);
    *count = 0;
    for (uint32_t i = 0; i < view->nodes->count; i++) {
        if (must_wait_for(view, &view->nodes->nodes[i])) {
            nodes[(*count)++] = rotation_node(view, &view->nodes->nodes[i]);
        }
    }
    return nodes;
}
