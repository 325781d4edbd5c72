/* Converts records of nodes to store operations. Each kind of record has a function that validates
 * it and adds operations; a rejected record gets a reason and does not affect the others. */
#include "service/session_records.h"

#include <inttypes.h>

#include "base/bug.h"
#include "base/hex.h"
#include "base/json_out.h"
#include "fleet/records.h"
#include "lang/json.h"
#include "lang/record.h"
#include "pki/trust_notice.h"
#include "service/node_budget.h"
#include "store/keys.h"

enum {
    JSON_ARENA = 64 * 1024 * 1024,
    JSON_NODES = 200 * 1000,
    EPOCH_DIGITS = 16,
    MARK_MAX = 16 * 1024, /* maximum size in bytes */
    STEP_MAX = 255,
    /* Three categories with four states each, two operations for every other record (a final result
     * also deletes the order), and the mark. */
    WRITES_PER_MESSAGE = 2 * (SESSION_RECORDS_MAX - 3) + 3 * 4 + 1,
};
_Static_assert((int)WRITES_PER_MESSAGE <= (int)SESSION_WRITES_MAX &&
                   (int)SESSION_WRITES_MAX <= (int)STORE_OPS_MAX,
               "a message fits into a transaction");
_Static_assert((int)SESSION_LOGS_BYTES + (int)SESSION_BODIES_BYTES < (int)STORE_REQUEST_MAX,
               "a message fits into a request");

/* --- Marks ----------------------------------------------------------------------------------- */

static bool limit_decode(Arena *arena, Value value, void *member, Error *err)
{
    Str name = value_str(value);
    if (name.len > SESSION_LIMIT_MAX) {
        return error_set(err, ERROR_INVALID, "longer than the limit of %d bytes",
                         SESSION_LIMIT_MAX);
    }
    if (!str_eq_c(name, "none")) {
        memcpy(member, name.data, name.len);
    }
    return true;
}

static void limit_encode(const void *member, Buf *out)
{
    const char *name = member;
    json_text_put(out, name[0] == '\0' ? STR("none") : str_from_c(name));
}

static const RecordCodec limit_codec = { limit_decode, limit_encode, NULL };

static bool epoch_decode(Arena *arena, Value value, void *member, Error *err)
{
    Str digits = value_str(value);
    uint64_t epoch = 0;
    if (digits.len != EPOCH_DIGITS || !hex_is_valid(digits)) {
        return error_set(err, ERROR_INVALID, "must be %d hexadecimal digits", EPOCH_DIGITS);
    }
    for (size_t i = 0; i < digits.len; i++) {
        epoch = epoch << 4 | (uint64_t)ascii_hex_value(digits.data[i]);
    }
    *(uint64_t *)member = epoch;
    return true;
}

static void epoch_encode(const void *member, Buf *out)
{
    buf_put_format(out, "\"%016" PRIx64 "\"", *(const uint64_t *)member);
}

static const RecordCodec epoch_codec = { epoch_decode, epoch_encode, NULL };

/* Marks written by earlier versions have only the first three fields. */
static const RecordField mark_fields[] = {
    { "epoch", RECORD_TEXT, RECORD_CODED_AT(SessionMark, cursor.epoch, uint64_t, epoch_codec),
      .is_required = true, .help = "epoch of the sequence numbers" },
    { "sequence", RECORD_INT, RECORD_INT_AT(SessionMark, cursor.sequence), .is_required = true,
      .help = "the last record that was stored" },
    { "lost", RECORD_INT, RECORD_INT_AT(SessionMark, lost), .is_required = true,
      .help = "log records that the node had to drop" },
    { "stored", RECORD_INT, RECORD_INT_AT(SessionMark, stored), .is_printed = true,
      .help = "size of its results in bytes" },
    { "limited_ms", RECORD_INT, RECORD_INT_AT(SessionMark, limited_ms), .is_printed = true,
      .help = "when it last exceeded a limit" },
    { "limit", RECORD_TEXT, RECORD_CODED_AT(SessionMark, limit, char *, limit_codec),
      .is_printed = true, .is_plain = true, .help = "which limit" },
    { RECORD_UNKNOWN_AT(SessionMark, unknown) },
    { 0 },
};

static const RecordFormat mark_format = {
    .format = "eden.session/1",
    .what = "the store's record of the session",
    .fields = mark_fields,
    .size = sizeof(SessionMark),
    .text_max = MARK_MAX,
};

Str session_mark_print(Arena *arena, const SessionMark *mark)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    record_print(&mark_format, mark, &text);
    return buf_str(&text);
}

bool session_mark_read(Arena *arena, Str text, SessionMark *out, Error *err)
{
    return record_read(&mark_format, arena, text, RECORD_STORED, out, err);
}

/* --- Logs ------------------------------------------------------------------------------------ */

/* Written once, and returned unchanged to clients. */
typedef struct LogRecord {
    uint64_t epoch, sequence, lost;
    int64_t received_ms;
    Str key, text;
} LogRecord;

static const RecordField log_fields[] = {
    { "epoch", RECORD_TEXT, RECORD_CODED_AT(LogRecord, epoch, uint64_t, epoch_codec),
      .is_required = true, .help = "epoch of the sequence numbers" },
    { "sequence", RECORD_INT, RECORD_INT_AT(LogRecord, sequence), .is_required = true,
      .help = "its number" },
    { "lost", RECORD_INT, RECORD_INT_AT(LogRecord, lost), .is_required = true,
      .help = "records before it that the node had to drop" },
    { "taken_ms", RECORD_INT, RECORD_INT_AT(LogRecord, received_ms), .is_required = true,
      .help = "when the server received it" },
    { "key", RECORD_TEXT, RECORD_STR_AT(LogRecord, key), .is_required = true,
      .help = "what it is about" },
    { "text", RECORD_TEXT, RECORD_STR_AT(LogRecord, text), .is_required = true, .help = "the log" },
    { 0 },
};

static const RecordFormat log_format = {
    .format = "eden.log/1",
    .what = "a log record of a node",
    .fields = log_fields,
    .size = sizeof(LogRecord),
};

uint64_t session_lost_add(uint64_t lost, uint64_t more)
{
    return more > INT64_MAX - lost ? INT64_MAX : lost + more;
}

/* --- Operations ------------------------------------------------------------------------------ */

typedef struct Writer {
    Arena *arena;
    const SessionSender *sender;
    SessionWrites *out;
    size_t logs_bytes, bodies_bytes;
} Writer;

/* Returns the operation on this key, and adds it if there is none yet, because the last record of a
 * key wins. */
static StoreOp *op_of(Writer *writer, Str key)
{
    SessionWrites *out = writer->out;
    for (uint32_t i = 0; i < out->op_count; i++) {
        if (str_eq(out->ops[i].key, key)) {
            return &out->ops[i];
        }
    }
    BUG_IF(out->op_count == SESSION_WRITES_MAX);
    return &out->ops[out->op_count++];
}

static void put(Writer *writer, Str key, Str value)
{
    *op_of(writer, key) = (StoreOp){ .kind = STORE_PUT, .key = key, .value = value };
}

static Str key_for(Writer *writer, KeyKind kind, const Str *parts, uint32_t count)
{
    return key_make(writer->arena, writer->sender->prefix, kind, parts, count);
}

/* --- Kinds ----------------------------------------------------------------------------------- */

/* The reason why a record is rejected; NULL: it is accepted. */
typedef const char *Reason;

static Reason check_body(Writer *writer, const Record *record)
{
    static const JsonOptions options = {
        .limits = { .size = SESSION_RECORD_MAX, .depth = 64, .nodes = JSON_NODES },
    };
    if (writer->bodies_bytes + record->body.len > SESSION_BODIES_BYTES) {
        return "too many bytes in one message";
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, JSON_ARENA);
    Value value;
    Error err;
    if (!json_parse_text(&arena, record->body, &options, &value, &err)) {
        return "the body is not JSON";
    }
    writer->bodies_bytes += record->body.len;
    return NULL;
}

static Reason write_facts(Writer *writer, const Record *record)
{
    if (record->key.len > 0) {
        return "facts must not have a key";
    }
    Reason reason = check_body(writer, record);
    if (reason == NULL) {
        put(writer, key_for(writer, KEY_FACTS, &writer->sender->node, 1), record->body);
    }
    return reason;
}

typedef struct Category {
    const char *name, *alias;
} Category;

static const Category categories[] = {
    { "provisioned", NULL },
    { "configured", "puppet" },
    { "validated", "validation" },
};
static const char *const states[] = { "running", "success", "failed", "pending" };

static const Category *find_category(Str name)
{
    for (unsigned i = 0; i < COUNT_OF(categories); i++) {
        const Category *row = &categories[i];
        if (str_eq_c(name, row->name) || (row->alias != NULL && str_eq_c(name, row->alias))) {
            return row;
        }
    }
    return NULL;
}

static bool is_state(Str name)
{
    for (unsigned i = 0; i < COUNT_OF(states); i++) {
        if (str_eq_c(name, states[i])) {
            return true;
        }
    }
    return false;
}

static Reason write_trust(Writer *writer, const Record *record)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    TrustReport report;
    Error err;
    if (!trust_report_read(&arena, record->body, &report, &err)) {
        return "the body is not a trust report";
    }
    put(writer, key_for(writer, KEY_TRUST, &writer->sender->node, 1), record->body);
    return NULL;
}

/* A node is in one state of each category: the others are deleted in the same transaction. */
static Reason write_status(Writer *writer, const Record *record)
{
    if (str_eq_c(record->key, "trust")) {
        return write_trust(writer, record);
    }
    Str rest = record->key, category, state = STR_EMPTY;
    const Category *row = str_split_next(&rest, '/', &category) ? find_category(category) : NULL;
    if (row == NULL || !str_split_next(&rest, '/', &state) || !is_state(state) ||
        str_split_next(&rest, '/', &category)) {
        return "not a category and state";
    }
    Reason reason = check_body(writer, record);
    if (reason != NULL) {
        return reason;
    }
    for (unsigned i = 0; i < COUNT_OF(states); i++) {
        Str parts[] = { str_from_c(row->name), str_from_c(states[i]), writer->sender->node };
        Str key = key_for(writer, KEY_STATUS, parts, 3);
        if (str_eq_c(state, states[i])) {
            put(writer, key, record->body);
        } else {
            *op_of(writer, key) = (StoreOp){ .kind = STORE_DELETE, .key = key };
        }
    }
    return NULL;
}

/* Validates the result of a run. */
static bool read_result(Str body, bool *is_final)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    NodeResult result;
    Error err;
    if (!node_result_read(&arena, body, &result, &err)) {
        return false;
    }
    *is_final = node_outcome_is_final(result.outcome);
    return true;
}

static Reason write_result(Writer *writer, const Record *record)
{
    /* The name of a step is any string, including slashes. */
    size_t slash = 0;
    while (slash < record->key.len && record->key.data[slash] != '/') {
        slash++;
    }
    Str run = str_slice(record->key, 0, slash), step = STR_EMPTY;
    if (slash < record->key.len) {
        step = str_from_offset(record->key, slash + 1);
        if (step.len == 0 || step.len > STEP_MAX) {
            return "not the name of a step";
        }
    }
    bool is_final = false;
    Error err;
    if (!run_id_check(run, &err)) {
        return "not the ID of a run";
    }
    if (step.len == 0 && !read_result(record->body, &is_final)) {
        return "not the result of a run";
    }
    int64_t cost = (int64_t)record->body.len + NODE_RECORD_COST;
    if (writer->out->results_bytes + cost > writer->sender->results_left) {
        writer->out->results_refused = true;
        return "the results of this node have used up their quota on the server";
    }
    Reason reason = check_body(writer, record);
    if (reason != NULL) {
        return reason;
    }
    writer->out->results_bytes += cost;
    Str node = writer->sender->node;
    if (step.len > 0) {
        put(writer, key_for(writer, KEY_RUN_STEP, (Str[]){ run, step, node }, 3), record->body);
        return NULL;
    }
    put(writer, key_for(writer, KEY_RUN_NODE, (Str[]){ run, node }, 2), record->body);
    if (is_final) {
        Str order = key_for(writer, KEY_ORDER, (Str[]){ node, run }, 2);
        *op_of(writer, order) = (StoreOp){ .kind = STORE_DELETE, .key = order };
    }
    return NULL;
}

static Reason write_log(Writer *writer, const Record *record)
{
    if (record->body.len > SESSION_LOG_MAX) {
        return "the log record is too long";
    }
    Buf text = buf_make_in(writer->arena, BUF_UNLIMITED);
    record_print(&log_format,
                 &(LogRecord){ .epoch = writer->sender->epoch,
                               .sequence = record->sequence,
                               .lost = session_lost_add(0, record->lost),
                               .received_ms = writer->sender->now_ms,
                               .key = record->key,
                               .text = record->body },
                 &text);
    if (writer->logs_bytes + text.len > SESSION_LOGS_BYTES) {
        return "too many bytes in one message";
    }
    writer->logs_bytes += text.len;
    Str slot = arena_format(writer->arena, "%02" PRIu64, record->sequence % SESSION_LOG_SLOTS);
    put(writer, key_for(writer, KEY_LOG, (Str[]){ writer->sender->node, slot }, 2), buf_str(&text));
    return NULL;
}

void session_writes_make(Arena *arena, const SessionSender *sender, const Record *records,
                         uint32_t count, SessionWrites *out)
{
    BUG_IF(count > SESSION_RECORDS_MAX);
    out->op_count = out->refusal_count = out->unknown_count = 0;
    out->lost = 0;
    out->results_bytes = 0;
    out->results_refused = false;
    Writer writer = { .arena = arena, .sender = sender, .out = out };
    for (uint32_t i = 0; i < count; i++) {
        static Reason (*const kinds[])(Writer * writer, const Record *record) = {
            [RECORD_FACTS] = write_facts,
            [RECORD_STATUS] = write_status,
            [RECORD_RESULT] = write_result,
            [RECORD_LOG] = write_log,
        };
        bool is_known = (unsigned)records[i].kind < COUNT_OF(kinds);
        Reason reason =
            is_known ? kinds[records[i].kind](&writer, &records[i]) : "unknown kind of record";
        out->unknown_count += is_known ? 0 : 1;
        out->lost = session_lost_add(out->lost, records[i].lost);
        if (reason != NULL && out->refusal_count < SESSION_REJECTIONS_MAX) {
            out->refusals[out->refusal_count++] =
                (RejectedRecord){ records[i].sequence, str_from_c(reason) };
        }
    }
}
