#include "pki/rotation.h"

#include "base/vec.h"
#include "lang/record.h"

enum {
    TEXT_MAX = 4096, /* maximum size in bytes */
};

static const SmState states[] = {
    [ROTATION_STEADY] = { "steady", .next = SM_TO(ROTATION_PREPARE) },
    [ROTATION_PREPARE] = { "prepare", .next = SM_TO(ROTATION_DISTRIBUTE) | SM_TO(ROTATION_STEADY) },
    [ROTATION_DISTRIBUTE] = { "distribute",
                              .next = SM_TO(ROTATION_ISSUE) | SM_TO(ROTATION_STEADY) },
    [ROTATION_ISSUE] = { "issue", .next = SM_TO(ROTATION_RETIRE) | SM_TO(ROTATION_ISSUE) },
    [ROTATION_RETIRE] = { "retire", .next = SM_TO(ROTATION_STEADY) },
};
const SmTable rotation_states = { "rotation", states, COUNT_OF(states), NULL };

DEFINE_ENUM_NAMES(
    RotationState, rotation_state, [ROTATION_STEADY] = "steady", [ROTATION_PREPARE] = "prepare",
    [ROTATION_DISTRIBUTE] = "distribute", [ROTATION_ISSUE] = "issue", [ROTATION_RETIRE] = "retire")

Rotation rotation_steady(const Pin *present, int64_t now_ms)
{
    return (Rotation){ .state = ROTATION_STEADY, .present = *present, .since_ms = now_ms };
}

const Pin *rotation_issuer(const Rotation *rotation)
{
    bool next = rotation->state == ROTATION_ISSUE || rotation->state == ROTATION_RETIRE;
    return next ? &rotation->next : &rotation->present;
}

bool rotation_trusts_present(const Rotation *rotation)
{
    return rotation->state != ROTATION_RETIRE;
}

bool rotation_trusts_next(const Rotation *rotation)
{
    return rotation->state != ROTATION_STEADY;
}

/* All transitions go through the table; one that it does not allow is a bug. */
static Rotation move(const Rotation *from, RotationState to, int64_t now_ms)
{
    Sm sm;
    sm_init(&sm, &rotation_states, NULL, "ca", from->state);
    sm_move(&sm, to);
    Rotation moved = *from;
    moved.state = to;
    moved.since_ms = now_ms;
    return moved;
}

bool rotation_begin(const Rotation *rotation, const Pin *next, int64_t now_ms, Rotation *out,
                    Error *err)
{
    if (rotation->state != ROTATION_STEADY) {
        return error_set(err, ERROR_CONFLICT, "the CA is already being rotated (%s)",
                         rotation_state_name(rotation->state));
    }
    if (pin_equal(&rotation->present, next)) {
        return error_set(err, ERROR_INVALID, "the next CA is the current one");
    }
    *out = move(rotation, ROTATION_PREPARE, now_ms);
    out->next = *next;
    return true;
}

bool rotation_revert(const Rotation *rotation, int64_t now_ms, Rotation *out, Error *err)
{
    Rotation result;
    switch (rotation->state) {
    case ROTATION_STEADY: return error_set(err, ERROR_CONFLICT, "the CA is not being rotated");
    case ROTATION_RETIRE:
        return error_set(err, ERROR_CONFLICT,
                         "the old CA is already being removed; rotate again when that is done");
    case ROTATION_PREPARE:
    case ROTATION_DISTRIBUTE:
        result = move(rotation, ROTATION_STEADY, now_ms);
        result.next = (Pin){ 0 };
        break;
    case ROTATION_ISSUE:
        /* Some nodes have certificates from the next CA: they renew again, and then that CA is
         * removed. */
        result = move(rotation, ROTATION_ISSUE, now_ms);
        result.present = rotation->next;
        result.next = rotation->present;
        break;
    default: BUG("cannot turn back from state %d", (int)rotation->state);
    }
    *out = result; /* last, since it may alias `rotation` */
    return true;
}

/* The condition for the next transition that the node does not fulfill, or NULL. */
static const char *missing_condition(const Rotation *rotation, const RotationNode *node)
{
    switch (rotation->state) {
    case ROTATION_STEADY: return NULL;
    case ROTATION_PREPARE:
        return node->is_server && !node->trusts_next ? "this server has not loaded the next CA yet"
                                                     : NULL;
    case ROTATION_DISTRIBUTE:
        return !node->trusts_next      ? "it does not trust the next CA yet"
               : !node->trusts_current ? "it does not trust the current CA"
                                       : NULL;
    case ROTATION_ISSUE:
        return !node->has_issuer || !pin_equal(&node->issuer, &rotation->next)
                   ? "it has no certificate from the next CA yet"
                   : NULL;
    case ROTATION_RETIRE: return node->trusts_current ? "it still trusts the old CA" : NULL;
    }
    BUG("no state %d", (int)rotation->state);
}

static Rotation forward(const Rotation *rotation, int64_t now_ms)
{
    switch (rotation->state) {
    case ROTATION_STEADY: return *rotation;
    case ROTATION_PREPARE: return move(rotation, ROTATION_DISTRIBUTE, now_ms);
    case ROTATION_DISTRIBUTE: return move(rotation, ROTATION_ISSUE, now_ms);
    case ROTATION_ISSUE: return move(rotation, ROTATION_RETIRE, now_ms);
    case ROTATION_RETIRE: {
        Rotation done = move(rotation, ROTATION_STEADY, now_ms);
        done.present = rotation->next;
        done.next = (Pin){ 0 };
        return done;
    }
    }
    BUG("no state %d", (int)rotation->state);
}

void rotation_plan(Arena *arena, const Rotation *rotation, const RotationNode *nodes,
                   uint32_t count, int64_t now_ms, RotationPlan *out)
{
    VEC(RotationWait) waits = { 0 };
    bool servers = false;
    for (uint32_t i = 0; i < count; i++) {
        const char *what = missing_condition(rotation, &nodes[i]);
        servers = servers || nodes[i].is_server;
        if (what != NULL) {
            RotationWait wait = {
                .node = nodes[i].name,
                .what = str_from_c(what),
                .reported_ms = nodes[i].reported_ms,
                .silent = nodes[i].silent,
            };
            VEC_PUSH(arena, &waits, wait);
        }
    }
    *out = (RotationPlan){ .waits = waits.items, .wait_count = waits.len, .next = *rotation };
    /* A list without servers cannot be the entire cluster. */
    if (rotation->state != ROTATION_STEADY && waits.len == 0 && servers) {
        out->moves = true;
        out->next = forward(rotation, now_ms);
    }
}

static bool check_rotation(const void *record, Error *err)
{
    const Rotation *rotation = record;
    bool is_steady = rotation->state == ROTATION_STEADY, has_next = !pin_is_zero(&rotation->next);
    if (is_steady == has_next) {
        return error_set(err, ERROR_INVALID,
                         is_steady ? "'next': must be empty in state 'steady'"
                                   : "'next': must be the pin of a CA in state '%s'",
                         rotation_state_name(rotation->state));
    }
    return is_steady || !pin_equal(&rotation->present, &rotation->next) ||
           error_set(err, ERROR_INVALID, "'next': is the same CA as 'present'");
}

static const RecordField rotation_fields[] = {
    { "state", RECORD_CHOICE, RECORD_ENUM_AT(Rotation, state, rotation_state), .is_required = true,
      .help = "phase of the rotation" },
    { "present", RECORD_TEXT, RECORD_CODED_AT(Rotation, present, Pin, pin_codec),
      .is_required = true, .help = "pin of the CA before the rotation" },
    { "next", RECORD_TEXT, RECORD_CODED_AT(Rotation, next, Pin, pin_or_none_codec),
      .is_required = true, .help = "pin of the CA that replaces it; empty: none" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(Rotation, since_ms), .is_required = true,
      .help = "when it entered this state" },
    { RECORD_UNKNOWN_AT(Rotation, unknown) },
    { 0 },
};

static const RecordFormat rotation_format = {
    .format = "eden.rotation/1",
    .what = "the state of the CA",
    .fields = rotation_fields,
    .size = sizeof(Rotation),
    .text_max = TEXT_MAX,
    .check = check_rotation,
};

void rotation_print(const Rotation *rotation, Buf *out)
{
    record_print(&rotation_format, rotation, out);
}

bool rotation_read(Arena *arena, Str text, Rotation *out, Error *err)
{
    return record_read(&rotation_format, arena, text, RECORD_STORED, out, err);
}
