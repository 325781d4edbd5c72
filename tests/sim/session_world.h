/* Nodes and servers with sessions between them, in one process in virtual time: the real state
 * machines of src/rpc, with a simulated network, disks and store that fail at random.
 *
 * Durable state survives a crash: a node's spool and views, and the truth. All other state of the
 * process is lost. */
#pragma once

#include "base/vec.h"
#include "network.h"
#include "rpc/session_node.h"
#include "rpc/session_server.h"

enum {
    NODES = 2,
    SERVERS = 2,
    WATCHES = 2, /* each node has two: the even keys, and the odd ones */
    KEYS = 16,
    OUTBOX_MAX = 6000, /* bytes; small, so that it is sometimes full */
};

/* --- The truth: the contents of the cluster's store ------------------------------------------ */

typedef struct TruthChange {
    int64_t revision;
    uint32_t key;
    bool deleted;
    uint64_t value;
} TruthChange;

typedef struct TruthRecord {
    uint64_t id;
    uint64_t lost;
} TruthRecord;

typedef struct Truth {
    VEC(TruthChange)
    changes; /* all changes ever made; compacted ones are only used by the
                               * checks */
    int64_t revision, compacted;
    SessionCursor cursors[NODES];
    VEC(TruthRecord) taken[NODES];
} Truth;

typedef struct KeyState {
    bool there;
    uint64_t value;
    int64_t revision;
} KeyState;

/* The contents at a revision. */
void truth_state_at(const Truth *truth, int64_t revision, KeyState out[KEYS]);

/* --- Processes ------------------------------------------------------------------------------- */

typedef struct World World;

typedef struct SpoolRecord {
    uint64_t sequence, id;
    RecordKind kind;
    uint64_t lost;
    uint32_t size;
    bool durable;
    bool dropped;          /* in the outbox: it may or may not reach the server */
    bool gone;             /* acknowledged or dropped */
    bool gone_for_certain; /* acknowledged durably */
} SpoolRecord;

typedef struct View {
    char store[32]; /* durable, like the next two fields */
    int64_t revision;
    KeyState keys[KEYS];
    VEC(Change) unit; /* received part of the next unit; values are in `key` and `value` as text */
    bool unit_reset, unit_complete;
    int64_t unit_revision;
    uint64_t ticket;
    LoopTimer write; /* revision of the last received change */
} View;

typedef struct Node {
    World *world;
    uint32_t index;
    bool alive;
    uint32_t crashes;
    VEC(SpoolRecord) spool;
    uint64_t epoch;
    uint64_t last_durable;
    uint64_t ids;     /* delivered */
    uint64_t dropped; /* number of logs that never entered the spool, or were dropped from it */
    Outbox *outbox;
    SessionNode *session;
    Link *link;
    LoopTimer author, flush, connected, revive;
    View views[WATCHES];
    uint32_t resyncs;
} Node;

typedef struct ServerSession ServerSession;

typedef struct Server {
    World *world;
    uint32_t index;
    bool alive;
    ServerSession *sessions;
    LoopTimer revive;
} Server;

struct World {
    Loop *loop;
    Arena arena;
    uint64_t seed;
    uint64_t digest;
    bool calm; /* no more faults, no new records */
    bool disk_full;
    bool failed;
    Truth truth;
    Node nodes[NODES];
    Server servers[SERVERS];
    LoopTimer writer, faults;
    uint64_t counts[16]; /* counters of events, for the summary */
};

typedef enum Event {
    HAPPENED_LIVE,
    HAPPENED_TAKEN,
    HAPPENED_AGAIN, /* a batch that failed because of another session or the disk */
    HAPPENED_UNIT,
    HAPPENED_RESYNC,
    HAPPENED_DROP,
    HAPPENED_CUT,
    HAPPENED_SILENCE,
    HAPPENED_NODE_CRASH,
    HAPPENED_SERVER_CRASH,
    HAPPENED_REFUSED,
    HAPPENED_FULL,
    EVENTS
} Event;

/* Adds to the digest of the run, which must be equal for both runs of a seed. */
void world_note(World *world, Event what, uint64_t a, uint64_t b);
/* Fails the run; prints only the first reason. */
PRINTF_LIKE(2, 3) void world_fail(World *world, const char *format, ...);
uint64_t world_random(World *world, uint64_t below);
/* A record that every server rejects. */
static inline bool record_is_refused(uint64_t id)
{
    return id % 41 == 0;
}

/* --- session_world_node.c -------------------------------------------------------------------- */

void node_init(World *world, uint32_t index);
void node_crash(Node *node);
void node_free(Node *node);
void node_add_last(Node *node); /* adds a record that is not a log */

/* --- session_world_server.c ------------------------------------------------------------------ */

void server_init(World *world, uint32_t index);
/* A connection of a node; NULL if the server is down. */
bool server_accept(Server *server, uint32_t node, Link *link);
void server_crash(Server *server);
void server_free(Server *server);
void servers_changed(World *world); /* notifies the watches of new changes */
