/* The plan of a temporary cluster: names, addresses, command
 * lines. Pure. Nodes are numbered from 0; the first is the server. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/value.h"

enum {
    DEV_NODES_MAX = 100,
    DEV_PREFIX = 24,       /* bits of the network */
    DEV_API_PORT = 1338,   /* unless that is taken */
    DEV_HUB_ADDRESS = 254, /* last part of the hub's own */
};

const char *dev_node_name(Arena *arena, uint32_t node);
const char *dev_address(Arena *arena, uint32_t last); /* of the network, by its last part */
const char *dev_node_address(Arena *arena, uint32_t node);
/* The text of /etc/hosts. */
Str dev_hosts(Arena *arena, uint32_t count);

/* What runs in a node, each with NULL at its end. The token is read from standard input. */
const char *const *dev_init_words(Arena *arena, uint16_t port);
const char *const *dev_join_words(Arena *arena, uint16_t port, uint32_t node, const char *pin);
const char *const *dev_agent_words(Arena *arena);

/* Where things are, below the folder of a cluster. */
const char *dev_node_folder(Arena *arena, const char *folder, uint32_t node);
const char *dev_run_dir(Arena *arena, const char *folder, uint32_t node);

typedef struct DevCard {
    const char *folder;
    uint16_t port;
    uint32_t count;
    const int64_t *processes; /* one of each node */
    Str ca_pin;
    Str token; /* for the API, with all rights */
} DevCard;

/* "eden.dev/1": what others need to know of a cluster that is ready. */
Value dev_describe(Arena *arena, const DevCard *card);
/* Whether it is one, with all that is believed of it. */
MUST_CHECK bool dev_card_check(Arena *arena, Value card, Error *err);
