/* The in-memory view of credentials and roles. Every change to a record replaces an item of the
 * tables; when a credential or role that may have admitted a caller is removed, `changed` is called
 * once per revision, so that long-lived responses check their caller again. */
#include "access/credentials.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/browser_sessions.h"
#include "access/credential_items.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/suggest.h"
#include "base/utc.h"
#include "cluster/cluster_keys.h"
#include "pki/token.h"

enum {
    KEEP_ALIVE_MS = 60 * 1000, /* minimum interval between renewals of a session */
    /* maximum number of log lines about unreadable records, because there may be any number of
     * them */
    UNREADABLE_LOGGED = 20,
};

struct Credentials {
    ClusterStore cluster_store;
    State *state;
    CredentialsEvents events;
    StateView view;
    Arena arena; /* holds the keys */
    char cluster[CLUSTER_NAME_MAX + 1];
    Str keys[ITEM_KIND_COUNT]; /* prefixes of the keys by kind */
    NameTable tables[ITEM_KIND_COUNT];
    uint32_t unreadable;
    bool is_attached;
    bool has_removal; /* a credential or role was removed, and `changed` has not been called yet */
};

/* --- Tables ---------------------------------------------------------------------------------- */

static void drop_all(NameTable tables[ITEM_KIND_COUNT])
{
    for (ItemKind kind = 0; kind < ITEM_KIND_COUNT; kind++) {
        for (uint32_t i = 0; i < tables[kind].count; i++) {
            item_free(kind, tables[kind].items[i]);
        }
        name_table_clear(&tables[kind]);
    }
}

static void log_unreadable(Credentials *credentials, Str key, const Error *err)
{
    if (credentials->unreadable++ < UNREADABLE_LOGGED) {
        log_warning("cannot read an access record; skipping it", LOG_STR("key", key),
                    LOG_C("error", err->text));
    }
}

/* --- State view ------------------------------------------------------------------------------ */

/* An unreadable record still replaces the previous one. */
static void update_item(Credentials *credentials, ItemKind kind, const StateEntry *entry,
                        bool deleted)
{
    AUTO_CLEAR(Arena) arena;
    NameTable *table = &credentials->tables[kind];
    StoreKv kv = { .key = entry->key,
                   .value = entry->value,
                   .create_revision = entry->create_revision,
                   .mod_revision = entry->mod_revision,
                   .version = entry->version,
                   .lease = entry->lease };
    Str name;
    void *item = NULL, *before;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!item_name(&arena, credentials->cluster_store.prefix, kind, entry->key, &name)) {
        error_set(&err, ERROR_INVALID, "invalid name in the key");
        log_unreadable(credentials, entry->key, &err);
        return;
    }
    if (!deleted && !item_read(kind, name, &kv, &item, &err)) {
        log_unreadable(credentials, entry->key, &err);
    }
    before = item == NULL ? name_table_remove(table, name) : name_table_put(table, item);
    item_free(kind, before);
    credentials->has_removal = credentials->has_removal || before != NULL;
}

static void changed(void *context, const StateEntry *now, const StateEntry *before)
{
    Credentials *credentials = context;
    const StateEntry *current = now != NULL ? now : before;
    for (ItemKind kind = 0; kind < ITEM_KIND_COUNT; kind++) {
        if (str_starts(current->key, credentials->keys[kind])) {
            update_item(credentials, kind, current, now == NULL);
        }
    }
}

static void revision_reported(void *context)
{
    Credentials *credentials = context;
    if (credentials->has_removal && credentials->is_attached) {
        credentials->has_removal = false;
        credentials->events.changed(credentials->events.context);
    }
}

Credentials *credentials_new(const ClusterStore *cluster_store, State *state, Str cluster,
                             const CredentialsEvents *events)
{
    Credentials *credentials = memory_new(sizeof *credentials);
    Arena *arena = &credentials->arena;
    arena_init(arena, ARENA_UNLIMITED);
    credentials->cluster_store = *cluster_store;
    credentials->cluster_store.prefix = arena_copy(arena, cluster_store->prefix);
    credentials->state = state;
    credentials->events = *events;
    snprintf(credentials->cluster, sizeof credentials->cluster, "%" STR_FMT, STR_ARG(cluster));
    for (ItemKind kind = 0; kind < ITEM_KIND_COUNT; kind++) {
        credentials->keys[kind] = item_keys(arena, cluster_store->prefix, kind);
    }
    credentials->view = (StateView){ .kinds = STATE_KIND(KEY_OBJECT) | STATE_KIND(KEY_INTERNAL) |
                                              STATE_KIND(KEY_BROWSER),
                                     .changed = changed,
                                     .settled = revision_reported,
                                     .context = credentials };
    state_attach(state, &credentials->view);
    credentials->is_attached = true;
    return credentials;
}

void credentials_free(Credentials *credentials)
{
    if (credentials == NULL) {
        return;
    }
    state_detach(credentials->state, &credentials->view);
    drop_all(credentials->tables);
    arena_clear(&credentials->arena);
    free(credentials);
}

/* --- Authentication -------------------------------------------------------------------------- */

/* `what` is "token", "certificate" or "session". */
static bool check_expiry(const char *what, int64_t expires_ms, int64_t now_ms, Error *err)
{
    if (now_ms < expires_ms) {
        return true;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str moment = utc_text(&arena, expires_ms);
    return error_set(err, ERROR_DENIED, "the %s expired at %" STR_FMT, what, STR_ARG(moment));
}

static const char *kind_name(ItemKind kind)
{
    return kind == ITEM_TOKEN ? "token" : "certificate";
}

static void describe(const CredentialItem *item, ItemKind kind, Principal *out)
{
    *out = (Principal){ .kind = kind == ITEM_TOKEN ? PRINCIPAL_TOKEN : PRINCIPAL_CERTIFICATE,
                        .credential_created_ms = item->created_ms,
                        .expires_ms = item->expires_ms };
    if (item->name[0] == '\0') {
        /* The name may appear in the certificate that is created from the credential. */
        snprintf(out->name, sizeof out->name, "%s-%s", kind_name(kind), item->id.text);
    } else {
        snprintf(out->name, sizeof out->name, "%s", item->name);
    }
    principal_set_label(kind_name(kind), item->id.text, item->name, out);
    snprintf(out->credential, sizeof out->credential, "%s:%s", kind_name(kind), item->id.text);
    snprintf(out->roles, sizeof out->roles, "%s", item->roles);
}

static const char unknown_token[] = "invalid token: unknown or incomplete";

bool credentials_by_token(const Credentials *credentials, Str bearer, int64_t now_ms,
                          Principal *out, Error *err)
{
    AUTO_CLEAR(Token) token = { 0 };
    char hash[TOKEN_HASH_TEXT + 1];
    if (!token_parse(TOKEN_API, bearer, &token, err) || !token_hash(&token, hash, err)) {
        return error_set(err, ERROR_DENIED, "%s", unknown_token);
    }
    /* The check takes the same time for unknown and known IDs, so that timing reveals nothing. */
    const CredentialItem *item =
        name_table_find(&credentials->tables[ITEM_TOKEN], str_from_c(token.id));
    static const char no_hash[TOKEN_HASH_TEXT + 1];
    bool same = token_hash_equal(hash, item == NULL ? no_hash : item->hash);
    if (item == NULL || !same) {
        return error_set(err, ERROR_DENIED, "%s", unknown_token);
    }
    if (!check_expiry("token", item->expires_ms, now_ms, err)) {
        return false;
    }
    describe(item, ITEM_TOKEN, out);
    return true;
}

bool credentials_by_certificate(const Credentials *credentials, const PresentedUser *presented,
                                int64_t now_ms, Principal *out, Error *err)
{
    if (!presented->has_user) {
        return error_set(err, ERROR_DENIED, "not a user certificate");
    }
    if (strcmp(presented->user.cluster, credentials->cluster) != 0) {
        return error_set(err, ERROR_DENIED, "'%s' is a user of cluster '%s', not of '%s'",
                         presented->user.user, presented->user.cluster, credentials->cluster);
    }
    if (now_ms < presented->not_before_ms) {
        return error_set(err, ERROR_DENIED, "the certificate is not valid yet");
    }
    if (!check_expiry("certificate", presented->not_after_ms, now_ms, err)) {
        return false;
    }
    const CredentialItem *item =
        name_table_find(&credentials->tables[ITEM_CERTIFICATE], presented->serial);
    if (item == NULL || strcmp(item->name, presented->user.user) != 0) {
        return error_set(err, ERROR_DENIED, "the certificate of '%s' was revoked",
                         presented->user.user);
    }
    if (!check_expiry("certificate", item->expires_ms, now_ms, err)) {
        return false;
    }
    describe(item, ITEM_CERTIFICATE, out);
    return true;
}

/* The item that "token:ID" refers to; NULL if it was deleted. */
static const CredentialItem *find_proof(const Credentials *credentials, Str credential,
                                        int64_t created_ms, ItemKind *kind)
{
    size_t colon = str_find(credential, STR(":"), 0);
    Str word = str_slice(credential, 0, colon);
    *kind = str_eq(word, STR("token")) ? ITEM_TOKEN : ITEM_CERTIFICATE;
    if (colon == STR_NOT_FOUND || !str_eq_c(word, kind_name(*kind))) {
        return NULL;
    }
    const CredentialItem *item =
        name_table_find(&credentials->tables[*kind], str_from_offset(credential, colon + 1));
    return item != NULL && item->created_ms == created_ms ? item : NULL;
}

/* A session has the identity of the credential that it was created from, and ends with it. */
static bool describe_session(const Credentials *credentials, const SessionItem *session,
                             int64_t now_ms, Principal *out, Error *err)
{
    ItemKind kind;
    const CredentialItem *item = find_proof(credentials, str_from_c(session->credential),
                                            session->credential_created_ms, &kind);
    if (item == NULL) {
        return error_set(err, ERROR_DENIED, "the credential of this session was revoked");
    }
    if (!check_expiry("session", session->expires_ms, now_ms, err) ||
        !check_expiry(kind_name(kind), item->expires_ms, now_ms, err)) {
        return false;
    }
    describe(item, kind, out);
    out->kind = PRINCIPAL_SESSION;
    principal_set_label(kind == ITEM_TOKEN ? "session of token" : "session of certificate",
                        item->id.text, item->name, out);
    memcpy(out->session, session->hash.text, sizeof out->session);
    if (session->expires_ms < out->expires_ms) {
        out->expires_ms = session->expires_ms;
    }
    return true;
}

static bool set_invalid_session(Error *err)
{
    return error_set(err, ERROR_DENIED, "the session has expired; log in again");
}

static void renewed(void *context, const StoreLease *lease, const Error *err)
{
}

bool credentials_by_session(Credentials *credentials, const BrowserSecret *secret, int64_t now_ms,
                            Principal *out, Error *err)
{
    char hash[BROWSER_HASH_TEXT + 1];
    Error ignored;
    browser_secret_hash(secret, hash);
    SessionItem *session = name_table_find(&credentials->tables[ITEM_SESSION], str_from_c(hash));
    if (session == NULL) {
        return set_invalid_session(err);
    }
    if (!describe_session(credentials, session, now_ms, out, err)) {
        return false;
    }
    int64_t loop_ms = loop_now_ms(credentials->cluster_store.loop);
    bool is_due = session->renewed_ms == 0 || loop_ms - session->renewed_ms >= KEEP_ALIVE_MS;
    if (session->lease != 0 && is_due &&
        store_lease_keep_alive(credentials->cluster_store.store, session->lease, renewed, NULL,
                               &ignored)) {
        session->renewed_ms = loop_ms;
    }
    return true;
}

bool credentials_check(const Credentials *credentials, Principal *principal, int64_t now_ms,
                       Error *err)
{
    ItemKind kind;
    if (principal->kind == PRINCIPAL_LOCAL) {
        return true;
    }
    if (principal->kind == PRINCIPAL_SESSION) {
        const SessionItem *session =
            name_table_find(&credentials->tables[ITEM_SESSION], str_from_c(principal->session));
        return session == NULL ? set_invalid_session(err)
                               : describe_session(credentials, session, now_ms, principal, err);
    }
    const CredentialItem *item = find_proof(credentials, str_from_c(principal->credential),
                                            principal->credential_created_ms, &kind);
    if (item == NULL) {
        return error_set(err, ERROR_DENIED, "the %s was revoked",
                         principal_kind_name(principal->kind));
    }
    if (!check_expiry(kind_name(kind), item->expires_ms, now_ms, err)) {
        return false;
    }
    describe(item, kind, principal);
    return true;
}

/* --- Authorization --------------------------------------------------------------------------- */

/* Returns NULL if there is none. Built-in roles come first. Valid until the next iteration of the
 * loop. */
static const AccessRole *credentials_role(const Credentials *credentials, Str name)
{
    const AccessRole *builtin = access_role_builtin(name);
    if (builtin != NULL) {
        return builtin;
    }
    const RoleItem *item = name_table_find(&credentials->tables[ITEM_ROLE], name);
    return item == NULL ? NULL : &item->role;
}

static uint32_t roles_of(const Credentials *credentials, const Principal *principal,
                         const AccessRole *out[ROLES_MAX])
{
    Str rest = str_from_c(principal->roles), name;
    uint32_t count = 0;
    while (count < ROLES_MAX && role_names_next(&rest, &name)) {
        const AccessRole *role = credentials_role(credentials, name);
        if (role != NULL) {
            out[count++] = role;
        }
    }
    return count;
}

void credentials_decide(const Credentials *credentials, const Principal *principal, Str verb,
                        Str kind, AccessDecision *out)
{
    const AccessRole *roles[ROLES_MAX];
    uint32_t count = roles_of(credentials, principal, roles);
    access_decide(roles, count, verb, kind, out);
}

static bool set_role_not_found(const Credentials *credentials, Str name, Error *err)
{
    Suggest suggest = suggest_make(name);
    Str nearest;
    for (uint32_t i = 0; access_roles_builtin[i] != NULL; i++) {
        suggest_offer(&suggest, access_roles_builtin[i]->name);
    }
    const NameTable *table = &credentials->tables[ITEM_ROLE];
    for (uint32_t i = 0; i < table->count; i++) {
        suggest_offer(&suggest, ((const RoleItem *)table->items[i])->role.name);
    }
    bool found = suggest_found(&suggest, &nearest);
    return error_set(err, ERROR_INVALID, "role '%" STR_FMT "' not found%s%" STR_FMT "%s",
                     STR_ARG(name), found ? "; did you mean '" : "",
                     STR_ARG(found ? nearest : STR_EMPTY), found ? "'?" : "");
}

bool credentials_may_grant(const Credentials *credentials, const Principal *principal,
                           const Str *roles, uint32_t count, Error *err)
{
    const AccessRole *holder[ROLES_MAX];
    uint32_t holder_count = roles_of(credentials, principal, holder);
    RoleNames names;
    if (!role_names_make(roles, count, &names, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const AccessRole *wanted = credentials_role(credentials, roles[i]);
        if (wanted == NULL) {
            return set_role_not_found(credentials, roles[i], err);
        }
        if (!access_covers(holder, holder_count, wanted, err)) {
            return false;
        }
    }
    return true;
}

bool credentials_may_define(const Credentials *credentials, const Principal *principal,
                            const AccessRole *role, Error *err)
{
    const AccessRole *holder[ROLES_MAX];
    uint32_t count = roles_of(credentials, principal, holder);
    return access_covers(holder, count, role, err);
}

static bool names_role(const CredentialItem *item, Str role)
{
    Str rest = str_from_c(item->roles), name;
    while (role_names_next(&rest, &name)) {
        if (str_eq(name, role)) {
            return true;
        }
    }
    return false;
}

/* The kinds that have roles, in the order of the keys. */
static const ItemKind granted[CREDENTIALS_GRANT_KEYS] = { ITEM_TOKEN, ITEM_CERTIFICATE };

void credentials_grant_keys(Arena *arena, Str prefix, Str out[CREDENTIALS_GRANT_KEYS])
{
    out[0] = cluster_key_access_token_grants(arena, prefix);
    out[1] = cluster_key_user_certificate_grants(arena, prefix);
}

bool credentials_role_unused(const Credentials *credentials, Str role,
                             const int64_t revisions[CREDENTIALS_GRANT_KEYS], int64_t now_ms,
                             Error *err)
{
    uint32_t uses = 0;
    const char *what = "", *id = ""; /* one holder, as an example for the message */
    for (uint32_t i = 0; i < CREDENTIALS_GRANT_KEYS; i++) {
        const NameTable *table = &credentials->tables[granted[i]];
        if (state_age(credentials->state).revision < revisions[i]) {
            return error_set(err, ERROR_CONFLICT,
                             "tokens or certificates are being created; try again");
        }
        for (uint32_t k = 0; k < table->count; k++) {
            const CredentialItem *item = table->items[k];
            if (now_ms < item->expires_ms && names_role(item, role)) {
                uses++;
                what = kind_name(granted[i]);
                id = item->id.text;
            }
        }
    }
    return uses == 0 || error_set(err, ERROR_CONFLICT,
                                  "the role is in use by %u token%s or user certificate%s, such as "
                                  "the %s '%s'; revoke %s first",
                                  uses, uses == 1 ? "" : "s", uses == 1 ? "" : "s", what, id,
                                  uses == 1 ? "it" : "them");
}

CredentialsCounts credentials_counts(const Credentials *credentials)
{
    return (CredentialsCounts){ .tokens = credentials->tables[ITEM_TOKEN].count,
                                .certificates = credentials->tables[ITEM_CERTIFICATE].count,
                                .sessions = credentials->tables[ITEM_SESSION].count,
                                .roles = credentials->tables[ITEM_ROLE].count,
                                .unreadable = credentials->unreadable };
}
