/* In-memory form of the stored credential records, by name, for credentials.c. */
#pragma once

#include "access/access_rules.h"
#include "access/principal.h"
#include "base/error.h"
#include "cluster/name_table.h"
#include "store/store.h"

/* The kinds of records, in the order in which they are read. */
typedef enum ItemKind {
    ITEM_TOKEN,
    ITEM_CERTIFICATE,
    ITEM_ROLE,
    ITEM_SESSION,
    ITEM_KIND_COUNT
} ItemKind;

/* Of a token, and of a certificate of a user. */
typedef struct ProofItem {
    TableName id; /* of a token; the serial number */
    char hash[64 + 1];
    int64_t created_ms, expires_ms;
    const char *roles; /* behind the name */
    char name[];       /* of the token; of the user */
} ProofItem;

typedef struct SessionItem {
    TableName hash;
    char credential[CREDENTIAL_ID_MAX + 1];
    int64_t credential_made_ms, expires_ms;
    int64_t lease, kept_ms; /* that its time is up to, and when that began anew */
} SessionItem;

typedef struct RoleItem {
    TableName name;
    Arena arena;
    AccessRole role;
} RoleItem;

/* What all keys of a kind start with. */
Str item_keys(Arena *arena, Str prefix, ItemKind kind);
/* The name of the item that a key is about; false: none. */
MUST_CHECK bool item_name(Arena *arena, Str prefix, ItemKind kind, Str key, Str *out);
/* Reads a record. Fails with ERROR_INVALID: it is nobody's. */
MUST_CHECK bool item_read(ItemKind kind, Str name, const StoreKv *kv, void **out, Error *err);
void item_free(ItemKind kind, void *item); /* NULL is allowed */
