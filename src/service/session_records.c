#include "service/session_records.h"

#include <inttypes.h>

#include "base/bug.h"
#include "base/json_text.h"
#include "lang/json.h"
#include "pki/trust_notice.h"
#include "service/node_budget.h"
#include "store/keys.h"

enum {
    JSON_ARENA = 64 * 1024 * 1024,
    JSON_NODES = 200 * 1000,
    RUN_ID_MAX = 64,
    STEP_MAX = 255,
    /* Three categories with four states each, every other record one operation, and the mark. */
    WRITES_WORST = (SESSION_RECORDS_MAX - 3) + 3 * 4 + 1,
};
_Static_assert((int)WRITES_WORST <= (int)SESSION_WRITES_MAX &&
                   (int)SESSION_WRITES_MAX <= (int)STORE_OPS_MAX,
               "a message fits into a transaction");
_Static_assert((int)SESSION_LOGS_BYTES + (int)SESSION_BODIES_BYTES < (int)STORE_REQUEST_MAX,
               "a message fits into a request");

/* --- Marks ------------------------------------------------------------------------------------- */

#define MARK_START   "{\"format\":\"eden.session/1\",\"epoch\":\""
#define MARK_NUMBER  "\",\"sequence\":"
#define MARK_LOST    ",\"lost\":"
#define MARK_STORED  ",\"stored\":"
#define MARK_LIMITED ",\"limited_ms\":"
#define MARK_LIMIT   ",\"limit\":\""

DEFINE_ENUM_NAMES(SessionLimit, session_limit, [SESSION_LIMIT_NONE] = "none",
                  [SESSION_LIMIT_RATE] = "rate", [SESSION_LIMIT_RESULTS] = "results")

Str session_mark_print(Arena *arena, const SessionMark *mark)
{
    return arena_format(arena,
                        MARK_START "%016" PRIx64 MARK_NUMBER "%" PRIu64 MARK_LOST
                                   "%" PRIu64 MARK_STORED "%" PRIu64 MARK_LIMITED
                                   "%" PRId64 MARK_LIMIT "%s\"}",
                        mark->cursor.epoch, mark->cursor.sequence, mark->lost, mark->stored,
                        mark->limited_ms, session_limit_name(mark->limit));
}

static bool take_text(Str *rest, Str text)
{
    if (!str_starts(*rest, text)) {
        return false;
    }
    *rest = str_from_offset(*rest, text.len);
    return true;
}

/* Digits that do not fit come out wrong, and are found when the mark is printed again. */
static uint64_t take_number(Str *rest, unsigned base)
{
    uint64_t number = 0;
    int digit;
    while (rest->len > 0 && (digit = ascii_hex_value(rest->data[0])) >= 0 &&
           (unsigned)digit < base) {
        number = number * base + (unsigned)digit;
        *rest = str_from_offset(*rest, 1);
    }
    return number;
}

/* Marks of before have nothing of budgets. */
static bool take_budget(Str *rest, SessionMark *out)
{
    if (!take_text(rest, STR(MARK_STORED))) {
        return true;
    }
    out->stored = take_number(rest, 10);
    bool ok = take_text(rest, STR(MARK_LIMITED));
    out->limited_ms = (int64_t)take_number(rest, 10);
    ok = ok && take_text(rest, STR(MARK_LIMIT)) && rest->len > 2;
    return ok && session_limit_from_name(str_slice(*rest, 0, rest->len - 2), &out->limit);
}

bool session_mark_read(Arena *arena, Str text, SessionMark *out, Error *err)
{
    Str rest = text;
    *out = (SessionMark){ 0 };
    bool ok = take_text(&rest, STR(MARK_START));
    out->cursor.epoch = take_number(&rest, 16);
    ok = ok && take_text(&rest, STR(MARK_NUMBER));
    out->cursor.sequence = take_number(&rest, 10);
    ok = ok && take_text(&rest, STR(MARK_LOST));
    out->lost = take_number(&rest, 10);
    bool is_old = str_eq_c(rest, "}");
    ok = ok && (is_old || take_budget(&rest, out));
    Str printed = ok ? session_mark_print(arena, out) : STR_EMPTY;
    if (is_old) {
        size_t kept = str_find(printed, STR(MARK_STORED), 0);
        printed = arena_join(arena, str_slice(printed, 0, kept == STR_NOT_FOUND ? 0 : kept),
                             STR("}"), STR_EMPTY);
    }
    if (!ok || !str_eq(printed, text)) {
        return error_set(err, ERROR_INVALID, "what the store has of the session is damaged");
    }
    return true;
}

/* --- Operations -------------------------------------------------------------------------------- */

typedef struct Writer {
    Arena *arena;
    const SessionSender *sender;
    SessionWrites *out;
    size_t logs_bytes, bodies_bytes;
} Writer;

/* The operation on this key, which is a new one unless there was one: the last one holds. */
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

/* --- Kinds ------------------------------------------------------------------------------------- */

/* Why a record is not taken; NULL: it is. */
typedef const char *Reason;

static Reason check_body(Writer *writer, const Record *record)
{
    static const JsonOptions options = {
        .limits = { .size = SESSION_RECORD_MAX, .depth = 64, .nodes = JSON_NODES },
    };
    if (writer->bodies_bytes + record->body.len > SESSION_BODIES_BYTES) {
        return "too much in one message";
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, JSON_ARENA);
    Value value;
    Error err;
    if (!json_parse_text(&arena, record->body, &options, &value, &err)) {
        return "the body is no JSON";
    }
    writer->bodies_bytes += record->body.len;
    return NULL;
}

static Reason write_facts(Writer *writer, const Record *record)
{
    if (record->key.len > 0) {
        return "facts have no key";
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
        return "the body is no report about trust";
    }
    put(writer, key_for(writer, KEY_TRUST, &writer->sender->node, 1), record->body);
    return NULL;
}

/* A node is in one state of each category: the others go in the same transaction. */
static Reason write_status(Writer *writer, const Record *record)
{
    if (str_eq_c(record->key, "trust")) {
        return write_trust(writer, record);
    }
    Str rest = record->key, category, state = STR_EMPTY;
    const Category *row = str_split_next(&rest, '/', &category) ? find_category(category) : NULL;
    if (row == NULL || !str_split_next(&rest, '/', &state) || !is_state(state) ||
        str_split_next(&rest, '/', &category)) {
        return "no category and state";
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

static bool is_run_id(Str id)
{
    for (size_t i = 0; i < id.len; i++) {
        char c = id.data[i];
        if (!ascii_is_alpha(c) && !ascii_is_digit(c) && c != '-' && c != '_' && c != '.') {
            return false;
        }
    }
    return id.len > 0 && id.len <= RUN_ID_MAX;
}

static Reason write_result(Writer *writer, const Record *record)
{
    /* A step may have any name, also one with slashes. */
    size_t slash = 0;
    while (slash < record->key.len && record->key.data[slash] != '/') {
        slash++;
    }
    Str run = str_slice(record->key, 0, slash), step = STR_EMPTY;
    if (slash < record->key.len) {
        step = str_from_offset(record->key, slash + 1);
        if (step.len == 0 || step.len > STEP_MAX) {
            return "no name of a step";
        }
    }
    if (!is_run_id(run)) {
        return "no id of a run";
    }
    int64_t cost = (int64_t)record->body.len + NODE_RECORD_COST;
    if (writer->out->results_bytes + cost > writer->sender->results_left) {
        writer->out->results_refused = true;
        return "the results of this node have used up their room on the server";
    }
    Reason reason = check_body(writer, record);
    if (reason != NULL) {
        return reason;
    }
    writer->out->results_bytes += cost;
    Str node = writer->sender->node;
    Str key = step.len == 0 ? key_for(writer, KEY_RUN_NODE, (Str[]){ run, node }, 2)
                            : key_for(writer, KEY_RUN_STEP, (Str[]){ run, step, node }, 3);
    put(writer, key, record->body);
    return NULL;
}

static Reason write_log(Writer *writer, const Record *record)
{
    if (record->body.len > SESSION_LOG_MAX) {
        return "longer than logs may be";
    }
    Buf text = buf_make_in(writer->arena, BUF_UNLIMITED);
    buf_put_format(&text,
                   "{\"format\":\"eden.log/1\",\"epoch\":\"%016" PRIx64 "\",\"sequence\":%" PRIu64
                   ",\"lost\":%" PRIu64 ",\"taken_ms\":%" PRId64 ",\"key\":",
                   writer->sender->epoch, record->sequence, record->lost, writer->sender->now_ms);
    json_text_put(&text, record->key);
    buf_put_c(&text, ",\"text\":");
    json_text_put(&text, record->body);
    buf_put_char(&text, '}');
    if (writer->logs_bytes + text.len > SESSION_LOGS_BYTES) {
        return "too much in one message";
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
    out->op_count = out->refusal_count = 0;
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
        Reason reason = kinds[records[i].kind](&writer, &records[i]);
        /* They are a sum of whatever nodes say: it stops at the top. */
        if (__builtin_add_overflow(out->lost, records[i].lost, &out->lost)) {
            out->lost = UINT64_MAX;
        }
        if (reason != NULL && out->refusal_count < SESSION_REFUSALS_MAX) {
            out->refusals[out->refusal_count++] =
                (Refusal){ records[i].sequence, str_from_c(reason) };
        }
    }
}
