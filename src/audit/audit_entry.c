#include "audit/audit_entry.h"

#include <stdio.h>

#include "base/bug.h"
#include "base/hex.h"
#include "base/json_out.h"
#include "base/utf8.h"
#include "lang/json.h"
#include "lang/record.h"
#include "sys/sha256.h"

enum {
    ENTRY_NODES = 100,
    ENTRY_DEPTH = 4,
    HEAD_MAX = 2048,
};

_Static_assert(sizeof AUDIT_GENESIS == AUDIT_HASH_TEXT + 1 && AUDIT_HASH_TEXT == (int)SHA256_HEX,
               "a hash is a SHA-256");

DEFINE_ENUM_NAMES(AuditOutcome, audit_outcome, [AUDIT_REQUESTED] = "asked", [AUDIT_DONE] = "done",
                  [AUDIT_FAILED] = "failed", [AUDIT_DENIED] = "denied", [AUDIT_UNKNOWN] = "unknown")

/* The canonical form of values in the log. */
static const JsonStyle canonical = { .sort_keys = true };

/* --- Entries --------------------------------------------------------------------------------- */

/* The hash covers the text of an entry, so entries are printed in canonical form: with sorted keys,
 * including fields that this version does not know. */

/* Truncates to at most `max` bytes of valid UTF-8, so that every reader sees the same text. */
static Str clean_text(Arena *arena, Str text, size_t max)
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
    return buf_str(&out);
}

/* The hash of the map, which must not contain the hash itself. */
static bool hash_map(Arena *arena, Map *map, char out[AUDIT_HASH_TEXT + 1], Error *err)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    if (!json_print(&text, value_map(map), &canonical, err)) {
        return false;
    }
    sha256_hex(buf_str(&text), out);
    return true;
}

static bool read_object(Arena *arena, Str text, Value *out, Error *err)
{
    const JsonOptions options = {
        .limits = { .size = AUDIT_ENTRY_MAX, .depth = ENTRY_DEPTH, .nodes = ENTRY_NODES },
    };
    return json_parse_text(arena, text, &options, out, err) &&
           (out->kind == VALUE_MAP || error_set(err, ERROR_INVALID, "not a JSON object"));
}

static bool check_hash_text(Str text, Error *err)
{
    return (text.len == AUDIT_HASH_TEXT && hex_is_valid(text)) ||
           error_set(err, ERROR_INVALID, "must be a SHA-256 digest");
}

static bool principal_kind_decode(Arena *arena, Value value, void *member, Error *err)
{
    return principal_kind_from_name(value_str(value), member) ||
           error_set(err, ERROR_INVALID, "must be a kind of principal");
}

static void principal_kind_encode(const void *member, Buf *out)
{
    json_text_put(out, str_from_c(principal_kind_name(*(const PrincipalKind *)member)));
}

static const RecordCodec by_codec = { principal_kind_decode, principal_kind_encode, NULL };

static const RecordField entry_fields[] = {
    { "sequence", RECORD_INT, RECORD_INT_AT(AuditEntry, sequence), .is_required = true, .min = 1,
      .max = INT64_MAX },
    { "time_ms", RECORD_INT, RECORD_INT_AT(AuditEntry, time_ms), .is_required = true },
    { "who", RECORD_TEXT, RECORD_STR_AT(AuditEntry, who), .is_required = true },
    { "by", RECORD_TEXT, RECORD_CODED_AT(AuditEntry, principal_kind, PrincipalKind, by_codec),
      .is_required = true },
    { "address", RECORD_TEXT, RECORD_STR_AT(AuditEntry, address), .is_required = true },
    { "verb", RECORD_TEXT, RECORD_STR_AT(AuditEntry, verb), .is_required = true },
    { "kind", RECORD_TEXT, RECORD_STR_AT(AuditEntry, kind), .is_required = true },
    { "name", RECORD_TEXT, RECORD_STR_AT(AuditEntry, name), .is_required = true },
    { "reason", RECORD_TEXT, RECORD_STR_AT(AuditEntry, reason), .is_required = true },
    { "request", RECORD_TEXT, RECORD_STR_AT(AuditEntry, request), .is_required = true },
    { "outcome", RECORD_CHOICE, RECORD_ENUM_AT(AuditEntry, outcome, audit_outcome),
      .is_required = true },
    { "detail", RECORD_TEXT, RECORD_STR_AT(AuditEntry, detail), .is_required = true },
    { "previous", RECORD_TEXT, RECORD_STR_AT(AuditEntry, previous), .is_required = true,
      .check_text = check_hash_text },
    { "hash", RECORD_TEXT, RECORD_STR_AT(AuditEntry, hash), .is_required = true,
      .check_text = check_hash_text },
    { 0 },
};

static const RecordFormat entry_format = {
    .format = "eden.audit/1",
    .what = "the audit log entry",
    .fields = entry_fields,
    .size = sizeof(AuditEntry),
    .text_max = AUDIT_ENTRY_MAX,
};

bool audit_entry_read(Arena *arena, Str text, AuditEntry *out, Error *err)
{
    return record_read(&entry_format, arena, text, RECORD_STORED, out, err);
}

void audit_entry_print(const AuditEntry *entry, Buf *out, char hash[AUDIT_HASH_TEXT + 1])
{
    AUTO_CLEAR(Arena) arena;
    AuditEntry fit = *entry;
    Value object;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    fit.who = clean_text(&arena, entry->who, PRINCIPAL_WHO_MAX);
    fit.address = clean_text(&arena, entry->address, AUDIT_WORD_MAX);
    fit.verb = clean_text(&arena, entry->verb, AUDIT_WORD_MAX);
    fit.kind = clean_text(&arena, entry->kind, AUDIT_WORD_MAX);
    fit.name = clean_text(&arena, entry->name, AUDIT_NAME_MAX);
    fit.reason = clean_text(&arena, entry->reason, AUDIT_REASON_MAX);
    fit.request = clean_text(&arena, entry->request, AUDIT_WORD_MAX);
    fit.detail = clean_text(&arena, entry->detail, AUDIT_REASON_MAX);
    record_print(&entry_format, &fit, &text);
    bool ok = json_parse_text(&arena, buf_str(&text), NULL, &object, &err) &&
              map_remove(object.map, value_string(STR("hash"))) &&
              hash_map(&arena, object.map, hash, &err);
    BUG_IF(!ok);
    map_set_str(&arena, object.map, STR("hash"), value_string(str_from(hash, AUDIT_HASH_TEXT)));
    ok = json_print(out, object, &canonical, &err);
    BUG_IF(!ok);
}

/* --- Head ------------------------------------------------------------------------------------ */

void audit_head_init(AuditHead *head)
{
    *head = (AuditHead){ .hash = AUDIT_GENESIS, .floor_hash = AUDIT_GENESIS };
}

bool audit_head_is_full(const AuditHead *head, int64_t disk_bytes)
{
    return head->sequence - head->floor_sequence >= AUDIT_ENTRIES_MAX ||
           (disk_bytes > 0 && head->bytes >= (uint64_t)disk_bytes / AUDIT_DISK_SHARE);
}

static bool check_head(const void *record, Error *err)
{
    const AuditHead *head = record;
    return head->sequence >= head->floor_sequence ||
           error_set(err, ERROR_INVALID, "'sequence': must not be less than 'floor_sequence'");
}

static const RecordField head_fields[] = {
    { "sequence", RECORD_INT, RECORD_INT_AT(AuditHead, sequence), .is_required = true,
      .help = "number of the last entry" },
    { "hash", RECORD_TEXT, RECORD_CHARS_AT(AuditHead, hash), .is_required = true,
      .check_text = check_hash_text, .help = "its hash" },
    { "floor_sequence", RECORD_INT, RECORD_INT_AT(AuditHead, floor_sequence), .is_required = true,
      .help = "number of the last entry that was dropped" },
    { "floor_hash", RECORD_TEXT, RECORD_CHARS_AT(AuditHead, floor_hash), .is_required = true,
      .check_text = check_hash_text, .help = "its hash" },
    { "bytes", RECORD_INT, RECORD_INT_AT(AuditHead, bytes),
      .help = "size of the entries that are not dropped" },
    { "floor_time_ms", RECORD_INT, RECORD_INT_AT(AuditHead, floor_time_ms),
      .help = "when that entry was dropped" },
    { "floor_who", RECORD_TEXT, RECORD_CHARS_AT(AuditHead, floor_who),
      .help = "who dropped that entry" },
    { RECORD_UNKNOWN_AT(AuditHead, unknown) },
    { 0 },
};

static const RecordFormat head_format = {
    .format = "eden.audit-head/1",
    .what = "the head of the audit log",
    .fields = head_fields,
    .size = sizeof(AuditHead),
    .text_max = HEAD_MAX,
    .check = check_head,
};

void audit_head_print(const AuditHead *head, Buf *out)
{
    record_print(&head_format, head, out);
}

bool audit_head_read(Arena *arena, Str text, AuditHead *out, Error *err)
{
    return record_read(&head_format, arena, arena_copy(arena, text), RECORD_STORED, out, err);
}

/* --- Verification ---------------------------------------------------------------------------- */

void audit_chain_start(AuditChain *chain, const AuditHead *head)
{
    *chain = (AuditChain){ .head = *head, .sequence = head->floor_sequence };
    memcpy(chain->hash, head->floor_hash, sizeof chain->hash);
}

PRINTF_LIKE(3, 4)
static bool set_broken(AuditChain *chain, uint64_t sequence, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    chain->is_broken = true;
    chain->broken_at = sequence;
    vsnprintf(chain->what, sizeof chain->what, format, args);
    va_end(args);
    return false;
}

/* The fields that link an entry into the chain. Everything else is covered by the hash, whatever it
 * is: a newer server may write unknown outcomes. */
typedef struct ChainLink {
    uint64_t sequence;
    Str previous, hash;
} ChainLink;

static const RecordField link_fields[] = {
    { "sequence", RECORD_INT, RECORD_INT_AT(ChainLink, sequence), .is_required = true, .min = 1,
      .max = INT64_MAX },
    { "previous", RECORD_TEXT, RECORD_STR_AT(ChainLink, previous), .is_required = true,
      .check_text = check_hash_text },
    { "hash", RECORD_TEXT, RECORD_STR_AT(ChainLink, hash), .is_required = true,
      .check_text = check_hash_text },
    { 0 },
};

static const RecordFormat link_format = {
    .format = "eden.audit/1",
    .what = "an entry of the audit log",
    .fields = link_fields,
    .size = sizeof(ChainLink),
};

/* The text must be in canonical form, and the hash must match all other fields. */
static bool check_hash(AuditChain *chain, Arena *arena, uint64_t sequence, Str text, Value object,
                       Str received)
{
    char hash[AUDIT_HASH_TEXT + 1];
    Buf printed = buf_make_in(arena, BUF_UNLIMITED);
    Error err;
    if (!json_print(&printed, object, &canonical, &err) || !str_eq(buf_str(&printed), text)) {
        return set_broken(chain, sequence, "the entry is not in the log's format");
    }
    map_remove(object.map, value_string(STR("hash")));
    if (!hash_map(arena, object.map, hash, &err) || !str_eq_c(received, hash)) {
        return set_broken(chain, sequence, "the entry was changed: its hash does not match");
    }
    return true;
}

bool audit_chain_add(AuditChain *chain, uint64_t sequence, Str text)
{
    AUTO_CLEAR(Arena) arena;
    Value object;
    ChainLink entry;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    uint64_t next = chain->sequence + 1;
    if (chain->is_broken) {
        return false;
    }
    if (sequence > chain->head.sequence) {
        return set_broken(chain, sequence, "the entry is after the end of the log, %llu",
                          (unsigned long long)chain->head.sequence);
    }
    if (sequence > next) {
        return set_broken(chain, next, "entries are missing: %llu to %llu",
                          (unsigned long long)next, (unsigned long long)sequence - 1);
    }
    if (sequence < next) {
        return set_broken(chain, sequence, "the entry is before the start of the log");
    }
    if (!read_object(&arena, text, &object, &err) ||
        !record_from_value(&link_format, &arena, object, RECORD_STORED, &entry, &err)) {
        return set_broken(chain, sequence, "the entry cannot be read: %s", err.text);
    }
    if (entry.sequence != sequence) {
        return set_broken(chain, sequence, "the entry has number %llu",
                          (unsigned long long)entry.sequence);
    }
    if (!str_eq_c(entry.previous, chain->hash)) {
        return set_broken(chain, sequence, "the entry does not follow the one before it");
    }
    if (!check_hash(chain, &arena, sequence, text, object, entry.hash)) {
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
        return set_broken(chain, chain->sequence + 1,
                          "the log ends here, but should continue to %llu",
                          (unsigned long long)chain->head.sequence);
    }
    return strcmp(chain->hash, chain->head.hash) == 0 ||
           set_broken(chain, chain->sequence, "the log should end with a different entry");
}
