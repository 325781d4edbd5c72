/* Combines the trust reports of nodes with their records and the revocation list. */
#include "membership/trust_listing.h"

#include "cluster/cluster_keys.h"

bool trust_list(Arena *arena, const ClusterStore *cluster_store, TrustListing *out, Error *err)
{
    NodesListing listing;
    if (!nodes_list_all(arena, cluster_store, &listing, err)) {
        return false;
    }
    const RevocationList *revoked = roster_revoked(cluster_store->roster);
    if (revoked->is_unreadable) {
        return error_set(err, ERROR_INVALID, "cannot read the revocation list");
    }
    NodeTrust *nodes = ARENA_ARRAY(arena, NodeTrust, listing.node_count);
    for (uint32_t i = 0; i < listing.node_count; i++) {
        const RosterNode *node = listing.nodes[i].node;
        Str name = str_from_c(node->record.name);
        Str excluded_key = cluster_key_rotation_excluded(arena, cluster_store->prefix, name);
        const StateEntry *report = state_find(
            cluster_store->state, cluster_key_trust_of(arena, cluster_store->prefix, name));
        Error read_error;
        nodes[i] =
            (NodeTrust){ .node = node,
                         .is_excluded = state_find(cluster_store->state, excluded_key) != NULL,
                         .is_revoked = node_record_is_revoked(&node->record, revoked) };
        nodes[i].has_report = report != NULL && trust_report_read(arena, report->value,
                                                                  &nodes[i].report, &read_error);
    }
    *out = (TrustListing){ nodes, listing.node_count };
    return true;
}
