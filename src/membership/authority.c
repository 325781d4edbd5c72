/* The certificate authority of a server and its rotation; see authority.h for the order of files
 * and store.
 *
 * A move is a Change of the rotation record with the notice for nodes. Only the leader makes moves
 * that follow from the progress of nodes; operators' requests run on any server. Every server
 * applies the record when its state has it (follow), including its own, so there is one path for
 * both. */
#include "membership/authority.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "membership/rotation_nodes.h"
#include "membership/trust_listing.h"
#include "pki/ca.h"

enum {
    CHECK_MS = 250,        /* interval between two checks, plus CHECK_NODE_MS for each node */
    CHECK_NODE_MS = 1,     /* so that the cost of checking stays low with many nodes */
    RENEW_NODE_MS = 20,    /* pace at which nodes fetch certificates from the next CA */
    RENEW_MAX_MS = 600000, /* maximum time in which all nodes do so */
};

struct Authority {
    AuthorityOptions options;
    Arena keys;
    Str rotation_key, trust_key, servers; /* the prefix of all servers */
    StateView view;   /* reports changes of the rotation record by other servers */
    int64_t revision; /* of the record in effect; 0: there is no record */
    CaFiles *files;
    Rotation rotation;
    Error unreadable; /* ERROR_NONE: the stored record can be read */
    CaSet set;
    CertificateSet chain;
    uint32_t node_count; /* at the last check */
    Arena waits_arena;   /* holds the conditions that the rotation waits for */
    const RotationWait *waits;
    uint32_t wait_count;
    LoopTimer check_timer;
    const StoreCompare *fence; /* NULL: another server is the leader */
    bool writing;              /* a request to the store is in progress */
    bool is_started, freed;
};

/* A new state that is being written to the store. */
typedef struct Move {
    Authority *authority;
    Rotation from, to;
    ClusterDone *done; /* NULL: the leader made the move by itself */
    void *context;
    const StoreCompare *fence; /* fence of the leader; NULL: an operator requested the move */
} Move;

/* --- Files ----------------------------------------------------------------------------------- */

/* With a single CA, it is in ca.pem, and no other file exists. */
static bool remove_unused_cas(Authority *authority, Error *err)
{
    const Directory *directory = authority->options.directory;
    const CaFiles *files = authority->files;
    const Credential *only = ca_files_find(files, &authority->rotation.present);
    if (authority->rotation.state != ROTATION_STEADY || only == NULL ||
        files->items[FILE_NEXT].key == NULL) {
        return true;
    }
    if (only != &files->items[FILE_CA] &&
        !credential_save(directory, AUTHORITY_CA, only->key,
                         (CertificateSet){ only->chain.items, 1 }, err)) {
        return false;
    }
    return !directory_has(directory, AUTHORITY_CA_NEXT) ||
           directory_remove(directory, AUTHORITY_CA_NEXT, err);
}

static bool save_file(const Authority *authority, const Credential *ca, const char *name,
                      Error *err)
{
    return ca == NULL || ca->key == NULL ||
           credential_save(authority->options.directory, name, ca->key,
                           (CertificateSet){ ca->chain.items, 1 }, err);
}

bool authority_is_saved(const Authority *authority)
{
    const Directory *directory = authority->options.directory;
    bool has_next = authority->rotation.state != ROTATION_STEADY &&
                    authority->files->items[FILE_NEXT].key != NULL;
    return directory_has(directory, AUTHORITY_CA) &&
           (!has_next || directory_has(directory, AUTHORITY_CA_NEXT));
}

bool authority_save(const Authority *authority, Error *err)
{
    const CaFiles *files = authority->files;
    if (authority->rotation.state == ROTATION_STEADY) {
        return save_file(authority, ca_files_find(files, &authority->rotation.present),
                         AUTHORITY_CA, err);
    }
    return save_file(authority, &files->items[FILE_CA], AUTHORITY_CA, err) &&
           save_file(authority, &files->items[FILE_NEXT], AUTHORITY_CA_NEXT, err);
}

/* A failure is harmless: the next rotation or start removes the files before anything else. */
static void remove_old_files(Authority *authority)
{
    Error err;
    if (!remove_unused_cas(authority, &err)) {
        log_warning("cannot clean up the CA files", LOG_C("error", err.text));
    }
}

/* --- Current CAs ----------------------------------------------------------------------------- */

static bool check_files(const Authority *authority, const CaFiles *files, const Rotation *rotation,
                        Error *err)
{
    char present[PIN_TEXT + 1];
    if (ca_files_suffice(files, rotation)) {
        return true;
    }
    pin_text(&rotation->present, present);
    return error_set(err, ERROR_NOT_FOUND,
                     "%s: according to the store the CA is %s (%s), but its key, or that of the "
                     "next CA, is missing here; restore " AUTHORITY_CA " and " AUTHORITY_CA_NEXT
                     " from the same backup as the store",
                     authority->options.directory->path, present,
                     rotation_state_name(rotation->state));
}

/* While the next CA signs, peers that know only the current one need the chain between them. */
static bool make_chain(const Authority *authority, CaFiles *files, CertificateSet *out, Error *err)
{
    const Rotation *rotation = &authority->rotation;
    const Credential *issuer = ca_files_find(files, rotation_issuer(rotation));
    *out = (CertificateSet){ issuer->chain.items, 1 };
    if (rotation->state != ROTATION_ISSUE) {
        return true;
    }
    const Credential *present = ca_files_find(files, &rotation->present);
    Certificate *items = ARENA_ARRAY(&files->arena, Certificate, 2);
    items[1] = present->chain.items[0];
    *out = (CertificateSet){ items, 2 };
    return ca_cross_sign(&files->arena, present, &issuer->chain.items[0],
                         loop_wall_ms(authority->options.cluster_store.loop), &items[0], err);
}

/* Reads the files and sets up what the state requires; on failure nothing changes. */
static bool load_certificates(Authority *authority, Error *err)
{
    const Rotation *rotation = &authority->rotation;
    AUTO(CaFiles) *files = NULL;
    CertificateSet chain;
    if (!ca_files_read(authority->options.directory, &files, err) ||
        !check_files(authority, files, rotation, err)) {
        return false;
    }
    if (!make_chain(authority, files, &chain, err)) {
        return false;
    }
    ca_files_free(authority->files);
    authority->files = TAKE(files);
    authority->set =
        (CaSet){ ca_files_find(authority->files, rotation_issuer(rotation)),
                 ca_files_trusted(authority->files, &authority->files->arena, rotation) };
    authority->chain = chain;
    return true;
}

/* --- Notice for nodes ------------------------------------------------------------------------ */

/* `stored` is the previous notice for nodes, or empty. */
static Str notice_text(const Authority *authority, Arena *arena, const Rotation *rotation,
                       Str stored)
{
    int64_t spread_ms = (int64_t)authority->node_count * RENEW_NODE_MS;
    TrustNotice before;
    CertificateSet ignored;
    Error err;
    bool has_before = stored.len > 0 && trust_notice_read(arena, stored, &before, &ignored, &err);
    Buf pem = buf_make_in(arena, BUF_UNLIMITED), text = buf_make_in(arena, BUF_UNLIMITED);
    CertificateSet trusted = ca_files_trusted(authority->files, arena, rotation);
    for (uint32_t i = 0; i < trusted.count; i++) {
        buf_put(&pem, certificate_pem(arena, &trusted.items[i]));
    }
    TrustNotice notice = { .bundle = buf_str(&pem),
                           .issuer = *rotation_issuer(rotation),
                           .since_ms = rotation->since_ms,
                           .spread_ms = spread_ms < RENEW_MAX_MS ? spread_ms : RENEW_MAX_MS,
                           .unknown = has_before ? before.unknown : value_missing() };
    trust_notice_print(&notice, &text);
    return buf_str(&text);
}

/* Whether the stored notice matches, regardless of its time. */
static bool notice_equals(Arena *arena, Str stored, Str planned)
{
    TrustNotice a, b;
    CertificateSet ignored;
    Error err;
    return stored.len > 0 && trust_notice_read(arena, stored, &a, &ignored, &err) &&
           trust_notice_read(arena, planned, &b, &ignored, &err) && str_eq(a.bundle, b.bundle) &&
           pin_equal(&a.issuer, &b.issuer);
}

/* --- Moves ----------------------------------------------------------------------------------- */

static void authority_destroy(Authority *authority)
{
    ca_files_free(authority->files);
    arena_clear(&authority->keys);
    arena_clear(&authority->waits_arena);
    free(authority);
}

/* Called after a response from the store. Returns false if the authority was freed. */
static bool has_next_step(Authority *authority)
{
    if (!authority->freed) {
        return true;
    }
    if (!authority->writing) {
        authority_destroy(authority);
    }
    return false;
}

static void schedule_check(Authority *authority)
{
    if (authority->rotation.state != ROTATION_STEADY && !authority->writing) {
        loop_timer_start(&authority->check_timer,
                         CHECK_MS + (int64_t)authority->node_count * CHECK_NODE_MS);
    }
}

static bool is_same(const Rotation *a, const Rotation *b)
{
    return a->state == b->state && pin_equal(&a->present, &b->present) &&
           pin_equal(&a->next, &b->next);
}

enum {
    READ_ROTATION,
    READ_TRUST,
    READ_COUNT
};

static bool read_record(Arena *arena, Str record, Rotation *out, Error *err)
{
    return rotation_read(arena, record, out, err) ||
           error_wrap(
               err, "cannot read the record of the CA rotation; stop the server, then 'eden "
                    "cluster repair /eden/internal/pki/rotation' restores its last readable value");
}

/* Leaves `rotation` unchanged if the store has no record. */
static bool read_rotation(Change *change, Rotation *rotation, Error *err)
{
    return !change_has(change, READ_ROTATION) ||
           read_record(change_arena(change), change_value(change, READ_ROTATION), rotation, err);
}

static bool decide_move(void *context, Change *change, Error *err)
{
    const Move *move = context;
    const Authority *authority = move->authority;
    Arena *arena = change_arena(change);
    Rotation stored = move->from;
    if (!read_rotation(change, &stored, err)) {
        return false;
    }
    if (authority->freed || !is_same(&stored, &move->from)) {
        return error_set(err, ERROR_CONFLICT, "the CA rotation state was modified concurrently");
    }
    Str notice = notice_text(authority, arena, &move->to, change_value(change, READ_TRUST));
    if (!is_same(&move->from, &move->to)) {
        Buf text = buf_make_in(arena, BUF_UNLIMITED);
        Rotation to = move->to;
        to.unknown = stored.unknown;
        rotation_print(&to, &text);
        change_put(change, authority->rotation_key, buf_str(&text), 0);
        change_put(change, authority->trust_key, notice, 0);
        if (move->to.state == ROTATION_STEADY) {
            change_delete_all(change, cluster_key_rotation_excluded_all(
                                          arena, authority->options.cluster_store.prefix));
        }
    } else if (!notice_equals(arena, change_value(change, READ_TRUST), notice)) {
        change_put(change, authority->trust_key, notice, 0);
    }
    return true;
}

/* Applies the state in the store on this server. */
static void apply_rotation(Authority *authority, const Rotation *to)
{
    Error err;
    log_info("CA rotation state changed",
             LOG_C("from", rotation_state_name(authority->rotation.state)),
             LOG_C("to", rotation_state_name(to->state)));
    authority->rotation = *to;
    authority->waits = NULL;
    authority->wait_count = 0;
    remove_old_files(authority);
    if (!load_certificates(authority, &err)) {
        authority->options.events.failed(authority->options.events.context, &err);
        return;
    }
    authority->options.events.changed(authority->options.events.context);
    schedule_check(authority);
}

/* If this server cannot apply a state, nothing changes here: its present CAs keep working. */
static bool check_applied(const Authority *authority, const Rotation *to, Error *err)
{
    AUTO(CaFiles) *files = NULL;
    return ca_files_read(authority->options.directory, &files, err) &&
           check_files(authority, files, to, err);
}

bool authority_is_missing(const Authority *authority)
{
    return authority->unreadable.kind == ERROR_NOT_FOUND;
}

/* Another server that has begun a rotation has the key. */
static bool request_missing_keys(const Authority *authority)
{
    const AuthorityEvents *events = &authority->options.events;
    if (!authority_is_missing(authority) || events->missing == NULL) {
        return false;
    }
    log_info("the key of a CA is missing here; asking other servers");
    events->missing(events->context);
    return true;
}

/* The record may have been written by another server,
 * or by this one when it did not receive the response. */
static void apply_record(Authority *authority)
{
    const StateEntry *entry =
        state_find(authority->options.cluster_store.state, authority->rotation_key);
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!authority->is_started || authority->writing || entry == NULL ||
        entry->mod_revision <= authority->revision) {
        return;
    }
    Rotation to = authority->rotation;
    authority->revision = entry->mod_revision;
    authority->unreadable.kind = ERROR_NONE;
    if (!read_record(&arena, entry->value, &to, &err) || !check_applied(authority, &to, &err)) {
        authority->unreadable = err;
        if (!request_missing_keys(authority)) {
            log_error("cannot rotate the CA", LOG_C("error", err.text));
        }
        return;
    }
    to.unknown = value_missing(); /* its memory belongs to the arena */
    if (!is_same(&to, &authority->rotation)) {
        apply_rotation(authority, &to);
    }
}

void authority_files_changed(Authority *authority)
{
    authority->revision = 0;
    apply_record(authority);
}

static void record_changed(void *context, const StateEntry *now, const StateEntry *before)
{
}

static void records_settled(void *context)
{
    apply_record(context);
}

static void moved(void *context, Change *change, const Error *err)
{
    Move *move = context;
    Authority *authority = move->authority;
    authority->writing = false;
    if (!authority->freed && err == NULL) {
        authority->revision = change_written(change);
        apply_rotation(authority, &move->to);
    } else if (!authority->freed) {
        log_warning("cannot continue the CA rotation for now", LOG_C("error", err->text));
        schedule_check(authority);
        apply_record(authority);
    }
    if (move->done != NULL) {
        move->done(move->context, err);
    }
    free(move);
    (void)has_next_step(authority);
}

/* Writes a transition from the present state to the planned one. */
static void write_move(Authority *authority, const Move *planned,
                       bool (*decide)(void *, Change *, Error *),
                       void (*ended)(void *, Change *, const Error *))
{
    Move *move = calloc(1, sizeof *move);
    Change *change;
    if (move == NULL) {
        memory_exhausted(sizeof *move);
    }
    BUG_IF(authority->writing);
    *move = *planned;
    move->authority = authority;
    move->from = authority->rotation;
    authority->writing = true;
    loop_timer_stop(&authority->check_timer);
    Str keys[READ_COUNT] = {
        [READ_ROTATION] = authority->rotation_key, [READ_TRUST] = authority->trust_key
    };
    change_start(&(ChangeSpec){ .cluster_store = authority->options.cluster_store,
                                .keys = keys,
                                .key_count = READ_COUNT,
                                .counted = { authority->servers },
                                .decide = decide,
                                .done = ended,
                                .context = move,
                                .fence = move->fence },
                 &change);
}

/* --- Progress --------------------------------------------------------------------------------- */

static void save_waits(Authority *authority, const RotationPlan *plan)
{
    arena_reset(&authority->waits_arena);
    RotationWait *waits = ARENA_ARRAY(&authority->waits_arena, RotationWait, plan->wait_count + 1);
    for (uint32_t i = 0; i < plan->wait_count; i++) {
        waits[i] = plan->waits[i];
        waits[i].node = arena_copy(&authority->waits_arena, plan->waits[i].node);
        waits[i].what = arena_copy(&authority->waits_arena, plan->waits[i].what);
    }
    authority->waits = waits;
    authority->wait_count = plan->wait_count;
}

/* A stale state may lack a node that the transition must wait for. */
static bool list_trust(const Authority *authority, Arena *arena, TrustListing *out)
{
    Error err;
    return state_age(authority->options.cluster_store.state).stale_since_ms == 0 &&
           trust_list(arena, &authority->options.cluster_store, out, &err);
}

static void check_progress(void *context)
{
    Authority *authority = context;
    AUTO_CLEAR(Arena) arena;
    TrustListing listing;
    RotationPlan plan;
    arena_init(&arena, ARENA_UNLIMITED);
    if (authority->writing) {
        return;
    }
    if (authority->rotation.state == ROTATION_STEADY || !list_trust(authority, &arena, &listing)) {
        schedule_check(authority);
        return;
    }
    ServersListing servers = servers_list(&arena, &authority->options.cluster_store);
    const AuthorityEvents *events = &authority->options.events;
    uint32_t count;
    const RotationNode *nodes = rotation_nodes(
        &arena,
        &(RotationView){ .rotation = &authority->rotation,
                         .server = authority->options.node,
                         .has_issuer = events->certificates_issued_by(
                             events->context, rotation_issuer(&authority->rotation)),
                         .now_ms = loop_wall_ms(authority->options.cluster_store.loop),
                         .nodes = &listing,
                         .servers = &servers },
        &count);
    authority->node_count = count;
    rotation_plan(&arena, &authority->rotation, nodes, count,
                  loop_wall_ms(authority->options.cluster_store.loop), &plan);
    save_waits(authority, &plan);
    if (plan.moves && authority->fence != NULL) {
        write_move(authority, &(Move){ .to = plan.next, .fence = authority->fence }, decide_move,
                   moved);
    } else {
        schedule_check(authority);
    }
}

void authority_check(Authority *authority)
{
    if (authority->rotation.state != ROTATION_STEADY) {
        loop_timer_start(&authority->check_timer, 0);
    }
}

void authority_set_leader(Authority *authority, const StoreCompare *fence)
{
    authority->fence = fence;
}

/* --- Requests of operators ------------------------------------------------------------------- */

static bool check_free(const Authority *authority, Error *err)
{
    if (authority->unreadable.kind != ERROR_NONE) {
        *err = authority->unreadable;
        return false;
    }
    return !authority->writing ||
           error_set(err, ERROR_UNAVAILABLE, "the CA rotation state is being written; try again");
}

static bool make_next(Authority *authority, Rotation *out, Error *err)
{
    const AuthorityOptions *options = &authority->options;
    int64_t now_ms = loop_wall_ms(options->cluster_store.loop);
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) next = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    /* If ca.pem could not be written, this file may be the CA that signs: do not overwrite it. */
    return remove_unused_cas(authority, err) &&
           ca_make(&arena, options->cluster, now_ms, &next, err) &&
           rotation_begin(&authority->rotation, &next.chain.items[0].pin, now_ms, out, err) &&
           credential_save(options->directory, AUTHORITY_CA_NEXT, next.key, next.chain, err) &&
           load_certificates(authority, err);
}

void authority_begin(Authority *authority, ClusterDone *done, void *context)
{
    Rotation to;
    Error err;
    if (!check_free(authority, &err) || !make_next(authority, &to, &err)) {
        done(context, &err);
        return;
    }
    write_move(authority, &(Move){ .to = to, .done = done, .context = context }, decide_move,
               moved);
}

void authority_revert(Authority *authority, ClusterDone *done, void *context)
{
    Rotation to;
    Error err;
    if (!check_free(authority, &err) ||
        !rotation_revert(&authority->rotation, loop_wall_ms(authority->options.cluster_store.loop),
                         &to, &err)) {
        done(context, &err);
        return;
    }
    write_move(authority, &(Move){ .to = to, .done = done, .context = context }, decide_move,
               moved);
}

typedef struct Exclusion {
    char node[NODE_NAME_MAX + 1];
    ClusterDone *done;
    void *context;
} Exclusion;

static bool decide_exclude(void *context, Change *change, Error *err)
{
    const Exclusion *leaving = context;
    Arena *arena = change_arena(change);
    NodeRecord node;
    if (!change_has(change, 0)) {
        return error_set(err, ERROR_NOT_FOUND, "node '%s' not found", leaving->node);
    }
    if (!node_record_read(arena, change_value(change, 0), &node, err)) {
        return false;
    }
    if (node.is_server) {
        return error_set(err, ERROR_CONFLICT,
                         "'%s' is a server; the rotation cannot continue without it",
                         leaving->node);
    }
    change_put(change, change_key(change, 1), excluded_record(arena), 0);
    return true;
}

static void excluded(void *context, Change *change, const Error *err)
{
    Exclusion *leaving = context;
    leaving->done(leaving->context, err);
    free(leaving);
}

void authority_exclude(Authority *authority, Str node, ClusterDone *done, void *context)
{
    const ClusterStore *cluster_store = &authority->options.cluster_store;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err;
    if (authority->rotation.state == ROTATION_STEADY) {
        error_set(&err, ERROR_CONFLICT, "the CA is not being rotated");
        done(context, &err);
        return;
    }
    if (!node_name_check(node, &err)) {
        done(context, &err);
        return;
    }
    Exclusion *leaving = calloc(1, sizeof *leaving);
    Change *change;
    if (leaving == NULL) {
        memory_exhausted(sizeof *leaving);
    }
    *leaving = (Exclusion){ .done = done, .context = context };
    memcpy(leaving->node, node.data, node.len);
    Str keys[] = { cluster_key_node(&arena, cluster_store->prefix, node),
                   cluster_key_rotation_excluded(&arena, cluster_store->prefix, node) };
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = keys,
                                .key_count = COUNT_OF(keys),
                                .decide = decide_exclude,
                                .done = excluded,
                                .context = leaving },
                 &change);
}

/* --- Lifecycle ------------------------------------------------------------------------------- */

/* Only the record defines which of two CAs signs and which are trusted. With a single CA there is
 * no choice: it works, writes nothing, and cannot be rotated until the record is repaired. */
static bool start_unreadable(Authority *authority, const Rotation *is_steady, Error *err)
{
    const Credential *next = &authority->files->items[FILE_NEXT];
    if (next->key != NULL && !pin_equal(&next->chain.items[0].pin, &is_steady->present)) {
        return false;
    }
    log_error("cannot rotate the CA", LOG_C("error", err->text));
    authority->unreadable = *err;
    authority->rotation = *is_steady;
    return load_certificates(authority, err);
}

/* The stored state, and the notice for nodes. */
static bool decide_start(void *context, Change *change, Error *err)
{
    Move *move = context;
    Authority *authority = move->authority;
    const Rotation only = rotation_steady(&authority->files->items[FILE_CA].chain.items[0].pin, 0);
    Rotation stored = only;
    if (authority->freed) {
        return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
    }
    authority->unreadable.kind = ERROR_NONE;
    authority->revision = change_revision(change, READ_ROTATION);
    if (!read_rotation(change, &stored, err)) {
        return start_unreadable(authority, &stored, err);
    }
    stored.unknown = value_missing(); /* its memory belongs to the change */
    move->from = move->to = stored;
    if (!ca_files_suffice(authority->files, &stored) && change_count(change, 0) > 1) {
        return !check_files(authority, authority->files, &stored, err) &&
               start_unreadable(authority, &only, err);
    }
    bool unused = stored.state == ROTATION_PREPARE || stored.state == ROTATION_DISTRIBUTE;
    if (unused && !ca_files_suffice(authority->files, &stored)) {
        /* The CA has not issued any certificate: a rotation can start again with another one. */
        log_warning("next CA lost; CA rotation aborted");
        if (!rotation_revert(&stored, loop_wall_ms(authority->options.cluster_store.loop),
                             &move->to, err)) {
            return false;
        }
    }
    authority->rotation = move->to;
    return load_certificates(authority, err) && decide_move(context, change, err);
}

static void started(void *context, Change *change, const Error *err)
{
    Move *move = context;
    Authority *authority = move->authority;
    const AuthorityEvents *events = &authority->options.events;
    Error failure;
    Rotation from = move->from;
    free(move);
    authority->writing = false;
    if (!has_next_step(authority)) {
        return;
    }
    if (err == NULL) {
        int64_t written = is_same(&from, &authority->rotation) ? 0 : change_written(change);
        authority->revision = written > 0 ? written : authority->revision;
        remove_old_files(authority);
        err = load_certificates(authority, &failure) ? NULL : &failure;
    }
    if (err != NULL) {
        events->failed(events->context, err);
        return;
    }
    schedule_check(authority);
    authority->is_started = true;
    events->ready(events->context);
    apply_record(authority);
    (void)request_missing_keys(authority);
}

bool authority_open(const AuthorityOptions *options, Authority **out, Error *err)
{
    Authority *authority = memory_new(sizeof *authority);
    authority->options = *options;
    arena_init(&authority->keys, ARENA_UNLIMITED);
    arena_init(&authority->waits_arena, ARENA_UNLIMITED);
    loop_timer_init(&authority->check_timer, options->cluster_store.loop, check_progress,
                    authority);
    authority->rotation_key = cluster_key_rotation(&authority->keys, options->cluster_store.prefix);
    authority->trust_key = cluster_key_trust(&authority->keys, options->cluster_store.prefix);
    authority->servers = cluster_key_server_all(&authority->keys, options->cluster_store.prefix);
    if (!ca_files_read(options->directory, &authority->files, err)) {
        authority_destroy(authority);
        return false;
    }
    *out = authority;
    authority->view = (StateView){ .kinds = STATE_KIND(KEY_INTERNAL),
                                   .changed = record_changed,
                                   .settled = records_settled,
                                   .context = authority };
    state_attach(options->cluster_store.state, &authority->view);
    write_move(authority, &(Move){ .to = authority->rotation }, decide_start, started);
    return true;
}

void authority_free(Authority *authority)
{
    if (authority == NULL) {
        return;
    }
    loop_timer_stop(&authority->check_timer);
    state_detach(authority->options.cluster_store.state, &authority->view);
    authority->freed = true;
    (void)has_next_step(authority);
}

const CaSet *authority_cas(const Authority *authority)
{
    return &authority->set;
}

CertificateSet authority_chain(const Authority *authority)
{
    return authority->chain;
}

const Rotation *authority_rotation(const Authority *authority)
{
    return &authority->rotation;
}

const char *authority_unreadable(const Authority *authority)
{
    return authority->unreadable.kind == ERROR_NONE ? NULL : authority->unreadable.text;
}

const RotationWait *authority_waits(const Authority *authority, uint32_t *count)
{
    *count = authority->wait_count;
    return authority->waits;
}
