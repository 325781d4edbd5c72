/* The nodes of the cluster, parsed once when their records change: members, liveness,
 * and revocations. Used by listeners at every handshake and call, and for lists of
 * nodes, without waiting. A view of the state (cluster/state.h). Loop thread. */
#pragma once

#include "cluster/state.h"
#include "membership/node_record.h"
#include "model/selector.h"
#include "pki/revocation.h"

enum {
    NODE_VERSION_MAX = 128 /* bytes */
};

typedef struct RosterNode {
    NodeRecord record;         /* only a name when it cannot be read */
    int64_t revision;          /* of the record's last change */
    Str error;                 /* why it cannot be read; empty: it can */
    bool is_alive;             /* it has a session with a server */
    int64_t since_ms;          /* of that, or of its silence; 0: that is not known */
    const StateEntry *silence; /* since when it is silent; may be of an earlier time; or NULL */
    char version[NODE_VERSION_MAX + 1]; /* of eden, as it says itself while alive */
    const StateEntry *session;          /* what its servers keep of it; NULL: it had none yet */
    bool has_facts;
    Str facts; /* those that are kept (cluster/facts_digest.h); empty: none */
} RosterNode;

typedef struct RosterEvents {
    void (*changed)(void *context); /* a node came, went, or is revoked */
    void *context;
    /* A node's session is over, and it has not come back in time. May be NULL. */
    void (*silent)(void *context, const RosterNode *node);
} RosterEvents;

/* Nothing is called within. */
Roster *roster_new(State *state, Str prefix, const RosterEvents *events);
void roster_free(Roster *roster); /* before the state; NULL is allowed */
DEFINE_AUTO(Roster, roster_free)

/* NULL: no such node, or its record cannot be read: better one node out than a stranger in. Valid until
 * the loop's next turn. */
const RosterNode *roster_find(const Roster *roster, Str name);
/* The same also of one that cannot be read. */
const RosterNode *roster_look(const Roster *roster, Str name);
/* The same by the serial number of the certificate that it got last. */
const RosterNode *roster_find_serial(const Roster *roster, Str serial);
uint32_t roster_count(const Roster *roster); /* whose records can be read, and */
uint32_t roster_alive(const Roster *roster); /* of them */

/* Those that a selector matches (NULL: all), in the order of their names, also those that cannot be read,
 * from the one behind `after` on. Valid as long as the arena, and until the loop's next turn. */
typedef struct RosterRange {
    const Roster *roster;
    const Selector *selector;
    Str label; /* what their entries in the index begin with; empty: all nodes are looked at */
    OrderedPlace place;
} RosterRange;

RosterRange roster_range(const Roster *roster, Arena *arena, const Selector *selector, Str after);
const RosterNode *roster_next(RosterRange *range); /* NULL at the end */

const RevocationList *roster_revoked(const Roster *roster);
