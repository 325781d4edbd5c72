/* Revocation: one certificate is added to the list by its serial number; all certificates of a node
 * are invalidated by a new enrollment, since a serial number starts with the enrollment of its
 * node. */
#include "membership/revoke.h"

#include <stdio.h>

#include "base/hex.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "membership/nodes.h"
#include "pki/ca.h"
#include "pki/revocation.h"

enum {
    READ_NODE,
    READ_REVOCATIONS,
    READ_COUNT
};

typedef struct Revocation {
    ChangeRequest base;
    char name[NODE_NAME_MAX + 1];
    char serial[SERIAL_TEXT + 1]; /* empty: all certificates of the node */
} Revocation;

/* A new enrollment without certificates invalidates all earlier ones. */
static bool change_enrollment(Change *change, NodeRecord *node, RevocationList *list,
                              int64_t until_ms, Error *err)
{
    Arena *arena = change_arena(change);
    if (!enrollment_make(node->enrollment, err) ||
        !revocation_set_name(arena, list, str_from_c(node->name), str_from_c(node->enrollment),
                             until_ms, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    node_record_print(node, &text);
    change_put(change, change_key(change, READ_NODE), buf_str(&text), 0);
    return true;
}

/* The record of the node is written unchanged, to notify watches of the node or its certificate. */
static bool add_serial(Change *change, Str serial, RevocationList *list, int64_t until_ms,
                       Error *err)
{
    change_put(change, change_key(change, READ_NODE), change_value(change, READ_NODE), 0);
    return revocation_add_serial(change_arena(change), list, serial, until_ms, err);
}

static bool decide(void *context, Change *change, Error *err)
{
    Revocation *revocation = context;
    Arena *arena = change_arena(change);
    NodeRecord node;
    RevocationList list = { 0 };
    int64_t now_ms = loop_wall_ms(revocation->base.cluster_store.loop);
    if (!change_has(change, READ_NODE)) {
        return nodes_not_found(&revocation->base.cluster_store, str_from_c(revocation->name), err);
    }
    if (!node_record_read(arena, change_value(change, READ_NODE), &node, err) ||
        (change_has(change, READ_REVOCATIONS) &&
         !revocation_read(arena, change_value(change, READ_REVOCATIONS), &list, err))) {
        return false;
    }
    if (node.is_server) {
        return error_set(
            err, ERROR_CONFLICT,
            "'%s' is a server and would lock itself out; 'eden servers remove' makes it an "
            "ordinary node, and rotating the CA replaces all certificates",
            node.name);
    }
    /* The expiration of this certificate is unknown; only that of the node's newest one is. */
    int64_t until_ms = node.not_after_ms > now_ms + NODE_LIFETIME_MS ? node.not_after_ms
                                                                     : now_ms + NODE_LIFETIME_MS;
    revocation_prune(&list, now_ms);
    bool ok = revocation->serial[0] == '\0'
                  ? change_enrollment(change, &node, &list, until_ms, err)
                  : add_serial(change, str_from_c(revocation->serial), &list, until_ms, err);
    if (!ok) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    revocation_print(&list, &text);
    change_put(change, change_key(change, READ_REVOCATIONS), buf_str(&text), 0);
    return true;
}

static void start(Revocation *revocation)
{
    Arena *arena = &revocation->base.arena;
    Str prefix = revocation->base.cluster_store.prefix;
    Str keys[READ_COUNT] = {
        [READ_NODE] = cluster_key_node(arena, prefix, str_from_c(revocation->name)),
        [READ_REVOCATIONS] = cluster_key_revocations(arena, prefix),
    };
    change_request_start(
        &revocation->base,
        &(ChangeSpec){ .urgent = true, .keys = keys, .key_count = READ_COUNT, .decide = decide });
}

void revoke_node(const ClusterStore *cluster_store, Str name, ClusterDone *done, void *context)
{
    Error err;
    if (!node_name_check(name, &err)) {
        done(context, &err);
        return;
    }
    Revocation *revocation = change_request_new(sizeof *revocation, cluster_store, done, context);
    memcpy(revocation->name, name.data, name.len);
    start(revocation);
}

/* Its first half identifies the node. */
static bool find_owner(Revocation *revocation, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    NodesListing listing;
    Str unreadable = STR_EMPTY; /* the certificate may belong to such a node */
    arena_init(&arena, ARENA_UNLIMITED);
    if (!nodes_list_all(&arena, &revocation->base.cluster_store, &listing, err)) {
        return false;
    }
    for (uint32_t i = 0; i < listing.node_count; i++) {
        const RosterNode *node = listing.nodes[i].node;
        if (strncmp(node->record.enrollment, revocation->serial, ENROLLMENT_TEXT) == 0) {
            memcpy(revocation->name, node->record.name, sizeof revocation->name);
            return true;
        }
        unreadable = node->error.len > 0 ? node->error : unreadable;
    }
    if (unreadable.len > 0) {
        return error_set(err, ERROR_INVALID, "%" STR_FMT, STR_ARG(unreadable));
    }
    return error_set(err, ERROR_NOT_FOUND,
                     "no node has a certificate with serial number %s; 'eden pki list' shows them",
                     revocation->serial);
}

void revoke_serial(const ClusterStore *cluster_store, Str serial, ClusterDone *done, void *context)
{
    Error err;
    if (serial.len != SERIAL_DIGITS || !hex_is_valid(serial)) {
        error_set(&err, ERROR_INVALID, "a serial number must have %d digits (0-9, a-f)",
                  SERIAL_DIGITS);
        done(context, &err);
        return;
    }
    Revocation *revocation = change_request_new(sizeof *revocation, cluster_store, done, context);
    memcpy(revocation->serial, serial.data, serial.len);
    if (find_owner(revocation, &err)) {
        start(revocation);
    } else {
        change_request_end(&revocation->base, &err);
    }
}
