#include "base/sm.h"

#include <stdio.h>

#include "base/bug.h"
#include "base/log.h"

static const SmState *state_of(const SmTable *table, unsigned state)
{
    if (state >= table->count) {
        BUG("%s has no state %u", table->name, state);
    }
    return &table->states[state];
}

static void check_invariant(const Sm *sm)
{
    if (sm->table->invariant != NULL && !sm->table->invariant(sm->owner, sm->state)) {
        BUG("%s '%s' violates the invariant of state '%s'", sm->table->name, sm->id,
            sm_state_name(sm));
    }
}

void sm_init(Sm *sm, const SmTable *table, const void *owner, const char *id, unsigned state)
{
    BUG_IF(table->count > SM_STATES_MAX);
    *sm = (Sm){ .table = table, .owner = owner, .state = state };
    snprintf(sm->id, sizeof sm->id, "%s", id);
    state_of(table, state);
    check_invariant(sm);
}

bool sm_can_move(const Sm *sm, unsigned next)
{
    return next < sm->table->count && (state_of(sm->table, sm->state)->next & SM_TO(next)) != 0;
}

void sm_move(Sm *sm, unsigned next)
{
    const char *from = sm_state_name(sm);
    const char *to = state_of(sm->table, next)->name;
    if (!sm_can_move(sm, next)) {
        BUG("%s '%s' must not change from '%s' to '%s'", sm->table->name, sm->id, from, to);
    }
    sm->state = next;
    log_debug("state changed", LOG_C("machine", sm->table->name), LOG_C("id", sm->id),
              LOG_C("from", from), LOG_C("to", to));
    check_invariant(sm);
}

const char *sm_state_name(const Sm *sm)
{
    return state_of(sm->table, sm->state)->name;
}

void sm_table_check(const SmTable *table, unsigned first)
{
    BUG_IF(table->count == 0 || table->count > SM_STATES_MAX);
    state_of(table, first);
    uint64_t all = table->count == SM_STATES_MAX ? UINT64_MAX : SM_TO(table->count) - 1;
    uint64_t reached = SM_TO(first);
    /* Each iteration reaches at least one more state, or is the last one. */
    for (unsigned round = 0; round < table->count; round++) {
        for (unsigned i = 0; i < table->count; i++) {
            reached |= (reached & SM_TO(i)) != 0 ? table->states[i].next : 0;
        }
    }
    for (unsigned i = 0; i < table->count; i++) {
        if (table->states[i].name == NULL) {
            BUG("state %u of %s has no name", i, table->name);
        }
        if ((table->states[i].next & ~all) != 0) {
            BUG("'%s' of %s has a successor outside the table", table->states[i].name, table->name);
        }
        if ((reached & SM_TO(i)) == 0) {
            BUG("'%s' of %s is unreachable", table->states[i].name, table->name);
        }
    }
}
