/* Entries of the audit log, and the chain that they form. Pure.
 *
 * An entry is canonical JSON: no spaces, sorted keys. Its `hash` is the SHA-256 of that text
 * without the hash itself, and `previous` is the hash of the entry before. So changing, dropping or
 * inserting an entry requires changing all that follow, and the head, which records the end of the
 * log. Later versions may add fields; all fields are covered by the hash. */
#pragma once

#include "access/principal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "lang/value.h"

enum {
    AUDIT_HASH_TEXT = 64,
    AUDIT_WORD_MAX = 100,   /* maximum length of a verb, a kind, an address or a request ID */
    AUDIT_NAME_MAX = 300,   /* maximum length of the object's name */
    AUDIT_REASON_MAX = 500, /* maximum length of the caller's reason and of a detail */
    AUDIT_ENTRY_MAX = 16 << 10,
    /* Above this number of entries, or this fraction of the disk, callers are slowed down until
     * entries are archived. */
    AUDIT_ENTRIES_MAX = 5000000,
    AUDIT_DISK_SHARE = 4,
};

/* `previous` of the first entry. */
#define AUDIT_GENESIS "0000000000000000000000000000000000000000000000000000000000000000"

typedef enum AuditOutcome {
    AUDIT_REQUESTED, /* the operation is about to be executed */
    AUDIT_DONE,
    AUDIT_FAILED,
    AUDIT_DENIED,  /* "denied" */
    AUDIT_UNKNOWN, /* the store did not respond: it may have happened */
} AuditOutcome;
DECLARE_ENUM_NAMES(AuditOutcome, audit_outcome)

/* Longer strings are truncated, and invalid UTF-8 is replaced. Must not contain secrets. */
typedef struct AuditEntry {
    uint64_t sequence; /* from 1 */
    int64_t time_ms;
    Str who; /* Principal.who */
    PrincipalKind principal_kind;
    Str address;
    Str verb, kind, name;
    Str reason;  /* given by the caller: Eden-Reason */
    Str request; /* request ID: the same in both of its entries */
    AuditOutcome outcome;
    Str detail; /* why it failed, was denied or is unknown */
    Str previous, hash;
    /* Not part of the entry, and only set when it was read from the store: */
    int64_t revision;
    Str text; /* as stored */
} AuditEntry;

/* Writes the entry and its hash, which is computed; `entry->hash` is ignored. */
void audit_entry_print(const AuditEntry *entry, Buf *out, char hash[AUDIT_HASH_TEXT + 1]);
/* Fails with ERROR_INVALID. Does not verify the hash. */
MUST_CHECK bool audit_entry_read(Arena *arena, Str text, AuditEntry *out, Error *err);

/* The end of the log: the value of the head key. */
typedef struct AuditHead {
    uint64_t sequence; /* of the last entry; 0: none yet */
    char hash[AUDIT_HASH_TEXT + 1];
    /* The last dropped entry, where the chain starts; 0 and AUDIT_GENESIS if none was dropped. */
    uint64_t floor_sequence;
    char floor_hash[AUDIT_HASH_TEXT + 1];
    uint64_t bytes;        /* size of the entries that are not dropped */
    int64_t floor_time_ms; /* when it was dropped and by whom; 0 and "" if none was */
    char floor_who[PRINCIPAL_WHO_MAX + 1];
    Value unknown; /* fields that a newer server wrote, in the arena of audit_head_read() */
} AuditHead;

void audit_head_init(AuditHead *head); /* initializes the head of an empty log */
/* Whether the log has AUDIT_ENTRIES_MAX entries, or takes its share of a disk of that size; 0:
 * unknown. */
bool audit_head_is_full(const AuditHead *head, int64_t disk_bytes);
/* As JSON, "eden.audit-head/1". */
void audit_head_print(const AuditHead *head, Buf *out);
MUST_CHECK bool audit_head_read(Arena *arena, Str text, AuditHead *out, Error *err);

/* --- Verification ---------------------------------------------------------------------------- */

/* Start with the head, add every entry in key order, then end. */
typedef struct AuditChain {
    AuditHead head;
    uint64_t sequence; /* sequence number of the last valid entry, or of the floor */
    char hash[AUDIT_HASH_TEXT + 1];
    uint64_t count; /* number of valid entries */
    bool is_broken;
    uint64_t broken_at; /* the first invalid sequence number */
    char what[200];     /* what is wrong with it */
} AuditChain;

void audit_chain_start(AuditChain *chain, const AuditHead *head);
/* Adds the entry with this key. Returns false if the chain is broken there; later entries are
 * ignored. */
bool audit_chain_add(AuditChain *chain, uint64_t sequence, Str text);
/* Returns false if the chain is broken, which includes ending before its head. Entries after the
 * head break it too. */
bool audit_chain_end(AuditChain *chain);
