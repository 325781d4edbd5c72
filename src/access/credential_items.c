#include "access/credential_items.h"

#include <stdio.h>
#include <stdlib.h>

#include "access/browser_session.h"
#include "access/tokens.h"
#include "access/user_certificates.h"
#include "base/bug.h"
#include "base/hex.h"
#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/stored_object.h"

Str item_keys(Arena *arena, Str prefix, ItemKind kind)
{
    switch (kind) {
    case ITEM_TOKEN: return cluster_key_access_token_all(arena, prefix);
    case ITEM_CERTIFICATE: return cluster_key_user_certificate_all(arena, prefix);
    case ITEM_ROLE: return cluster_key_role_all(arena, prefix);
    case ITEM_SESSION: return cluster_key_browser_all(arena, prefix);
    default: BUG("no keys of kind %d", (int)kind);
    }
}

bool item_name(Arena *arena, Str prefix, ItemKind kind, Str key, Str *out)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind key_kind;
    if (!key_parse(arena, prefix, key, &key_kind, parts)) {
        return false;
    }
    *out = parts[1];
    KeyKind wanted = kind == ITEM_SESSION ? KEY_BROWSER
                     : kind == ITEM_ROLE  ? KEY_OBJECT
                                          : KEY_INTERNAL;
    return key_kind == wanted && out->len <= TABLE_NAME_MAX &&
           memchr(out->data, '\0', out->len) == NULL;
}

static void *make(size_t size, Str name)
{
    TableName *item = memory_new(size);
    snprintf(item->text, sizeof item->text, "%" STR_FMT, STR_ARG(name));
    return item;
}

static CredentialItem *proof_make(Str id, const char *name, const char *roles)
{
    size_t name_size = strlen(name) + 1, roles_size = strlen(roles) + 1;
    CredentialItem *item = make(sizeof *item + name_size + roles_size, id);
    memcpy(item->name, name, name_size);
    memcpy(item->name + name_size, roles, roles_size);
    item->roles = item->name + name_size;
    return item;
}

static bool set_key_mismatch(Error *err)
{
    return error_set(err, ERROR_INVALID, "the record is stored under a different name");
}

static bool read_token(Arena *arena, Str name, const StoreKv *kv, void **out, Error *err)
{
    ApiTokenRecord record;
    if (!api_token_record_read(arena, kv->value, &record, err)) {
        return false;
    }
    if (!str_eq_c(name, record.token.id)) {
        return set_key_mismatch(err);
    }
    CredentialItem *item = proof_make(name, record.token.label, record.roles.text);
    memcpy(item->hash, record.token.hash, sizeof item->hash);
    item->created_ms = record.token.created_ms;
    item->expires_ms = record.token.expires_ms;
    *out = item;
    return true;
}

static bool read_certificate(Arena *arena, Str name, const StoreKv *kv, void **out, Error *err)
{
    UserCertificateRecord record;
    if (!user_certificate_record_read(arena, kv->value, &record, err)) {
        return false;
    }
    if (!str_eq_c(name, record.serial)) {
        return set_key_mismatch(err);
    }
    CredentialItem *item = proof_make(name, record.user, record.roles.text);
    item->created_ms = record.created_ms;
    item->expires_ms = record.expires_ms;
    *out = item;
    return true;
}

/* An object: its rules are in its spec. */
static bool read_role(Arena *arena, Str name, const StoreKv *kv, void **out, Error *err)
{
    StoredObject object;
    if (!access_role_name_check(name, err) || !stored_object_read(arena, kv->value, &object, err)) {
        return error_wrap(err, "the record of a role");
    }
    const Value *rules = value_get(object.spec, STR("rules"));
    RuleFaults *faults = ARENA_NEW(arena, RuleFaults);
    faults->arena = arena;
    RoleItem *item = make(sizeof *item, name);
    arena_init(&item->arena, ARENA_UNLIMITED);
    if (!access_role_parse(&item->arena, name, rules == NULL ? value_null() : *rules,
                           STR("/spec/rules"), NULL, &item->role, faults)) {
        item_free(ITEM_ROLE, item);
        return error_set(err, ERROR_INVALID, "the record of a role: %" STR_FMT ": %" STR_FMT,
                         STR_ARG(faults->items[0].pointer), STR_ARG(faults->items[0].detail));
    }
    *out = item;
    return true;
}

static bool read_session(Arena *arena, Str name, const StoreKv *kv, void **out, Error *err)
{
    BrowserRecord record;
    if (!browser_record_read(arena, kv->value, &record, err)) {
        return false;
    }
    if (name.len != BROWSER_HASH_TEXT || !hex_is_valid(name)) {
        return set_key_mismatch(err);
    }
    SessionItem *item = make(sizeof *item, name);
    memcpy(item->credential, record.credential, sizeof item->credential);
    item->credential_created_ms = record.credential_created_ms;
    item->expires_ms = record.expires_ms;
    item->lease = kv->lease;
    *out = item;
    return true;
}

bool item_read(ItemKind kind, Str name, const StoreKv *kv, void **out, Error *err)
{
    static bool (*const readers[])(Arena *, Str, const StoreKv *, void **, Error *) = {
        [ITEM_TOKEN] = read_token,
        [ITEM_CERTIFICATE] = read_certificate,
        [ITEM_ROLE] = read_role,
        [ITEM_SESSION] = read_session,
    };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return readers[kind](&arena, name, kv, out, err);
}

void item_free(ItemKind kind, void *item)
{
    if (item != NULL && kind == ITEM_ROLE) {
        arena_clear(&((RoleItem *)item)->arena);
    }
    free(item);
}
