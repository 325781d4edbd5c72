#include "audit/audit_drop_plan.h"

#include "audit_lines.h"
#include "sys/sha256.h"

#define DAY_MS ((int64_t)24 * 3600 * 1000)
/* If all of them are old enough. */
#define LATER_MS (LINES_TIME_MS + (LINES_MAX + 1) * (int64_t)1000 + AUDIT_RETAINED_DAYS * DAY_MS)

static int set_up(void **state)
{
    *state = audit_lines_new(LINES_MAX);
    return 0;
}

static int tear_down(void **state)
{
    audit_lines_free(*state);
    return 0;
}

static AuditDropRequest drop_request(const AuditLines *lines, uint64_t sequence)
{
    AuditDropRequest request = { .sequence = sequence };
    memcpy(request.hash, lines->hashes[sequence], sizeof request.hash);
    return request;
}

/* The kind of the error, or ERROR_NONE. */
static ErrorKind decide(const AuditLines *lines, const AuditDropRequest *request, int64_t now_ms,
                        uint64_t *left, Error *err)
{
    AuditDropLimits limits = audit_drop_limits(&lines->head, now_ms);
    Str text = request->sequence <= LINES_MAX ? lines->lines[request->sequence] : STR_EMPTY;
    *err = (Error){ 0 };
    bool ok = audit_drop_decide(&lines->head, &limits, request, text, left, err);
    assert_int_equal(ok, err->kind == ERROR_NONE);
    return err->kind;
}

static void the_newest_and_recent_entries_are_kept(void **state)
{
    AuditLines *lines = *state;
    AuditDropRequest last = drop_request(lines, LINES_MAX - AUDIT_RETAINED_ENTRIES);
    AuditDropRequest more = drop_request(lines, LINES_MAX - AUDIT_RETAINED_ENTRIES + 1);
    uint64_t left;
    Error err;
    assert_int_equal(decide(lines, &last, LATER_MS, &left, &err), ERROR_NONE);
    assert_int_equal(left, last.sequence);
    assert_int_equal(decide(lines, &more, LATER_MS, &left, &err), ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "those after 200"));
    /* The hundredth is exactly as old as the limit, which it must exceed. */
    int64_t now_ms = LINES_TIME_MS + 100 * 1000 + AUDIT_RETAINED_DAYS * DAY_MS;
    AuditDropRequest old = drop_request(lines, 99), young = drop_request(lines, 100);
    assert_int_equal(decide(lines, &old, now_ms, &left, &err), ERROR_NONE);
    assert_int_equal(decide(lines, &young, now_ms, &left, &err), ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "last 7 days"));
    AuditHead few = { .sequence = 999 };
    assert_int_equal(audit_drop_limits(&few, LATER_MS).last, 0);
}

static void an_archive_of_another_log_drops_nothing(void **state)
{
    AuditLines *lines = *state;
    AuditDropRequest request = drop_request(lines, 50);
    uint64_t left;
    Error err;
    memcpy(request.hash, lines->hashes[51], sizeof request.hash);
    assert_int_equal(decide(lines, &request, LATER_MS, &left, &err), ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "a different hash"));
    assert_int_equal(left, 0);
    AuditDropRequest none = { .sequence = 0 }, behind = { .sequence = LINES_MAX + 1 };
    assert_int_equal(decide(lines, &none, LATER_MS, &left, &err), ERROR_NOT_FOUND);
    assert_int_equal(decide(lines, &behind, LATER_MS, &left, &err), ERROR_NOT_FOUND);
    lines->lines[60] = STR_EMPTY;
    AuditDropRequest missing = drop_request(lines, 60);
    assert_int_equal(decide(lines, &missing, LATER_MS, &left, &err), ERROR_CONFLICT);
    lines->lines[60] = STR("{}");
    assert_int_equal(decide(lines, &missing, LATER_MS, &left, &err), ERROR_CONFLICT);
}

static void finished_work_is_not_repeated(void **state)
{
    AuditLines *lines = *state;
    AuditDropRequest request = drop_request(lines, 50), other = drop_request(lines, 50),
                     early = drop_request(lines, 49);
    uint64_t left = 7;
    Error err;
    lines->head.floor_sequence = 50;
    memcpy(lines->head.floor_hash, lines->hashes[50], sizeof lines->head.floor_hash);
    assert_int_equal(decide(lines, &request, LATER_MS, &left, &err), ERROR_NONE);
    assert_int_equal(left, 0);
    memcpy(other.hash, lines->hashes[51], sizeof other.hash);
    assert_int_equal(decide(lines, &other, LATER_MS, &left, &err), ERROR_CONFLICT);
    assert_int_equal(decide(lines, &early, LATER_MS, &left, &err), ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "up to 50 are already archived"));
}

static void batches_are_bounded(void **state)
{
    AuditHead head = { .sequence = 5000 };
    AuditDropRequest request = { .sequence = 1200 };
    static const uint64_t floors[][2] = {
        { 0, 500 }, { 500, 1000 }, { 1000, 1200 }, { 1199, 1200 }
    };
    for (size_t i = 0; i < COUNT_OF(floors); i++) {
        head.floor_sequence = floors[i][0];
        assert_int_equal(audit_drop_batch_end(&head, &request), floors[i][1]);
    }
}

static void only_intact_entries_are_dropped(void **state)
{
    AuditLines *lines = *state;
    AuditDropLimits limits = audit_drop_limits(&lines->head, LATER_MS);
    AuditHead head = lines->head;
    Error err;
    assert_true(audit_drop_advance(&head, &limits, lines->lines + 1, 20, &err));
    assert_int_equal(head.floor_sequence, 20);
    assert_string_equal(head.floor_hash, lines->hashes[20]);
    assert_int_equal(head.sequence, lines->head.sequence);
    assert_true(audit_drop_advance(&head, &limits, lines->lines + 21, 20, &err));
    assert_int_equal(head.floor_sequence, 40);
    assert_false(audit_drop_advance(&head, &limits, lines->lines + 42, 20, &err));
    assert_int_equal(head.floor_sequence, 40);
    assert_int_equal(err.kind, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "nothing was dropped"));
    /* A clock that was set back does not make an entry older. */
    limits.before_ms = LINES_TIME_MS + 50 * 1000;
    assert_false(audit_drop_advance(&head, &limits, lines->lines + 41, 20, &err));
    assert_non_null(strstr(err.text, "entry 50"));
    assert_int_equal(head.floor_sequence, 40);
}

/* Its age is unknown, although it is intact: a newer server may write unknown outcomes. */
static void an_entry_that_cannot_be_read_is_not_dropped(void **state)
{
    AuditLines *lines = *state;
    AuditDropLimits limits = audit_drop_limits(&lines->head, LATER_MS);
    AuditHead head = lines->head;
    char hash[SHA256_HEX + 1];
    Error err;
    Str first = STR("{\"format\":\"eden.audit/1\","),
        rest = STR("\"outcome\":\"delayed\",\"previous\":\"" AUDIT_GENESIS "\",\"sequence\":1}");
    sha256_hex(arena_join(&lines->arena, first, rest, STR_EMPTY), hash);
    Str text = arena_format(&lines->arena, "%" STR_FMT "\"hash\":\"%s\",%" STR_FMT, STR_ARG(first),
                            hash, STR_ARG(rest));
    AuditChain chain;
    audit_chain_start(&chain, &head);
    assert_true(audit_chain_add(&chain, 1, text));
    assert_false(audit_drop_advance(&head, &limits, &text, 1, &err));
    assert_int_equal(head.floor_sequence, 0);
}

static void dropped_entries_no_longer_count(void **state)
{
    AuditLines *lines = *state;
    AuditDropLimits limits = audit_drop_limits(&lines->head, LATER_MS);
    AuditHead head = lines->head, young = lines->head;
    uint64_t left = 0;
    Error err;
    for (uint32_t i = 21; i <= LINES_MAX; i++) {
        left += lines->lines[i].len;
    }
    assert_true(audit_drop_advance(&head, &limits, lines->lines + 1, 20, &err));
    assert_int_equal(head.bytes, left);
    /* Entries of a version that did not count them. */
    young.bytes = 100;
    assert_true(audit_drop_advance(&young, &limits, lines->lines + 1, 20, &err));
    assert_int_equal(young.bytes, 0);
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(the_newest_and_recent_entries_are_kept),
        ROW(an_archive_of_another_log_drops_nothing),
        ROW(finished_work_is_not_repeated),
        ROW(batches_are_bounded),
        ROW(only_intact_entries_are_dropped),
        ROW(an_entry_that_cannot_be_read_is_not_dropped),
        ROW(dropped_entries_no_longer_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
