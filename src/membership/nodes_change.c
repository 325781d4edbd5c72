/* Changes to nodes. Each is one transaction that compares every record it depends on; see
 * cluster/change.h. */

#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "membership/nodes.h"
#include "pki/ca.h"

/* Indexes of the keys that every change reads. */
enum {
    READ_NODE,
    READ_JOINING,
    READ_ALIVE,
    READ_FACTS,
    READ_REVOCATIONS,
    READ_COUNT
};

typedef struct NodeChange NodeChange;
typedef bool Decide(const NodeChange *request, Change *change, Error *err);

struct NodeChange {
    ChangeRequest base;
    char name[NODE_NAME_MAX + 1];
    Str key;
    Value labels, annotations;
    int64_t revision; /* expected revision of the record; 0: any */
    Decide *decide;
    bool may_be_unknown; /* the name may be unknown */
};

static bool decide(void *context, Change *change, Error *err)
{
    NodeChange *request = context;
    if (!request->may_be_unknown && !change_has(change, READ_NODE) &&
        !change_has(change, READ_JOINING)) {
        return nodes_not_found(&request->base.cluster_store, str_from_c(request->name), err);
    }
    return request->decide(request, change, err);
}

/* Returns NULL if the name is invalid, which was reported to `done` already. */
static NodeChange *node_change_new(const ClusterStore *cluster_store, Str name, Decide *decide_it,
                                   ClusterDone *done, void *context)
{
    Error err;
    if (!node_name_check(name, &err)) {
        done(context, &err);
        return NULL;
    }
    NodeChange *request = change_request_new(sizeof *request, cluster_store, done, context);
    memcpy(request->name, name.data, name.len);
    request->decide = decide_it;
    return request;
}

static void node_change_start(NodeChange *request)
{
    Arena *arena = &request->base.arena;
    Str prefix = request->base.cluster_store.prefix, name = str_from_c(request->name);
    Str keys[READ_COUNT] = {
        [READ_NODE] = cluster_key_node(arena, prefix, name),
        [READ_JOINING] = cluster_key_joining(arena, prefix, name),
        [READ_ALIVE] = cluster_key_alive(arena, prefix, name),
        [READ_FACTS] = cluster_key_facts(arena, prefix, name),
        [READ_REVOCATIONS] = cluster_key_revocations(arena, prefix),
    };
    change_request_start(
        &request->base,
        &(ChangeSpec){ .urgent = true, .keys = keys, .key_count = READ_COUNT, .decide = decide });
}

static bool read_node(Change *change, NodeRecord *out, Error *err)
{
    return node_record_read(change_arena(change), change_value(change, READ_NODE), out, err) ||
           error_wrap(err, "%" STR_FMT, STR_ARG(change_key(change, READ_NODE)));
}

static bool read_joining(Change *change, PendingRecord *out, Error *err)
{
    return pending_record_read(change_arena(change), change_value(change, READ_JOINING), out,
                               err) ||
           error_wrap(err, "%" STR_FMT, STR_ARG(change_key(change, READ_JOINING)));
}

static bool check_revision(const NodeChange *request, const Change *change, Error *err)
{
    return request->revision == 0 || change_revision(change, READ_NODE) == request->revision ||
           error_set(err, ERROR_CONFLICT, "it was modified by another request; read it again");
}

/* --- Labels and annotations ------------------------------------------------------------------ */

static bool texts_equal(const Map *a, const Map *b)
{
    if (a->len != b->len) {
        return false;
    }
    for (uint32_t i = 0; i < a->len; i++) {
        const MapEntry *other = map_find(b, a->entries[i].key);
        if (other == NULL || !str_eq(value_str(a->entries[i].value), value_str(other->value))) {
            return false;
        }
    }
    return true;
}

static bool decide_set(const NodeChange *request, Change *change, Error *err)
{
    NodeRecord node, checked;
    Arena *arena = change_arena(change);
    if (!change_has(change, READ_NODE)) {
        return error_set(err, ERROR_CONFLICT, "'%s' has not joined yet; approve it first",
                         request->name);
    }
    if (!check_revision(request, change, err) || !read_node(change, &node, err)) {
        return false;
    }
    if (texts_equal(node.labels.map, request->labels.map) &&
        texts_equal(node.annotations.map, request->annotations.map)) {
        return true;
    }
    if (!node_texts_check(request->labels, request->annotations, err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    node.labels = request->labels;
    node.annotations = request->annotations;
    node_record_print(&node, &text);
    /* Never write a record that could not be read back. */
    if (!node_record_read(arena, buf_str(&text), &checked, err)) {
        return false;
    }
    change_put(change, change_key(change, READ_NODE), buf_str(&text), 0);
    return true;
}

void nodes_set(const ClusterStore *cluster_store, Str name, const NodeUpdate *update,
               ClusterDone *done, void *context)
{
    NodeChange *request = node_change_new(cluster_store, name, decide_set, done, context);
    if (request != NULL) {
        request->labels = value_copy(&request->base.arena, update->labels);
        request->annotations = value_copy(&request->base.arena, update->annotations);
        request->revision = update->revision;
        node_change_start(request);
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

/* Formats the pending keys, for the end of a message. */
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

/* Finds the specified key. If two pending keys share this prefix, one of them is forged. */
static bool find_key(const NodeChange *request, Change *change, const PendingRecord *joining,
                     Pin *out, Error *err)
{
    Str digits = digits_of(request->key);
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
        Str pin = arena_join(change_arena(change), PIN_PREFIX, digits, STR_EMPTY);
        return pin_parse(pin, out, err);
    }
    return error_set(
        err, ERROR_CONFLICT,
        "%s is requesting to join as '%s' with a matching key; pending: %" STR_FMT
        "; compare with what 'eden join' shows on the machine, and specify the full key",
        found == 0 ? "no machine" : "more than one machine", request->name,
        STR_ARG(keys_text(change_arena(change), joining)));
}

static bool decide_approve(const NodeChange *request, Change *change, Error *err)
{
    PendingRecord *joining = ARENA_NEW(change_arena(change), PendingRecord);
    NodeRecord node;
    Pin key;
    int64_t now = loop_wall_ms(request->base.cluster_store.loop);
    *joining = (PendingRecord){ 0 };
    memcpy(joining->name, request->name, sizeof joining->name);
    if (change_has(change, READ_JOINING) && !read_joining(change, joining, err)) {
        return false;
    }
    pending_record_prune(joining, now);
    if (change_has(change, READ_NODE) && joining->count == 0) {
        return error_set(err, ERROR_CONFLICT, "'%s' is already a node, and no machine is pending",
                         request->name);
    }
    if (!find_key(request, change, joining, &key, err)) {
        return false;
    }
    if (change_has(change, READ_NODE)) {
        if (!read_node(change, &node, err)) {
            return false;
        }
        if (!pin_equal(&node.key, &key)) {
            return error_set(err, ERROR_CONFLICT,
                             "node '%s' already exists with a different key; remove it first",
                             request->name);
        }
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    pending_record_approve(joining, &key, now);
    pending_record_print(joining, &text);
    change_put(change, change_key(change, READ_JOINING), buf_str(&text), 0);
    return true;
}

void nodes_approve(const ClusterStore *cluster_store, Str name, Str key, ClusterDone *done,
                   void *context)
{
    Error err;
    if (!check_key(key, &err)) {
        done(context, &err);
        return;
    }
    NodeChange *request = node_change_new(cluster_store, name, decide_approve, done, context);
    if (request != NULL) {
        request->key = arena_copy(&request->base.arena, key);
        request->may_be_unknown = digits_of(key).len == (size_t)2 * PIN_BYTES;
        node_change_start(request);
    }
}

static bool decide_reject(const NodeChange *request, Change *change, Error *err)
{
    if (!change_has(change, READ_JOINING)) {
        return error_set(err, ERROR_CONFLICT,
                         "'%s' is a node, and no other machine is pending; to remove it from the "
                         "cluster, use remove",
                         request->name);
    }
    change_delete(change, change_key(change, READ_JOINING));
    return true;
}

void nodes_reject(const ClusterStore *cluster_store, Str name, ClusterDone *done, void *context)
{
    NodeChange *request = node_change_new(cluster_store, name, decide_reject, done, context);
    if (request != NULL) {
        node_change_start(request);
    }
}

/* --- Removing -------------------------------------------------------------------------------- */

/* The time at which all certificates for this name have expired, limited to the lifetime of the
 * CA. */
static int64_t certified_until_ms(const NodeChange *request, Change *change)
{
    NodeRecord node;
    Error err;
    return read_node(change, &node, &err)
               ? node.not_after_ms
               : loop_wall_ms(request->base.cluster_store.loop) + CA_LIFETIME_MS;
}

static bool revoke_name(const NodeChange *request, Change *change, Error *err)
{
    Arena *arena = change_arena(change);
    RevocationList list = { 0 };
    if (change_has(change, READ_REVOCATIONS) &&
        !revocation_read(arena, change_value(change, READ_REVOCATIONS), &list, err)) {
        return false;
    }
    revocation_prune(&list, loop_wall_ms(request->base.cluster_store.loop));
    if (!revocation_set_name(arena, &list, str_from_c(request->name), STR_EMPTY,
                             certified_until_ms(request, change), err)) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    revocation_print(&list, &text);
    change_put(change, change_key(change, READ_REVOCATIONS), buf_str(&text), 0);
    return true;
}

static bool decide_remove(const NodeChange *request, Change *change, Error *err)
{
    static const uint32_t removed_keys[] = { READ_NODE, READ_JOINING, READ_ALIVE, READ_FACTS };
    if (!change_has(change, READ_NODE)) {
        return error_set(err, ERROR_CONFLICT, "'%s' has not joined yet; reject it instead",
                         request->name);
    }
    if (!check_revision(request, change, err) || !revoke_name(request, change, err)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(removed_keys); i++) {
        if (change_has(change, removed_keys[i])) {
            change_delete(change, change_key(change, removed_keys[i]));
        }
    }
    /* The next node with this name inherits nothing: remaining data is deleted in small steps
     * (node_sweep.h). */
    Arena *arena = change_arena(change);
    Str name = str_from_c(request->name), prefix = request->base.cluster_store.prefix;
    change_delete(change, cluster_key_session(arena, prefix, name));
    change_delete(change, cluster_key_trust_of(arena, prefix, name));
    change_delete(change, cluster_key_rotation_excluded(arena, prefix, name));
    change_delete(change, cluster_key_silent(arena, prefix, name));
    change_delete(change, cluster_key_server(arena, prefix, name));
    change_delete_all(change, cluster_key_logs(arena, prefix, name));
    change_delete_all(change, cluster_key_orders(arena, prefix, name));
    change_put(change, cluster_key_removed(arena, prefix, name), STR("{}"), 0);
    return true;
}

void nodes_remove(const ClusterStore *cluster_store, Str name, int64_t revision, ClusterDone *done,
                  void *context)
{
    NodeChange *request = node_change_new(cluster_store, name, decide_remove, done, context);
    if (request != NULL) {
        request->revision = revision;
        node_change_start(request);
    }
}
