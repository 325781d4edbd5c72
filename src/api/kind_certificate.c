/* Certificate: those of the CAs, of this server, of nodes and of users, in this order. Users get theirs
 * here; nodes get theirs by joining. */
#include "api/call.h"
#include "api/kind_rows.h"
#include "base/bug.h"
#include "base/utc.h"
#include "cluster/cluster_keys.h"
#include "cluster/nodes.h"
#include "cluster/revoke.h"
#include "cluster/user_certificates.h"
#include "lang/duration.h"
#include "pki/ca.h"
#include "pki/csr.h"

/* Where a page begins: behind this one of them. */
#define AFTER_NODES STR("nodes/")
#define AFTER_USERS STR("users/")

/* --- As objects ------------------------------------------------------------------------------ */

typedef struct CertificateFacts {
    const char *usage;
    Str serial, owner;
    int64_t created_ms, expires_ms, revision;
    Str state; /* empty: that cannot be told */
} CertificateFacts;

static Str state_by_time(int64_t expires_ms, int64_t now_ms)
{
    return now_ms < expires_ms ? STR("good") : STR("expired");
}

static KindItem item_make(const Kind *kind, Arena *arena, const CertificateFacts *facts)
{
    Map *spec = map_new(arena, 3), *status = map_new(arena, 4);
    KindItem item = { .name = arena_copy(arena, facts->serial),
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = facts->revision,
                      .created_ms = facts->created_ms,
                      .spec = value_map(spec),
                      .status = value_map(status) };
    object_set_text(arena, status, "usage", str_from_c(facts->usage));
    object_set_text(arena, status, "owner", facts->owner);
    if (facts->expires_ms > 0) {
        object_set_text(arena, status, "expires", utc_text(arena, facts->expires_ms));
    }
    if (facts->state.len > 0) {
        object_set_text(arena, status, "state", facts->state);
    }
    object_uuid(kind, item.name, item.uuid);
    return item;
}

static KindItem own_item(const Kind *kind, Arena *arena, const Certificate *certificate,
                         const char *usage, Str owner, int64_t now_ms)
{
    return item_make(
        kind, arena,
        &(CertificateFacts){ .serial = str_from_c(certificate->serial),
                             .usage = usage,
                             .owner = owner,
                             .created_ms = certificate->not_before_ms,
                             .expires_ms = certificate->not_after_ms,
                             .state = state_by_time(certificate->not_after_ms, now_ms) });
}

/* Whether it was taken back is not in its record. */
static KindItem node_item(const Kind *kind, Arena *arena, const NodeEntry *node, int64_t now_ms)
{
    const NodeRecord *record = &node->record;
    CertificateFacts facts = { .serial = str_from_c(record->serial),
                               .usage = "node",
                               .owner = str_from_c(record->name),
                               .expires_ms = record->not_after_ms };
    if (node->knows_revoked) {
        facts.state =
            node->is_revoked ? STR("revoked") : state_by_time(record->not_after_ms, now_ms);
    }
    return item_make(kind, arena, &facts);
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
                  &(CertificateFacts){ .serial = entry->id,
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
    object_set_text(arena, item.status.map, "made_by", str_from_c(record->made_by));
    return item;
}

/* --- Lists ----------------------------------------------------------------------------------- */

enum {
    OWN_MAX = KIND_UNSTORED_MAX /* CAs and certificates of this server */
};

typedef struct CertificateReading {
    const Kind *kind;
    ClusterStore at; /* not the settings: the store may answer when the API is gone */
    Roster *const *roster;
    Arena *arena;
    uint32_t limit;
    KindItem *items;
    uint32_t count;
    Str name; /* of the one that is wanted */
    KindListed *listed;
    KindGot *got;
    void *context;
} CertificateReading;

static int64_t now_of(const CertificateReading *reading)
{
    return loop_wall_ms(reading->at.loop);
}

static void add(CertificateReading *reading, KindItem item)
{
    reading->items[reading->count++] = item;
}

static void add_own(CertificateReading *reading, const ApiSettings *settings)
{
    if (settings->authority == NULL || settings->own == NULL) {
        return;
    }
    CertificateSet cas = authority_cas(settings->authority)->trusted;
    for (uint32_t i = 0; i < cas.count && i < OWN_MAX - 2; i++) {
        add(reading, own_item(reading->kind, reading->arena, &cas.items[i], "ca", settings->cluster,
                              now_of(reading)));
    }
    add(reading, own_item(reading->kind, reading->arena,
                          &own_credential(settings->own, OWN_KIND_SERVING)->chain.items[0],
                          "serving", settings->node, now_of(reading)));
    add(reading, own_item(reading->kind, reading->arena,
                          &own_credential(settings->own, OWN_KIND_NODE)->chain.items[0], "server",
                          settings->node, now_of(reading)));
}

static void list_end(const CertificateReading *reading, Str next, int64_t revision)
{
    KindItems items = {
        .items = reading->items, .count = reading->count, .next = next, .revision = revision
    };
    reading->listed(reading->context, &items, NULL);
}

static void users_listed(void *context, const CredentialPage *page, const Error *err)
{
    CertificateReading *reading = context;
    if (err != NULL) {
        reading->listed(reading->context, NULL, err);
        return;
    }
    for (uint32_t i = 0; i < page->count; i++) {
        add(reading, user_item(reading->kind, reading->arena, &page->entries[i], now_of(reading)));
    }
    Str next = STR_EMPTY;
    if (page->next.len > 0) {
        next = arena_join(reading->arena, AFTER_USERS, page->next, STR_EMPTY);
    }
    list_end(reading, next, page->revision);
}

static void list_users(CertificateReading *reading, Str after)
{
    credential_records_list(&reading->at, &user_certificate_records, after,
                            reading->limit - reading->count, users_listed, reading);
}

static void nodes_listed(void *context, const NodesListing *listing, const Error *err)
{
    CertificateReading *reading = context;
    if (err != NULL) {
        reading->listed(reading->context, NULL, err);
        return;
    }
    for (uint32_t i = 0; i < listing->node_count; i++) {
        if (listing->nodes[i].record.serial[0] != '\0') {
            add(reading,
                node_item(reading->kind, reading->arena, &listing->nodes[i], now_of(reading)));
        }
    }
    /* Behind the nodes come machines that ask, which have none. */
    bool more = listing->next.len > 0 && listing->waiting_count == 0;
    if (!more && reading->count < reading->limit) {
        list_users(reading, STR_EMPTY);
        return;
    }
    Str next =
        more ? arena_join(reading->arena, AFTER_NODES, listing->next, STR_EMPTY) : AFTER_USERS;
    list_end(reading, next, store_status(reading->at.store).revision);
}

static CertificateReading *reading_new(const Kind *kind, const ApiSettings *settings, Arena *arena)
{
    CertificateReading *reading = ARENA_NEW(arena, CertificateReading);
    *reading = (CertificateReading){
        .kind = kind, .at = settings->at, .roster = settings->roster, .arena = arena
    };
    return reading;
}

static void list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindListed *done, void *context)
{
    CertificateReading *reading = reading_new(kind, settings, arena);
    Str after = arena_copy(arena, page->after);
    Error err;
    reading->limit = page->limit;
    reading->items = ARENA_ARRAY(arena, KindItem, page->limit + OWN_MAX);
    reading->listed = done;
    reading->context = context;
    if (str_starts(after, AFTER_USERS)) {
        list_users(reading, str_from_offset(after, AFTER_USERS.len));
        return;
    }
    if (after.len > 0 && !str_starts(after, AFTER_NODES)) {
        error_set(&err, ERROR_INVALID, "'continue' is nothing that a page has said");
        done(context, NULL, &err);
        return;
    }
    if (after.len == 0) {
        add_own(reading, settings);
    }
    NodesPage nodes = { .after = after.len == 0 ? after : str_from_offset(after, AFTER_NODES.len),
                        .limit = page->limit };
    nodes_list(&settings->at, &nodes, nodes_listed, reading);
}

/* --- One ------------------------------------------------------------------------------------- */

static void tell_absent(const CertificateReading *reading)
{
    Error err;
    error_set(&err, ERROR_NOT_FOUND, "there is no certificate '%" STR_FMT "'",
              STR_ARG(reading->name));
    reading->got(reading->context, NULL, &err);
}

/* The record says what is so; it may have got another one since. */
static void node_came(void *context, const NodeView *view, const Error *err)
{
    const CertificateReading *reading = context;
    if (err != NULL && err->kind != ERROR_NOT_FOUND) {
        reading->got(reading->context, NULL, err);
        return;
    }
    if (err != NULL || !view->is_member || !str_eq_c(reading->name, view->node.record.serial)) {
        tell_absent(reading);
        return;
    }
    KindItem item = node_item(reading->kind, reading->arena, &view->node, now_of(reading));
    reading->got(reading->context, &item, NULL);
}

/* Not before the store has answered something: what somebody else who watches it was told is known
 * to the roster by then. */
static void find_among_nodes(CertificateReading *reading)
{
    const Roster *roster = reading->roster == NULL ? NULL : *reading->roster;
    Error err;
    if (reading->roster != NULL && (roster == NULL || !roster_is_current(roster))) {
        error_set(&err, ERROR_UNAVAILABLE, "it is not known at present who the nodes are");
        reading->got(reading->context, NULL, &err);
        return;
    }
    const RosterNode *node = roster == NULL ? NULL : roster_find_serial(roster, reading->name);
    if (node == NULL) {
        tell_absent(reading);
        return;
    }
    nodes_show(&reading->at, str_from_c(node->name), node_came, reading);
}

static void find_among_users(void *context, const CredentialEntry *entry, const Error *err)
{
    CertificateReading *reading = context;
    if (err != NULL && err->kind == ERROR_NOT_FOUND) {
        find_among_nodes(reading);
    } else if (err != NULL) {
        reading->got(reading->context, NULL, err);
    } else {
        KindItem item = user_item(reading->kind, reading->arena, entry, now_of(reading));
        reading->got(reading->context, &item, NULL);
    }
}

static void get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindGot *done, void *context)
{
    CertificateReading *reading = reading_new(kind, settings, arena);
    reading->name = arena_copy(arena, name);
    reading->items = ARENA_ARRAY(arena, KindItem, OWN_MAX);
    reading->got = done;
    reading->context = context;
    add_own(reading, settings);
    for (uint32_t i = 0; i < reading->count; i++) {
        if (str_eq(reading->items[i].name, name)) {
            done(context, &reading->items[i], NULL);
            return;
        }
    }
    credential_records_get(&settings->at, &user_certificate_records, reading->name,
                           find_among_users, reading);
}

/* --- Making and taking back ------------------------------------------------------------------ */

static void issued(void *context, const Certified *certified, const CredentialEntry *entry,
                   const Error *err)
{
    ApiCall *call = context;
    if (!call_goes_on(call, err)) {
        return;
    }
    int64_t now_ms = loop_wall_ms(call_store(call)->loop);
    KindItem item = user_item(&kind_certificate, &call->arena, entry, now_ms);
    object_set_text(&call->arena, item.status.map, "certificate", certified->certificate);
    object_set_text(&call->arena, item.status.map, "bundle", certified->bundle);
    kind_answer_made(call, &item);
}

static void check(Arena *arena, const KindDraft *draft, FieldProblems *problems)
{
    Str user = value_get_text(draft->spec, "user");
    P256Public key;
    Error err;
    if (!field_is_told(problems, STR("/spec/user")) && !user_name_check(user, &err)) {
        field_problem(arena, problems, STR("/spec/user"), "%s", err.text);
    }
    if (!field_is_told(problems, STR("/spec/csr")) &&
        !csr_read(value_get_text(draft->spec, "csr"), &key, &err)) {
        field_problem(arena, problems, STR("/spec/csr"), "%s", err.text);
    }
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    const ApiSettings *settings = call_settings(call);
    const List *given = value_get(draft->spec, STR("roles"))->list;
    Str life = value_get_text(draft->spec, "life");
    int64_t life_ms = 0;
    Error err;
    bool has_life = life.len == 0 || duration_parse(life, &life_ms);
    BUG_IF(!has_life); /* a draft was checked */
    Str *roles = ARENA_ARRAY(&call->arena, Str, given->len);
    for (uint32_t i = 0; i < given->len; i++) {
        roles[i] = value_str(given->items[i]);
    }
    if (settings->certify == NULL || settings->credentials == NULL) {
        call_refuse(call, 503, "this server has no CA at present");
    } else if (!credentials_may_grant(settings->credentials, &call->caller.principal, roles,
                                      given->len, &err)) {
        call_fail_field(call, STR("/spec/roles"), &err);
    } else {
        user_certificate_issue(
            settings->certify,
            &(UserCertificateWish){ .user = value_get_text(draft->spec, "user"),
                                    .csr = value_get_text(draft->spec, "csr"),
                                    .roles = roles,
                                    .role_count = given->len,
                                    .life_ms = life_ms,
                                    .made_by = str_from_c(call->caller.principal.who) },
            issued, call);
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
        call_refuse(call, 409, "that is a certificate of the cluster's own; 'eden pki' renews it");
    }
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watched(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return cluster_key_user_certificate_all(arena, prefix);
    case 1: return cluster_key_node_all(arena, prefix);
    default: return STR_EMPTY;
    }
}

/* What its record says of a node's certificate; without a serial: it has none. */
static const NodeRecord *record_in(Arena *arena, Str text)
{
    NodeRecord *record = ARENA_NEW(arena, NodeRecord);
    Error err;
    if (text.len == 0 || !node_record_read(arena, text, record, &err)) {
        *record = (NodeRecord){ 0 };
    }
    return record;
}

/* A node that gets another certificate has that of before no more. When one is taken back, the record
 * has another enrolment, or is written as it was: cluster/revoke.h. */
static uint32_t touched_by(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                           Str names[KIND_TOUCHED_MAX])
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
    if (is_same && strcmp(before->enrolment, now->enrolment) == 0 && !str_eq(text, text_now)) {
        return 0; /* the rest of the record is not in it */
    }
    if (!is_same && before->serial[0] != '\0') {
        names[count++] = str_from_c(before->serial);
    }
    if (now->serial[0] != '\0') {
        names[count++] = str_from_c(now->serial);
    }
    return count;
}

static uint32_t unstored(const ApiSettings *settings, Arena *arena, Str names[KIND_UNSTORED_MAX])
{
    CertificateReading *reading = reading_new(&kind_certificate, settings, arena);
    reading->items = ARENA_ARRAY(arena, KindItem, OWN_MAX);
    add_own(reading, settings);
    for (uint32_t i = 0; i < reading->count; i++) {
        names[i] = reading->items[i].name;
    }
    return reading->count;
}

/* --- The row --------------------------------------------------------------------------------- */

static const RecordField spec[] = {
    { .name = "user", .is_required = true, .min = 1, .max = USER_NAME_MAX, .help = "whose it is" },
    { .name = "roles",
      .shape = RECORD_LIST,
      .is_required = true,
      .min = 1,
      .max = ROLE_NAME_MAX,
      .help = "what they may do; none that its maker does not have" },
    { .name = "csr", .max = 16 << 10, .help = "the request for it, as PEM; not kept" },
    { .name = "life",
      .type = RECORD_DURATION,
      .min = LIFE_MIN_MS,
      .max = USER_LIFE_MAX_MS,
      .help = "how long it is valid; default: 90 days, at most a year" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "usage",
      .type = RECORD_CHOICE,
      .choices = "ca|serving|server|node|user",
      .help = "what it is for" },
    { .name = "owner", .help = "the cluster, the node or the user that it names" },
    { .name = "expires", .type = RECORD_TIME, .help = "until when it is good" },
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "good|expired|revoked|unreadable",
      .help = "what it is worth; nothing when its record cannot be read" },
    { .name = "error", .help = "why its record cannot be read" },
    { .name = "made_by", .help = "who made it, when it is a user's" },
    { .name = "certificate", .help = "itself, as PEM: shown when it is made" },
    { .name = "bundle", .help = "the CAs to trust, as PEM: shown when it is made" },
    { 0 },
};

static const KindColumn columns[] = {
    { "USAGE", "status.usage", false, NULL },
    { "OWNER", "status.owner", false, NULL },
    { "STATE", "status.state", false, NULL },
    { "EXPIRES", "status.expires", false, NULL },
    { "ROLES", "spec.roles", false, NULL },
    { "MADE BY", "status.made_by", true, NULL },
    { 0 },
};

const Kind kind_certificate = {
    .name = "Certificate",
    .plural = "certificates",
    .help = "The certificates of the CAs, of servers, of nodes and of users.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_DELETE,
    .spec = spec,
    .status = status,
    .columns = columns,
    .name_help = "its serial number",
    .check = check,
    .list = list,
    .get = get,
    .create = create,
    .remove = remove_certificate,
    .watched = watched,
    .touched_by = touched_by,
    .unstored = unstored,
};
