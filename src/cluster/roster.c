#include "cluster/roster.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/node_record.h"

typedef struct Member {
    Str by_name;
    Str by_serial; /* serial, a space and name: two records may claim the same */
    RosterNode node;
    char serial_and_name[SERIAL_TEXT + 1 + NODE_NAME_MAX + 1];
} Member;

struct Roster {
    State *state;
    RosterEvents events;
    StateView view;
    Arena own;
    Str prefix;
    Str revocations; /* key */
    Ordered names;
    Ordered serials; /* of those that have one */
    uint32_t alive;
    Arena list; /* of the revocations */
    RevocationList revoked;
    bool has_news; /* since the last time that was told */
    bool is_attached;
};

/* --- Nodes ----------------------------------------------------------------------------------- */

static Member *member_of_serial(Str *by_serial)
{
    return by_serial == NULL ? NULL : (Member *)((char *)by_serial - offsetof(Member, by_serial));
}

static Member *find_member(const Roster *roster, Str name)
{
    return ordered_find(&roster->names, name);
}

static void forget_member(Roster *roster, Str name)
{
    Member *member = ordered_remove(&roster->names, name);
    if (member != NULL) {
        (void)ordered_remove(&roster->serials, member->by_serial);
        roster->alive -= member->node.is_alive;
        free(member);
    }
}

static void set_alive(Roster *roster, Member *member, bool is_alive)
{
    roster->alive += (uint32_t)is_alive - (uint32_t)member->node.is_alive;
    member->node.is_alive = is_alive;
}

static bool has_session(const Roster *roster, Str name)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return state_find(roster->state, cluster_key_alive(&arena, roster->prefix, name)) != NULL;
}

static Member *add_member(Roster *roster, const char *name)
{
    Member *member = memory_new(sizeof *member);
    snprintf(member->node.name, sizeof member->node.name, "%s", name);
    member->by_name = str_from_c(member->node.name);
    (void)ordered_put(&roster->names, &member->by_name);
    /* Its session may be older than a record that can be read. */
    set_alive(roster, member, has_session(roster, member->by_name));
    return member;
}

/* A record that cannot be read is nobody's: better one node out than a stranger in. */
static void take_node(Roster *roster, const StateEntry *entry)
{
    AUTO_CLEAR(Arena) arena;
    NodeRecord record;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!node_record_read(&arena, entry->value, &record, &err) ||
        !str_eq_c(entry->parts[0], record.name)) {
        forget_member(roster, entry->parts[0]);
        return;
    }
    Member *member = find_member(roster, entry->parts[0]);
    if (member == NULL) {
        member = add_member(roster, record.name);
    }
    RosterNode *node = &member->node;
    (void)ordered_remove(&roster->serials, member->by_serial);
    memcpy(node->enrolment, record.enrolment, sizeof node->enrolment);
    memcpy(node->serial, record.serial, sizeof node->serial);
    node->is_server = record.is_server;
    node->not_after_ms = record.not_after_ms;
    if (node->serial[0] != '\0') {
        snprintf(member->serial_and_name, sizeof member->serial_and_name, "%s %s", node->serial,
                 node->name);
        member->by_serial = str_from_c(member->serial_and_name);
        (void)ordered_put(&roster->serials, &member->by_serial);
    }
}

/* Of a node that goes, its own key comes before the others. */
static void note_alive(Roster *roster, Str name, bool is_alive)
{
    Member *member = find_member(roster, name);
    if (member == NULL) {
        return;
    }
    set_alive(roster, member, is_alive);
    if (!is_alive && roster->events.silent != NULL) {
        roster->events.silent(roster->events.context, &member->node);
    }
}

/* --- Revocations ----------------------------------------------------------------------------- */

/* A list that cannot be read must not pass for an empty one: no certificate is accepted then. The
 * server goes on, for operators on its own machine. */
static void take_revocations(Roster *roster, Str text)
{
    bool was_unreadable = roster->revoked.is_unreadable;
    Error err;
    arena_reset(&roster->list);
    roster->revoked = (RevocationList){ 0 };
    if (text.len == 0 ||
        revocation_read(&roster->list, arena_copy(&roster->list, text), &roster->revoked, &err)) {
        return;
    }
    roster->revoked = (RevocationList){ .is_unreadable = true };
    if (!was_unreadable) {
        log_error("the list of revocations cannot be read; no node is let in until it is repaired: "
                  "stop the server, then 'eden cluster check'",
                  LOG_C("why", err.text));
    }
}

/* --- Following ------------------------------------------------------------------------------- */

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    Roster *roster = context;
    const StateEntry *one = now != NULL ? now : before;
    if (one->kind == KEY_NODE_ALIVE) {
        note_alive(roster, one->parts[0], now != NULL);
    } else if (one->kind == KEY_NODE) {
        roster->has_news = true;
        if (now != NULL) {
            take_node(roster, now);
        } else {
            forget_member(roster, one->parts[0]);
        }
    } else if (str_eq(one->key, roster->revocations)) {
        roster->has_news = true;
        take_revocations(roster, now != NULL ? now->value : STR_EMPTY);
    }
}

static void settled(void *context)
{
    Roster *roster = context;
    if (roster->has_news && roster->is_attached) {
        roster->has_news = false;
        roster->events.changed(roster->events.context);
    }
}

Roster *roster_new(State *state, Str prefix, const RosterEvents *events)
{
    Roster *roster = memory_new(sizeof *roster);
    roster->state = state;
    roster->events = *events;
    arena_init(&roster->own, ARENA_UNLIMITED);
    arena_init(&roster->list, ARENA_UNLIMITED);
    roster->prefix = arena_copy(&roster->own, prefix);
    roster->revocations = cluster_key_revocations(&roster->own, prefix);
    roster->view = (StateView){ .kinds = STATE_KIND(KEY_NODE) | STATE_KIND(KEY_NODE_ALIVE) |
                                         STATE_KIND(KEY_OBJECT),
                                .changed = changed,
                                .settled = settled,
                                .context = roster };
    state_attach(state, &roster->view);
    roster->is_attached = true;
    roster->has_news = false;
    return roster;
}

void roster_free(Roster *roster)
{
    if (roster == NULL) {
        return;
    }
    state_detach(roster->state, &roster->view);
    Member *member;
    for (OrderedPlace at = { 0 }; (member = ordered_next(&roster->names, &at)) != NULL;) {
        free(member);
    }
    ordered_clear(&roster->names);
    ordered_clear(&roster->serials);
    arena_clear(&roster->own);
    arena_clear(&roster->list);
    free(roster);
}

/* --- Asking ---------------------------------------------------------------------------------- */

const RosterNode *roster_find(const Roster *roster, Str name)
{
    const Member *member = find_member(roster, name);
    return member == NULL ? NULL : &member->node;
}

const RosterNode *roster_find_serial(const Roster *roster, Str serial)
{
    OrderedPlace at = ordered_from(&roster->serials, serial);
    const Member *member = member_of_serial(ordered_next(&roster->serials, &at));
    bool found = member != NULL && str_eq_c(serial, member->node.serial);
    return found ? &member->node : NULL;
}

bool roster_is_current(const Roster *roster)
{
    return state_age(roster->state).stale_since_ms == 0;
}

uint32_t roster_count(const Roster *roster)
{
    return roster->names.count;
}

uint32_t roster_alive(const Roster *roster)
{
    return roster->alive;
}

const RevocationList *roster_revoked(const Roster *roster)
{
    return &roster->revoked;
}
