/* Changes to nodes, each in one transaction. */
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "membership/nodes.h"
#include "pki/ca.h"

/* Indexes of the keys that every change reads. */
enum {
    SEEN_NODE,
    SEEN_JOINING,
    SEEN_ALIVE,
    SEEN_FACTS,
    SEEN_REVOCATIONS,
    SEEN_COUNT
};

typedef struct NodeChange NodeChange;
typedef bool Decide(const NodeChange *wanted, Change *change, Error *err);

struct NodeChange {
    ClusterStore at;
    char name[NODE_NAME_MAX + 1];
    Arena arena; /* of the request */
    Str key;
    Value labels, annotations;
    int64_t revision; /* that the record must still have; 0: any */
    Decide *decide;
    bool may_be_unknown; /* the name may be unknown */
    ClusterDone *done;
    void *context;
};

static void node_change_end(NodeChange *wanted, const Error *err)
{
    wanted->done(wanted->context, err);
    arena_clear(&wanted->arena);
    free(wanted);
}

static bool decide(void *context, Change *change, Error *err)
{
    NodeChange *wanted = context;
    if (!wanted->may_be_unknown && !change_has(change, SEEN_NODE) &&
        !change_has(change, SEEN_JOINING)) {
        return nodes_not_found(&wanted->at, str_from_c(wanted->name), err);
    }
    return wanted->decide(wanted, change, err);
}

static void decided(void *context, Change *change, const Error *err)
{
    node_change_end(context, err);
}

/* NULL if the name is invalid, which was passed to `done` already. */
static NodeChange *node_change_new(const ClusterStore *at, Str name, Decide *decide_it,
                                   ClusterDone *done, void *context)
{
    Error err;
    if (!node_name_check(name, &err)) {
        done(context, &err);
        return NULL;
    }
    NodeChange *wanted = memory_new(sizeof *wanted);
    wanted->at = *at;
    memcpy(wanted->name, name.data, name.len);
    arena_init(&wanted->arena, ARENA_UNLIMITED);
    wanted->decide = decide_it;
    wanted->done = done;
    wanted->context = context;
    return wanted;
}

static void node_change_start(NodeChange *wanted)
{
    Arena *arena = &wanted->arena;
    Str prefix = wanted->at.prefix, name = str_from_c(wanted->name);
    Change *change;
    Str keys[SEEN_COUNT] = {
        [SEEN_NODE] = cluster_key_node(arena, prefix, name),
        [SEEN_JOINING] = cluster_key_joining(arena, prefix, name),
        [SEEN_ALIVE] = cluster_key_alive(arena, prefix, name),
        [SEEN_FACTS] = cluster_key_facts(arena, prefix, name),
        [SEEN_REVOCATIONS] = cluster_key_revocations(arena, prefix),
    };
    change_start(&(ChangeSpec){ .urgent = true,
                                .at = wanted->at,
                                .keys = keys,
                                .key_count = SEEN_COUNT,
                                .decide = decide,
                                .done = decided,
                                .context = wanted },
                 &change);
}

static bool read_node(Change *change, NodeRecord *out, Error *err)
{
    return node_record_read(change_arena(change), change_value(change, SEEN_NODE), out, err) ||
           error_wrap(err, "%" STR_FMT, STR_ARG(change_key(change, SEEN_NODE)));
}

static bool read_joining(Change *change, PendingRecord *out, Error *err)
{
    return pending_record_read(change_arena(change), change_value(change, SEEN_JOINING), out,
                               err) ||
           error_wrap(err, "%" STR_FMT, STR_ARG(change_key(change, SEEN_JOINING)));
}

static bool check_revision(const NodeChange *wanted, const Change *change, Error *err)
{
    return wanted->revision == 0 || change_revision(change, SEEN_NODE) == wanted->revision ||
           error_set(err, ERROR_CONFLICT, "it was modified by another request; read it again");
}

/* --- Labels and annotations ------------------------------------------------------------------ */

static bool texts_equal(const Map *left, const Map *right)
{
    if (left->len != right->len) {
        return false;
    }
    for (uint32_t i = 0; i < left->len; i++) {
        const MapEntry *other = map_find(right, left->entries[i].key);
        if (other == NULL || !str_eq(value_str(left->entries[i].value), value_str(other->value))) {
            return false;
        }
    }
    return true;
}

static bool decide_set(const NodeChange *wanted, Change *change, Error *err)
{
    NodeRecord node, checked;
    Arena *arena = change_arena(change);
    if (!change_has(change, SEEN_NODE)) {
        return error_set(err, ERROR_CONFLICT, "'%s' has not joined yet; approve it first",
                         wanted->name);
    }
    if (!check_revision(wanted, change, err) || !read_node(change, &node, err)) {
        return false;
    }
    if (texts_equal(node.labels.map, wanted->labels.map) &&
        texts_equal(node.annotations.map, wanted->annotations.map)) {
        return true;
    }
    if (!node_texts_check(wanted->labels, wanted->annotations, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    node.labels = wanted->labels;
    node.annotations = wanted->annotations;
    node_record_print(&node, &text);
    /* Never write a record that would not parse back. */
    if (!node_record_read(arena, buf_str(&text), &checked, err)) {
        return false;
    }
    change_put(change, change_key(change, SEEN_NODE), buf_str(&text), 0);
    return true;
}

void nodes_set(const ClusterStore *at, Str name, const NodeUpdate *wish, ClusterDone *done,
               void *context)
{
    NodeChange *wanted = node_change_new(at, name, decide_set, done, context);
    if (wanted != NULL) {
        wanted->labels = value_copy(&wanted->arena, wish->labels);
        wanted->annotations = value_copy(&wanted->arena, wish->annotations);
        wanted->revision = wish->revision;
        node_change_start(wanted);
    }
}

/* --- Approving and rejecting ----------------------------------------------------------------- */

#define PIN_PREFIX STR("sha256:")

static Str digits_of(Str key)
{
    return str_starts(key, PIN_PREFIX) ? str_from_offset(key, PIN_PREFIX.len) : key;
}

static bool check_key(Str key, Error *err)
{
    Str digits = digits_of(key);
    bool ok = digits.len >= NODE_PIN_DIGITS_MIN && digits.len <= (size_t)2 * PIN_BYTES;
    for (size_t i = 0; ok && i < digits.len; i++) {
        ok = ascii_hex_value(digits.data[i]) >= 0 && digits.data[i] == ascii_lower(digits.data[i]);
    }
    return ok || error_set(err, ERROR_INVALID,
                           "invalid key: specify the pin that 'eden join' shows on the machine, or "
                           "at least its first %d digits",
                           NODE_PIN_DIGITS_MIN);
}

/* The pending keys, for the end of a message. */
static Str keys_text(Arena *arena, const PendingRecord *joining)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < joining->count; i++) {
        char pin[PIN_TEXT + 1];
        pin_text(&joining->machines[i].key, pin);
        buf_put_format(&text, "%s%s from %s", i > 0 ? ", " : "", pin, joining->machines[i].address);
    }
    return buf_str(&text);
}

/* Finds the specified key. If two pending keys share this prefix, one is forged. */
static bool find_key(const NodeChange *wanted, Change *change, const PendingRecord *joining,
                     Pin *out, Error *err)
{
    Str digits = digits_of(wanted->key);
    uint32_t found = 0;
    for (uint32_t i = 0; i < joining->count; i++) {
        char pin[PIN_TEXT + 1];
        pin_text(&joining->machines[i].key, pin);
        if (str_starts(digits_of(str_from_c(pin)), digits)) {
            *out = joining->machines[i].key;
            found++;
        }
    }
    if (found == 1) {
        return true;
    }
    if (found == 0 && digits.len == (size_t)2 * PIN_BYTES) {
        Str whole = arena_join(change_arena(change), PIN_PREFIX, digits, STR_EMPTY);
        return pin_parse(whole, out, err);
    }
    return error_set(
        err, ERROR_CONFLICT,
        "%s requests to join as '%s' with such a key; pending: %" STR_FMT
        "; compare with what 'eden join' shows on the machine, and specify the full key",
        found == 0 ? "no machine" : "more than one machine", wanted->name,
        STR_ARG(keys_text(change_arena(change), joining)));
}

static bool decide_approve(const NodeChange *wanted, Change *change, Error *err)
{
    PendingRecord *joining = ARENA_NEW(change_arena(change), PendingRecord);
    NodeRecord node;
    Pin key;
    int64_t now = loop_wall_ms(wanted->at.loop);
    *joining = (PendingRecord){ 0 };
    memcpy(joining->name, wanted->name, sizeof joining->name);
    if (change_has(change, SEEN_JOINING) && !read_joining(change, joining, err)) {
        return false;
    }
    pending_record_prune(joining, now);
    if (change_has(change, SEEN_NODE) && joining->count == 0) {
        return error_set(err, ERROR_CONFLICT, "'%s' is already a node, and no machine is pending",
                         wanted->name);
    }
    if (!find_key(wanted, change, joining, &key, err)) {
        return false;
    }
    if (change_has(change, SEEN_NODE)) {
        if (!read_node(change, &node, err)) {
            return false;
        }
        if (!pin_equal(&node.key, &key)) {
            return error_set(err, ERROR_CONFLICT,
                             "node '%s' already exists with a different key; remove it first",
                             wanted->name);
        }
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    pending_record_approve(joining, &key, now);
    pending_record_print(joining, &text);
    change_put(change, change_key(change, SEEN_JOINING), buf_str(&text), 0);
    return true;
}

void nodes_approve(const ClusterStore *at, Str name, Str key, ClusterDone *done, void *context)
{
    Error err;
    if (!check_key(key, &err)) {
        done(context, &err);
        return;
    }
    NodeChange *wanted = node_change_new(at, name, decide_approve, done, context);
    if (wanted != NULL) {
        wanted->key = arena_copy(&wanted->arena, key);
        wanted->may_be_unknown = digits_of(key).len == (size_t)2 * PIN_BYTES;
        node_change_start(wanted);
    }
}

static bool decide_reject(const NodeChange *wanted, Change *change, Error *err)
{
    if (!change_has(change, SEEN_JOINING)) {
        return error_set(err, ERROR_CONFLICT,
                         "'%s' is a node, and no other machine is pending; to remove it from the "
                         "cluster, use remove",
                         wanted->name);
    }
    change_delete(change, change_key(change, SEEN_JOINING));
    return true;
}

void nodes_reject(const ClusterStore *at, Str name, ClusterDone *done, void *context)
{
    NodeChange *wanted = node_change_new(at, name, decide_reject, done, context);
    if (wanted != NULL) {
        node_change_start(wanted);
    }
}

/* --- Removing -------------------------------------------------------------------------------- */

/* Time by which every certificate for this name has expired; capped at the CA lifetime. */
static int64_t certified_until_ms(const NodeChange *wanted, Change *change)
{
    NodeRecord node;
    Error err;
    return read_node(change, &node, &err) ? node.not_after_ms
                                          : loop_wall_ms(wanted->at.loop) + CA_LIFE_MS;
}

static bool revoke_name(const NodeChange *wanted, Change *change, Error *err)
{
    Arena *arena = change_arena(change);
    RevocationList list = { 0 };
    if (change_has(change, SEEN_REVOCATIONS) &&
        !revocation_read(arena, change_value(change, SEEN_REVOCATIONS), &list, err)) {
        return false;
    }
    revocation_prune(&list, loop_wall_ms(wanted->at.loop));
    if (!revocation_set_name(arena, &list, str_from_c(wanted->name), STR_EMPTY,
                             certified_until_ms(wanted, change), err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    revocation_print(&list, &text);
    change_put(change, change_key(change, SEEN_REVOCATIONS), buf_str(&text), 0);
    return true;
}

static bool decide_remove(const NodeChange *wanted, Change *change, Error *err)
{
    static const uint32_t gone[] = { SEEN_NODE, SEEN_JOINING, SEEN_ALIVE, SEEN_FACTS };
    if (!change_has(change, SEEN_NODE)) {
        return error_set(err, ERROR_CONFLICT, "'%s' has not joined yet; reject it instead",
                         wanted->name);
    }
    if (!check_revision(wanted, change, err) || !revoke_name(wanted, change, err)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(gone); i++) {
        if (change_has(change, gone[i])) {
            change_delete(change, change_key(change, gone[i]));
        }
    }
    /* The next node of this name inherits nothing: remaining data is deleted in small steps
     * (node_sweep.h). */
    Arena *arena = change_arena(change);
    Str name = str_from_c(wanted->name), prefix = wanted->at.prefix;
    change_delete(change, cluster_key_session(arena, prefix, name));
    change_delete(change, cluster_key_trust_of(arena, prefix, name));
    change_delete(change, cluster_key_rotation_excluded(arena, prefix, name));
    change_delete(change, cluster_key_silent(arena, prefix, name));
    change_delete_all(change, cluster_key_logs(arena, prefix, name));
    change_delete_all(change, cluster_key_orders(arena, prefix, name));
    change_put(change, cluster_key_removed(arena, prefix, name), STR("{}"), 0);
    return true;
}

void nodes_remove(const ClusterStore *at, Str name, int64_t revision, ClusterDone *done,
                  void *context)
{
    NodeChange *wanted = node_change_new(at, name, decide_remove, done, context);
    if (wanted != NULL) {
        wanted->revision = revision;
        node_change_start(wanted);
    }
}
