/* Exchanging the CA while everybody stays connected: a decision, without effects.
 *
 *     steady ---> prepare ---> distribute ---> issue ---> retire ---> steady
 *                    |              |            ^ |
 *                    +--------------+--> steady  +-+ (turned back)
 *
 *     prepare      the next CA exists; waits until every server has it and trusts both
 *     distribute   waits until every node trusts both
 *     issue        the next CA signs; waits until every certificate in use is from it
 *     retire       the old CA is dropped; waits until nobody trusts it any more
 *
 * At every moment whatever certificate somebody shows, everybody else trusts the CA it is from. The
 * state is a value in the store. Whoever leads asks rotation_plan() when nodes report, and writes
 * what it says with a comparison on the old value; so it goes on after any crash. */
#pragma once

#include "base/buf.h"
#include "base/enum_names.h"
#include "base/sm.h"
#include "pki/certificate.h"

typedef enum RotationState {
    ROTATION_STEADY,
    ROTATION_PREPARE,
    ROTATION_DISTRIBUTE,
    ROTATION_ISSUE,
    ROTATION_RETIRE,
} RotationState;
DECLARE_ENUM_NAMES(RotationState, rotation_state)
extern const SmTable rotation_states;

typedef struct Rotation {
    RotationState state;
    Pin present; /* the CA that was there at the beginning; in steady the only one */
    Pin next;    /* zero in steady */
    int64_t since_ms;
    Value unknown; /* what a newer server wrote: valid as long as what it was read from */
} Rotation;

Rotation rotation_steady(const Pin *present, int64_t now_ms);

/* Which CA signs, and which are trusted: what servers act by and tell the nodes. */
const Pin *rotation_issuer(const Rotation *rotation);
bool rotation_trusts_present(const Rotation *rotation);
bool rotation_trusts_next(const Rotation *rotation);

/* Fails with ERROR_CONFLICT when one is going on, ERROR_INVALID when it is the same CA. */
MUST_CHECK bool rotation_begin(const Rotation *rotation, const Pin *next, int64_t now_ms,
                               Rotation *out, Error *err);
/* Back to the CA of the beginning. As long as the next one has signed nothing that is at once; while
 * nodes renew they turn round; once the old one is being dropped it fails with ERROR_CONFLICT. */
MUST_CHECK bool rotation_turn_back(const Rotation *rotation, int64_t now_ms, Rotation *out,
                                   Error *err);

/* What a node said last. */
typedef struct RotationNode {
    Str name;
    bool is_server;
    bool trusts_present, trusts_next;
    Pin issuer;      /* whether its certificates, all of them, are from this one... */
    bool has_issuer; /* ...or from more than one, or nobody knows */
    int64_t seen_ms; /* when it said so */
    bool silent;     /* nobody has a session with it at present */
} RotationNode;

typedef struct RotationWait {
    Str node;
    Str what;
    int64_t seen_ms;
    bool silent;
} RotationWait;

typedef struct RotationPlan {
    bool moves; /* then `next` is what to write */
    Rotation next;
    RotationWait *waits; /* else for whom it waits, in the order of the nodes */
    uint32_t wait_count;
} RotationPlan;

/* Nodes that were removed are not among them: removing is the way out when one never comes back.
 * Pure; one step at a time. */
void rotation_plan(Arena *arena, const Rotation *rotation, const RotationNode *nodes,
                   uint32_t count, int64_t now_ms, RotationPlan *out);

/* As JSON, "eden.rotation/1". Fails with ERROR_INVALID or ERROR_LIMIT. */
void rotation_print(const Rotation *rotation, Buf *out);
MUST_CHECK bool rotation_read(Arena *arena, Str text, Rotation *out, Error *err);
