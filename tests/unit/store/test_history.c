/* Which part of the log is due for compaction. */
#include "store/history.h"

#include "store/execute.h"
#include "unit.h"

/* Revisions of 100 bytes each, one every `step_ms`. */
static EngineState grow(History *history, int64_t count, int64_t step_ms)
{
    EngineState state = { 0 };
    for (int64_t i = 1; i <= count; i++) {
        state.revision = i;
        state.log_bytes = i * 100;
        history_add_point(history, &state, i * step_ms);
    }
    return state;
}

static int64_t due(const History *history, const EngineState *state, int64_t now_ms)
{
    const HistoryPoint *point = history_due(history, state, now_ms);
    return point == NULL ? 0 : point->revision;
}

static void the_limit_is_bytes_or_both_count_and_age(void **state)
{
    static const struct {
        int64_t revisions, bytes, ms; /* that are kept, of 1000 revisions, 100 kB, 10 s */
        int64_t least, most;
    } rows[] = {
        { 100, -1, 1000, 880, 900 }, /* both limits are the same */
        { 100, -1, -1, 880, 900 },   /* age does not matter */
        { 100, -1, 5000, 480, 500 }, /* many are recent */
        { 500, -1, 1000, 480, 500 }, /* many are among the newest */
        { -1, -1, 1000, 0, 0 },      /* all are kept */
        { 2000, -1, 1000, 0, 0 },    /* there are not so many */
        { 100, -1, 60000, 0, 0 },    /* none is that old */
        { 2000, 50000, 60000, 530, 545 }, { -1, 50000, -1, 530, 545 },
        { 100, 90000, 1000, 880, 900 },   { 100, 200000, 60000, 0, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        History history = { .keep_revisions = rows[i].revisions,
                            .keep_bytes = rows[i].bytes,
                            .keep_ms = rows[i].ms };
        EngineState end = grow(&history, 1000, 10);
        int64_t found = due(&history, &end, 10000);
        if (found < rows[i].least || found > rows[i].most) {
            fail_msg("row %zu: %lld", i, (long long)found);
        }
        history_clear(&history);
    }
}

static void memory_does_not_grow_with_the_log(void **state)
{
    History history = { .keep_revisions = 10, .keep_bytes = 1000000000, .keep_ms = 1000000000 };
    EngineState end = grow(&history, 1000000, 1000);
    assert_true(history.count <= HISTORY_POINTS && history.count >= HISTORY_POINTS / 8);
    assert_int_equal(history.points[history.count - 1].revision, end.revision);
    for (uint32_t i = 1; i < history.count; i++) {
        assert_true(history.points[i].revision > history.points[i - 1].revision);
    }
    history_clear(&history);
}

/* A few large revisions, then very many small ones: what exceeds the limit is removed in the steps
 * in which it was written, not all at once. */
static void large_revisions_are_not_thinned_out_like_small_ones(void **state)
{
    enum {
        LARGE = 100,
        LARGE_BYTES = 1000,
        SMALL = 4000000
    };
    History history = { .keep_revisions = 64000, .keep_bytes = 64000, .keep_ms = 3600000 };
    EngineState end = { 0 };
    for (int64_t i = 1; i <= LARGE + SMALL; i++) {
        end.revision = i;
        end.log_bytes += i <= LARGE ? LARGE_BYTES : 0;
        history_add_point(&history, &end, 0);
    }
    const HistoryPoint *point = history_due(&history, &end, 0);
    assert_non_null(point);
    int64_t excess = end.log_bytes - (history.keep_bytes - history.keep_bytes / 16);
    assert_in_range(point->bytes, excess, excess + 3 * LARGE_BYTES);
    history_clear(&history);
}

/* Very many revisions at once, then few: as above, for the limit of their number. */
static void many_revisions_at_once_are_not_thinned_out_like_few(void **state)
{
    enum {
        AT_ONCE = 100000,
        LATER = 4000,
        MINUTE_MS = 60000
    };
    History history = { .keep_revisions = 64000, .keep_bytes = -1, .keep_ms = 64 * MINUTE_MS };
    EngineState end = { 0 };
    int64_t now_ms = 0;
    for (int64_t i = 1; i <= AT_ONCE + LATER; i++) {
        end.revision = i;
        now_ms += i <= AT_ONCE ? 0 : MINUTE_MS;
        history_add_point(&history, &end, now_ms);
    }
    assert_in_range(due(&history, &end, now_ms), end.revision - 64000 - 2000, end.revision - 64000);
    history_clear(&history);
}

/* Ten thousand per second for a quarter of an hour, compacted whenever that is due: the retained
 * part follows the rule, also with many more points than fit. */
static void the_rule_holds_however_much_is_written(void **state)
{
    static const struct {
        int64_t bytes, least_ms, most_ms; /* of 100 bytes each: the age of the oldest one kept */
    } rows[] = {
        { -1, 600 * 1000, 610 * 1000 },        /* ten minutes */
        { 150000000, 138 * 1000, 151 * 1000 }, /* 150 s, and a sixteenth less */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        History history = { .keep_revisions = 10000,
                            .keep_bytes = rows[i].bytes,
                            .keep_ms = 600000 };
        EngineState end = { 0 };
        for (int64_t revision = 1; revision <= 9000000; revision++) {
            int64_t now_ms = revision / 10;
            end.revision = revision;
            end.log_bytes += 100;
            history_add_point(&history, &end, now_ms);
            const HistoryPoint *point =
                revision % 256 == 0 ? history_due(&history, &end, now_ms) : NULL;
            if (point != NULL) {
                int64_t gone = point->bytes - end.log_start;
                end.compacted = point->revision;
                end.log_bytes -= gone;
                end.log_start += gone;
            }
            int64_t kept_ms = now_ms - end.compacted / 10;
            if ((end.compacted > 0 && kept_ms < rows[i].least_ms) || kept_ms > rows[i].most_ms) {
                fail_msg("row %zu: %lld ms are kept after %lld ms", i, (long long)kept_ms,
                         (long long)now_ms);
            }
        }
        assert_true(end.compacted > 0);
        history_clear(&history);
    }
}

static void unwritten_changes_are_forgotten(void **state)
{
    History history = { .keep_revisions = 10, .keep_bytes = -1, .keep_ms = -1 };
    EngineState end = grow(&history, 100, 1);
    history_drop_after(&history, 40);
    end = (EngineState){ .revision = 40, .log_bytes = 4000 };
    assert_int_equal(due(&history, &end, 1000), 30);
    end.compacted = 30;
    assert_int_equal(due(&history, &end, 1000), 0);
    history_clear(&history);
}

static void nothing_remains_if_nothing_was_written(void **state)
{
    History history = { .keep_revisions = 10, .keep_bytes = -1, .keep_ms = -1 };
    (void)grow(&history, 3, 1);
    history_drop_after(&history, 0);
    assert_int_equal(history.count, 0);
    history_drop_after(&history, 0);
    assert_int_equal(history.count, 0);
    history_clear(&history);
}

/* Otherwise its points would push out those of earlier revisions. */
static void a_store_that_is_idle_adds_no_points(void **state)
{
    History history = { .keep_revisions = 100, .keep_bytes = -1, .keep_ms = 1000 };
    EngineState end = grow(&history, 10, 10);
    uint32_t count = history.count;
    for (int i = 0; i < 100; i++) {
        history_add_point(&history, &end, 1000 * i);
    }
    assert_true(count > 0);
    assert_int_equal(history.count, count);
    history_clear(&history);
}

static void points_are_a_fraction_of_a_limit_apart(void **state)
{
    static const struct {
        History keep;
        uint32_t least, most;
    } rows[] = {
        { { .keep_revisions = 640, .keep_bytes = -1, .keep_ms = -1 }, 10, 11 },
        { { .keep_revisions = -1, .keep_bytes = 128000, .keep_ms = -1 }, 5, 6 },
        { { .keep_revisions = -1, .keep_bytes = -1, .keep_ms = 64000 }, 10, 11 },
        { { .keep_revisions = -1, .keep_bytes = -1, .keep_ms = -1 }, 1, 1 },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        History history = rows[i].keep;
        (void)grow(&history, 100, 100);
        if (history.count < rows[i].least || history.count > rows[i].most) {
            fail_msg("row %zu: %u", i, history.count);
        }
        history_clear(&history);
    }
}

/* The current revision is derived from the last change. */
static void changes_are_purged_up_to_the_last_one(void **state)
{
    static const struct {
        int64_t revision, compacted;
        int64_t kept, distance; /* what is purged ends `distance` before revision `kept` */
        bool expected;
    } rows[] = {
        { 5, 3, 3, 1, true },  { 5, 3, 4, 1, false }, { 5, 3, 4, 2, true }, { 5, 5, 4, 1, true },
        { 5, 5, 5, 1, false }, { 5, 0, 1, 1, false }, { 5, 1, 1, 1, true },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EngineState seen = { .revision = rows[i].revision,
                             .compacted = rows[i].compacted,
                             .purged = id_make(rows[i].kept, 0) - rows[i].distance };
        if (execute_can_purge(&seen) != rows[i].expected) {
            fail_msg("row %zu", i);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_bytes_or_both_count_and_age),
        cmocka_unit_test(memory_does_not_grow_with_the_log),
        cmocka_unit_test(large_revisions_are_not_thinned_out_like_small_ones),
        cmocka_unit_test(many_revisions_at_once_are_not_thinned_out_like_few),
        cmocka_unit_test(the_rule_holds_however_much_is_written),
        cmocka_unit_test(unwritten_changes_are_forgotten),
        cmocka_unit_test(nothing_remains_if_nothing_was_written),
        cmocka_unit_test(a_store_that_is_idle_adds_no_points),
        cmocka_unit_test(points_are_a_fraction_of_a_limit_apart),
        cmocka_unit_test(changes_are_purged_up_to_the_last_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
