/* A linked list of records in order of their sequence numbers, split by three positions:
 * `stored` (durable), `sent`, and `unsent` (next to send). Only stored records are sent, and
 * only unsent logs are dropped. */
#include "rpc/outbox.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"

typedef struct Item Item;
struct Item {
    Record record; /* key and body follow the struct */
    Item *next, *previous;
};

struct Outbox {
    OutboxOptions options;
    Item *first, *last;
    Item *unsent; /* next record to send; NULL: all were sent */
    uint32_t count;
    size_t bytes;
    uint64_t last_assigned; /* last sequence number assigned */
    uint64_t stored;        /* highest sequence number that is durable */
    /* highest sequence number that may have been sent, possibly by an earlier process */
    uint64_t sent;
    uint64_t lost; /* number of logs dropped since the last record */
    uint64_t dropped;
    bool was_full;
};

static size_t cost(Str key, Str body)
{
    return OUTBOX_RECORD_COST + key.len + body.len;
}

Outbox *outbox_new(const OutboxOptions *options)
{
    BUG_IF(options->epoch == 0);
    Outbox *outbox = memory_new(sizeof *outbox);
    outbox->options = *options;
    if (outbox->options.bytes_max == 0) {
        outbox->options.bytes_max = OUTBOX_BYTES;
    }
    outbox->last_assigned = outbox->stored = outbox->sent = options->last_sequence;
    return outbox;
}

void outbox_free(Outbox *outbox)
{
    if (outbox == NULL) {
        return;
    }
    while (outbox->first != NULL) {
        Item *next = outbox->first->next;
        free(outbox->first);
        outbox->first = next;
    }
    free(outbox);
}

static void append(Outbox *outbox, const Record *record)
{
    Item *item = malloc(sizeof *item + record->key.len + record->body.len);
    if (item == NULL) {
        memory_exhausted(record->body.len);
    }
    char *bytes = (char *)(item + 1);
    *item = (Item){ .record = *record, .previous = outbox->last };
    memcpy(bytes, record->key.len > 0 ? record->key.data : "", record->key.len);
    item->record.key.data = bytes;
    bytes += record->key.len;
    memcpy(bytes, record->body.len > 0 ? record->body.data : "", record->body.len);
    item->record.body.data = bytes;
    if (outbox->last != NULL) {
        outbox->last->next = item;
    } else {
        outbox->first = item;
    }
    outbox->last = item;
    if (outbox->unsent == NULL) {
        outbox->unsent = item;
    }
    outbox->count++;
    outbox->bytes += cost(record->key, record->body);
}

static void unlink_item(Outbox *outbox, Item *item)
{
    if (outbox->unsent == item) {
        outbox->unsent = item->next;
    }
    if (item->previous != NULL) {
        item->previous->next = item->next;
    } else {
        outbox->first = item->next;
    }
    if (item->next != NULL) {
        item->next->previous = item->previous;
    } else {
        outbox->last = item->previous;
    }
    outbox->count--;
    outbox->bytes -= cost(item->record.key, item->record.body);
    free(item);
}

void outbox_restore(Outbox *outbox, const Record *record)
{
    BUG_IF(record->sequence > outbox->last_assigned);
    BUG_IF(outbox->last != NULL && record->sequence <= outbox->last->record.sequence);
    append(outbox, record);
}

/* Drops unsent logs, newest first, until `bytes_needed` bytes fit or none is left. The `lost` count
 * of the next record covers the newest logs, since only records of other kinds are between them.
 * The `lost` count of a dropped record is carried over. */
static void make_room(Outbox *outbox, size_t bytes_needed)
{
    Item *item = outbox->last;
    while (item != NULL && item->record.sequence > outbox->sent &&
           outbox->bytes + bytes_needed > outbox->options.bytes_max) {
        Item *previous = item->previous;
        if (item->record.kind == RECORD_LOG) {
            outbox->lost += item->record.lost + 1;
            outbox->dropped++;
            outbox->options.storage.drop(outbox->options.storage.context, item->record.sequence);
            unlink_item(outbox, item);
        }
        item = previous;
    }
}

bool outbox_add(Outbox *outbox, RecordKind kind, Str key, Str body, uint64_t *sequence, Error *err)
{
    if (key.len > SESSION_RECORD_KEY_MAX) {
        return error_set(err, ERROR_INVALID, "the key of a record must be at most %d bytes long",
                         SESSION_RECORD_KEY_MAX);
    }
    size_t bytes_needed = cost(key, body);
    if (body.len > SESSION_RECORD_MAX || bytes_needed > outbox->options.bytes_max) {
        return error_set(err, ERROR_LIMIT, "record of %zu bytes is too large", body.len);
    }
    if (kind != RECORD_LOG) {
        make_room(outbox, bytes_needed);
    }
    if (outbox->bytes + bytes_needed > outbox->options.bytes_max) {
        if (kind == RECORD_LOG) {
            outbox->lost++;
            outbox->dropped++;
            *sequence = 0;
            return true;
        }
        outbox->was_full = true;
        return error_set(err, ERROR_LIMIT, "%u records are already waiting for the server",
                         outbox->count);
    }
    Record record = { ++outbox->last_assigned, kind, key, body, outbox->lost };
    outbox->lost = 0;
    append(outbox, &record);
    outbox->options.storage.append(outbox->options.storage.context, &outbox->last->record);
    *sequence = record.sequence;
    return true;
}

void outbox_stored(Outbox *outbox, uint64_t sequence)
{
    BUG_IF(sequence > outbox->last_assigned);
    if (sequence > outbox->stored) {
        outbox->stored = sequence;
    }
}

const Record *outbox_peek(const Outbox *outbox)
{
    const Item *item = outbox->unsent;
    return item != NULL && item->record.sequence <= outbox->stored ? &item->record : NULL;
}

void outbox_advance(Outbox *outbox)
{
    Item *item = outbox->unsent;
    BUG_IF(item == NULL);
    if (item->record.sequence > outbox->sent) {
        outbox->sent = item->record.sequence;
    }
    outbox->unsent = item->next;
}

void outbox_acknowledge(Outbox *outbox, uint64_t sequence)
{
    BUG_IF(sequence > outbox->stored);
    bool any = false;
    while (outbox->first != NULL && outbox->first->record.sequence <= sequence) {
        unlink_item(outbox, outbox->first);
        any = true;
    }
    if (any) {
        outbox->options.storage.trim(outbox->options.storage.context, sequence);
        if (outbox->was_full) {
            outbox->was_full = false;
            if (outbox->options.space_available != NULL) {
                outbox->options.space_available(outbox->options.space_context);
            }
        }
    }
}

void outbox_rewind(Outbox *outbox)
{
    outbox->unsent = outbox->first;
}

void outbox_restart(Outbox *outbox, uint64_t epoch)
{
    BUG_IF(epoch == 0 || epoch == outbox->options.epoch);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const Record **records = ARENA_ARRAY(&arena, const Record *, outbox->count);
    outbox->options.epoch = epoch;
    outbox->last_assigned = outbox->stored = outbox->sent = 0;
    for (Item *item = outbox->first; item != NULL; item = item->next) {
        records[outbox->last_assigned] = &item->record;
        item->record.sequence = ++outbox->last_assigned;
    }
    outbox_rewind(outbox);
    outbox->options.storage.restart(outbox->options.storage.context, epoch, records, outbox->count);
}

uint64_t outbox_epoch(const Outbox *outbox)
{
    return outbox->options.epoch;
}

uint64_t outbox_last_sequence(const Outbox *outbox)
{
    return outbox->stored;
}

OutboxCounts outbox_counts(const Outbox *outbox)
{
    return (OutboxCounts){ outbox->count, outbox->bytes, outbox->dropped };
}
