/* One line of the audit log, and the chain that they are. Pure.
 *
 * An entry is canonical JSON: no spaces, keys in order. Its `hash` is the SHA-256 of that text without
 * the hash itself, and `previous` the hash of the entry before: whoever changes, drops or inserts one
 * must change all behind it, and the head, which says how far the log goes. Fields may be added in
 * later versions; all that stand there count into the hash. */
#pragma once

#include "access/principal.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/enum_names.h"
#include "base/error.h"
#include "lang/value.h"

enum {
    AUDIT_HASH_TEXT = 64,
    AUDIT_WORD_MAX = 100,   /* bytes of a verb, a kind, an address, an id of a request */
    AUDIT_NAME_MAX = 300,   /* of what it is done to */
    AUDIT_REASON_MAX = 500, /* of what somebody has said about it; of a detail */
    AUDIT_ENTRY_MAX = 16 << 10,
};

/* What the first entry has for `previous`. */
#define AUDIT_GENESIS "0000000000000000000000000000000000000000000000000000000000000000"

typedef enum AuditOutcome {
    AUDIT_ASKED, /* about to be done */
    AUDIT_DONE,
    AUDIT_FAILED,
    AUDIT_REFUSED, /* "denied" */
    AUDIT_UNKNOWN, /* no answer came from the store: it may have happened */
} AuditOutcome;
DECLARE_ENUM_NAMES(AuditOutcome, audit_outcome)

/* Longer texts are cut, and what is no UTF-8 is replaced. Never give it a secret. */
typedef struct AuditEntry {
    uint64_t sequence; /* from 1 on */
    int64_t time_ms;
    Str who; /* Principal.who */
    PrincipalKind by;
    Str address;
    Str verb, kind, name;
    Str reason;  /* what the caller has said: Eden-Reason */
    Str request; /* id of the request: the same in both of its entries */
    AuditOutcome outcome;
    Str detail; /* why it failed, was denied or is unknown */
    Str previous, hash;
    /* No part of the entry, and only of one that was read in the store: */
    int64_t revision;
    Str text; /* as it is written */
} AuditEntry;

/* Writes the entry and its hash, which follows from the rest. `entry->hash` is not looked at. */
void audit_entry_print(const AuditEntry *entry, Buf *out, char hash[AUDIT_HASH_TEXT + 1]);
/* ERROR_INVALID. Says nothing of whether its hash is right. */
MUST_CHECK bool audit_entry_read(Arena *arena, Str text, AuditEntry *out, Error *err);

/* How far the log goes: the value of the head key. */
typedef struct AuditHead {
    uint64_t sequence; /* of the last entry; 0: none yet */
    char hash[AUDIT_HASH_TEXT + 1];
    /* The last one that is no longer kept, where the chain begins; 0 and AUDIT_GENESIS: all are. */
    uint64_t floor_sequence;
    char floor_hash[AUDIT_HASH_TEXT + 1];
    int64_t
        floor_time_ms; /* when that one was dropped, and who wanted it; 0 and "": all are kept */
    char floor_who[PRINCIPAL_WHO_MAX + 1];
    Value unknown; /* what a newer server wrote, in the arena of audit_head_read() */
} AuditHead;

void audit_head_init(AuditHead *head); /* of an empty log */
/* As JSON, "eden.audit-head/1". */
void audit_head_print(const AuditHead *head, Buf *out);
MUST_CHECK bool audit_head_read(Arena *arena, Str text, AuditHead *out, Error *err);

/* --- Verifying ------------------------------------------------------------------------------- */

/* Start from the head, add every entry in the order of the keys, end. */
typedef struct AuditChain {
    AuditHead head;
    uint64_t sequence; /* of the last one that was good, or the floor */
    char hash[AUDIT_HASH_TEXT + 1];
    uint64_t count; /* of good ones */
    bool is_broken;
    uint64_t broken_at; /* the first sequence that is not as it should be */
    char what[200];     /* what is wrong with it */
} AuditChain;

void audit_chain_start(AuditChain *chain, const AuditHead *head);
/* `sequence` is that of the key. False: it is broken there; what comes behind is not looked at. */
bool audit_chain_add(AuditChain *chain, uint64_t sequence, Str text);
/* False: it is broken, perhaps because it ends before its head. Entries behind the head break it. */
bool audit_chain_end(AuditChain *chain);
