/* Records that a node has to send to its server and that have not been acknowledged yet: ordered,
 * in memory up to a limit, and each also in storage that survives the process. Loop thread only.
 *
 * Sequence numbers belong to an epoch, a random number that is generated when the storage is
 * created. A record is sent only after it is stored, so a sequence number never refers to two
 * records, and the server, which stores the epoch and sequence number of the last record, stores
 * each one once.
 *
 * When it is full, logs are dropped: the newest unsent ones, and the next record contains their
 * count. All other records are rejected, and their producer waits for `space_available`. */
#pragma once

#include "rpc/session_message.h"

typedef struct Outbox Outbox;

/* Stores records across restarts. Called from functions of the outbox, which it must not call
 * back. */
typedef struct OutboxStorage {
    /* Makes the record durable; followed by outbox_stored. */
    void (*append)(void *context, const Record *record);
    /* Removes records that are no longer needed, eventually durably: a single one, or all up to a
     * sequence number. The highest sequence number ever stored must be remembered. */
    void (*drop)(void *context, uint64_t sequence);
    void (*trim)(void *context, uint64_t sequence);
    /* Atomically replaces everything with these records of a new epoch, even across a crash;
     * followed by outbox_stored. */
    void (*restart)(void *context, uint64_t epoch, const Record *const *records, uint32_t count);
    void *context;
} OutboxStorage;

enum {
    OUTBOX_BYTES = 4 * 1024 * 1024,
    OUTBOX_RECORD_COST = 128, /* overhead per record, in addition to its key and body */
};

typedef struct OutboxOptions {
    uint64_t epoch;         /* not 0 */
    uint64_t last_sequence; /* highest sequence number ever stored */
    size_t bytes_max;       /* 0: OUTBOX_BYTES */
    OutboxStorage storage;
    void (*space_available)(
        void *context); /* there is space again after a record was rejected; may be NULL */
    void *space_context;
} OutboxOptions;

Outbox *outbox_new(const OutboxOptions *options);
void outbox_free(Outbox *outbox); /* NULL is allowed */
DEFINE_AUTO(Outbox, outbox_free)

/* Adds a record from the storage, in order; allowed only directly after outbox_new. */
void outbox_restore(Outbox *outbox, const Record *record);

/* Copies the record. `*sequence` is 0 for a log that was dropped. Fails with ERROR_LIMIT if there
 * is no space or the record can never fit, with ERROR_INVALID if the key is too long. */
MUST_CHECK bool outbox_add(Outbox *outbox, RecordKind kind, Str key, Str body, uint64_t *sequence,
                           Error *err);
/* All records up to this sequence number are durable. */
void outbox_stored(Outbox *outbox, uint64_t sequence);

/* --- For the session ------------------------------------------------------------------------- */

/* The next record to send; NULL if there is none or it has not been stored yet. Valid until it is
 * acknowledged. */
const Record *outbox_peek(const Outbox *outbox);
void outbox_advance(Outbox *outbox); /* marks the record of outbox_peek as sent */
/* Removes all records up to this sequence number, which the server has stored. It is a bug to pass
 * one that was never assigned. */
void outbox_acknowledge(Outbox *outbox, uint64_t sequence);
/* Sending restarts with the first record. */
void outbox_rewind(Outbox *outbox);
/* The server has sequence numbers of this epoch that were never assigned here, so the storage is an
 * old copy. Renumbers all records in a new epoch, since duplicates are better than losses. */
void outbox_restart(Outbox *outbox, uint64_t epoch);

uint64_t outbox_epoch(const Outbox *outbox);
uint64_t outbox_last_sequence(const Outbox *outbox); /* highest one that is stored */

typedef struct OutboxCounts {
    uint32_t records;
    size_t bytes;
    uint64_t dropped; /* number of dropped logs since the outbox was created */
} OutboxCounts;
OutboxCounts outbox_counts(const Outbox *outbox);
