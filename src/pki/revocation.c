#include "pki/revocation.h"

#include "base/hex.h"
#include "lang/value.h"
#include "pki/ca.h"
#include "pki/json_fields.h"

static const char format[] = "eden.revocations/1";

enum {
    TEXT_MAX = 4 << 20,
    NODES_MAX = 2 * 8 * REVOCATIONS_MAX,
};

static bool is_serial(Str serial)
{
    return serial.len > 0 && serial.len <= SERIAL_TEXT && serial.len % 2 == 0 && hex_is(serial);
}

/* Where `key` is, or where it would have to be put: items start with their key and a NUL. */
static bool find(const void *items, uint32_t count, size_t item_size, Str key, uint32_t *at)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *there = (const char *)items + middle * item_size;
        int order = str_compare(str_from_c(there), key);
        if (order == 0) {
            *at = middle;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *at = low;
    return false;
}

/* Room for one more item at `at`. The old array stays as it was, for who may still look at it. */
static void *insert(Arena *arena, const void *items, uint32_t count, size_t item_size, uint32_t at)
{
    char *grown = arena_alloc_array(arena, (size_t)count + 1, item_size);
    if (count > 0) {
        memcpy(grown, items, at * item_size);
        memcpy(grown + (at + 1) * item_size, (const char *)items + at * item_size,
               (count - at) * item_size);
    }
    memset(grown + at * item_size, 0, item_size);
    return grown;
}

static bool check_room(uint32_t count, Error *err)
{
    return count < REVOCATIONS_MAX ||
           error_set(err, ERROR_LIMIT,
                     "there are %d revocations already; rotate the CA, which takes back everything",
                     REVOCATIONS_MAX);
}

bool revocation_add_serial(Arena *arena, RevocationList *list, Str serial, int64_t until_ms,
                           Error *err)
{
    uint32_t at;
    if (!is_serial(serial)) {
        return error_set(err, ERROR_INVALID, "this is no serial number of a certificate");
    }
    if (!find(list->serials, list->serial_count, sizeof *list->serials, serial, &at)) {
        if (!check_room(list->serial_count, err)) {
            return false;
        }
        list->serials =
            insert(arena, list->serials, list->serial_count++, sizeof *list->serials, at);
        memcpy(list->serials[at].serial, serial.data, serial.len);
        list->serials[at].until_ms = until_ms;
    } else if (list->serials[at].until_ms < until_ms) {
        list->serials[at].until_ms = until_ms;
    }
    return true;
}

bool revocation_set_name(Arena *arena, RevocationList *list, Str node, Str enrolment,
                         int64_t until_ms, Error *err)
{
    uint32_t at;
    if (!node_name_check(node, err) || (enrolment.len > 0 && !enrolment_check(enrolment, err))) {
        return false;
    }
    if (!find(list->names, list->name_count, sizeof *list->names, node, &at)) {
        if (!check_room(list->name_count, err)) {
            return false;
        }
        list->names = insert(arena, list->names, list->name_count++, sizeof *list->names, at);
        memcpy(list->names[at].node, node.data, node.len);
        list->names[at].until_ms = until_ms;
    }
    NameRule *rule = &list->names[at];
    rule->until_ms = rule->until_ms < until_ms ? until_ms : rule->until_ms;
    memset(rule->enrolment, 0, sizeof rule->enrolment);
    memcpy(rule->enrolment, enrolment.data, enrolment.len);
    return true;
}

void revocation_prune(RevocationList *list, int64_t now_ms)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->serial_count; i++) {
        if (list->serials[i].until_ms > now_ms) {
            list->serials[kept++] = list->serials[i];
        }
    }
    list->serial_count = kept;
    kept = 0;
    for (uint32_t i = 0; i < list->name_count; i++) {
        if (list->names[i].until_ms > now_ms) {
            list->names[kept++] = list->names[i];
        }
    }
    list->name_count = kept;
}

bool revocation_check(const RevocationList *list, Str node, Str serial, Error *err)
{
    uint32_t at;
    if (list->is_unreadable) {
        return error_set(err, ERROR_DENIED,
                         "the list of revocations cannot be read, so that no certificate is "
                         "accepted; an operator repairs it ('eden cluster check')");
    }
    if (find(list->serials, list->serial_count, sizeof *list->serials, serial, &at)) {
        return error_set(err, ERROR_DENIED,
                         "the certificate %" STR_FMT " of '%" STR_FMT "' was revoked",
                         STR_ARG(serial), STR_ARG(node));
    }
    if (!find(list->names, list->name_count, sizeof *list->names, node, &at)) {
        return true;
    }
    const NameRule *rule = &list->names[at];
    if (rule->enrolment[0] == '\0') {
        return error_set(err, ERROR_DENIED, "the node '%" STR_FMT "' was removed", STR_ARG(node));
    }
    /* Certificates of ours have serials of one length; a shorter one has no enrolment at all. */
    if (serial.len != SERIAL_OURS || !str_starts(serial, str_from_c(rule->enrolment))) {
        return error_set(err, ERROR_DENIED,
                         "the certificate is from an earlier enrolment of '%" STR_FMT "'",
                         STR_ARG(node));
    }
    return true;
}

void revocation_print(const RevocationList *list, Buf *out)
{
    buf_put_format(out, "{\"format\":\"%s\",\"serials\":[", format);
    for (uint32_t i = 0; i < list->serial_count; i++) {
        const RevokedSerial *one = &list->serials[i];
        buf_put_format(out, "%s{\"serial\":\"%s\",\"until_ms\":%lld}", i == 0 ? "" : ",",
                       one->serial, (long long)one->until_ms);
    }
    buf_put(out, STR("],\"names\":["));
    for (uint32_t i = 0; i < list->name_count; i++) {
        const NameRule *one = &list->names[i];
        buf_put_format(out, "%s{\"node\":\"%s\",\"enrolment\":\"%s\",\"until_ms\":%lld}",
                       i == 0 ? "" : ",", one->node, one->enrolment, (long long)one->until_ms);
    }
    buf_put(out, STR("]}"));
}

/* Items must be in order, so that there is one text for each list and reading it takes no sorting. */
static bool read_serials(Arena *arena, const List *items, RevocationList *out, Error *err)
{
    out->serials = ARENA_ARRAY(arena, RevokedSerial, items->len + 1);
    for (uint32_t i = 0; i < items->len; i++) {
        Value serial, until;
        const JsonField fields[] = {
            { "serial", VALUE_STRING, false, &serial },
            { "until_ms", VALUE_INT, false, &until },
        };
        RevokedSerial *one = &out->serials[i];
        *one = (RevokedSerial){ 0 };
        if (!json_fields_read(items->items[i], fields, COUNT_OF(fields), err)) {
            return error_wrap(err, "serial %u", i + 1);
        }
        if (!is_serial(value_str(serial)) || !json_copy(serial, one->serial, sizeof one->serial) ||
            (i > 0 && strcmp(one[-1].serial, one->serial) >= 0)) {
            return error_set(err, ERROR_INVALID, "serial %u is invalid or out of order", i + 1);
        }
        one->until_ms = until.integer;
    }
    out->serial_count = items->len;
    return true;
}

static bool read_names(Arena *arena, const List *items, RevocationList *out, Error *err)
{
    out->names = ARENA_ARRAY(arena, NameRule, items->len + 1);
    for (uint32_t i = 0; i < items->len; i++) {
        Value node, enrolment, until;
        const JsonField fields[] = {
            { "node", VALUE_STRING, false, &node },
            { "enrolment", VALUE_STRING, false, &enrolment },
            { "until_ms", VALUE_INT, false, &until },
        };
        NameRule *one = &out->names[i];
        *one = (NameRule){ 0 };
        if (!json_fields_read(items->items[i], fields, COUNT_OF(fields), err) ||
            !node_name_check(value_str(node), err) ||
            (value_str(enrolment).len > 0 && !enrolment_check(value_str(enrolment), err))) {
            return error_wrap(err, "name %u", i + 1);
        }
        if (!json_copy(node, one->node, sizeof one->node) ||
            !json_copy(enrolment, one->enrolment, sizeof one->enrolment) ||
            (i > 0 && strcmp(one[-1].node, one->node) >= 0)) {
            return error_set(err, ERROR_INVALID, "name %u is out of order", i + 1);
        }
        one->until_ms = until.integer;
    }
    out->name_count = items->len;
    return true;
}

static bool read_list(Arena *arena, Str text, RevocationList *out, Error *err)
{
    Value object, said, serials, names;
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "serials", VALUE_LIST, false, &serials },
        { "names", VALUE_LIST, false, &names },
    };
    RevocationList read = { 0 };
    if (!json_object_read(arena, text, TEXT_MAX, NODES_MAX, &object, err) ||
        !json_format_check(object, format, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return false;
    }
    if (serials.list->len > REVOCATIONS_MAX || names.list->len > REVOCATIONS_MAX) {
        return error_set(err, ERROR_LIMIT, "more than %d entries", REVOCATIONS_MAX);
    }
    if (!read_serials(arena, serials.list, &read, err) ||
        !read_names(arena, names.list, &read, err)) {
        return false;
    }
    *out = read;
    return true;
}

bool revocation_read(Arena *arena, Str text, RevocationList *out, Error *err)
{
    return read_list(arena, text, out, err) || error_wrap(err, "the list of revocations");
}
