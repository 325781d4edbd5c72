/* A checked state machine, for anything that lives across iterations of the event loop.
 *
 * A table names the states and their allowed successors. A transition that the table does not allow
 * is a bug and stops the program at once, with both names, instead of corrupting later state. Each
 * transition is logged once at debug level.
 *
 *     enum { LINK_IDLE, LINK_OPENING, LINK_UP, LINK_CLOSED };
 *     static const SmState link_states[] = {
 *         [LINK_IDLE]    = { "idle",    .next = SM_TO(LINK_OPENING) },
 *         [LINK_OPENING] = { "opening", .next = SM_TO(LINK_UP) | SM_TO(LINK_CLOSED) },
 *         [LINK_UP]      = { "up",      .next = SM_TO(LINK_CLOSED) },
 *         [LINK_CLOSED]  = { "closed" },
 *     };
 *     static const SmTable link_table = { "link", link_states, COUNT_OF(link_states), link_holds };
 *
 *     sm_init(&link->sm, &link_table, link, "web07", LINK_IDLE);
 *     sm_move(&link->sm, LINK_OPENING); */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
    SM_STATES_MAX = 64,
    SM_ID_MAX = 40
};

#define SM_TO(state) ((uint64_t)1 << (state))

typedef struct SmState {
    const char *name;
    uint64_t next; /* SM_TO(...) of every allowed successor; 0 for a final state */
} SmState;

typedef struct SmTable {
    const char *name;
    const SmState *states;
    unsigned count;
    /* The invariant of the owner in `state`; checked at the start and after every transition, so
     * the owner must set its fields before the transition. May be NULL. */
    bool (*invariant)(const void *owner, unsigned state);
} SmTable;

typedef struct Sm {
    const SmTable *table;
    const void *owner;
    unsigned state;
    char id[SM_ID_MAX]; /* identifies the machine in the log */
} Sm;

/* `id` is copied, and truncated if too long. */
void sm_init(Sm *sm, const SmTable *table, const void *owner, const char *id, unsigned state);
void sm_move(Sm *sm, unsigned next);
bool sm_can_move(const Sm *sm, unsigned next);
const char *sm_state_name(const Sm *sm);

/* Checks a table, in its unit test: every state has a name, has only successors in the table, and
 * can be reached from `first`. Anything else is a BUG. */
void sm_table_check(const SmTable *table, unsigned first);
