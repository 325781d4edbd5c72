#include "membership/node_servers.h"

#include <stdio.h>

#include "net/address.h"

static const ServerRecord *find_record(const ServerRecord *records, uint32_t count,
                                       const char *name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(records[i].name, name) == 0) {
            return &records[i];
        }
    }
    return NULL;
}

static const NodeServer *find_known(const NodeState *before, const char *name)
{
    for (uint32_t i = 0; i < before->server_count; i++) {
        if (strcmp(before->servers[i].node, name) == 0) {
            return &before->servers[i];
        }
    }
    return NULL;
}

static bool can_serve(const ServerRecord *record)
{
    return record->rpc_count > 0 && record->api_count > 0;
}

/* Whether the address is in the list; one on this machine may have any host. */
static bool is_listed(Str text, const Str *list, uint32_t count)
{
    Address address, listed;
    Error err;
    if (!address_parse(text, 0, &address, &err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (address_parse(list[i], 0, &listed, &err) && address.port == listed.port &&
            (address_is_loopback(&address) || address_same_host(&address, &listed))) {
            return true;
        }
    }
    return false;
}

static NodeServer refresh(const NodeServer *before, const ServerRecord *record)
{
    NodeServer server = *before;
    if (!is_listed(before->rpc, record->rpc, record->rpc_count) ||
        !is_listed(before->api, record->api, record->api_count)) {
        server.rpc = record->rpc[0];
        server.api = record->api[0];
    }
    return server;
}

bool node_servers_merge(Arena *arena, const NodeState *before, const ServerRecord *records,
                        uint32_t count, NodeState *out)
{
    NodeServer *servers = ARENA_ARRAY(arena, NodeServer, NODE_SERVERS_MAX);
    uint32_t used = 0;
    bool has_changed = false;
    for (uint32_t i = 0; i < before->server_count && used < NODE_SERVERS_MAX; i++) {
        const NodeServer *server = &before->servers[i];
        const ServerRecord *record = find_record(records, count, server->node);
        has_changed = has_changed || record == NULL;
        if (record != NULL) {
            servers[used] = can_serve(record) ? refresh(server, record) : *server;
            has_changed = has_changed || !str_eq(servers[used].rpc, server->rpc) ||
                          !str_eq(servers[used].api, server->api);
            used++;
        }
    }
    for (uint32_t i = 0; i < count && used < NODE_SERVERS_MAX; i++) {
        if (can_serve(&records[i]) && find_known(before, records[i].name) == NULL) {
            servers[used] = (NodeServer){ .rpc = records[i].rpc[0],
                                          .api = records[i].api[0],
                                          .unknown = value_missing() };
            memcpy(servers[used++].node, records[i].name, sizeof servers->node);
            has_changed = true;
        }
    }
    *out = *before;
    out->servers = servers;
    out->server_count = used;
    return has_changed && used > 0;
}
