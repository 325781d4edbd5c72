#include "service/session_records.h"

#include "service/node_budget.h"
#include "store/keys.h"
#include "unit.h"

static int set_up(void **state)
{
    static Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    *state = &arena;
    return 0;
}

static int tear_down(void **state)
{
    arena_clear(*state);
    return 0;
}

static SessionWrites writes;

static void make(Arena *arena, const Record *records, uint32_t count)
{
    SessionSender sender = { KEYS_PREFIX, STR("web1"), 0xabc, 1000, INT64_MAX };
    session_writes_make(arena, &sender, records, count, &writes);
}

static void check_op(uint32_t at, StoreOpKind kind, const char *key, const char *value)
{
    assert_true(at < writes.op_count);
    assert_int_equal(writes.ops[at].kind, kind);
    assert_str(writes.ops[at].key, key);
    assert_str(writes.ops[at].value, value);
}

#define RESULT_OF(outcome) \
    "{\"format\":\"eden.node-result/1\",\"outcome\":\"" outcome "\",\"since_ms\":1}"
#define RUNNING RESULT_OF("running")

static void test_each_kind_has_its_key(void **state)
{
    const Record records[] = {
        { 1, RECORD_FACTS, STR_EMPTY, STR("{\"a\":1}"), 0 },
        { 2, RECORD_RESULT, STR("r-1"), STR(RUNNING), 2 },
        { 3, RECORD_RESULT, STR("r-1/a/b"), STR("[]"), 0 },
        { 67, RECORD_LOG, STR("boot"), STR("a \"line\"\n\xff"), 3 },
    };
    make(*state, records, COUNT_OF(records));
    assert_int_equal(writes.op_count, 4);
    check_op(0, STORE_PUT, "/eden/facts/web1", "{\"a\":1}");
    check_op(1, STORE_PUT, "/eden/runs/r-1/nodes/web1", RUNNING);
    check_op(2, STORE_PUT, "/eden/runs/r-1/steps/a%2Fb/web1", "[]");
    check_op(3, STORE_PUT, "/eden/logs/web1/03",
             "{\"format\":\"eden.log/1\",\"epoch\":\"0000000000000abc\",\"sequence\":67,\"lost\":3,"
             "\"taken_ms\":1000,\"key\":\"boot\",\"text\":\"a \\\"line\\\"\\n\xef\xbf\xbd\"}");
    assert_int_equal(writes.refusal_count, 0);
    assert_int_equal(writes.lost, 5);
}

static void test_a_final_result_deletes_the_order(void **state)
{
    const Record records[] = {
        { 1, RECORD_RESULT, STR("r-1"), STR(RUNNING), 0 },
        { 2, RECORD_RESULT, STR("r-1"), STR(RESULT_OF("failed")), 0 },
    };
    make(*state, records, COUNT_OF(records));
    assert_int_equal(writes.op_count, 2);
    check_op(0, STORE_PUT, "/eden/runs/r-1/nodes/web1", RESULT_OF("failed"));
    check_op(1, STORE_DELETE, "/eden/orders/web1/r-1", "");
}

/* Those of one message count together. */
static void test_results_use_up_their_quota(void **state)
{
    const Record records[] = {
        { 1, RECORD_RESULT, STR("r-1/a"), STR("[]"), 0 },
        { 2, RECORD_RESULT, STR("r-1/b"), STR("[]"), 0 },
        { 3, RECORD_FACTS, STR_EMPTY, STR("{}"), 0 },
    };
    SessionSender sender = { KEYS_PREFIX, STR("web1"), 0xabc, 1000, 2 * (NODE_RECORD_COST + 2) };
    session_writes_make(*state, &sender, records, COUNT_OF(records), &writes);
    assert_int_equal(writes.refusal_count, 0);
    assert_int_equal(writes.results_bytes, sender.results_left);
    assert_false(writes.results_refused);
    sender.results_left--;
    session_writes_make(*state, &sender, records, COUNT_OF(records), &writes);
    assert_int_equal(writes.refusal_count, 1);
    assert_int_equal(writes.refusals[0].sequence, 2);
    assert_int_equal(writes.results_bytes, NODE_RECORD_COST + 2);
    assert_true(writes.results_refused);
    assert_int_equal(writes.op_count, 2);
}

static void test_names_of_steps_have_a_maximum_length(void **state)
{
    static char key[4 + 256] = "r-1/";
    memset(key + 4, 'x', 256);
    const Record records[] = {
        { 1, RECORD_RESULT, str_from(key, 4 + 255), STR("[]"), 0 },
        { 2, RECORD_RESULT, str_from(key, 4 + 256), STR("[]"), 0 },
    };
    make(*state, records, COUNT_OF(records));
    assert_int_equal(writes.refusal_count, 1);
    assert_int_equal(writes.refusals[0].sequence, 2);
}

static void test_a_category_has_one_state(void **state)
{
    const Record records[] = {
        { 1, RECORD_STATUS, STR("configured/running"), STR("1"), 0 },
        { 2, RECORD_STATUS, STR("puppet/success"), STR("2"), 0 },
    };
    make(*state, records, COUNT_OF(records));
    assert_int_equal(writes.op_count, 4);
    check_op(0, STORE_DELETE, "/eden/status/configured/running/web1", "");
    check_op(1, STORE_PUT, "/eden/status/configured/success/web1", "2");
    check_op(2, STORE_DELETE, "/eden/status/configured/failed/web1", "");
    check_op(3, STORE_DELETE, "/eden/status/configured/pending/web1", "");
}

static void test_a_trust_report_is_validated_before_it_is_stored(void **state)
{
#define REPORT                                                                                  \
    "{\"format\":\"eden.trust-report/1\",\"issuer\":\"\",\"serial\":\"4a\",\"not_after_ms\":1," \
    "\"time_ms\":2,\"trusted\":[]}"
    const Record records[] = {
        { 1, RECORD_STATUS, STR("trust"), STR("{}"), 0 },
        { 2, RECORD_STATUS, STR("trust"), STR(REPORT), 0 },
    };
    make(*state, records, COUNT_OF(records));
    assert_int_equal(writes.op_count, 1);
    check_op(0, STORE_PUT, "/eden/trust/web1", REPORT);
    assert_int_equal(writes.refusal_count, 1);
    assert_int_equal(writes.refusals[0].sequence, 1);
}

static void test_the_last_of_equal_keys_wins(void **state)
{
    const Record records[] = {
        { 1, RECORD_FACTS, STR_EMPTY, STR("1"), 0 },
        { 2, RECORD_FACTS, STR_EMPTY, STR("2"), 0 },
    };
    make(*state, records, COUNT_OF(records));
    assert_int_equal(writes.op_count, 1);
    check_op(0, STORE_PUT, "/eden/facts/web1", "2");
}

static void test_garbage_is_rejected_and_affects_nothing_else(void **state)
{
    Arena *arena = *state;
    Str large = str_from(arena_alloc_zero(arena, SESSION_LOG_MAX + 1), SESSION_LOG_MAX + 1);
    const Record records[] = {
        { 1, RECORD_FACTS, STR("other"), STR("{}"), 0 },
        { 2, RECORD_FACTS, STR_EMPTY, STR("{"), 0 },
        { 3, RECORD_STATUS, STR("configured"), STR("{}"), 0 },
        { 4, RECORD_STATUS, STR("configured/done"), STR("{}"), 0 },
        { 5, RECORD_STATUS, STR("configured/failed/web2"), STR("{}"), 0 },
        { 6, RECORD_STATUS, STR("other/failed"), STR("{}"), 0 },
        { 7, RECORD_RESULT, STR_EMPTY, STR("{}"), 0 },
        { 8, RECORD_RESULT, STR("r 1"), STR("{}"), 0 },
        { 9, RECORD_RESULT, STR("r/"), STR("{}"), 0 },
        { 10, RECORD_LOG, STR_EMPTY, large, 0 },
        { 11, RECORD_RESULT, STR(".."), STR("{}"), 0 },
        { 12, RECORD_RESULT, STR("r"), STR("{}"), 0 },
        { 13, RECORD_RESULT, STR("r"), STR(RUNNING), 0 },
    };
    make(arena, records, COUNT_OF(records));
    assert_int_equal(writes.refusal_count, 12);
    for (uint32_t i = 0; i < 12; i++) {
        assert_int_equal(writes.refusals[i].sequence, i + 1);
        assert_true(writes.refusals[i].reason.len > 0);
    }
    assert_int_equal(writes.op_count, 1);
    check_op(0, STORE_PUT, "/eden/runs/r/nodes/web1", RUNNING);
}

/* CVE-2025-22236, CVE-2025-22239: a node reports about itself, and cannot make others do anything.
 * Each key that it can write is its own, whatever it names it. */
static void nodes_write_only_their_own_keys(void **state)
{
    Arena *arena = *state;
    static const char *const keys[] = {
        "",
        "web2",
        "../web2",
        "/eden/nodes/web2",
        "x/../../nodes/web2",
        "orders/web2/1",
        "r/nodes/web2",
        "r%2Fnodes%2Fweb2",
        "configured/success/web2",
        "trust",
        "trust/web2",
        "pki/revocations",
        "r/step/web2",
        "r\n/eden/orders/web2/1",
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        for (int kind = RECORD_FACTS; kind <= RECORD_LOG; kind++) {
            make(arena, &(Record){ 1, (RecordKind)kind, str_from_c(keys[i]), STR("{}"), 0 }, 1);
            for (uint32_t j = 0; j < writes.op_count; j++) {
                Str key = writes.ops[j].key;
                bool is_own =
                    str_ends(key, STR("/web1")) || str_starts(key, STR("/eden/logs/web1/"));
                bool is_report =
                    str_starts(key, STR("/eden/facts/")) || str_starts(key, STR("/eden/status/")) ||
                    str_starts(key, STR("/eden/trust/")) || str_starts(key, STR("/eden/runs/")) ||
                    str_starts(key, STR("/eden/logs/"));
                if (!is_own || !is_report) {
                    fail_msg("'%s' becomes %" STR_FMT, keys[i], STR_ARG(key));
                }
                assert_int_equal(writes.ops[j].end.len, 0); /* one key, not a range of them */
            }
        }
    }
}

/* Whatever a node puts into one message fits into one transaction. */
static void test_the_worst_message_fits(void **state)
{
    Arena *arena = *state;
    char *bytes = arena_alloc(arena, SESSION_RECORD_MAX);
    memset(bytes, '\x01', SESSION_RECORD_MAX);
    Record records[SESSION_RECORDS_MAX];
    for (uint32_t i = 0; i < SESSION_RECORDS_MAX; i++) {
        records[i] = (Record){ i + 1, RECORD_LOG, STR("k"), str_from(bytes, SESSION_LOG_MAX), 0 };
    }
    records[0] = (Record){ 1, RECORD_STATUS, STR("provisioned/failed"), STR("1"), 0 };
    records[1] = (Record){ 2, RECORD_STATUS, STR("configured/failed"), STR("1"), 0 };
    records[2] = (Record){ 3, RECORD_STATUS, STR("validated/failed"), STR("1"), 0 };
    char *json = arena_alloc(arena, SESSION_RECORD_MAX);
    memset(json, ' ', SESSION_RECORD_MAX);
    json[0] = '1';
    records[3] = (Record){ 4, RECORD_FACTS, STR_EMPTY, str_from(json, SESSION_RECORD_MAX), 0 };
    records[4] = (Record){ 5, RECORD_RESULT, STR("r/s"), str_from(json, SESSION_RECORD_MAX), 0 };
    make(arena, records, SESSION_RECORDS_MAX);
    assert_true(writes.op_count < SESSION_WRITES_MAX);
    size_t size = 0;
    for (uint32_t i = 0; i < writes.op_count; i++) {
        size += writes.ops[i].key.len + writes.ops[i].value.len;
    }
    assert_true(size < STORE_REQUEST_MAX);
    assert_int_equal(writes.refusal_count, SESSION_REJECTIONS_MAX);
    assert_str(writes.refusals[0].reason, "too many bytes in one message");
    assert_int_equal(writes.refusals[0].sequence, 5);
}

static void test_marks_survive_a_round_trip(void **state)
{
    Arena *arena = *state;
    const SessionMark marks[] = {
        { { 0xabcdef, 7 }, 0 },
        { { UINT64_MAX, INT64_MAX }, INT64_MAX, INT64_MAX, INT64_MAX, SESSION_LIMIT_RESULTS },
        { { 1, 0 }, 3, 4, 5, SESSION_LIMIT_RATE }
    };
    for (unsigned i = 0; i < COUNT_OF(marks); i++) {
        SessionMark back;
        Error err;
        assert_true(session_mark_read(arena, session_mark_print(arena, &marks[i]), &back, &err));
        assert_int_equal(back.cursor.epoch, marks[i].cursor.epoch);
        assert_int_equal(back.cursor.sequence, marks[i].cursor.sequence);
        assert_int_equal(back.lost, marks[i].lost);
        assert_int_equal(back.stored, marks[i].stored);
        assert_int_equal(back.limited_ms, marks[i].limited_ms);
        assert_string_equal(back.limit, marks[i].limit);
    }
    assert_str(session_mark_print(arena, &marks[0]),
               "{\"format\":\"eden.session/1\",\"epoch\":\"0000000000abcdef\",\"sequence\":7,"
               "\"lost\":0,\"stored\":0,\"limited_ms\":0,\"limit\":\"none\"}");
    /* As before budgets existed. */
    SessionMark old;
    Error why;
    assert_true(session_mark_read(arena,
                                  STR("{\"format\":\"eden.session/1\",\"epoch\":"
                                      "\"0000000000abcdef\",\"sequence\":7,\"lost\":2}"),
                                  &old, &why));
    assert_int_equal(old.lost, 2);
    assert_int_equal(old.stored, 0);
    Str whole = session_mark_print(arena, &marks[1]);
    for (size_t len = 0; len < whole.len; len++) {
        SessionMark back;
        Error err;
        assert_false(session_mark_read(arena, str_slice(whole, 0, len), &back, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
}

/* A limit that only a newer server knows is no reason to refuse the node a session. */
static void test_a_limit_of_a_newer_server_is_preserved(void **state)
{
    Arena *arena = *state;
    Str text = STR("{\"format\":\"eden.session/1\",\"epoch\":\"0000000000abcdef\",\"sequence\":7,"
                   "\"lost\":0,\"stored\":0,\"limited_ms\":5,\"limit\":\"sessions\"}");
    SessionMark mark;
    Error err;
    assert_true(session_mark_read(arena, text, &mark, &err));
    assert_true(str_eq(session_mark_print(arena, &mark), text));
}

static void test_fields_of_a_newer_server_are_preserved_in_the_mark(void **state)
{
    Arena *arena = *state;
    const char *text =
        "{\"format\":\"eden.session/1\",\"epoch\":\"0000000000abcdef\",\"sequence\":7,"
        "\"lost\":0,\"stored\":0,\"limited_ms\":0,\"limit\":\"none\",\"zone\":[1]}";
    SessionMark mark;
    Error err;
    assert_true(session_mark_read(arena, str_from_c(text), &mark, &err));
    assert_str(session_mark_print(arena, &mark), text);
}

static void test_the_loss_count_is_a_json_number(void **state)
{
    assert_int_equal(session_lost_add(1, 2), 3);
    assert_int_equal(session_lost_add(INT64_MAX, 1), INT64_MAX);
    assert_int_equal(session_lost_add(1, UINT64_MAX), INT64_MAX);
}

static void test_unknown_kinds_are_rejected_individually(void **state)
{
    Arena *arena = *state;
    const Record records[] = { { 1, (RecordKind)(RECORD_LOG + 1), STR("a"), STR("1"), 0 },
                               { 2, RECORD_FACTS, STR(""), STR("{}"), 0 },
                               { 3, (RecordKind)UINT32_MAX, STR("b"), STR("2"), 4 } };
    make(arena, records, COUNT_OF(records));
    assert_int_equal(writes.op_count, 1);
    assert_int_equal(writes.refusal_count, 2);
    assert_int_equal(writes.unknown_count, 2);
    assert_int_equal(writes.refusals[1].sequence, 3);
    assert_str(writes.refusals[0].reason, "unknown kind of record");
    assert_int_equal(writes.lost, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_kind_has_its_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_final_result_deletes_the_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_results_use_up_their_quota, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_of_steps_have_a_maximum_length, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_category_has_one_state, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_trust_report_is_validated_before_it_is_stored,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_last_of_equal_keys_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_garbage_is_rejected_and_affects_nothing_else, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nodes_write_only_their_own_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_worst_message_fits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_marks_survive_a_round_trip, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fields_of_a_newer_server_are_preserved_in_the_mark,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_limit_of_a_newer_server_is_preserved, set_up,
                                        tear_down),
        cmocka_unit_test(test_the_loss_count_is_a_json_number),
        cmocka_unit_test_setup_teardown(test_unknown_kinds_are_rejected_individually, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
