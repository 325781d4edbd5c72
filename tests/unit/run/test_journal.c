#include "run/journal.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "scratch.h"
#include "syncs.h"

static const Debt edges[] = {
    { .step = { "web#nginx", 9 },
      .cause = { "web#conf", 8 },
      .kind = REQUISITE_WATCH,
      .unit = { "nginx", 5 } },
    { .step = { "web#\"reload\"\n", 13 }, .cause = { "web#key", 7 }, .kind = REQUISITE_ONCHANGES },
};
static const JournalRun run = { .id = { "r1", 2 },
                                .site = { "abc", 3 },
                                .command = { "eden apply .", 12 },
                                .edges = edges,
                                .edge_count = COUNT_OF(edges) };

/* A journal in a separate directory. */
typedef struct World {
    Scratch *scratch;
    Directory directory;
    Problems problems;
    Journal *journal;
    Error err;
} World;

static void open_journal(World *world, const char *boot)
{
    problems_init(&world->problems, &world->scratch->arena);
    if (!journal_open(&world->directory, str_from_c(boot), &world->journal, &world->problems,
                      &world->err)) {
        fail_msg("%s", world->err.text);
    }
}

/* As if the process had been killed: nothing more is written. */
static void drop_journal(World *world)
{
    journal_close(world->journal);
    world->journal = NULL;
}

/* Nothing exists yet. */
static int set_up_folder(void **state)
{
    World *world = calloc(1, sizeof *world);
    void *scratch = NULL;
    int failed = scratch_set_up(&scratch);
    world->scratch = scratch;
    *state = world;
    return failed != 0 || !directory_open(world->scratch->path, &world->directory, &world->err);
}

/* A run has begun, during boot b1. */
static int set_up_run(void **state)
{
    int failed = set_up_folder(state);
    World *world = *state;
    open_journal(world, "b1");
    journal_begin(world->journal, &run);
    return failed;
}

static int tear_down(void **state)
{
    World *world = *state;
    void *scratch = world->scratch;
    drop_journal(world);
    directory_close(&world->directory);
    free(world);
    return scratch_tear_down(&scratch);
}

static Str content(World *world)
{
    Str text;
    assert_true(directory_read(&world->directory, &world->scratch->arena, "journal", 1 << 20, &text,
                               &world->err));
    return text;
}

static void put_content(World *world, Str text)
{
    assert_true(directory_write(&world->directory, "journal", text, false, &world->err));
}

static void act(World *world, const char *step)
{
    assert_true(journal_act(world->journal, str_from_c(step), STR("file.managed"), &world->err));
}

static void done(World *world, const char *step, bool changed)
{
    assert_true(journal_done(world->journal, str_from_c(step), changed ? STR("changed") : STR("ok"),
                             changed, &world->err));
}

static unsigned owed(const World *world, const char *step)
{
    return debt_book_kinds(journal_debts(world->journal), str_from_c(step));
}

static void a_run_without_actions_writes_nothing(void **state)
{
    World *world = *state;
    assert_true(journal_paid(world->journal, STR("web#nginx"), 0, STR_EMPTY, &world->err));
    assert_true(journal_end(world->journal, STR("ok"), &world->err));
    assert_int_equal(content(world).len, 0);
}

static void potential_debts_are_synced_before_the_effect(void **state)
{
    World *world = *state;
    syncs_forget();
    act(world, "web#conf");
    assert_true(is_synced(scratch_place(world->scratch, "journal")));
    assert_true(is_synced(world->scratch->path)); /* the name of a new journal */
    syncs_forget();
    act(world, "web#key");
    assert_int_equal(syncs, 0);
}

static void a_step_does_not_pay_before_its_final_reaction(void **state)
{
    World *world = *state;
    Str nginx = STR("web#nginx");
    uint16_t watch = 1 << REQUISITE_WATCH;
    act(world, "web#conf");
    done(world, "web#conf", true);
    assert_true(journal_paid(world->journal, nginx, watch, STR_EMPTY, &world->err));
    assert_int_equal(owed(world, "web#nginx"), watch);
    assert_true(journal_paid(world->journal, nginx, 0, STR_EMPTY, &world->err));
    assert_int_equal(owed(world, "web#nginx"), 0);
}

static void debts_outlive_a_killed_process(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    done(world, "web#conf", true);
    act(world, "web#key");
    drop_journal(world);
    open_journal(world, "b1");
    assert_int_equal(world->problems.count, 1);
    assert_str(world->problems.items[0].code, "E0704");
    assert_int_equal(owed(world, "web#nginx"), 1 << REQUISITE_WATCH);
    assert_int_equal(owed(world, "web#\"reload\"\n"), 1 << REQUISITE_ONCHANGES);
    /* The next run does not report it again, but still knows it. */
    drop_journal(world);
    open_journal(world, "b2");
    assert_int_equal(world->problems.count, 0);
    assert_int_equal(debt_book_count(journal_debts(world->journal)), 2);
    uint32_t at = 0;
    const Debt *debt = debt_book_next(journal_debts(world->journal), &at, false);
    assert_str(debt->unit, "nginx");
    assert_str(debt->run, "r1");
    assert_str(debt->boot, "b1");
    assert_true(debt->at_ms > 0);
}

static void a_killed_run_owes_only_for_touched_steps(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    drop_journal(world);
    open_journal(world, "b1");
    assert_int_equal(debt_book_count(journal_debts(world->journal)), 1);
}

static void a_killed_run_names_the_steps_it_was_in_the_middle_of(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    done(world, "web#conf", false);
    act(world, "web#key");
    act(world, "web#motd");
    drop_journal(world);
    open_journal(world, "b1");
    assert_str(world->problems.items[0].code, "E0704");
    assert_int_not_equal(
        str_find(world->problems.items[0].message, STR("was interrupted in web#key, web#motd;"), 0),
        STR_NOT_FOUND);
}

static void a_power_failure_owes_for_everything_unknown(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    done(world, "web#conf", false);
    drop_journal(world);
    open_journal(world, "b2");
    assert_int_equal(owed(world, "web#nginx"), 0);
    assert_int_equal(owed(world, "web#\"reload\"\n"), 1 << REQUISITE_ONCHANGES);
}

static void paid_debts_are_gone_in_the_next_run(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    done(world, "web#conf", true);
    assert_true(journal_end(world->journal, STR("failed"), &world->err));
    drop_journal(world);
    open_journal(world, "b1");
    assert_int_equal(world->problems.count, 0);
    assert_int_equal(owed(world, "web#nginx"), 1 << REQUISITE_WATCH);
    assert_true(
        journal_paid(world->journal, STR("web#nginx"), 0, STR("it left the site"), &world->err));
    drop_journal(world);
    open_journal(world, "b1");
    assert_int_equal(debt_book_count(journal_debts(world->journal)), 0);
    assert_true(str_find(content(world), STR("\"reason\":\"it left the site\""), 0) !=
                STR_NOT_FOUND);
}

static void a_torn_tail_is_truncated_at_every_byte(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    Str before = content(world);
    done(world, "web#conf", true);
    assert_true(journal_end(world->journal, STR("changed"), &world->err));
    Str whole = content(world);
    drop_journal(world);
    for (size_t len = before.len; len <= whole.len; len++) {
        put_content(world, str_slice(whole, 0, len));
        open_journal(world, "b1");
        /* Whatever is missing, the change is known, and what follows can be written and read. */
        assert_int_equal(owed(world, "web#nginx"), 1 << REQUISITE_WATCH);
        assert_int_equal(debt_book_count(journal_debts(world->journal)), 1);
        assert_true(journal_paid(world->journal, STR("web#nginx"), 0, STR_EMPTY, &world->err));
        drop_journal(world);
        open_journal(world, "b1");
        assert_int_equal(debt_book_count(journal_debts(world->journal)), 0);
        assert_int_equal(world->problems.count, 0);
        drop_journal(world);
    }
}

static void zeros_after_the_last_record_are_truncated(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    drop_journal(world);
    char zeros[4096] = { 0 };
    zeros[100] = '\n';
    Str text = content(world);
    Buf longer = buf_make_in(&world->scratch->arena, BUF_UNLIMITED);
    buf_put(&longer, text);
    buf_put(&longer, str_from(zeros, sizeof zeros));
    put_content(world, buf_str(&longer));
    open_journal(world, "b1");
    assert_str(world->problems.items[0].code, "E0703");
    assert_int_equal(owed(world, "web#nginx"), 1 << REQUISITE_WATCH);
}

static void damage_in_the_middle_is_reported_and_the_rest_is_read(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    size_t at = content(world).len + 20;
    done(world, "web#conf", false);
    act(world, "web#key");
    done(world, "web#key", true);
    assert_true(journal_end(world->journal, STR("changed"), &world->err));
    drop_journal(world);
    Str text = content(world);
    char *bytes = arena_copy_c(&world->scratch->arena, text);
    bytes[at] ^= 1;
    put_content(world, str_from(bytes, text.len));
    open_journal(world, "b1");
    assert_int_equal(world->problems.count, 1);
    assert_str(world->problems.items[0].code, "E0702");
    /* The outcome of conf is lost, so that it counts as changed. */
    assert_int_equal(debt_book_count(journal_debts(world->journal)), 2);
}

static void a_torn_tail_of_a_finished_run_is_truncated(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    done(world, "web#conf", false);
    assert_true(journal_end(world->journal, STR("ok"), &world->err));
    drop_journal(world);
    Str whole = content(world);
    put_content(world, arena_format(&world->scratch->arena, "%" STR_FMT "0badc0de {\"t\":\"beg",
                                    STR_ARG(whole)));
    open_journal(world, "b1");
    assert_int_equal(world->problems.count, 1);
    assert_str(world->problems.items[0].code, "E0703");
    assert_true(str_eq(content(world), whole));
    /* The following record is complete, and not the end of the torn line. */
    journal_begin(world->journal, &run);
    act(world, "web#key");
    done(world, "web#key", true);
    drop_journal(world);
    DebtBook book;
    debt_book_init(&book, &world->scratch->arena);
    JournalScan scan = journal_scan(content(world), &book);
    assert_int_equal(scan.damaged, 0);
    assert_int_equal(scan.valid_len, content(world).len);
    assert_int_equal(debt_book_count(&book), 1);
}

static void damage_in_an_unfinished_run_counts_as_a_power_failure(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    done(world, "web#conf", false);
    size_t at = content(world).len - 20;
    act(world, "web#conf");
    done(world, "web#conf", false);
    drop_journal(world);
    Str text = content(world);
    char *bytes = arena_copy_c(&world->scratch->arena, text);
    bytes[at] ^= 1;
    put_content(world, str_from(bytes, text.len));
    open_journal(world, "b1");
    assert_int_equal(world->problems.count, 2);
    assert_str(world->problems.items[0].code, "E0702");
    assert_str(world->problems.items[1].code, "E0704");
    /* The lost part may have been about key, although the machine was not rebooted. */
    assert_int_equal(owed(world, "web#\"reload\"\n"), 1 << REQUISITE_ONCHANGES);
    assert_int_equal(owed(world, "web#nginx"), 0);
    drop_journal(world);
    put_content(world, text);
    open_journal(world, "b1");
    assert_int_equal(debt_book_count(journal_debts(world->journal)), 0);
}

static void the_journal_stays_small(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    done(world, "web#conf", true);
    for (int i = 0; i < 2000; i++) {
        act(world, "web#other");
        done(world, "web#other", true);
    }
    assert_true(content(world).len > 100000);
    assert_true(journal_end(world->journal, STR("changed"), &world->err));
    assert_true(content(world).len < 300);
    assert_int_equal(owed(world, "web#nginx"), 1 << REQUISITE_WATCH);
    /* The former journal is kept for inspection, and the new one continues. */
    assert_true(directory_has(&world->directory, "journal.1"));
    journal_begin(world->journal, &run);
    act(world, "web#key");
    done(world, "web#key", true);
    assert_true(journal_paid(world->journal, STR("web#nginx"), 0, STR_EMPTY, &world->err));
    assert_true(journal_end(world->journal, STR("changed"), &world->err));
    drop_journal(world);
    open_journal(world, "b1");
    assert_int_equal(world->problems.count, 0);
    assert_int_equal(owed(world, "web#nginx"), 0);
    assert_int_equal(owed(world, "web#\"reload\"\n"), 1 << REQUISITE_ONCHANGES);
}

static void previous_records_are_read_back(void **state)
{
    World *world = *state;
    act(world, "web#conf");
    KeptState file = { .path = STR("/etc/a \"b\""),
                       .kind = STR("file"),
                       .content = STR("c0ffee"),
                       .size = 12,
                       .mode = 0644,
                       .uid = 1,
                       .gid = 2 };
    KeptState absent = { .path = STR("/etc/new"), .kind = STR("absent") };
    assert_true(journal_kept(world->journal, STR("web#conf"), &file, &world->err));
    assert_true(journal_kept(world->journal, STR("web#conf"), &absent, &world->err));
    Str text = content(world);
    JournalRecord records[4];
    size_t at = 0;
    for (int i = 0; i < 4; i++) {
        assert_int_equal(journal_record_next(text, &at, &world->scratch->arena, &records[i]),
                         JOURNAL_LINE_OK);
    }
    assert_int_equal(records[0].kind, JOURNAL_BEGIN);
    assert_str(records[0].command, "eden apply .");
    assert_str(records[0].site, "abc");
    assert_str(records[1].action, "file.managed");
    assert_str(records[2].kept.path, "/etc/a \"b\"");
    assert_str(records[2].kept.content, "c0ffee");
    assert_int_equal(records[2].kept.mode, 0644);
    assert_int_equal(records[2].kept.gid, 2);
    assert_str(records[3].kept.kind, "absent");
    assert_int_equal(journal_record_next(text, &at, &world->scratch->arena, &records[0]),
                     JOURNAL_LINE_NONE);
}

static void records_of_later_versions_are_skipped(void **state)
{
    World *world = *state;
    Str json = STR("{\"t\":\"surprise\",\"at\":1,\"new\":[1,2]}");
    put_content(world, arena_format(&world->scratch->arena, "%08x %" STR_FMT "\n", crc32c(json),
                                    STR_ARG(json)));
    open_journal(world, "b1");
    assert_int_equal(world->problems.count, 0);
    JournalRecord record;
    size_t at = 0;
    assert_int_equal(journal_record_next(content(world), &at, &world->scratch->arena, &record),
                     JOURNAL_LINE_OK);
    assert_int_equal(record.kind, JOURNAL_OTHER);
}

enum {
    THREADS = 4,
    ROUNDS = 200,
};

typedef struct Worker {
    pthread_t thread;
    Journal *journal;
    Str step;
    bool ok;
} Worker;

static void *work(void *argument)
{
    Worker *worker = argument;
    Error err;
    KeptState absent = { .path = STR("/etc/new"), .kind = STR("absent") };
    worker->ok = true;
    for (int i = 0; i < ROUNDS; i++) {
        worker->ok &= journal_act(worker->journal, worker->step, STR("file.managed"), &err) &&
                      journal_kept(worker->journal, worker->step, &absent, &err) &&
                      journal_done(worker->journal, worker->step, STR("changed"), true, &err) &&
                      journal_paid(worker->journal, STR("web#nginx"), 0, STR_EMPTY, &err);
    }
    return NULL;
}

static void workers_write_concurrently(void **state)
{
    World *world = *state;
    static const char *const steps[THREADS] = { "web#conf", "web#key", "web#other", "web#more" };
    Worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (Worker){ .journal = world->journal, .step = str_from_c(steps[i]) };
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].ok);
    }
    DebtBook book;
    debt_book_init(&book, &world->scratch->arena);
    JournalScan scan = journal_scan(content(world), &book);
    assert_int_equal(scan.damaged, 0);
    assert_true(scan.records > 3 * THREADS * ROUNDS);
    /* Reading it gives the same result as writing it. */
    assert_int_equal(debt_book_kinds(&book, STR("web#nginx")), owed(world, "web#nginx"));
    assert_int_equal(debt_book_count(&book), debt_book_count(journal_debts(world->journal)));
    assert_true(journal_end(world->journal, STR("changed"), &world->err));
}

static void reading_needs_no_lock_and_changes_nothing(void **state)
{
    World *world = *state;
    DebtBook book;
    assert_true(journal_read(&world->directory, &world->scratch->arena, &book, &world->err));
    assert_int_equal(debt_book_count(&book), 0);
    assert_false(directory_has(&world->directory, "journal"));
    open_journal(world, "b1");
    journal_begin(world->journal, &run);
    act(world, "web#conf");
    size_t before = content(world).len;
    assert_true(journal_read(&world->directory, &world->scratch->arena, &book, &world->err));
    uint32_t at = 0;
    assert_null(debt_book_next(&book, &at, false));
    at = 0;
    assert_int_equal(debt_book_next(&book, &at, true)->state, DEBT_POSSIBLE);
    assert_int_equal(content(world).len, before);
}

static void a_debt_without_a_step_is_damage(void **state)
{
    World *world = *state;
    Debt nameless[] = { edges[0], { .cause = STR("web#conf"), .kind = REQUISITE_WATCH } };
    JournalRecord begin = { .kind = JOURNAL_BEGIN, .run = STR("r1"), .debts = nameless };
    for (begin.debt_count = 1; begin.debt_count <= 2; begin.debt_count++) {
        DebtBook book;
        Buf text = buf_make_in(&world->scratch->arena, BUF_UNLIMITED);
        debt_book_init(&book, &world->scratch->arena);
        journal_record_put(&begin, &text);
        journal_record_put(&(JournalRecord){ .kind = JOURNAL_END, .run = STR("r1") }, &text);
        JournalScan scan = journal_scan(buf_str(&text), &book);
        assert_int_equal(scan.damaged, begin.debt_count - 1);
        assert_int_equal(scan.valid_len, text.len);
    }
}

/* The checksum of this record is ffffffff. */
static void a_checksum_consists_of_hexadecimal_digits(void **state)
{
    static const char json[] = "{\"t\":\"end\",\"at\":1,\"run\":"
                               "\"abcDeFGHIjkLMnOPQrStUVwxYzaBcdefGHIJKLMNOP\",\"result\":\"ok\"}";
    static const struct {
        const char *checksum;
        JournalLine result;
    } cases[] = {
        { "ffffffff", JOURNAL_LINE_OK },
        { "fffffff?", JOURNAL_LINE_DAMAGED },
        { "????????", JOURNAL_LINE_DAMAGED },
    };
    World *world = *state;
    Arena *arena = &world->scratch->arena;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        JournalRecord record;
        size_t at = 0;
        Str line = arena_format(arena, "%s %s\n", cases[i].checksum, json);
        assert_int_equal(journal_record_next(line, &at, arena, &record), cases[i].result);
    }
}

#define TEST_IN_DIR(f) cmocka_unit_test_setup_teardown(f, set_up_folder, tear_down)
#define RUN_TEST(f)    cmocka_unit_test_setup_teardown(f, set_up_run, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        RUN_TEST(a_run_without_actions_writes_nothing),
        RUN_TEST(potential_debts_are_synced_before_the_effect),
        RUN_TEST(a_step_does_not_pay_before_its_final_reaction),
        RUN_TEST(debts_outlive_a_killed_process),
        RUN_TEST(a_killed_run_owes_only_for_touched_steps),
        RUN_TEST(a_killed_run_names_the_steps_it_was_in_the_middle_of),
        RUN_TEST(a_power_failure_owes_for_everything_unknown),
        RUN_TEST(paid_debts_are_gone_in_the_next_run),
        RUN_TEST(a_torn_tail_is_truncated_at_every_byte),
        RUN_TEST(zeros_after_the_last_record_are_truncated),
        RUN_TEST(damage_in_the_middle_is_reported_and_the_rest_is_read),
        RUN_TEST(a_torn_tail_of_a_finished_run_is_truncated),
        RUN_TEST(damage_in_an_unfinished_run_counts_as_a_power_failure),
        RUN_TEST(the_journal_stays_small),
        RUN_TEST(previous_records_are_read_back),
        TEST_IN_DIR(records_of_later_versions_are_skipped),
        RUN_TEST(workers_write_concurrently),
        TEST_IN_DIR(reading_needs_no_lock_and_changes_nothing),
        TEST_IN_DIR(a_debt_without_a_step_is_damage),
        TEST_IN_DIR(a_checksum_consists_of_hexadecimal_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
