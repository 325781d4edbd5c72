/* Token: for machines to join with, and for users and programs to use the API.
 *
 * Combines two kinds of records (access/tokens.h): both are created here, shown once, expire, and
 * can be revoked. Lists start with join tokens. */
#include <openssl/crypto.h>

#include "access/tokens.h"
#include "api/call.h"
#include "api/kind_rows.h"
#include "base/utc.h"
#include "lang/duration.h"

#define JOIN_LIFETIME_MS   ((int64_t)60 * 60 * 1000)
#define ACCESS_LIFETIME_MS ((int64_t)8 * 60 * 60 * 1000)

/* --- Objects --------------------------------------------------------------------------------- */

static Value role_list(Arena *arena, const char *text)
{
    Str rest = str_from_c(text), role;
    List *list = list_new(arena, 1);
    while (role_names_next(&rest, &role)) {
        list_push(arena, list, value_string(arena_copy(arena, role)));
    }
    return value_list(list);
}

/* In list order. */
static const struct TokenType {
    const char *purpose;
    const CredentialRecords *records;
} types[] = {
    [TOKEN_JOIN] = { "join", &join_token_records },
    [TOKEN_API] = { "access", &api_token_records },
};

enum {
    TYPE_COUNT = COUNT_OF(types)
};

static void fill(Arena *arena, KindItem *item, TokenKind type, const void *from, int64_t now_ms)
{
    const ApiTokenRecord *api = type == TOKEN_API ? from : NULL;
    const TokenRecord *record = api == NULL ? from : &api->token;
    Map *spec = item->spec.map, *status = item->status.map;
    item->created_ms = record->created_ms;
    object_set_text(arena, spec, "description", str_from_c(record->label));
    object_set_text(arena, status, "state",
                    str_from_c(token_verdict_name(token_state(record, now_ms))));
    object_set_text(arena, status, "expires", utc_text(arena, record->expires_ms));
    if (api != NULL) {
        map_set_str(arena, spec, STR("roles"), role_list(arena, api->roles.text));
        object_set_text(arena, status, "made_by", str_from_c(api->created_by));
    } else {
        map_set_str(arena, spec, STR("uses"), value_int(record->uses_max));
        map_set_str(arena, status, STR("uses"), value_int(record->uses));
    }
}

static KindItem item_make(Arena *arena, TokenKind type, const CredentialEntry *entry,
                          int64_t now_ms)
{
    KindItem item = { .name = arena_copy(arena, entry->id),
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = entry->revision,
                      .spec = value_map(map_new(arena, 4)),
                      .status = value_map(map_new(arena, 4)) };
    object_set_text(arena, item.spec.map, "purpose", str_from_c(types[type].purpose));
    if (entry->record != NULL) {
        fill(arena, &item, type, entry->record, now_ms);
    } else {
        item.error = arena_copy(arena, entry->error);
    }
    object_uuid(
        &kind_token,
        arena_format(arena, "%" STR_FMT "/%lld", STR_ARG(item.name), (long long)item.created_ms),
        item.uuid);
    return item;
}

/* --- Reading --------------------------------------------------------------------------------- */

/* Parses the position of a page, which is a type and a position within it: "access/ID". Returns the
 * type. */
static uint32_t parse_position(Str after, Str *position)
{
    Str purpose = STR_EMPTY;
    uint32_t type = 0;
    *position = after;
    if (after.len > 0) {
        (void)str_split_next(position, '/', &purpose);
        while (type < TYPE_COUNT && !str_eq_c(purpose, types[type].purpose)) {
            type++;
        }
    }
    return type;
}

static bool list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    KindItem *items = ARENA_ARRAY(arena, KindItem, page->limit);
    Str position;
    uint32_t type = parse_position(page->after, &position);
    if (type == TYPE_COUNT) {
        return error_set(err, ERROR_INVALID, "invalid 'continue'; start again from the first page");
    }
    *out = (KindItems){ .items = items };
    while (type < TYPE_COUNT && out->count < page->limit) {
        CredentialPage part;
        if (!credential_records_list(arena, &settings->cluster_store, types[type].records, position,
                                     page->limit - out->count, &part, err)) {
            return false;
        }
        out->revision = part.revision;
        for (uint32_t i = 0; i < part.count; i++) {
            items[out->count++] = item_make(arena, type, &part.entries[i],
                                            loop_wall_ms(settings->cluster_store.loop));
        }
        position = part.next;
        type += position.len == 0 ? 1 : 0;
    }
    if (type < TYPE_COUNT) {
        out->next = arena_join(arena, str_from_c(types[type].purpose), STR("/"), position);
    }
    return true;
}

/* An id that is malformed for one type may belong to the other. */
static bool get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    CredentialEntry entry;
    for (uint32_t type = 0; type < TYPE_COUNT; type++) {
        if (credential_records_get(arena, &settings->cluster_store, types[type].records, name,
                                   &entry, err)) {
            *out = item_make(arena, type, &entry, loop_wall_ms(settings->cluster_store.loop));
            return true;
        }
    }
    return false;
}

/* --- Creating -------------------------------------------------------------------------------- */

static int64_t field_lifetime(Value spec, int64_t fallback_ms)
{
    Str text = value_get_text(spec, "life");
    int64_t ms = fallback_ms;
    return text.len == 0 || duration_parse(text, &ms) ? ms : fallback_ms;
}

/* Sets what a machine needs to join in addition to the token. */
static void set_join_info(Arena *arena, Map *status, const ApiSettings *settings)
{
    char pin[PIN_TEXT + 1];
    List *servers = list_new(arena, settings->name_count);
    if (settings->cas != NULL) {
        pin_text(&settings->cas->issuer->chain.items[0].pin, pin);
        object_set_text(arena, status, "ca_pin", str_from_c(pin));
    }
    for (uint32_t i = 0; i < settings->name_count; i++) {
        list_push(arena, servers, value_string(settings->names[i]));
    }
    map_set_str(arena, status, STR("servers"), value_list(servers));
}

static void on_created(void *context, const Token *token, const CredentialEntry *entry,
                       const Error *err)
{
    ApiCall *call = context;
    char text[TOKEN_TEXT_MAX + 1];
    if (!call_resume(call, err)) {
        return;
    }
    KindItem item =
        item_make(&call->arena, token->kind, entry, loop_wall_ms(call_store(call)->loop));
    token_text(token, text);
    object_set_text(&call->arena, item.status.map, "secret", str_from_c(text));
    OPENSSL_cleanse(text, sizeof text);
    set_join_info(&call->arena, item.status.map, call_settings(call));
    call->holds_secret = true;
    kind_respond_created(call, &item);
}

static bool is_for_access(Value spec)
{
    return str_eq_c(value_get_text(spec, "purpose"), types[TOKEN_API].purpose);
}

/* Each type rejects fields of the other. */
static void check(Arena *arena, const KindDraft *draft, FieldProblems *problems)
{
    const Value *roles = value_get(draft->spec, STR("roles"));
    if (field_has_problem(problems, STR("/spec/purpose"))) {
        return;
    }
    if (!is_for_access(draft->spec)) {
        if (roles != NULL) {
            field_problem(arena, problems, STR("/spec/roles"), "not allowed for a join token");
        }
        return;
    }
    if (value_get(draft->spec, STR("uses")) != NULL) {
        field_problem(arena, problems, STR("/spec/uses"),
                      "not allowed for an API token, which can be used any number of times");
    }
    if (roles == NULL || (roles->kind == VALUE_LIST && roles->list->len == 0)) {
        field_problem(arena, problems, STR("/spec/roles"), "an API token requires at least one");
    }
}

/* No one can grant more than they have: a join token approves machines in advance, whatever their
 * names and labels will be. */
static bool may_admit(const ApiCall *call, Error *err)
{
    const Credentials *credentials = call_settings(call)->credentials;
    AccessDecision decision;
    if (credentials == NULL) {
        return true;
    }
    credentials_decide(credentials, &call->caller.principal, STR("approve"), STR("Node"),
                       &decision);
    return decision.verdict == ACCESS_ALLOWED ||
           error_set(err, ERROR_DENIED,
                     "a join token admits machines, which you are not allowed to do yourself: it "
                     "requires a role that allows 'approve' on Node without a selector");
}

static void create_join(ApiCall *call, Value spec)
{
    const Value *uses = value_get(spec, STR("uses"));
    Error err;
    if (!may_admit(call, &err)) {
        call_fail(call, &err);
        return;
    }
    tokens_create(call_store(call),
                  &(TokenRequest){ .kind = TOKEN_JOIN,
                                   .label = value_get_text(spec, "description"),
                                   .lifetime_ms = field_lifetime(spec, JOIN_LIFETIME_MS),
                                   .uses = uses == NULL ? 1 : (uint32_t)uses->integer },
                  on_created, call);
}

static void create_access(ApiCall *call, Value spec)
{
    const ApiSettings *settings = call_settings(call);
    const Value *names = value_get(spec, STR("roles"));
    Error err;
    Str *roles = ARENA_ARRAY(&call->arena, Str, names->list->len);
    for (uint32_t i = 0; i < names->list->len; i++) {
        roles[i] = value_str(names->list->items[i]);
    }
    if (settings->credentials == NULL) {
        call_refuse(call, 503, "this server does not support API tokens");
    } else if (!credentials_may_grant(settings->credentials, &call->caller.principal, roles,
                                      names->list->len, &err)) {
        call_fail_field(call, STR("/spec/roles"), &err);
    } else {
        tokens_create(&settings->cluster_store,
                      &(TokenRequest){ .kind = TOKEN_API,
                                       .label = value_get_text(spec, "description"),
                                       .lifetime_ms = field_lifetime(spec, ACCESS_LIFETIME_MS),
                                       .roles = roles,
                                       .role_count = names->list->len,
                                       .created_by = str_from_c(call->caller.principal.who) },
                      on_created, call);
    }
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    if (is_for_access(draft->spec)) {
        create_access(call, draft->spec);
    } else {
        create_join(call, draft->spec);
    }
}

static void remove_token(const Kind *kind, ApiCall *call, const KindItem *present)
{
    bool is_join = str_eq_c(value_get_text(present->spec, "purpose"), types[TOKEN_JOIN].purpose);
    credential_records_revoke(call_store(call), types[is_join ? TOKEN_JOIN : TOKEN_API].records,
                              present->name, present->revision, kind_remove_done, call);
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    return which < TYPE_COUNT ? types[which].records->key_prefix(arena, prefix) : STR_EMPTY;
}

static bool key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Error err;
    for (uint32_t i = 0; i < TYPE_COUNT; i++) {
        Str all = types[i].records->key_prefix(arena, prefix);
        if (str_starts(key, all)) {
            *name = str_from_offset(key, all.len);
            return types[i].records->check(*name, &err);
        }
    }
    return false;
}

/* --- Row ------------------------------------------------------------------------------------- */

static const RecordField spec[] = {
    { .name = "purpose",
      .type = RECORD_CHOICE,
      .choices = "join|access",
      .column = { "PURPOSE" },
      .help = "join: to join the cluster (default); access: to use the API" },
    { .name = "life",
      .type = RECORD_DURATION,
      .min = TOKEN_LIFETIME_MIN_MS,
      .max = TOKEN_LIFETIME_MAX_MS,
      .help = "how long it is valid, a minute to a year; default: an hour for join, eight hours "
              "for access" },
    { .name = "uses",
      .type = RECORD_INT,
      .min = 1,
      .max = TOKEN_USES_MAX,
      .help = "how many machines can join with it" },
    { .name = "roles",
      .shape = RECORD_LIST,
      .min = 1,
      .max = ROLE_NAME_MAX,
      .column = { "ROLES", .after_status = true },
      .help = "roles it grants; the creator must have them too" },
    { .name = "description",
      .max = TOKEN_LABEL_MAX,
      .is_plain = true,
      .column = { "FOR", .after_status = true },
      .help = "description, and its name in the audit log" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "good|expired|used up|unreadable",
      .column = { "STATE" },
      .help = "whether it is valid; missing if its record cannot be read" },
    { .name = "error", .help = "why its record cannot be read" },
    { .name = "uses",
      .type = RECORD_INT,
      .column = { "USES" },
      .help = "how many machines have joined with it" },
    { .name = "expires", .type = RECORD_TIME, .column = { "EXPIRES" }, .help = "when it expires" },
    { .name = "made_by", .column = { "CREATED BY", .is_wide = true }, .help = "who created it" },
    { .name = "secret",
      .is_secret = true,
      .help = "the token itself: shown only when it is created" },
    { .name = "ca_pin", .help = "pin of the CA to trust: shown only when it is created" },
    { .name = "servers",
      .shape = RECORD_LIST,
      .help = "addresses of the API: shown only when it is created" },
    { 0 },
};

const Kind kind_token = {
    .name = "Token",
    .plural = "tokens",
    .help = "Tokens that machines join with, and tokens for the API.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_DELETE,
    .spec = spec,
    .status = status,
    .name_help = "the public part of the token",
    .check = check,
    .list = list,
    .get = get,
    .create = create,
    .remove = remove_token,
    .watch_prefix = watch_prefix,
    .key_to_name = key_to_name,
};
