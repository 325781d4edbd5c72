/* Certificate: certificates of CAs, this server, nodes and users, listed in this order. User
 * certificates are created here; nodes get theirs by joining. */
#include "access/user_certificates.h"
#include "api/call.h"
#include "api/kind_rows.h"
#include "base/bug.h"
#include "base/utc.h"
#include "cluster/cluster_keys.h"
#include "lang/duration.h"
#include "membership/nodes.h"
#include "membership/revoke.h"
#include "pki/ca.h"
#include "pki/csr.h"

/* Prefixes of page positions. */
#define AFTER_NODES STR("nodes/")
#define AFTER_USERS STR("users/")

/* --- Objects --------------------------------------------------------------------------------- */

typedef struct CertificateInfo {
    const char *usage;
    Str serial, owner;
    int64_t created_ms, expires_ms, revision;
    Str state; /* empty: unknown */
} CertificateInfo;

static Str state_by_time(int64_t expires_ms, int64_t now_ms)
{
    return now_ms < expires_ms ? STR("good") : STR("expired");
}

static KindItem item_make(const Kind *kind, Arena *arena, const CertificateInfo *info)
{
    Map *spec = map_new(arena, 3), *status = map_new(arena, 4);
    KindItem item = { .name = arena_copy(arena, info->serial),
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = info->revision,
                      .created_ms = info->created_ms,
                      .spec = value_map(spec),
                      .status = value_map(status) };
    object_set_text(arena, status, "usage", str_from_c(info->usage));
    object_set_text(arena, status, "owner", info->owner);
    if (info->expires_ms > 0) {
        object_set_text(arena, status, "expires", utc_text(arena, info->expires_ms));
    }
    if (info->state.len > 0) {
        object_set_text(arena, status, "state", info->state);
    }
    object_uuid(kind, item.name, item.uuid);
    return item;
}

static KindItem own_item(const Kind *kind, Arena *arena, const Certificate *certificate,
                         const char *usage, Str owner, int64_t now_ms)
{
    return item_make(
        kind, arena,
        &(CertificateInfo){ .serial = str_from_c(certificate->serial),
                            .usage = usage,
                            .owner = owner,
                            .created_ms = certificate->not_before_ms,
                            .expires_ms = certificate->not_after_ms,
                            .state = state_by_time(certificate->not_after_ms, now_ms) });
}

/* Revocation is not part of the record. */
static KindItem node_item(const Kind *kind, Arena *arena, const NodeEntry *node, int64_t now_ms)
{
    const NodeRecord *record = &node->node->record;
    CertificateInfo info = { .serial = str_from_c(record->serial),
                             .usage = "node",
                             .owner = str_from_c(record->name),
                             .expires_ms = record->not_after_ms };
    if (node->has_revocations) {
        info.state =
            node->is_revoked ? STR("revoked") : state_by_time(record->not_after_ms, now_ms);
    }
    return item_make(kind, arena, &info);
}

static KindItem user_item(const Kind *kind, Arena *arena, const CredentialEntry *entry,
                          int64_t now_ms)
{
    static const UserCertificateRecord unreadable = { 0 };
    const UserCertificateRecord *record = entry->record != NULL ? entry->record : &unreadable;
    Str rest = str_from_c(record->roles.text), role;
    List *roles = list_new(arena, 1);
    KindItem item =
        item_make(kind, arena,
                  &(CertificateInfo){ .serial = entry->id,
                                      .usage = "user",
                                      .owner = str_from_c(record->user),
                                      .created_ms = record->created_ms,
                                      .expires_ms = record->expires_ms,
                                      .revision = entry->revision,
                                      .state = state_by_time(record->expires_ms, now_ms) });
    if (entry->record == NULL) {
        item.error = arena_copy(arena, entry->error);
        return item;
    }
    while (role_names_next(&rest, &role)) {
        list_push(arena, roles, value_string(arena_copy(arena, role)));
    }
    object_set_text(arena, item.spec.map, "user", str_from_c(record->user));
    map_set_str(arena, item.spec.map, STR("roles"), value_list(roles));
    object_set_text(arena, item.status.map, "made_by", str_from_c(record->created_by));
    return item;
}

/* --- Lists ----------------------------------------------------------------------------------- */

enum {
    OWN_MAX = KIND_EXTERNAL_MAX /* CAs and certificates of this server */
};

/* Items found so far. */
typedef struct CertificateItems {
    const Kind *kind;
    const ClusterStore *cluster_store;
    Arena *arena;
    int64_t now_ms;
    KindItem *items; /* capacity: a page and OWN_MAX */
    uint32_t count;
} CertificateItems;

static CertificateItems items_new(const Kind *kind, const ApiSettings *settings, Arena *arena,
                                  uint32_t limit)
{
    return (CertificateItems){ .kind = kind,
                               .cluster_store = &settings->cluster_store,
                               .arena = arena,
                               .now_ms = loop_wall_ms(settings->cluster_store.loop),
                               .items = ARENA_ARRAY(arena, KindItem, limit + OWN_MAX) };
}

static void add(CertificateItems *found, KindItem item)
{
    found->items[found->count++] = item;
}

static void add_own(CertificateItems *found, const ApiSettings *settings)
{
    if (settings->authority == NULL || settings->own == NULL) {
        return;
    }
    CertificateSet cas = authority_cas(settings->authority)->trusted;
    for (uint32_t i = 0; i < cas.count && i < OWN_MAX - 2; i++) {
        add(found, own_item(found->kind, found->arena, &cas.items[i], "ca", settings->cluster,
                            found->now_ms));
    }
    add(found,
        own_item(found->kind, found->arena,
                 &own_certificates_credential(settings->own, OWN_KIND_SERVING)->chain.items[0],
                 "serving", settings->node, found->now_ms));
    add(found, own_item(found->kind, found->arena,
                        &own_certificates_credential(settings->own, OWN_KIND_NODE)->chain.items[0],
                        "server", settings->node, found->now_ms));
}

/* `next` is the start of the next page; empty after the last node. */
static bool add_nodes(CertificateItems *found, Str after, uint32_t limit, Str *next, Error *err)
{
    NodesPage page = { .after = after, .limit = limit };
    NodesListing listing;
    if (!nodes_list(found->arena, found->cluster_store, &page, &listing, err)) {
        return false;
    }
    for (uint32_t i = 0; i < listing.node_count; i++) {
        if (listing.nodes[i].node->record.serial[0] != '\0') {
            add(found, node_item(found->kind, found->arena, &listing.nodes[i], found->now_ms));
        }
    }
    /* Pending machines, which follow the nodes, have no certificates. */
    bool more = listing.next.len > 0 && listing.waiting_count == 0;
    *next = more ? arena_join(found->arena, AFTER_NODES, listing.next, STR_EMPTY) : STR_EMPTY;
    return true;
}

static bool add_users(CertificateItems *found, Str after, uint32_t limit, Str *next, Error *err)
{
    CredentialPage page;
    if (!credential_records_list(found->arena, found->cluster_store, &user_certificate_records,
                                 after, limit, &page, err)) {
        return false;
    }
    for (uint32_t i = 0; i < page.count; i++) {
        add(found, user_item(found->kind, found->arena, &page.entries[i], found->now_ms));
    }
    *next = page.next.len == 0 ? STR_EMPTY
                               : arena_join(found->arena, AFTER_USERS, page.next, STR_EMPTY);
    return true;
}

static bool list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    CertificateItems found = items_new(kind, settings, arena, page->limit);
    Str after = page->after, next = STR_EMPTY;
    bool is_users_page = str_starts(after, AFTER_USERS);
    if (after.len > 0 && !is_users_page && !str_starts(after, AFTER_NODES)) {
        return error_set(err, ERROR_INVALID, "invalid 'continue'; start again from the first page");
    }
    if (after.len == 0) {
        add_own(&found, settings);
    }
    if (!is_users_page) {
        Str node_after = after.len == 0 ? after : str_from_offset(after, AFTER_NODES.len);
        if (!add_nodes(&found, node_after, page->limit, &next, err)) {
            return false;
        }
        after = AFTER_USERS;
        is_users_page = next.len == 0 && found.count < page->limit;
        next = next.len == 0 && !is_users_page ? AFTER_USERS : next;
    }
    if (is_users_page && !add_users(&found, str_from_offset(after, AFTER_USERS.len),
                                    page->limit - found.count, &next, err)) {
        return false;
    }
    *out = (KindItems){ .items = found.items,
                        .count = found.count,
                        .next = next,
                        .revision = state_age(settings->cluster_store.state).revision };
    return true;
}

/* --- Single object --------------------------------------------------------------------------- */

static bool find_own(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                     KindItem *out)
{
    CertificateItems found = items_new(kind, settings, arena, 0);
    add_own(&found, settings);
    for (uint32_t i = 0; i < found.count; i++) {
        if (str_eq(found.items[i].name, name)) {
            *out = found.items[i];
            return true;
        }
    }
    return false;
}

static bool get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    const ClusterStore *cluster_store = &settings->cluster_store;
    int64_t now_ms = loop_wall_ms(cluster_store->loop);
    CredentialEntry user;
    NodeView view;
    if (find_own(kind, settings, arena, name, out)) {
        return true;
    }
    if (credential_records_get(arena, cluster_store, &user_certificate_records, name, &user, err)) {
        *out = user_item(kind, arena, &user, now_ms);
        return true;
    }
    if (err->kind != ERROR_NOT_FOUND) {
        return false;
    }
    const RosterNode *node = roster_find_serial(cluster_store->roster, name);
    if (node == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "certificate '%" STR_FMT "' not found",
                         STR_ARG(name));
    }
    if (!nodes_show(arena, cluster_store, str_from_c(node->record.name), &view, err)) {
        return false;
    }
    *out = node_item(kind, arena, &view.node, now_ms);
    return true;
}

/* --- Creating and revoking ------------------------------------------------------------------- */

static void on_issued(void *context, const Certified *certified, const CredentialEntry *entry,
                      const Error *err)
{
    ApiCall *call = context;
    if (!call_resume(call, err)) {
        return;
    }
    int64_t now_ms = loop_wall_ms(call_store(call)->loop);
    KindItem item = user_item(&kind_certificate, &call->arena, entry, now_ms);
    object_set_text(&call->arena, item.status.map, "certificate", certified->certificate);
    object_set_text(&call->arena, item.status.map, "bundle", certified->bundle);
    kind_respond_created(call, &item);
}

static void check(Arena *arena, const KindDraft *draft, FieldProblems *problems)
{
    Str user = value_get_text(draft->spec, "user");
    P256Public key;
    Error err;
    if (!field_has_problem(problems, STR("/spec/user")) && !user_name_check(user, &err)) {
        field_problem(arena, problems, STR("/spec/user"), "%s", err.text);
    }
    if (!field_has_problem(problems, STR("/spec/csr")) &&
        !csr_read(value_get_text(draft->spec, "csr"), &key, &err)) {
        field_problem(arena, problems, STR("/spec/csr"), "%s", err.text);
    }
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    const ApiSettings *settings = call_settings(call);
    const List *names = value_get(draft->spec, STR("roles"))->list;
    Str lifetime = value_get_text(draft->spec, "life");
    int64_t lifetime_ms = 0;
    Error err;
    bool is_valid = lifetime.len == 0 || duration_parse(lifetime, &lifetime_ms);
    BUG_IF(!is_valid); /* the draft was validated */
    Str *roles = ARENA_ARRAY(&call->arena, Str, names->len);
    for (uint32_t i = 0; i < names->len; i++) {
        roles[i] = value_str(names->items[i]);
    }
    if (settings->certify == NULL || settings->credentials == NULL) {
        call_refuse(call, 503, "this server currently has no CA");
    } else if (!credentials_may_grant(settings->credentials, &call->caller.principal, roles,
                                      names->len, &err)) {
        call_fail_field(call, STR("/spec/roles"), &err);
    } else {
        user_certificate_issue(
            settings->certify,
            &(UserCertificateRequest){ .user = value_get_text(draft->spec, "user"),
                                       .csr = value_get_text(draft->spec, "csr"),
                                       .roles = roles,
                                       .role_count = names->len,
                                       .lifetime_ms = lifetime_ms,
                                       .created_by = str_from_c(call->caller.principal.who) },
            on_issued, call);
    }
}

static void remove_certificate(const Kind *kind, ApiCall *call, const KindItem *present)
{
    Str usage = value_get_text(present->status, "usage");
    if (str_eq_c(usage, "user")) {
        credential_records_revoke(call_store(call), &user_certificate_records, present->name,
                                  present->revision, kind_remove_done, call);
    } else if (str_eq_c(usage, "node")) {
        revoke_serial(call_store(call), present->name, call_done, call);
    } else {
        call_refuse(call, 409,
                    "this certificate belongs to the cluster itself; 'eden pki' renews it");
    }
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return cluster_key_user_certificate_all(arena, prefix);
    case 1: return cluster_key_node_all(arena, prefix);
    default: return STR_EMPTY;
    }
}

/* Parses the node record in a value; all fields are empty if it is missing or unreadable. */
static const NodeRecord *record_in(Arena *arena, Str text)
{
    NodeRecord *record = ARENA_NEW(arena, NodeRecord);
    Error err;
    if (text.len == 0 || !node_record_read(arena, text, record, &err)) {
        *record = (NodeRecord){ 0 };
    }
    return record;
}

/* A new certificate of a node replaces the old one. A revocation changes the enrollment in the
 * record, or rewrites the record unchanged (membership/revoke.h). */
static uint32_t event_to_names(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                               Str names[KIND_AFFECTED_MAX])
{
    Str parts[KEYS_PARTS_MAX], all = cluster_key_user_certificate_all(arena, prefix);
    KeyKind found;
    Error err;
    uint32_t count = 0;
    if (str_starts(event->kv.key, all)) {
        names[0] = str_from_offset(event->kv.key, all.len);
        return user_certificate_records.check(names[0], &err) ? 1 : 0;
    }
    if (!key_parse(arena, prefix, event->kv.key, &found, parts) || found != KEY_NODE) {
        return 0;
    }
    Str text = event->has_previous ? event->previous.value : STR_EMPTY;
    Str text_now = event->deleted ? STR_EMPTY : event->kv.value;
    const NodeRecord *before = record_in(arena, text), *now = record_in(arena, text_now);
    bool is_same = strcmp(before->serial, now->serial) == 0;
    if (is_same && strcmp(before->enrollment, now->enrollment) == 0 && !str_eq(text, text_now)) {
        return 0; /* the certificate has not changed */
    }
    if (!is_same && before->serial[0] != '\0') {
        names[count++] = str_from_c(before->serial);
    }
    if (now->serial[0] != '\0') {
        names[count++] = str_from_c(now->serial);
    }
    return count;
}

static uint32_t external(const ApiSettings *settings, Arena *arena, Str names[KIND_EXTERNAL_MAX])
{
    CertificateItems found = items_new(&kind_certificate, settings, arena, 0);
    add_own(&found, settings);
    for (uint32_t i = 0; i < found.count; i++) {
        names[i] = found.items[i].name;
    }
    return found.count;
}

/* --- Row ------------------------------------------------------------------------------------- */

static const RecordField spec[] = {
    { .name = "user",
      .is_required = true,
      .min = 1,
      .max = USER_NAME_MAX,
      .help = "name of the user" },
    { .name = "roles",
      .shape = RECORD_LIST,
      .is_required = true,
      .min = 1,
      .max = ROLE_NAME_MAX,
      .column = { "ROLES", .after_status = true },
      .help = "roles of the user; the creator must have them too" },
    { .name = "csr", .max = 16 << 10, .help = "the certificate request, in PEM; not stored" },
    { .name = "life",
      .type = RECORD_DURATION,
      .min = LIFETIME_MIN_MS,
      .max = USER_LIFETIME_MAX_MS,
      .help = "how long it is valid; default: 90 days, at most a year" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "usage",
      .type = RECORD_CHOICE,
      .choices = "ca|serving|server|node|user",
      .column = { "USAGE" },
      .help = "what it is for" },
    { .name = "owner",
      .column = { "OWNER" },
      .help = "cluster, node or user that the certificate is for" },
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "good|expired|revoked|unreadable",
      .column = { "STATE" },
      .help = "whether it is valid; missing if its record cannot be read" },
    { .name = "expires", .type = RECORD_TIME, .column = { "EXPIRES" }, .help = "when it expires" },
    { .name = "error", .help = "why its record cannot be read" },
    { .name = "made_by",
      .column = { "CREATED BY", .is_wide = true },
      .help = "who created it, for user certificates" },
    { .name = "certificate", .help = "the certificate, in PEM: shown only when it is created" },
    { .name = "bundle", .help = "the CAs to trust, in PEM: shown only when it is created" },
    { 0 },
};

const Kind kind_certificate = {
    .name = "Certificate",
    .plural = "certificates",
    .help = "Certificates of CAs, servers, nodes and users.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_DELETE,
    .spec = spec,
    .status = status,
    .name_help = "its serial number",
    .check = check,
    .list = list,
    .get = get,
    .create = create,
    .remove = remove_certificate,
    .watch_prefix = watch_prefix,
    .event_to_names = event_to_names,
    .external = external,
};
