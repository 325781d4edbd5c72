/* Who belongs to the cluster and who is no longer believed, as the store has it at present: what a
 * listener asks at every handshake and call, without waiting. Loop thread. */
#pragma once

#include "pki/revocation.h"
#include "store/store.h"

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
    void (*ready)(void *context);   /* once: it knows everybody */
    void (*changed)(void *context); /* somebody came, went, or is revoked; after `ready` */
    /* It can no longer know; whoever asks it is told that nobody belongs. May be called once. */
    void (*failed)(void *context, const Error *err);
    void *context;
    /* A node's session is over, and it has not come back in time. May be NULL. */
    void (*silent)(void *context, const RosterNode *node);
} RosterEvents;

/* Reads and then watches the store. Only `failed` may be called within. */
Roster *roster_new(Store *store, Str prefix, const RosterEvents *events);
void roster_free(Roster *roster); /* before the store is closed; NULL is fine */
DEFINE_AUTO(Roster, roster_free)

/* NULL: no such node. Valid until the loop's next turn. */
const RosterNode *roster_find(const Roster *roster, Str name);
/* The same by the serial number of the certificate that it got last. */
const RosterNode *roster_find_serial(const Roster *roster, Str serial);
/* Whether it knows what every watch that is told has told; not before it is ready, when it is lost,
 * or while it reads everything anew. */
bool roster_is_current(const Roster *roster);
uint32_t roster_count(const Roster *roster);
uint32_t roster_alive(const Roster *roster); /* of them */
const RevocationList *roster_revoked(const Roster *roster);
