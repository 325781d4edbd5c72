/* Rotating the CA while all nodes stay connected: decisions, without effects.
 *
 *     steady ---> prepare ---> distribute ---> issue ---> retire ---> steady
 *                    |              |            ^ |
 *                    +--------------+--> steady  +-+ (turned back)
 *
 *     prepare      the next CA exists; waits until every server has it and trusts both
 *     distribute   waits until every node trusts both
 *     issue        the next CA signs; waits until every certificate in use is from it
 *     retire       the old CA is dropped; waits until no node trusts it anymore
 *
 * At any time, every node trusts the CA of any certificate that another one may present. The state
 * is a value in the store. The leader calls rotation_plan() when nodes report, and writes the
 * result with a comparison on the old value, so the rotation continues after any crash. */
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
    Pin present; /* the CA at the start of the rotation; in ROTATION_STEADY the only one */
    Pin next;    /* zero in ROTATION_STEADY */
    int64_t since_ms;
    Value unknown; /* fields written by a newer server; valid as long as the input */
} Rotation;

Rotation rotation_steady(const Pin *present, int64_t now_ms);

/* The CA that signs, and the trusted ones: what servers use and send to nodes. */
const Pin *rotation_issuer(const Rotation *rotation);
bool rotation_trusts_present(const Rotation *rotation);
bool rotation_trusts_next(const Rotation *rotation);

/* Fails with ERROR_CONFLICT if a rotation is in progress, with ERROR_INVALID if it is the same
 * CA. */
MUST_CHECK bool rotation_begin(const Rotation *rotation, const Pin *next, int64_t now_ms,
                               Rotation *out, Error *err);
/* Returns to the CA at the start. This is immediate if the next CA has not signed any certificate.
 * Nodes that have renewed their certificates renew them again with the old CA. Fails with
 * ERROR_CONFLICT once the old CA is being removed. */
MUST_CHECK bool rotation_revert(const Rotation *rotation, int64_t now_ms, Rotation *out,
                                Error *err);

/* The last report of a node. */
typedef struct RotationNode {
    Str name;
    bool is_server;
    bool trusts_current, trusts_next;
    Pin issuer;          /* issuer of all of its certificates */
    bool has_issuer;     /* false if there are several issuers, or the issuer is unknown */
    int64_t reported_ms; /* time of the report */
    bool silent;         /* currently without a session */
} RotationNode;

typedef struct RotationWait {
    Str node;
    Str what;
    int64_t reported_ms;
    bool silent;
} RotationWait;

typedef struct RotationPlan {
    bool moves; /* `next` is the state to write */
    Rotation next;
    RotationWait *waits; /* otherwise the nodes that it waits for, in the order of the list */
    uint32_t wait_count;
} RotationPlan;

/* Removed nodes are not in the list, so removing a node that never returns lets the rotation
 * continue. Pure; one transition at a time. */
void rotation_plan(Arena *arena, const Rotation *rotation, const RotationNode *nodes,
                   uint32_t count, int64_t now_ms, RotationPlan *out);

/* As JSON, "eden.rotation/1". Fails with ERROR_INVALID or ERROR_LIMIT. */
void rotation_print(const Rotation *rotation, Buf *out);
MUST_CHECK bool rotation_read(Arena *arena, Str text, Rotation *out, Error *err);
