/* Two sorted arrays that are searched by key: serial numbers, and rules for names. Inserting
 * copies the array, because listeners may still use the old one. */
#include "pki/revocation.h"

#include <stdlib.h>

#include "base/hex.h"
#include "lang/record.h"
#include "pki/ca.h"

enum {
    TEXT_MAX = 4 << 20, /* maximum size in bytes */
    /* maximum size of the serialized list, less than the limit of a value in the store */
    BYTES_MAX = 1400 << 10,
    ENTRY_TEXT = 64, /* maximum overhead of an entry, in bytes */
};

static bool is_serial(Str serial)
{
    return serial.len > 0 && serial.len <= SERIAL_TEXT && serial.len % 2 == 0 &&
           hex_is_valid(serial);
}

/* Finds `key`, or the index at which to insert it: items start with their key and a NUL. */
static bool find(const void *items, uint32_t count, size_t item_size, Str key, uint32_t *index)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *item_key = (const char *)items + middle * item_size;
        int order = str_compare(str_from_c(item_key), key);
        if (order == 0) {
            *index = middle;
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *index = low;
    return false;
}

/* Makes space for one item at `index`. The old array is unchanged, since it may still be in use. */
static void *insert(Arena *arena, const void *items, uint32_t count, size_t item_size,
                    uint32_t index)
{
    char *grown = arena_alloc_array(arena, (size_t)count + 1, item_size);
    if (count > 0) {
        memcpy(grown, items, index * item_size);
        memcpy(grown + (index + 1) * item_size, (const char *)items + index * item_size,
               (count - index) * item_size);
    }
    memset(grown + index * item_size, 0, item_size);
    return grown;
}

/* --- Capacity -------------------------------------------------------------------------------- */

/* Serialized size of an entry, without unknown fields of a newer server. */
static size_t rule_size(const NameRule *rule)
{
    return strlen(rule->node) + strlen(rule->enrollment) + ENTRY_TEXT;
}

static size_t list_size(const RevocationList *list)
{
    size_t size = ENTRY_TEXT;
    for (uint32_t i = 0; i < list->serial_count; i++) {
        size += strlen(list->serials[i].serial) + ENTRY_TEXT;
    }
    for (uint32_t i = 0; i < list->name_count; i++) {
        size += rule_size(&list->names[i]);
    }
    return size;
}

/* Removed nodes come first: nodes that still exist are marked as revoked only by their rule. */
static int compare_expiry(const void *a, const void *b)
{
    const NameRule *rule = *(const NameRule *const *)a, *other = *(const NameRule *const *)b;
    bool is_removed = rule->enrollment[0] == '\0', other_is_removed = other->enrollment[0] == '\0';
    if (is_removed != other_is_removed) {
        return is_removed ? -1 : 1;
    }
    return rule->until_ms < other->until_ms ? -1 : rule->until_ms > other->until_ms;
}

/* Drops the rules that expire first, so that frequent joining and leaving cannot prevent other
 * removals. The nodes concerned stay excluded without them: a certificate is valid only for a node
 * that is on record with its enrollment. */
static void make_space(Arena *arena, RevocationList *list, size_t entry_size)
{
    size_t size = list_size(list) + entry_size;
    uint32_t count = list->name_count, count_kept = 0;
    if (count < REVOCATIONS_MAX && size <= BYTES_MAX) {
        return;
    }
    const NameRule **sorted = ARENA_ARRAY(arena, const NameRule *, count);
    bool *is_dropped = ARENA_ARRAY(arena, bool, count);
    NameRule *rest = ARENA_ARRAY(arena, NameRule, count);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = &list->names[i];
        is_dropped[i] = false;
    }
    qsort(sorted, count, sizeof *sorted, compare_expiry);
    for (uint32_t i = 0; i < count && (count - i >= REVOCATIONS_MAX || size > BYTES_MAX); i++) {
        is_dropped[sorted[i] - list->names] = true;
        size -= rule_size(sorted[i]);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_dropped[i]) {
            rest[count_kept++] = list->names[i];
        }
    }
    list->names = rest;
    list->name_count = count_kept;
}

/* --- Changes --------------------------------------------------------------------------------- */

bool revocation_add_serial(Arena *arena, RevocationList *list, Str serial, int64_t until_ms,
                           Error *err)
{
    uint32_t index;
    if (!is_serial(serial)) {
        return error_set(err, ERROR_INVALID, "not a certificate serial number");
    }
    if (!find(list->serials, list->serial_count, sizeof *list->serials, serial, &index)) {
        if (list->serial_count == REVOCATIONS_MAX) {
            return error_set(err, ERROR_LIMIT,
                             "%d certificates are already revoked; revoke all certificates of the "
                             "node, or rotate the CA, which revokes all old certificates",
                             REVOCATIONS_MAX);
        }
        make_space(arena, list, serial.len + ENTRY_TEXT);
        list->serials =
            insert(arena, list->serials, list->serial_count++, sizeof *list->serials, index);
        memcpy(list->serials[index].serial, serial.data, serial.len);
        list->serials[index].until_ms = until_ms;
    } else if (list->serials[index].until_ms < until_ms) {
        list->serials[index].until_ms = until_ms;
    }
    return true;
}

bool revocation_set_name(Arena *arena, RevocationList *list, Str node, Str enrollment,
                         int64_t until_ms, Error *err)
{
    uint32_t index;
    if (!node_name_check(node, err) || (enrollment.len > 0 && !enrollment_check(enrollment, err))) {
        return false;
    }
    if (!find(list->names, list->name_count, sizeof *list->names, node, &index)) {
        make_space(arena, list, node.len + ENROLLMENT_TEXT + ENTRY_TEXT);
        (void)find(list->names, list->name_count, sizeof *list->names, node, &index);
        list->names = insert(arena, list->names, list->name_count++, sizeof *list->names, index);
        memcpy(list->names[index].node, node.data, node.len);
        list->names[index].until_ms = until_ms;
    }
    NameRule *rule = &list->names[index];
    rule->until_ms = rule->until_ms < until_ms ? until_ms : rule->until_ms;
    memset(rule->enrollment, 0, sizeof rule->enrollment);
    memcpy(rule->enrollment, enrollment.data, enrollment.len);
    return true;
}

static void drop_expired(RevocationList *list, int64_t before_ms)
{
    uint32_t count_kept = 0;
    for (uint32_t i = 0; i < list->serial_count; i++) {
        if (list->serials[i].until_ms > before_ms) {
            list->serials[count_kept++] = list->serials[i];
        }
    }
    list->serial_count = count_kept;
    count_kept = 0;
    for (uint32_t i = 0; i < list->name_count; i++) {
        if (list->names[i].until_ms > before_ms) {
            list->names[count_kept++] = list->names[i];
        }
    }
    list->name_count = count_kept;
}

/* Drops entries that both clock readings consider expired. If a reading is too far ahead, the next
 * reading from a correct clock is earlier and replaces it. */
void revocation_prune(RevocationList *list, int64_t now_ms)
{
    if (list->clock_ms != 0 && now_ms >= list->clock_ms &&
        now_ms - list->clock_ms < REVOCATION_READING_INTERVAL_MS) {
        return;
    }
    if (list->clock_ms != 0 && now_ms > list->clock_ms) {
        drop_expired(list, list->clock_ms);
    }
    list->clock_ms = now_ms;
}

bool revocation_check(const RevocationList *list, Str node, Str serial, Error *err)
{
    uint32_t index;
    if (list->is_unreadable) {
        return error_set(err, ERROR_DENIED,
                         "the revocation list cannot be read, so no certificate is accepted; "
                         "repair it with 'eden cluster check'");
    }
    if (find(list->serials, list->serial_count, sizeof *list->serials, serial, &index)) {
        return error_set(err, ERROR_DENIED,
                         "the certificate %" STR_FMT " of '%" STR_FMT "' was revoked",
                         STR_ARG(serial), STR_ARG(node));
    }
    if (!find(list->names, list->name_count, sizeof *list->names, node, &index)) {
        return true;
    }
    const NameRule *rule = &list->names[index];
    if (rule->enrollment[0] == '\0') {
        return error_set(err, ERROR_DENIED, "the node '%" STR_FMT "' was removed", STR_ARG(node));
    }
    /* Our certificates have serial numbers of one length; a shorter one has no enrollment. */
    if (serial.len != SERIAL_DIGITS || !str_starts(serial, str_from_c(rule->enrollment))) {
        return error_set(err, ERROR_DENIED,
                         "the certificate is from an earlier enrollment of '%" STR_FMT "'",
                         STR_ARG(node));
    }
    return true;
}

static bool check_serial(Str serial, Error *err)
{
    return is_serial(serial) || error_set(err, ERROR_INVALID, "must be a serial number");
}

static bool check_enrollment(Str enrollment, Error *err)
{
    return enrollment.len == 0 || enrollment_check(enrollment, err);
}

/* Items must be in order, so that each list has one serialization and reading it requires no
 * sorting. */
static bool check_list(const void *record, Error *err)
{
    const RevocationList *list = record;
    for (uint32_t i = 1; i < list->serial_count; i++) {
        if (strcmp(list->serials[i - 1].serial, list->serials[i].serial) >= 0) {
            return error_set(err, ERROR_INVALID, "'serials/%u': is out of order", i);
        }
    }
    for (uint32_t i = 1; i < list->name_count; i++) {
        if (strcmp(list->names[i - 1].node, list->names[i].node) >= 0) {
            return error_set(err, ERROR_INVALID, "'names/%u': is out of order", i);
        }
    }
    return true;
}

static const RecordField serial_fields[] = {
    { "serial", RECORD_TEXT, RECORD_CHARS_AT(RevokedSerial, serial), .is_required = true,
      .check_text = check_serial, .help = "serial number of a certificate" },
    { "until_ms", RECORD_INT, RECORD_INT_AT(RevokedSerial, until_ms), .is_required = true,
      .help = "when it expires" },
    { RECORD_UNKNOWN_AT(RevokedSerial, unknown) },
    { 0 },
};

static const RecordField name_fields[] = {
    { "node", RECORD_TEXT, RECORD_CHARS_AT(NameRule, node), .is_required = true,
      .check_text = node_name_check, .help = "name of a node" },
    { "enrolment", RECORD_TEXT, RECORD_CHARS_AT(NameRule, enrollment), .is_required = true,
      .check_text = check_enrollment, .help = "enrollment that is valid; empty: none" },
    { "until_ms", RECORD_INT, RECORD_INT_AT(NameRule, until_ms), .is_required = true,
      .help = "when the last certificate of earlier enrollments expires" },
    { RECORD_UNKNOWN_AT(NameRule, unknown) },
    { 0 },
};

static const RecordField list_fields[] = {
    { "serials", RECORD_OBJECT,
      RECORD_POINTER_AT(RevocationList, serials, serial_count, REVOCATIONS_MAX, RevokedSerial,
                        serial_fields),
      .is_required = true, .help = "certificates" },
    { "names", RECORD_OBJECT,
      RECORD_POINTER_AT(RevocationList, names, name_count, REVOCATIONS_MAX, NameRule, name_fields),
      .is_required = true, .help = "nodes" },
    { "clock_ms", RECORD_INT, RECORD_INT_AT(RevocationList, clock_ms), .max = INT64_MAX,
      .help = "an earlier reading of the clock" },
    { RECORD_UNKNOWN_AT(RevocationList, unknown) },
    { 0 },
};

static const RecordFormat list_format = {
    .format = "eden.revocations/1",
    .what = "the revocation list",
    .fields = list_fields,
    .size = sizeof(RevocationList),
    .text_max = TEXT_MAX,
    .check = check_list,
};

void revocation_print(const RevocationList *list, Buf *out)
{
    record_print(&list_format, list, out);
}

bool revocation_read(Arena *arena, Str text, RevocationList *out, Error *err)
{
    return record_read(&list_format, arena, text, RECORD_STORED, out, err);
}
