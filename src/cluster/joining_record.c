#include "cluster/joining_record.h"

#include <stdio.h>

#include "base/json_text.h"
#include "net/address.h"
#include "pki/json_fields.h"

enum {
    RECORD_VALUES = 16 * JOINING_MACHINES_MAX
};

#define FORMAT "eden.joining/2"

/* --- As text --------------------------------------------------------------------------------- */

static void put_machine(Buf *out, const JoiningMachine *machine)
{
    char pin[PIN_TEXT + 1];
    pin_text(&machine->key, pin);
    buf_put_format(out, "{\"key\":\"%s\",\"approved\":%s,\"address\":", pin,
                   machine->is_approved ? "true" : "false");
    json_text_put(out, str_from_c(machine->address));
    buf_put_format(out, ",\"asked_ms\":%lld,\"until_ms\":%lld}", (long long)machine->asked_ms,
                   (long long)machine->until_ms);
}

void joining_record_print(const JoiningRecord *record, Buf *out)
{
    buf_put_c(out, "{\"format\":\"" FORMAT "\",\"name\":");
    json_text_put(out, str_from_c(record->name));
    buf_put_c(out, ",\"machines\":[");
    for (uint32_t i = 0; i < record->count; i++) {
        buf_put_c(out, i > 0 ? "," : "");
        put_machine(out, &record->machines[i]);
    }
    buf_put_c(out, "]}");
}

static bool read_machine(Value object, JoiningMachine *out, Error *err)
{
    Value key, approved, address, asked, until;
    const JsonField fields[] = {
        { "key", VALUE_STRING, false, &key },         { "approved", VALUE_BOOL, false, &approved },
        { "address", VALUE_STRING, false, &address }, { "asked_ms", VALUE_INT, false, &asked },
        { "until_ms", VALUE_INT, false, &until },
    };
    if (object.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "a machine must be an object");
    }
    if (!json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !pin_parse(value_str(key), &out->key, err)) {
        return false;
    }
    if (!json_copy(address, out->address, sizeof out->address)) {
        return error_set(err, ERROR_INVALID, "the address is too long");
    }
    out->is_approved = approved.boolean;
    out->asked_ms = asked.integer;
    out->until_ms = until.integer;
    return true;
}

static bool read_machines(Value list, JoiningRecord *out, Error *err)
{
    if (list.list->len == 0 || list.list->len > JOINING_MACHINES_MAX) {
        return error_set(err, ERROR_INVALID, "%u machines: there are 1 to %d", list.list->len,
                         JOINING_MACHINES_MAX);
    }
    bool is_approved = false;
    for (uint32_t i = 0; i < list.list->len; i++) {
        JoiningMachine *machine = &out->machines[i];
        if (!read_machine(list.list->items[i], machine, err)) {
            return false;
        }
        if (joining_record_find(out, &machine->key) != NULL ||
            (machine->is_approved && is_approved)) {
            return error_set(err, ERROR_INVALID, "a key is there, or is approved, twice");
        }
        is_approved = is_approved || machine->is_approved;
        out->count++;
    }
    return true;
}

bool joining_record_read(Arena *arena, Str text, JoiningRecord *out, Error *err)
{
    Value object, said, name, machines;
    JoiningRecord *record = ARENA_NEW(arena, JoiningRecord);
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "name", VALUE_STRING, false, &name },
        { "machines", VALUE_LIST, false, &machines },
    };
    *record = (JoiningRecord){ 0 };
    if (!json_object_read(arena, text, JOINING_RECORD_MAX, RECORD_VALUES, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err) ||
        !node_name_check(value_str(name), err) || !read_machines(machines, record, err)) {
        return error_wrap(err, "the record of a machine that asks to join");
    }
    snprintf(record->name, sizeof record->name, "%" STR_FMT, STR_ARG(value_str(name)));
    *out = *record;
    return true;
}

/* --- Machines -------------------------------------------------------------------------------- */

uint64_t joining_origin(const char *address)
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

JoiningMachine *joining_record_find(JoiningRecord *record, const Pin *key)
{
    for (uint32_t i = 0; i < record->count; i++) {
        if (pin_equal(&record->machines[i].key, key)) {
            return &record->machines[i];
        }
    }
    return NULL;
}

const JoiningMachine *joining_record_first(const JoiningRecord *record)
{
    const JoiningMachine *first = NULL;
    for (uint32_t i = 0; i < record->count; i++) {
        const JoiningMachine *machine = &record->machines[i];
        if (machine->is_approved) {
            return machine;
        }
        if (first == NULL || machine->asked_ms > first->asked_ms) {
            first = machine;
        }
    }
    return first;
}

static uint32_t rows_from(const JoiningRecord *record, uint64_t origin)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const JoiningMachine *machine = &record->machines[i];
        count += !machine->is_approved && joining_origin(machine->address) == origin;
    }
    return count;
}

static void drop_loudest(JoiningRecord *record)
{
    const JoiningMachine *chosen = NULL;
    uint32_t most = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        const JoiningMachine *machine = &record->machines[i];
        if (machine->is_approved) {
            continue;
        }
        uint32_t rows = rows_from(record, joining_origin(machine->address));
        if (rows > most || (rows == most && machine->asked_ms < chosen->asked_ms)) {
            chosen = machine;
            most = rows;
        }
    }
    Pin key = chosen->key;
    joining_record_drop(record, &key);
}

JoiningMachine *joining_record_ask(JoiningRecord *record, const Pin *key, const char *address,
                                   int64_t now_ms)
{
    JoiningMachine *machine = joining_record_find(record, key);
    if (machine == NULL && record->count == JOINING_MACHINES_MAX) {
        drop_loudest(record);
    }
    if (machine == NULL) {
        machine = &record->machines[record->count++];
        *machine = (JoiningMachine){ .key = *key };
    }
    snprintf(machine->address, sizeof machine->address, "%s", address);
    machine->asked_ms = now_ms;
    machine->until_ms = now_ms + JOINING_LIFE_MS;
    return machine;
}

void joining_record_approve(JoiningRecord *record, const Pin *key, int64_t now_ms)
{
    JoiningMachine *machine = joining_record_find(record, key);
    if (machine == NULL) {
        machine = joining_record_ask(record, key, "", now_ms);
    }
    for (uint32_t i = 0; i < record->count; i++) {
        record->machines[i].is_approved = false;
    }
    machine->is_approved = true;
    machine->until_ms = now_ms + JOINING_LIFE_MS;
}

void joining_record_drop(JoiningRecord *record, const Pin *key)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < record->count; i++) {
        if (!pin_equal(&record->machines[i].key, key)) {
            record->machines[kept++] = record->machines[i];
        }
    }
    record->count = kept;
}

bool joining_record_prune(JoiningRecord *record, int64_t now_ms)
{
    uint32_t kept = 0, before = record->count;
    for (uint32_t i = 0; i < before; i++) {
        if (record->machines[i].until_ms > now_ms) {
            record->machines[kept++] = record->machines[i];
        }
    }
    record->count = kept;
    return kept < before;
}
