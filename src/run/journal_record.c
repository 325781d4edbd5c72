/* This does not use lang/record.h: a record is one line with a checksum, a run may write a hundred
 * thousand of them, the last may be torn, and the fields depend on the type of the record. */
#include "run/journal_record.h"

#include "base/crc32c.h"
#include "base/enum_names.h"
#include "base/json_out.h"
#include "lang/json.h"

enum {
    CHECKSUM_DIGITS = 8,
    PREFIX = CHECKSUM_DIGITS + 1,
    RECORD_USUAL = 300, /* bytes; few records are longer */
};

static const char *const kind_names[] = {
    [JOURNAL_BEGIN] = "begin", [JOURNAL_ACT] = "act",   [JOURNAL_KEPT] = "kept",
    [JOURNAL_DONE] = "done",   [JOURNAL_PAID] = "paid", [JOURNAL_OWED] = "owed",
    [JOURNAL_END] = "end",
};

/* --- Writing ------------------------------------------------------------------------------- */

static void put_key(Buf *out, const char *key)
{
    buf_put_short(out, STR(",\""));
    buf_put_short(out, str_from_c(key));
    buf_put_short(out, STR("\":"));
}

static void put_text(Buf *out, const char *key, Str text)
{
    if (text.len > 0) {
        put_key(out, key);
        json_text_put(out, text);
    }
}

static void put_number(Buf *out, const char *key, int64_t number)
{
    put_key(out, key);
    buf_put_i64(out, number);
}

static void put_debt(Buf *out, const Debt *debt)
{
    put_text(out, "step", debt->step);
    put_text(out, "cause", debt->cause);
    put_text(out, "kind", str_from_c(debt_kind_name(debt->kind)));
    put_text(out, "unit", debt->unit);
}

/* Lists of lists, because a run may have many: [step, cause, kind, unit]. */
static void put_edges(Buf *out, const JournalRecord *record)
{
    if (record->debt_count == 0) {
        return;
    }
    buf_put_c(out, ",\"edges\":[");
    for (uint32_t i = 0; i < record->debt_count; i++) {
        const Debt *debt = &record->debts[i];
        buf_put_c(out, i == 0 ? "[" : ",[");
        json_text_put(out, debt->step);
        buf_put_char(out, ',');
        json_text_put(out, debt->cause);
        buf_put_format(out, ",\"%s\",", debt_kind_name(debt->kind));
        json_text_put(out, debt->unit);
        buf_put_char(out, ']');
    }
    buf_put_char(out, ']');
}

static void put_kept(Buf *out, const KeptState *kept)
{
    put_text(out, "path", kept->path);
    put_text(out, "kind", kept->kind);
    if (str_eq_c(kept->kind, "absent")) {
        return;
    }
    put_text(out, "content", kept->content);
    put_text(out, "target", kept->target);
    put_number(out, "size", kept->size);
    put_number(out, "mode", kept->mode);
    put_number(out, "uid", kept->uid);
    put_number(out, "gid", kept->gid);
}

static void put_fields(Buf *out, const JournalRecord *record)
{
    put_text(out, "run", record->run);
    put_text(out, "boot", record->boot);
    put_text(out, "site", record->site);
    put_text(out, "name", record->name);
    put_text(out, "path", record->path);
    put_text(out, "command", record->command);
    switch (record->kind) {
    case JOURNAL_BEGIN: put_edges(out, record); return;
    case JOURNAL_OWED: put_debt(out, &record->debts[0]); return;
    default: break;
    }
    put_text(out, "step", record->step);
    put_text(out, "action", record->action);
    put_text(out, "result", record->result);
    put_text(out, "reason", record->reason);
    if (record->kind == JOURNAL_DONE) {
        put_key(out, "changed");
        buf_put_c(out, record->changed ? "true" : "false");
    }
    if (record->kind == JOURNAL_KEPT) {
        put_kept(out, &record->kept);
    }
}

void journal_record_put(const JournalRecord *record, Buf *out)
{
    size_t start = out->len;
    buf_reserve(out, RECORD_USUAL);
    buf_put_repeat(out, '0', PREFIX);
    buf_put_c(out, "{\"t\":\"");
    buf_put_c(out, kind_names[record->kind]);
    buf_put_char(out, '"');
    put_number(out, "at", record->at_ms);
    put_fields(out, record);
    buf_put_char(out, '}');
    if (!out->overflow) {
        Str text = str_from(out->data + start + PREFIX, out->len - start - PREFIX);
        uint32_t checksum = crc32c(text);
        for (int i = CHECKSUM_DIGITS - 1; i >= 0; i--, checksum >>= 4) {
            out->data[start + (size_t)i] = "0123456789abcdef"[checksum & 15];
        }
        out->data[start + CHECKSUM_DIGITS] = ' ';
    }
    buf_put_char(out, '\n');
}

/* --- Reading ------------------------------------------------------------------------------- */

static bool read_edge(Value v, const JournalRecord *record, Debt *out)
{
    if (v.kind != VALUE_LIST || v.list->len < 4) {
        return false;
    }
    for (uint32_t i = 0; i < 4; i++) {
        if (v.list->items[i].kind != VALUE_STRING) {
            return false;
        }
    }
    *out = (Debt){ .step = value_str(v.list->items[0]),
                   .cause = value_str(v.list->items[1]),
                   .unit = value_str(v.list->items[3]),
                   .site = record->name,
                   .site_path = record->path };
    return debt_kind_from_name(value_str(v.list->items[2]), &out->kind) && out->step.len > 0;
}

static bool read_edges(Value map, Arena *arena, JournalRecord *out)
{
    const Value *edges = value_get(map, STR("edges"));
    if (edges == NULL) {
        return true;
    }
    if (edges->kind != VALUE_LIST) {
        return false;
    }
    out->debts = ARENA_ARRAY(arena, Debt, edges->list->len);
    out->debt_count = edges->list->len;
    for (uint32_t i = 0; i < out->debt_count; i++) {
        if (!read_edge(edges->list->items[i], out, &out->debts[i])) {
            return false;
        }
    }
    return true;
}

static bool read_debt(Value map, Arena *arena, JournalRecord *out)
{
    out->debts = ARENA_NEW(arena, Debt);
    out->debt_count = 1;
    *out->debts = (Debt){ .step = out->step,
                          .cause = value_get_text(map, "cause"),
                          .unit = value_get_text(map, "unit"),
                          .site = out->name,
                          .site_path = out->path,
                          .run = out->run,
                          .boot = out->boot,
                          .at_ms = out->at_ms,
                          .state = DEBT_OWED };
    return debt_kind_from_name(value_get_text(map, "kind"), &out->debts->kind) && out->step.len > 0;
}

static bool read_kept(Value map, KeptState *out)
{
    *out = (KeptState){
        .path = value_get_text(map, "path"),
        .kind = value_get_text(map, "kind"),
        .content = value_get_text(map, "content"),
        .target = value_get_text(map, "target"),
        .size = value_get_int(map, "size"),
        .mode = (uint32_t)value_get_int(map, "mode"),
        .uid = (uint32_t)value_get_int(map, "uid"),
        .gid = (uint32_t)value_get_int(map, "gid"),
    };
    return out->path.len > 0 && out->kind.len > 0;
}

static bool read_record(Value map, Arena *arena, JournalRecord *out)
{
    if (map.kind != VALUE_MAP) {
        return false;
    }
    size_t kind;
    *out = (JournalRecord){
        .kind = JOURNAL_OTHER,
        .at_ms = value_get_int(map, "at"),
        .run = value_get_text(map, "run"),
        .boot = value_get_text(map, "boot"),
        .site = value_get_text(map, "site"),
        .name = value_get_text(map, "name"),
        .path = value_get_text(map, "path"),
        .command = value_get_text(map, "command"),
        .step = value_get_text(map, "step"),
        .action = value_get_text(map, "action"),
        .result = value_get_text(map, "result"),
        .reason = value_get_text(map, "reason"),
        .changed = value_get_bool(map, "changed"),
    };
    if (enum_names_find(kind_names, COUNT_OF(kind_names), value_get_text(map, "t"), &kind)) {
        out->kind = (JournalKind)kind;
    }
    switch (out->kind) {
    case JOURNAL_BEGIN: return read_edges(map, arena, out);
    case JOURNAL_OWED: return read_debt(map, arena, out);
    case JOURNAL_KEPT: return read_kept(map, &out->kept);
    case JOURNAL_ACT:
    case JOURNAL_DONE:
    case JOURNAL_PAID: return out->step.len > 0;
    case JOURNAL_END:
    case JOURNAL_OTHER: break;
    }
    return true;
}

static bool checksum_holds(Str line)
{
    if (line.len <= PREFIX || line.data[CHECKSUM_DIGITS] != ' ') {
        return false;
    }
    uint32_t checksum = 0;
    for (int i = 0; i < CHECKSUM_DIGITS; i++) {
        int digit = ascii_hex_value(line.data[i]);
        if (digit < 0) {
            return false;
        }
        checksum = checksum << 4 | (uint32_t)digit;
    }
    return checksum == crc32c(str_from_offset(line, PREFIX));
}

JournalLine journal_record_next(Str text, size_t *at, Arena *arena, JournalRecord *out)
{
    if (*at >= text.len) {
        return JOURNAL_LINE_NONE;
    }
    const char *start = text.data + *at;
    const char *end = memchr(start, '\n', text.len - *at);
    if (end == NULL) {
        *at = text.len;
        return JOURNAL_LINE_TORN;
    }
    Str line = str_from(start, (size_t)(end - start));
    *at += line.len + 1;
    Value value;
    Error err;
    if (!checksum_holds(line) ||
        !json_parse_text(arena, str_from_offset(line, PREFIX), NULL, &value, &err) ||
        !read_record(value, arena, out)) {
        return JOURNAL_LINE_DAMAGED;
    }
    return JOURNAL_LINE_OK;
}
