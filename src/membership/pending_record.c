/* Reads, changes and prints the rows of one name. Rows are few, so they are searched linearly. */
#include "membership/pending_record.h"

#include <stdio.h>

#include "net/address.h"

/* --- Format ---------------------------------------------------------------------------------- */

static const RecordField machine_fields[] = {
    { "key", RECORD_TEXT, RECORD_CODED_AT(PendingMachine, key, Pin, pin_codec), .is_required = true,
      .help = "pin of the public key of the machine" },
    { "approved", RECORD_BOOL, RECORD_BOOL_AT(PendingMachine, is_approved), .is_required = true,
      .help = "whether this key is approved under this name" },
    { "address", RECORD_TEXT, RECORD_CHARS_AT(PendingMachine, address), .is_required = true,
      .help = "address that the join request came from" },
    { "asked_ms", RECORD_INT, RECORD_INT_AT(PendingMachine, requested_ms), .is_required = true,
      .help = "when it last requested to join, or was approved" },
    { "until_ms", RECORD_INT, RECORD_INT_AT(PendingMachine, until_ms), .is_required = true,
      .help = "when the request expires" },
    { RECORD_UNKNOWN_AT(PendingMachine, unknown) },
    { 0 },
};

static const RecordField joining_fields[] = {
    { "name", RECORD_TEXT, RECORD_CHARS_AT(PendingRecord, name), .is_required = true,
      .check_text = node_name_check, .help = "requested name" },
    { "machines", RECORD_OBJECT,
      RECORD_STRUCT_ARRAY_AT(PendingRecord, machines, count, PendingMachine, machine_fields),
      .is_required = true, .help = "machines that request it" },
    { RECORD_UNKNOWN_AT(PendingRecord, unknown) },
    { 0 },
};

static bool check_joining(const void *record, Error *err)
{
    const PendingRecord *joining = record;
    uint32_t approved = 0;
    for (uint32_t i = 0; i < joining->count; i++) {
        for (uint32_t before = 0; before < i; before++) {
            if (pin_equal(&joining->machines[before].key, &joining->machines[i].key)) {
                return error_set(err, ERROR_INVALID, "'machines': duplicate key");
            }
        }
        approved += joining->machines[i].is_approved;
    }
    return (joining->count > 0 || error_set(err, ERROR_INVALID, "'machines': must not be empty")) &&
           (approved <= 1 ||
            error_set(err, ERROR_INVALID, "'machines': more than one is approved"));
}

static const RecordFormat joining_format = {
    .format = "eden.joining/2",
    .what = "the record of a pending machine",
    .fields = joining_fields,
    .size = sizeof(PendingRecord),
    .text_max = JOINING_RECORD_MAX,
    .check = check_joining,
};

void pending_record_print(const PendingRecord *record, Buf *out)
{
    record_print(&joining_format, record, out);
}

bool pending_record_read(Arena *arena, Str text, PendingRecord *out, Error *err)
{
    return record_read(&joining_format, arena, text, RECORD_STORED, out, err);
}

/* --- Machines -------------------------------------------------------------------------------- */

uint64_t pending_origin(const char *address)
{
    Address parsed;
    Error err;
    uint64_t origin;
    if (!address_parse(str_from_c(address), 1, &parsed, &err) || parsed.kind != ADDRESS_IP) {
        return 0;
    }
    SocketAddress socket = address_to_socket(&parsed);
    return socket_address_origin(&socket, &origin) ? origin : 0;
}

PendingMachine *pending_record_find(PendingRecord *record, const Pin *key)
{
    for (uint32_t i = 0; i < record->count; i++) {
        if (pin_equal(&record->machines[i].key, key)) {
            return &record->machines[i];
        }
    }
    return NULL;
}

const PendingMachine *pending_record_first(const PendingRecord *record)
{
    const PendingMachine *first = NULL;
    for (uint32_t i = 0; i < record->count; i++) {
        const PendingMachine *machine = &record->machines[i];
        if (machine->is_approved) {
            return machine;
        }
        if (first == NULL || machine->requested_ms > first->requested_ms) {
            first = machine;
        }
    }
    return first;
}

static uint32_t rows_from(const PendingRecord *record, uint64_t origin)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const PendingMachine *machine = &record->machines[i];
        count += !machine->is_approved && pending_origin(machine->address) == origin;
    }
    return count;
}

static void drop_most_frequent(PendingRecord *record)
{
    const PendingMachine *chosen = NULL;
    uint32_t max = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const PendingMachine *machine = &record->machines[i];
        if (machine->is_approved) {
            continue;
        }
        uint32_t rows = rows_from(record, pending_origin(machine->address));
        if (rows > max || (rows == max && machine->requested_ms < chosen->requested_ms)) {
            chosen = machine;
            max = rows;
        }
    }
    Pin key = chosen->key;
    pending_record_drop(record, &key);
}

PendingMachine *pending_record_add(PendingRecord *record, const Pin *key, const char *address,
                                   int64_t now_ms)
{
    PendingMachine *machine = pending_record_find(record, key);
    if (machine == NULL && record->count == PENDING_MACHINES_MAX) {
        drop_most_frequent(record);
    }
    if (machine == NULL) {
        machine = &record->machines[record->count++];
        *machine = (PendingMachine){ .key = *key };
    }
    snprintf(machine->address, sizeof machine->address, "%s", address);
    machine->requested_ms = now_ms;
    machine->until_ms = now_ms + PENDING_LIFETIME_MS;
    return machine;
}

void pending_record_approve(PendingRecord *record, const Pin *key, int64_t now_ms)
{
    PendingMachine *machine = pending_record_find(record, key);
    if (machine == NULL) {
        machine = pending_record_add(record, key, "", now_ms);
    }
    for (uint32_t i = 0; i < record->count; i++) {
        record->machines[i].is_approved = false;
    }
    machine->is_approved = true;
    machine->until_ms = now_ms + PENDING_LIFETIME_MS;
}

void pending_record_drop(PendingRecord *record, const Pin *key)
{
    uint32_t remaining = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        if (!pin_equal(&record->machines[i].key, key)) {
            record->machines[remaining++] = record->machines[i];
        }
    }
    record->count = remaining;
}

bool pending_record_prune(PendingRecord *record, int64_t now_ms)
{
    uint32_t remaining = 0, before = record->count;
    for (uint32_t i = 0; i < before; i++) {
        if (record->machines[i].until_ms > now_ms) {
            record->machines[remaining++] = record->machines[i];
        }
    }
    record->count = remaining;
    return remaining < before;
}
