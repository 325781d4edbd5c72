/* Role: what its holders may do. Built-in roles are part of the program; others are stored as
 * written. */
#include "api/call.h"
#include "api/kind_rows.h"
#include "api/kind_stored.h"
#include "base/bug.h"

/* --- Built-in roles -------------------------------------------------------------------------- */

static KindItem builtin_item(const Kind *kind, Arena *arena, const AccessRole *role)
{
    Map *spec = map_new(arena, 1), *status = map_new(arena, 1);
    KindItem item = { .name = role->name, .labels = value_missing() };
    map_set_str(arena, spec, STR("rules"), access_role_value(arena, role));
    map_set_str(arena, status, STR("builtin"), value_bool(true));
    item.annotations = value_missing();
    item.spec = value_map(spec);
    item.status = value_map(status);
    object_uuid(kind, role->name, item.uuid);
    return item;
}

/* --- Reading --------------------------------------------------------------------------------- */

/* A role with invalid rules grants nothing (access/credentials.h), and is shown as unreadable. */
static KindItem with_rule_errors(Arena *arena, const KindItem *item)
{
    KindItem out = *item;
    const Value *rules = item->error.len > 0 ? NULL : value_get(item->spec, STR("rules"));
    RuleFaults *faults = ARENA_NEW(arena, RuleFaults);
    AccessRole role;
    Error err;
    *faults = (RuleFaults){ .arena = arena };
    if (item->error.len > 0) {
        return out;
    }
    if (!access_role_name_check(item->name, &err)) {
        out.error = arena_copy(arena, str_from_c(err.text));
    } else if (!access_role_parse(arena, item->name, rules == NULL ? value_null() : *rules,
                                  STR("/spec/rules"), NULL, &role, faults)) {
        out.error =
            arena_format(arena, "%" STR_FMT ": %" STR_FMT, STR_ARG(faults->items[0].pointer),
                         STR_ARG(faults->items[0].detail));
    }
    return out;
}

/* The first page starts with the built-in roles. */
static bool list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    KindItems stored;
    uint32_t count = 0;
    if (!stored_list(kind, settings, arena, page, &stored, err)) {
        return false;
    }
    while (page->after.len == 0 && access_roles_builtin[count] != NULL) {
        count++;
    }
    KindItem *items = ARENA_ARRAY(arena, KindItem, count + stored.count);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = builtin_item(kind, arena, access_roles_builtin[i]);
    }
    for (uint32_t i = 0; i < stored.count; i++) {
        items[count + i] = with_rule_errors(arena, &stored.items[i]);
    }
    *out = stored;
    out->items = items;
    out->count += count;
    return true;
}

static bool get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    const AccessRole *role = access_role_builtin(name);
    KindItem stored;
    if (role != NULL) {
        *out = builtin_item(kind, arena, role);
        return true;
    }
    if (!stored_get(kind, settings, arena, name, &stored, err)) {
        return false;
    }
    *out = with_rule_errors(arena, &stored);
    return true;
}

/* --- Changing -------------------------------------------------------------------------------- */

static void add_unique(Str *words, uint32_t *count, const char *word)
{
    for (uint32_t i = 0; i < *count; i++) {
        if (str_eq_c(words[i], word)) {
            return;
        }
    }
    words[(*count)++] = str_from_c(word);
}

/* The verbs and kinds of all routes, and "watch". */
static AccessVocabulary route_vocabulary(Arena *arena)
{
    Str *verbs = ARENA_ARRAY(arena, Str, ROUTE_COUNT + 1);
    Str *names = ARENA_ARRAY(arena, Str, ROUTE_COUNT);
    AccessVocabulary vocabulary = { .verbs = verbs, .kinds = names };
    add_unique(verbs, &vocabulary.verb_count, "watch");
    for (size_t i = 0; i < ROUTE_COUNT; i++) {
        if (!route_is_public(&route_rows[i])) {
            add_unique(verbs, &vocabulary.verb_count, route_rows[i].verb);
            add_unique(names, &vocabulary.kind_count, route_rows[i].kind);
        }
    }
    return vocabulary;
}

static bool parse(Arena *arena, const KindDraft *draft, AccessRole *out, RuleFaults *faults)
{
    const Value *rules = value_get(draft->spec, STR("rules"));
    AccessVocabulary vocabulary = route_vocabulary(arena);
    *faults = (RuleFaults){ .arena = arena };
    return access_role_parse(arena, draft->name, rules == NULL ? value_null() : *rules,
                             STR("/spec/rules"), &vocabulary, out, faults);
}

static void check(Arena *arena, const KindDraft *draft, FieldProblems *problems)
{
    RuleFaults *faults = ARENA_NEW(arena, RuleFaults);
    AccessRole role;
    if (parse(arena, draft, &role, faults)) {
        return;
    }
    for (uint32_t i = 0; i < faults->count; i++) {
        const RuleFault *fault = &faults->items[i];
        if (field_has_problem(problems, fault->pointer)) {
            continue;
        }
        field_problem(arena, problems, fault->pointer, "%" STR_FMT, STR_ARG(fault->detail))
            ->column = fault->column;
    }
}

/* A caller may not define a role that allows more than its own roles. Returns false after
 * responding. */
static bool may_define(ApiCall *call, const KindDraft *draft)
{
    const Credentials *credentials = call_settings(call)->credentials;
    RuleFaults *faults = ARENA_NEW(&call->arena, RuleFaults);
    AccessRole role;
    Error err;
    bool is_valid = parse(&call->arena, draft, &role, faults);
    BUG_IF(!is_valid); /* the draft was validated */
    if (credentials != NULL &&
        !credentials_may_define(credentials, &call->caller.principal, &role, &err)) {
        call_fail(call, &err);
        return false;
    }
    return true;
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    if (may_define(call, draft)) {
        stored_create(kind, call, draft);
    }
}

static void update(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    if (access_role_builtin(draft->name) != NULL) {
        call_refuse(call, 409, "built-in roles cannot be changed; create another one");
    } else if (may_define(call, draft)) {
        stored_update(kind, call, draft);
    }
}

static bool check_unused(const ApiSettings *settings, Str name, const int64_t *revisions,
                         Error *err)
{
    return credentials_role_unused(settings->credentials, name, revisions,
                                   loop_wall_ms(settings->cluster_store.loop), err);
}

/* A new role of the same name would apply to existing holders, so a role cannot be deleted while a
 * valid credential has it. */
static void remove_role(const Kind *kind, ApiCall *call, const KindItem *present)
{
    Str keys[CREDENTIALS_GRANT_KEYS];
    if (access_role_builtin(present->name) != NULL) {
        call_refuse(call, 409, "built-in roles cannot be deleted");
    } else if (call_settings(call)->credentials == NULL) {
        stored_remove(kind, call, present);
    } else {
        credentials_grant_keys(&call->arena, call_store(call)->prefix, keys);
        stored_remove_guarded(kind, call, present,
                              &(StoredGuard){ keys, CREDENTIALS_GRANT_KEYS, check_unused });
    }
}

/* --- Row ------------------------------------------------------------------------------------- */

static const RecordField rule[] = {
    { .name = "verbs",
      .shape = RECORD_LIST,
      .is_required = true,
      .min = 1,
      .max = ACCESS_WORD_MAX,
      .help = "get, list, watch, create, update, delete, others such as approve and ping, or * for "
              "all" },
    { .name = "kinds",
      .shape = RECORD_LIST,
      .is_required = true,
      .min = 1,
      .max = ACCESS_WORD_MAX,
      .help = "kinds such as Node and Facts, or * for all" },
    { .name = "selector",
      .type = RECORD_SELECTOR,
      .max = ACCESS_SELECTOR_MAX,
      .help = "only objects with matching names and labels; default: all" },
    { 0 },
};

static const RecordField spec[] = {
    { .name = "rules",
      .type = RECORD_OBJECT,
      .shape = RECORD_LIST,
      .is_required = true,
      .fields = rule,
      .column = { "RULES", .after_status = true },
      .help = "what is allowed; everything else is denied" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "builtin",
      .type = RECORD_BOOL,
      .column = { "BUILT IN" },
      .help = "whether it is built in and cannot be changed" },
    KIND_UNREADABLE_FIELDS,
    { 0 },
};

const Kind kind_role = {
    .name = "Role",
    .plural = "roles",
    .help = "Permissions of users with the role: verbs on object kinds, optionally limited by a "
            "selector.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_UPDATE | KIND_DELETE,
    .spec = spec,
    .status = status,
    .name_help = "lowercase letters and digits, with '-' between them",
    .is_labeled = true,
    .objects_max = 1000,
    .bytes_max = 2 << 20, /* servers also keep them parsed, which takes far more memory */
    .name_check = access_role_name_check,
    .check = check,
    .list = list,
    .get = get,
    .create = create,
    .update = update,
    .remove = remove_role,
    .watch_prefix = stored_watch_prefix,
    .key_to_name = stored_key_to_name,
};
