/* Records that a node has to send to its server and that were not acknowledged yet: in order,
 * in memory within a limit, and each also in a storage that survives the process. Loop thread.
 *
 * Numbers belong to an epoch, a random number that is generated when the storage is created. A
 * record is sent only after it is stored: so a number never means two records, and the server,
 * which keeps epoch and number of the last stored record, stores each one once.
 *
 * If there is no room, logs are dropped: the newest unsent ones, and the next record contains
 * their number. Everything else is rejected, and its author waits for `room`. */
#pragma once

#include "rpc/session_message.h"

typedef struct Outbox Outbox;

/* What keeps records across the end of the process; called from within functions of the outbox,
 * which it must not call back from there. */
typedef struct OutboxStorage {
    /* To be made durable; then outbox_stored. */
    void (*append)(void *context, const Record *record);
    /* These are not needed any more, whenever that becomes durable: one that was appended, or all
     * up to a number. The highest number ever stored must not be forgotten. */
    void (*drop)(void *context, uint64_t sequence);
    void (*trim)(void *context, uint64_t sequence);
    /* These records of this epoch take the place of everything, at one moment, also in a crash;
     * then outbox_stored. */
    void (*restart)(void *context, uint64_t epoch, const Record *const *records, uint32_t count);
    void *context;
} OutboxStorage;

enum {
    OUTBOX_BYTES = 4 * 1024 * 1024,
    OUTBOX_RECORD_COST = 128, /* counted for each beside its key and body */
};

typedef struct OutboxOptions {
    uint64_t epoch;         /* not 0 */
    uint64_t last_sequence; /* the highest that was ever stored in it */
    size_t bytes_max;       /* 0: OUTBOX_BYTES */
    OutboxStorage storage;
    void (*room)(void *context); /* after a refusal there is room again; may be NULL */
    void *room_context;
} OutboxOptions;

Outbox *outbox_new(const OutboxOptions *options);
void outbox_free(Outbox *outbox); /* NULL is allowed */
DEFINE_AUTO(Outbox, outbox_free)

/* What the storage has, in order, right after outbox_new. */
void outbox_restore(Outbox *outbox, const Record *record);

/* Takes a copy. `*sequence` is 0 for a log that was dropped. Fails with ERROR_LIMIT when there is
 * no room, and for a record that never fits; with ERROR_INVALID for a key that is too long. */
MUST_CHECK bool outbox_add(Outbox *outbox, RecordKind kind, Str key, Str body, uint64_t *sequence,
                           Error *err);
/* Everything up to this number is durable. */
void outbox_stored(Outbox *outbox, uint64_t sequence);

/* --- For the session ------------------------------------------------------------------------- */

/* The next one to send; NULL: none, or it is not stored yet. Valid until it is acknowledged. */
const Record *outbox_peek(const Outbox *outbox);
void outbox_advance(Outbox *outbox); /* that one is sent */
/* The server has all up to this number: they go. Numbers that were never given are a bug. */
void outbox_acknowledge(Outbox *outbox, uint64_t sequence);
/* Sending starts again with the first one. */
void outbox_rewind(Outbox *outbox);
/* The server knows numbers of this epoch which we have not given: the storage is an old copy. What
 * is here is numbered anew in another epoch; rather twice than never. */
void outbox_restart(Outbox *outbox, uint64_t epoch);

uint64_t outbox_epoch(const Outbox *outbox);
uint64_t outbox_last_sequence(const Outbox *outbox); /* that is stored */

typedef struct OutboxCounts {
    uint32_t records;
    size_t bytes;
    uint64_t dropped; /* logs, since it was made */
} OutboxCounts;
OutboxCounts outbox_counts(const Outbox *outbox);
