/* In-memory form of the stored credential records, by name, for credentials.c. */
#pragma once

#include "access/access_rules.h"
#include "access/principal.h"
#include "base/error.h"
#include "cluster/name_table.h"
#include "pki/token.h"
#include "store/store.h"

/* The kinds of records, in the order in which they are read. */
typedef enum ItemKind {
    ITEM_TOKEN,
    ITEM_CERTIFICATE,
    ITEM_ROLE,
    ITEM_SESSION,
    ITEM_KIND_COUNT
} ItemKind;

/* A token, or a user certificate. */
typedef struct CredentialItem {
    TableName id; /* token ID or serial number */
    char hash[TOKEN_HASH_TEXT + 1];
    int64_t created_ms, expires_ms;
    const char *roles; /* stored after the name */
    char name[];       /* of the token or user */
} CredentialItem;

typedef struct SessionItem {
    TableName hash;
    char credential[CREDENTIAL_ID_MAX + 1];
    int64_t credential_created_ms, expires_ms;
    int64_t lease, renewed_ms; /* the lease of its record, and when that was last renewed */
} SessionItem;

typedef struct RoleItem {
    TableName name;
    Arena arena;
    AccessRole role;
} RoleItem;

/* The common prefix of all keys of a kind. */
Str item_keys(Arena *arena, Str prefix, ItemKind kind);
/* The name in the key of an item; returns false if the key is not of this kind. */
MUST_CHECK bool item_name(Arena *arena, Str prefix, ItemKind kind, Str key, Str *out);
/* Parses a record. Fails with ERROR_INVALID if it cannot be used. */
MUST_CHECK bool item_read(ItemKind kind, Str name, const StoreKv *kv, void **out, Error *err);
void item_free(ItemKind kind, void *item); /* NULL is allowed */
