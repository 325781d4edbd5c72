#include "cluster/audit_entry.h"

#include <stdio.h>

#include "base/bug.h"
#include "base/hex.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "lang/json.h"
#include "pki/json_fields.h"
#include "sys/sha256.h"

#define ENTRY_FORMAT "eden.audit/1"
#define HEAD_FORMAT  "eden.audit-head/1"

enum {
    ENTRY_NODES = 100,
    ENTRY_DEPTH = 4,
    HEAD_MAX = 2048,
    HEAD_NODES = 20,
};

_Static_assert(sizeof AUDIT_GENESIS == AUDIT_HASH_TEXT + 1 && AUDIT_HASH_TEXT == (int)SHA256_HEX,
               "a hash is a SHA-256");

DEFINE_ENUM_NAMES(AuditOutcome, audit_outcome, [AUDIT_ASKED] = "asked", [AUDIT_DONE] = "done",
                  [AUDIT_FAILED] = "failed", [AUDIT_REFUSED] = "denied")

/* The one way in which values of the log are written. */
static const JsonStyle canonical = { .sort_keys = true };

/* --- Entries --------------------------------------------------------------------------------- */

/* At most `max` bytes of proper UTF-8: what somebody else reads must not depend on who wrote it. */
static Value clean(Arena *arena, Str text, size_t max)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t at = 0; at < text.len;) {
        uint32_t code = utf8_next(text, &at);
        size_t before = out.len;
        utf8_put(&out, code);
        if (out.len > max) {
            out.len = before;
            break;
        }
    }
    return value_string(buf_str(&out));
}

static void put(Arena *arena, Map *map, Str name, Value value)
{
    map_append(arena, map, value_string(name), value);
}

static Map *entry_map(Arena *arena, const AuditEntry *entry)
{
    Map *map = map_new(arena, 16);
    put(arena, map, STR("format"), value_string(STR(ENTRY_FORMAT)));
    put(arena, map, STR("sequence"), value_int((int64_t)entry->sequence));
    put(arena, map, STR("time_ms"), value_int(entry->time_ms));
    put(arena, map, STR("who"), clean(arena, entry->who, PRINCIPAL_WHO_MAX));
    put(arena, map, STR("by"), value_string(str_from_c(principal_kind_name(entry->by))));
    put(arena, map, STR("address"), clean(arena, entry->address, AUDIT_WORD_MAX));
    put(arena, map, STR("verb"), clean(arena, entry->verb, AUDIT_WORD_MAX));
    put(arena, map, STR("kind"), clean(arena, entry->kind, AUDIT_WORD_MAX));
    put(arena, map, STR("name"), clean(arena, entry->name, AUDIT_NAME_MAX));
    put(arena, map, STR("reason"), clean(arena, entry->reason, AUDIT_REASON_MAX));
    put(arena, map, STR("request"), clean(arena, entry->request, AUDIT_WORD_MAX));
    put(arena, map, STR("outcome"), value_string(str_from_c(audit_outcome_name(entry->outcome))));
    put(arena, map, STR("detail"), clean(arena, entry->detail, AUDIT_REASON_MAX));
    put(arena, map, STR("previous"), value_string(entry->previous));
    return map;
}

/* Of what stands in the map, which has no hash. */
static bool hash_map(Arena *arena, Map *map, char out[AUDIT_HASH_TEXT + 1], Error *err)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    if (!json_print(&text, value_map(map), &canonical, err)) {
        return false;
    }
    sha256_hex(buf_str(&text), out);
    return true;
}

void audit_entry_print(const AuditEntry *entry, Buf *out, char hash[AUDIT_HASH_TEXT + 1])
{
    AUTO_CLEAR(Arena) arena;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Map *map = entry_map(&arena, entry);
    bool ok = hash_map(&arena, map, hash, &err);
    put(&arena, map, STR("hash"), value_string(str_from(hash, AUDIT_HASH_TEXT)));
    ok = ok && json_print(out, value_map(map), &canonical, &err);
    BUG_IF(!ok);
}

static bool read_object(Arena *arena, Str text, Value *out, Error *err)
{
    const JsonOptions options = {
        .limits = { .size = AUDIT_ENTRY_MAX, .depth = ENTRY_DEPTH, .nodes = ENTRY_NODES },
    };
    return json_parse_text(arena, text, &options, out, err) &&
           (out->kind == VALUE_MAP || error_set(err, ERROR_INVALID, "it is no JSON object"));
}

/* Whether the field is there, as a text; others than ours may stand beside it. */
static bool read_text(Value object, const char *name, Str *out, Error *err)
{
    const Value *found = value_get(object, str_from_c(name));
    if (found == NULL || !value_is_string(*found)) {
        return error_set(err, ERROR_INVALID, "'%s' is no text", name);
    }
    *out = value_str(*found);
    return true;
}

static bool read_number(Value object, const char *name, int64_t *out, Error *err)
{
    const Value *found = value_get(object, str_from_c(name));
    if (found == NULL || found->kind != VALUE_INT) {
        return error_set(err, ERROR_INVALID, "'%s' is no number", name);
    }
    *out = found->integer;
    return true;
}

static bool is_hash(Str text)
{
    return text.len == AUDIT_HASH_TEXT && hex_is(text);
}

static bool read_entry(Value object, AuditEntry *out, Error *err)
{
    Str by, outcome;
    int64_t sequence;
    AuditEntry read = { 0 };
    if (!json_format_check(object, ENTRY_FORMAT, err) ||
        !read_number(object, "sequence", &sequence, err) ||
        !read_number(object, "time_ms", &read.time_ms, err) ||
        !read_text(object, "who", &read.who, err) || !read_text(object, "by", &by, err) ||
        !read_text(object, "address", &read.address, err) ||
        !read_text(object, "verb", &read.verb, err) ||
        !read_text(object, "kind", &read.kind, err) ||
        !read_text(object, "name", &read.name, err) ||
        !read_text(object, "reason", &read.reason, err) ||
        !read_text(object, "request", &read.request, err) ||
        !read_text(object, "outcome", &outcome, err) ||
        !read_text(object, "detail", &read.detail, err) ||
        !read_text(object, "previous", &read.previous, err) ||
        !read_text(object, "hash", &read.hash, err)) {
        return false;
    }
    if (sequence < 1 || !principal_kind_from_name(by, &read.by) ||
        !audit_outcome_from_name(outcome, &read.outcome) || !is_hash(read.previous) ||
        !is_hash(read.hash)) {
        return error_set(err, ERROR_INVALID, "a field is out of its range");
    }
    read.sequence = (uint64_t)sequence;
    *out = read;
    return true;
}

bool audit_entry_read(Arena *arena, Str text, AuditEntry *out, Error *err)
{
    Value object;
    return (read_object(arena, text, &object, err) && read_entry(object, out, err)) ||
           error_wrap(err, "an entry of the audit log");
}

/* --- The head -------------------------------------------------------------------------------- */

void audit_head_init(AuditHead *head)
{
    *head = (AuditHead){ .hash = AUDIT_GENESIS, .floor_hash = AUDIT_GENESIS };
}

void audit_head_print(const AuditHead *head, Buf *out)
{
    buf_put_format(out,
                   "{\"format\":\"" HEAD_FORMAT "\",\"sequence\":%llu,\"hash\":\"%s\","
                   "\"floor_sequence\":%llu,\"floor_hash\":\"%s\"",
                   (unsigned long long)head->sequence, head->hash,
                   (unsigned long long)head->floor_sequence, head->floor_hash);
    if (head->floor_sequence > 0) {
        buf_put_format(out,
                       ",\"floor_time_ms\":%lld,\"floor_who\":", (long long)head->floor_time_ms);
        json_text_put(out, str_from_c(head->floor_who));
    }
    buf_put_char(out, '}');
}

bool audit_head_read(Arena *arena, Str text, AuditHead *out, Error *err)
{
    Value object, said, sequence, hash, floor_sequence, floor_hash;
    Value floor_time = value_int(0), floor_who = value_string(STR_EMPTY);
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },
        { "sequence", VALUE_INT, false, &sequence },
        { "hash", VALUE_STRING, false, &hash },
        { "floor_sequence", VALUE_INT, false, &floor_sequence },
        { "floor_hash", VALUE_STRING, false, &floor_hash },
        { "floor_time_ms", VALUE_INT, true, &floor_time },
        { "floor_who", VALUE_STRING, true, &floor_who },
    };
    AuditHead read = { 0 };
    if (!json_object_read(arena, text, HEAD_MAX, HEAD_NODES, &object, err) ||
        !json_format_check(object, HEAD_FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return error_wrap(err, "the head of the audit log");
    }
    if (!is_hash(value_str(hash)) || !json_copy(hash, read.hash, sizeof read.hash) ||
        !is_hash(value_str(floor_hash)) ||
        !json_copy(floor_hash, read.floor_hash, sizeof read.floor_hash) ||
        !json_copy(floor_who, read.floor_who, sizeof read.floor_who) ||
        floor_sequence.integer < 0 || sequence.integer < floor_sequence.integer) {
        return error_set(err, ERROR_INVALID,
                         "the head of the audit log: a field is out of its range");
    }
    read.sequence = (uint64_t)sequence.integer;
    read.floor_sequence = (uint64_t)floor_sequence.integer;
    read.floor_time_ms = floor_time.integer;
    *out = read;
    return true;
}

/* --- Verifying ------------------------------------------------------------------------------- */

void audit_chain_start(AuditChain *chain, const AuditHead *head)
{
    *chain = (AuditChain){ .head = *head, .sequence = head->floor_sequence };
    memcpy(chain->hash, head->floor_hash, sizeof chain->hash);
}

PRINTF_LIKE(3, 4)
static bool break_at(AuditChain *chain, uint64_t sequence, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    chain->is_broken = true;
    chain->broken_at = sequence;
    vsnprintf(chain->what, sizeof chain->what, format, args);
    va_end(args);
    return false;
}

/* The text must be what the log itself would write, and its hash that of all the rest. */
static bool check_hash(AuditChain *chain, Arena *arena, uint64_t sequence, Str text, Value object,
                       const AuditEntry *entry)
{
    char hash[AUDIT_HASH_TEXT + 1];
    Buf again = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    if (!json_print(&again, object, &canonical, &err) || !str_eq(buf_str(&again), text)) {
        return break_at(chain, sequence, "the entry is not written as the log writes");
    }
    Str said = entry->hash;
    map_remove(object.map, value_string(STR("hash")));
    if (!hash_map(arena, object.map, hash, &err) || !str_eq_c(said, hash)) {
        return break_at(chain, sequence, "the entry was changed: its hash is another");
    }
    return true;
}

bool audit_chain_add(AuditChain *chain, uint64_t sequence, Str text)
{
    AUTO_CLEAR(Arena) arena;
    Value object;
    AuditEntry entry;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    uint64_t next = chain->sequence + 1;
    if (chain->is_broken) {
        return false;
    }
    if (sequence > chain->head.sequence) {
        return break_at(chain, sequence, "the entry is after the end of the log, %llu",
                        (unsigned long long)chain->head.sequence);
    }
    if (sequence > next) {
        return break_at(chain, next, "entries are missing: %llu to %llu", (unsigned long long)next,
                        (unsigned long long)sequence - 1);
    }
    if (sequence < next) {
        return break_at(chain, sequence, "the entry is before the beginning of the log");
    }
    if (!read_object(&arena, text, &object, &err) || !read_entry(object, &entry, &err)) {
        return break_at(chain, sequence, "the entry cannot be read: %s", err.text);
    }
    if (entry.sequence != sequence) {
        return break_at(chain, sequence, "the entry is number %llu of the log",
                        (unsigned long long)entry.sequence);
    }
    if (!str_eq_c(entry.previous, chain->hash)) {
        return break_at(chain, sequence, "the entry does not follow the one before it");
    }
    if (!check_hash(chain, &arena, sequence, text, object, &entry)) {
        return false;
    }
    chain->sequence = sequence;
    chain->count++;
    snprintf(chain->hash, sizeof chain->hash, "%" STR_FMT, STR_ARG(entry.hash));
    return true;
}

bool audit_chain_end(AuditChain *chain)
{
    if (chain->is_broken) {
        return false;
    }
    if (chain->sequence < chain->head.sequence) {
        return break_at(chain, chain->sequence + 1, "the log ends here, and should go on to %llu",
                        (unsigned long long)chain->head.sequence);
    }
    return strcmp(chain->hash, chain->head.hash) == 0 ||
           break_at(chain, chain->sequence, "the log should end with another entry than this");
}
