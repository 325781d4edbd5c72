/* The view of nodes: three ordered indexes (name, certificate serial, label) over parsed records. A
 * record is parsed once, when it changes, into memory that belongs to its member. Liveness,
 * sessions and facts have separate keys, which may arrive before or after the record, so a new
 * member looks them up in the state. */
#include "membership/roster.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/object_selector.h"
#include "membership/liveness.h"

enum {
    CHUNK_HEADER = 64 /* maximum overhead of an arena chunk */
};

typedef struct Member {
    Str by_name;
    Str by_serial; /* serial, a space and the name: two records may have the same serial */
    RosterNode node;
    Arena arena;          /* labels, annotations and unknown fields; or the error */
    struct Label *labels; /* in the index */
    const StateEntry *alive;
    char name[NODE_NAME_MAX + 1];
    char serial_and_name[SERIAL_TEXT + 1 + NODE_NAME_MAX + 1];
} Member;

/* An entry of the label index. */
typedef struct Label {
    Str key;            /* label_key(): name, value, node */
    struct Label *next; /* next label of the same node */
    const Member *member;
} Label;

struct Roster {
    State *state;
    RosterEvents events;
    StateView view;
    Arena arena;
    Str prefix;
    Str revocations; /* key */
    OrderedSet names;
    OrderedSet serials; /* serial numbers of nodes that have one */
    OrderedSet labels;
    uint32_t alive, unreadable;
    Arena list; /* holds the revocations */
    RevocationList revoked;
    bool has_changes; /* changed since the last notification */
    bool is_attached;
};

/* --- Nodes ----------------------------------------------------------------------------------- */

static Member *member_from_serial_key(Str *by_serial)
{
    return by_serial == NULL ? NULL : (Member *)((char *)by_serial - offsetof(Member, by_serial));
}

static Member *find_member(const Roster *roster, Str name)
{
    return ordered_find(&roster->names, name);
}

/* Labels never contain a NUL. */
static Str label_key(Arena *arena, Str name, Str value, Str node)
{
    Buf key = buf_make_in(arena, BUF_UNLIMITED);
    buf_put(&key, name);
    buf_put_char(&key, '\0');
    buf_put(&key, value);
    buf_put_char(&key, '\0');
    buf_put(&key, node);
    return buf_str(&key);
}

static void drop_labels(Roster *roster, Member *member)
{
    for (Label *label; (label = member->labels) != NULL;) {
        member->labels = label->next;
        (void)ordered_remove(&roster->labels, label->key);
        free(label);
    }
}

static void index_labels(Roster *roster, Member *member)
{
    Value labels = member->node.record.labels;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (uint32_t i = 0; labels.kind == VALUE_MAP && i < labels.map->len; i++) {
        const MapEntry *entry = &labels.map->entries[i];
        Str key =
            label_key(&arena, value_str(entry->key), value_str(entry->value), member->by_name);
        Label *label = memory_new(sizeof *label + key.len);
        memcpy(label + 1, key.data, key.len);
        *label = (Label){ str_from((char *)(label + 1), key.len), member->labels, member };
        member->labels = label;
        (void)ordered_put(&roster->labels, &label->key);
    }
}

static bool is_readable(const Member *member)
{
    return member->node.error.len == 0;
}

/* Adds or removes a member from the counters. */
static void count_member(Roster *roster, const Member *member, bool is_added)
{
    /* unsigned wraparound: adding UINT32_MAX decrements */
    uint32_t delta = is_added ? 1 : UINT32_MAX;
    roster->unreadable += is_readable(member) ? 0 : delta;
    roster->alive += is_readable(member) && member->node.is_alive ? delta : 0;
}

static void member_free(Member *member)
{
    arena_clear(&member->arena);
    free(member);
}

static void forget_member(Roster *roster, Str name)
{
    Member *member = ordered_remove(&roster->names, name);
    if (member != NULL) {
        (void)ordered_remove(&roster->serials, member->by_serial);
        count_member(roster, member, false);
        drop_labels(roster, member);
        member_free(member);
    }
}

/* An unreadable record has no details, but the key exists. */
static void read_liveness(Member *member)
{
    RosterNode *node = &member->node;
    AUTO_CLEAR(Arena) arena;
    Liveness liveness;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    node->is_alive = member->alive != NULL;
    const StateEntry *entry = node->is_alive ? member->alive : node->silence;
    const RecordFormat *format = node->is_alive ? &alive_format : &silent_format;
    node->since_ms = 0;
    node->version[0] = '\0';
    if (entry != NULL &&
        record_read(format, &arena, entry->value, RECORD_STORED, &liveness, &err)) {
        node->since_ms = liveness.since_ms;
        snprintf(node->version, sizeof node->version, "%" STR_FMT, STR_ARG(liveness.version));
    }
}

static const StateEntry *find_entry(const Roster *roster, Str (*key)(Arena *, Str, Str), Str name)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return state_find(roster->state, key(&arena, roster->prefix, name));
}

static void set_facts(RosterNode *node, const StateEntry *entry)
{
    node->has_facts = entry != NULL;
    node->facts = entry == NULL ? STR_EMPTY : entry->value;
}

/* Its other keys may have arrived before its record. */
static Member *add_member(Roster *roster, Str name)
{
    Member *member = memory_new(sizeof *member);
    RosterNode *node = &member->node;
    memcpy(member->name, name.data, name.len);
    member->by_name = str_from(member->name, name.len);
    arena_init(&member->arena, ARENA_UNLIMITED);
    (void)ordered_put(&roster->names, &member->by_name);
    member->alive = find_entry(roster, cluster_key_alive, name);
    node->silence = find_entry(roster, cluster_key_silent, name);
    node->session = find_entry(roster, cluster_key_session, name);
    set_facts(node, find_entry(roster, cluster_key_facts, name));
    read_liveness(member);
    count_member(roster, member, true);
    return member;
}

/* Uses exactly as much memory as needed, because there may be a hundred thousand nodes. */
static void store_texts(Member *member, const NodeRecord *record)
{
    const Value from[] = { record->labels, record->annotations, record->unknown };
    Value *to[] = { &member->node.record.labels, &member->node.record.annotations,
                    &member->node.record.unknown };
    AUTO_CLEAR(Arena) measure;
    arena_init(&measure, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(from); i++) {
        (void)value_copy(&measure, from[i]);
    }
    arena_clear(&member->arena);
    arena_init(&member->arena, arena_used(&measure) + CHUNK_HEADER);
    for (size_t i = 0; i < COUNT_OF(from); i++) {
        *to[i] = value_copy(&member->arena, from[i]);
    }
}

static void store_error(Member *member, const StateEntry *entry, const Error *err)
{
    NodeRecord *record = &member->node.record;
    *record = (NodeRecord){ .labels = value_missing(),
                            .annotations = value_missing(),
                            .unknown = value_missing() };
    memcpy(record->name, member->name, sizeof member->name);
    arena_clear(&member->arena);
    arena_init(&member->arena, ARENA_UNLIMITED);
    member->node.error =
        arena_format(&member->arena, "%" STR_FMT ": %s", STR_ARG(entry->key), err->text);
}

/* Pages continue after the name of the last entry, so it must be that of the key. */
static bool read_record(Arena *arena, const StateEntry *entry, NodeRecord *out, Error *err)
{
    return node_record_read(arena, entry->value, out, err) &&
           (str_eq_c(entry->parts[0], out->name) ||
            error_set(err, ERROR_INVALID, "the record has a different name, '%s'", out->name));
}

static void update_node(Roster *roster, const StateEntry *entry)
{
    AUTO_CLEAR(Arena) arena;
    NodeRecord record;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!node_name_check(entry->parts[0], &err)) {
        return; /* an invalid name is not a node, and no page could continue after it */
    }
    Member *member = find_member(roster, entry->parts[0]);
    if (member == NULL) {
        member = add_member(roster, entry->parts[0]);
    }
    RosterNode *node = &member->node;
    (void)ordered_remove(&roster->serials, member->by_serial);
    member->by_serial = STR_EMPTY;
    count_member(roster, member, false);
    node->revision = entry->mod_revision;
    node->error = STR_EMPTY;
    drop_labels(roster, member);
    if (read_record(&arena, entry, &record, &err)) {
        node->record = record;
        store_texts(member, &record);
        index_labels(roster, member);
    } else {
        store_error(member, entry, &err);
    }
    count_member(roster, member, true);
    if (node->record.serial[0] != '\0') {
        snprintf(member->serial_and_name, sizeof member->serial_and_name, "%s %s",
                 node->record.serial, node->record.name);
        member->by_serial = str_from_c(member->serial_and_name);
        (void)ordered_put(&roster->serials, &member->by_serial);
    }
}

/* When a node is removed, its own key is deleted before the others. */
static void update_other(Roster *roster, const StateEntry *now, const StateEntry *before)
{
    const StateEntry *one = now != NULL ? now : before;
    Member *member = find_member(roster, one->parts[0]);
    if (member == NULL) {
        return;
    }
    switch (one->kind) {
    case KEY_FACTS: set_facts(&member->node, now); return;
    case KEY_SESSION: member->node.session = now; return;
    case KEY_NODE_SILENT: member->node.silence = now; break;
    default: member->alive = now; break;
    }
    count_member(roster, member, false);
    read_liveness(member);
    count_member(roster, member, true);
    if (one->kind == KEY_NODE_ALIVE && now == NULL && is_readable(member) &&
        roster->events.silent != NULL) {
        roster->events.silent(roster->events.context, &member->node);
    }
}

/* --- Revocations ----------------------------------------------------------------------------- */

/* An unreadable or damaged list must not be mistaken for an empty one: no certificate is accepted
 * then. The server continues to run, for local operators. `entry` is NULL if there is no list. */
static void update_revocations(Roster *roster, const StateEntry *entry)
{
    bool was_unreadable = roster->revoked.is_unreadable;
    Error err;
    arena_reset(&roster->list);
    roster->revoked = (RevocationList){ 0 };
    if (entry == NULL || revocation_read(&roster->list, arena_copy(&roster->list, entry->value),
                                         &roster->revoked, &err)) {
        return;
    }
    roster->revoked = (RevocationList){ .is_unreadable = true };
    if (!was_unreadable) {
        log_error("cannot read the revocation list; no node is admitted until it is repaired: stop "
                  "the server, then run 'eden cluster check'",
                  LOG_C("error", err.text));
    }
}

/* --- State view ------------------------------------------------------------------------------ */

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    Roster *roster = context;
    const StateEntry *one = now != NULL ? now : before;
    if (one->kind == KEY_NODE) {
        roster->has_changes = true;
        if (now != NULL) {
            update_node(roster, now);
        } else {
            forget_member(roster, one->parts[0]);
        }
    } else if (one->kind != KEY_INTERNAL) {
        update_other(roster, now, before);
    } else if (str_eq(one->key, roster->revocations)) {
        roster->has_changes = true;
        update_revocations(roster, now);
    }
}

static void revision_reported(void *context)
{
    Roster *roster = context;
    if (roster->has_changes && roster->is_attached) {
        roster->has_changes = false;
        roster->events.changed(roster->events.context);
    }
}

Roster *roster_new(State *state, Str prefix, const RosterEvents *events)
{
    Roster *roster = memory_new(sizeof *roster);
    roster->state = state;
    roster->events = *events;
    arena_init(&roster->arena, ARENA_UNLIMITED);
    arena_init(&roster->list, ARENA_UNLIMITED);
    roster->prefix = arena_copy(&roster->arena, prefix);
    roster->revocations = cluster_key_revocations(&roster->arena, prefix);
    roster->view = (StateView){ .kinds = STATE_KIND(KEY_NODE) | STATE_KIND(KEY_NODE_ALIVE) |
                                         STATE_KIND(KEY_NODE_SILENT) | STATE_KIND(KEY_SESSION) |
                                         STATE_KIND(KEY_FACTS) | STATE_KIND(KEY_INTERNAL),
                                .changed = changed,
                                .settled = revision_reported,
                                .context = roster };
    state_attach(state, &roster->view);
    roster->is_attached = true;
    roster->has_changes = false;
    return roster;
}

void roster_free(Roster *roster)
{
    if (roster == NULL) {
        return;
    }
    state_detach(roster->state, &roster->view);
    Member *member;
    for (OrderedCursor at = { 0 }; (member = ordered_next(&roster->names, &at)) != NULL;) {
        drop_labels(roster, member);
        member_free(member);
    }
    ordered_clear(&roster->names);
    ordered_clear(&roster->labels);
    ordered_clear(&roster->serials);
    arena_clear(&roster->arena);
    arena_clear(&roster->list);
    free(roster);
}

/* --- Lookup ---------------------------------------------------------------------------------- */

const RosterNode *roster_find(const Roster *roster, Str name)
{
    const Member *member = find_member(roster, name);
    return member == NULL || !is_readable(member) ? NULL : &member->node;
}

const RosterNode *roster_find_any(const Roster *roster, Str name)
{
    const Member *member = find_member(roster, name);
    return member == NULL ? NULL : &member->node;
}

const RosterNode *roster_find_serial(const Roster *roster, Str serial)
{
    OrderedCursor at = ordered_lower_bound(&roster->serials, serial);
    const Member *member = member_from_serial_key(ordered_next(&roster->serials, &at));
    bool found = member != NULL && str_eq_c(serial, member->node.record.serial);
    return found ? &member->node : NULL;
}

uint32_t roster_count(const Roster *roster)
{
    return roster->names.count - roster->unreadable;
}

uint32_t roster_alive(const Roster *roster)
{
    return roster->alive;
}

/* The position after `key`. */
static OrderedCursor position_after(const OrderedSet *ordered, Str key)
{
    OrderedCursor position = ordered_lower_bound(ordered, key), next = position;
    const Str *found = ordered_next(ordered, &next);
    return found != NULL && str_eq(*found, key) ? next : position;
}

RosterRange roster_range(const Roster *roster, Arena *arena, const Selector *selector, Str after)
{
    RosterRange range = { .roster = roster, .selector = selector };
    Str name, value;
    if (selector != NULL && selector_label(selector, &name, &value)) {
        range.label = label_key(arena, name, value, STR_EMPTY);
        range.cursor = position_after(&roster->labels, label_key(arena, name, value, after));
    } else {
        range.cursor = position_after(&roster->names, after);
    }
    return range;
}

static const Member *next_member(RosterRange *range)
{
    const Roster *roster = range->roster;
    if (range->label.len == 0) {
        return ordered_next(&roster->names, &range->cursor);
    }
    const Label *label = ordered_next(&roster->labels, &range->cursor);
    return label != NULL && str_starts(label->key, range->label) ? label->member : NULL;
}

const RosterNode *roster_next(RosterRange *range)
{
    for (const Member *member; (member = next_member(range)) != NULL;) {
        if (object_selector_matches(range->selector, member->by_name, member->node.record.labels)) {
            return &member->node;
        }
    }
    return NULL;
}

const RevocationList *roster_revoked(const Roster *roster)
{
    return &roster->revoked;
}
