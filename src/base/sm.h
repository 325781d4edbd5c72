/* A checked state machine, for anything that lives across turns of the event loop.
 *
 * A table names the states and says which may follow which. A move that the table does not allow
 * is a bug and stops the program there, with both names, instead of corrupting what follows. Each
 * move is logged once at debug level.
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
    uint64_t next; /* SM_TO(...) of every state that may follow; 0 for a final one */
} SmState;

typedef struct SmTable {
    const char *name;
    const SmState *states;
    unsigned count;
    /* What must be true of the owner in `state`; asked at the start and after every move, so the
     * owner's fields are set before the move. May be NULL. */
    bool (*holds)(const void *owner, unsigned state);
} SmTable;

typedef struct Sm {
    const SmTable *table;
    const void *owner;
    unsigned state;
    char id[SM_ID_MAX]; /* tells one machine from another in the log */
} Sm;

/* `id` is copied, and cut when long. */
void sm_init(Sm *sm, const SmTable *table, const void *owner, const char *id, unsigned state);
void sm_move(Sm *sm, unsigned next);
bool sm_can_move(const Sm *sm, unsigned next);
const char *sm_state_name(const Sm *sm);

/* Checks once, in the table's unit test: every state has a name, names only states of the table
 * as next, and can be reached from `first`. Anything else is a BUG. */
void sm_table_check(const SmTable *table, unsigned first);
