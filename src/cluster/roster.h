/* Who belongs to the cluster and who is no longer believed: what a listener asks at every handshake and
 * call, without waiting. A view of the state (cluster/state.h). Loop thread. */
#pragma once

#include "cluster/state.h"
#include "pki/revocation.h"

typedef struct Roster Roster;

typedef struct RosterNode {
    char name[NODE_NAME_MAX + 1];
    char enrolment[ENROLMENT_TEXT + 1]; /* certificates of others are not this node's */
    bool is_server;
    bool is_alive;                /* it has a session */
    char serial[SERIAL_TEXT + 1]; /* of the certificate that it got last, and */
    int64_t not_after_ms;         /* when that expires */
} RosterNode;

typedef struct RosterEvents {
    void (*changed)(void *context); /* a node came, went, or is revoked */
    void *context;
    /* A node's session is over, and it has not come back in time. May be NULL. */
    void (*silent)(void *context, const RosterNode *node);
} RosterEvents;

/* Of a state that is ready. Nothing is called within. */
Roster *roster_new(State *state, Str prefix, const RosterEvents *events);
void roster_free(Roster *roster); /* before the state; NULL is fine */
DEFINE_AUTO(Roster, roster_free)

/* NULL: no such node. Valid until the loop's next turn. */
const RosterNode *roster_find(const Roster *roster, Str name);
/* The same by the serial number of the certificate that it got last. */
const RosterNode *roster_find_serial(const Roster *roster, Str serial);
/* False: the store cannot be read at present, and it knows what was there before. */
bool roster_is_current(const Roster *roster);
uint32_t roster_count(const Roster *roster);
uint32_t roster_alive(const Roster *roster); /* of them */
const RevocationList *roster_revoked(const Roster *roster);
