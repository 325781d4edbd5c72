/* The plan of a temporary cluster: names, addresses, command
 * lines. Pure. Nodes are numbered from 0; the first is the server. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/value.h"

enum {
    DEV_NODES_MAX = 100,
    DEV_PREFIX = 24,       /* prefix length of the network */
    DEV_API_PORT = 1338,   /* default */
    DEV_HUB_ADDRESS = 254, /* last octet of the hub */
};

const char *dev_node_name(Arena *arena, uint32_t node);
const char *dev_address(Arena *arena, uint32_t last); /* the address with this last octet */
const char *dev_node_address(Arena *arena, uint32_t node);
/* The content of /etc/hosts. */
Str dev_hosts(Arena *arena, uint32_t count);

/* Commands that run in a node, each terminated by NULL. The token is read from standard input. */
const char *const *dev_init_argv(Arena *arena, uint16_t port);
const char *const *dev_join_argv(Arena *arena, uint16_t port, uint32_t node, const char *pin);
const char *const *dev_agent_argv(Arena *arena);

/* Paths in the directory of a cluster. */
const char *dev_node_directory(Arena *arena, const char *path, uint32_t node);
const char *dev_run_dir(Arena *arena, const char *path, uint32_t node);

typedef struct DevDescription {
    const char *path;
    uint16_t port;
    uint32_t count;
    const int64_t *processes; /* first process of each node */
    Str ca_pin;
    Str token; /* token for the API, with all permissions */
} DevDescription;

/* Builds "eden.dev/1": the description of a running cluster for other processes. */
Value dev_describe(Arena *arena, const DevDescription *description);
/* Validates a description. */
MUST_CHECK bool dev_description_check(Arena *arena, Value description, Error *err);
