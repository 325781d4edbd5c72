/* Logs of runs on the disk of a server: acknowledged events are kept, nothing is stored twice. */
#include "fleet/run_logs_limit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disk_room.h"
#include "scratch.h"
#include "unit.h"

/* The disk: syncs of files can fail or block, those of directories are counted. */
static atomic_bool disk_fails, disk_waits;
static atomic_int file_syncs, directory_syncs;

int fdatasync(int fildes)
{
    file_syncs++;
    while (disk_waits) {
        usleep(1000);
    }
    if (disk_fails) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fdatasync, fildes);
}

int fsync(int fd)
{
    directory_syncs++;
    return (int)syscall(SYS_fsync, fd);
}

typedef struct Fixture {
    Scratch *scratch;
    Loop *loop;
    RunLogs *logs;
    uint64_t next; /* of the last append */
    ErrorKind kind;
    uint32_t waiting, failed;
} Fixture;

static void reopen(Fixture *f)
{
    Error err;
    run_logs_close(f->logs);
    assert_true(run_logs_open(f->loop, scratch_place(f->scratch, "logs"), &f->logs, &err));
}

static int set_up(void **state)
{
    Fixture *f = calloc(1, sizeof *f);
    scratch_set_up(state);
    f->scratch = *state;
    f->loop = loop_new();
    reopen(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    run_logs_close(f->logs);
    loop_free(f->loop);
    *state = f->scratch;
    free(f);
    return scratch_tear_down(state);
}

static void on_appended(void *context, uint64_t next, const Error *err)
{
    Fixture *f = context;
    f->next = next;
    f->kind = err == NULL ? ERROR_NONE : err->kind;
    f->failed += err != NULL;
    if (--f->waiting == 0) {
        loop_stop(f->loop);
    }
}

static void start_of(Fixture *f, const char *run, const char *node, uint64_t from,
                     const char *lines)
{
    Error err;
    RunLogLines appended = { str_from_c(run), str_from_c(node), from, str_from_c(lines) };
    if (!run_logs_append(f->logs, &appended, on_appended, f, &err)) {
        f->kind = err.kind;
        return;
    }
    f->waiting++;
}

static void start(Fixture *f, const char *node, uint64_t from, const char *lines)
{
    start_of(f, "r1", node, from, lines);
}

/* Returns the number of the next event. */
static uint64_t append(Fixture *f, const char *node, uint64_t from, const char *lines)
{
    f->kind = ERROR_NONE;
    f->next = 0;
    start(f, node, from, lines);
    if (f->waiting > 0) {
        loop_run(f->loop);
    }
    return f->next;
}

#define EVENT(n, name) "{\"n\":" n ",\"at_ms\":7,\"event\":\"" name "\",\"step\":\"web#a\"}\n"

static void expect_log(Fixture *f, const char *node, const char *step, const char *expected)
{
    AUTO(RunLogReader) *reader = NULL;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_end = false;
    Error err;
    assert_true(
        run_log_read(f->logs, STR("r1"), str_from_c(node), str_from_c(step), &reader, &err));
    while (!is_end) {
        assert_true(run_log_reader_next(reader, 40, &text, &is_end, &err));
    }
    assert_str(buf_str(&text), expected);
}

#define STORED(node, n, name) \
    "{\"node\":\"" node "\",\"n\":" n ",\"at_ms\":7,\"event\":\"" name "\",\"step\":\"web#a\"}\n"

static void test_events_are_stored_with_the_name_of_their_node(void **state)
{
    Fixture *f = *state;
    assert_int_equal(append(f, "web1", 1, EVENT("1", "begin") EVENT("2", "start")), 3);
    assert_int_equal(append(f, "db1", 1, EVENT("1", "begin")), 2);
    expect_log(f, "", "",
               STORED("web1", "1", "begin") STORED("web1", "2", "start")
                   STORED("db1", "1", "begin"));
    expect_log(f, "db1", "", STORED("db1", "1", "begin"));
    expect_log(f, "db1", "web#a", STORED("db1", "1", "begin"));
    expect_log(f, "db1", "web#b", "");
    expect_log(f, "mail", "", "");
}

static void test_repeated_events_are_stored_once(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin") EVENT("2", "start"));
    assert_int_equal(
        append(f, "web1", 1, EVENT("1", "begin") EVENT("2", "start") EVENT("3", "step")), 4);
    reopen(f);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start") EVENT("3", "step")), 4);
    expect_log(f, "", "",
               STORED("web1", "1", "begin") STORED("web1", "2", "start")
                   STORED("web1", "3", "step"));
}

static void test_events_after_a_gap_are_requested_again(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    assert_int_equal(append(f, "web1", 4, EVENT("4", "end")), 2);
    assert_int_equal(append(f, "web1", 0, ""), 2);
    expect_log(f, "", "", STORED("web1", "1", "begin"));
}

static void test_invalid_events_are_rejected_as_a_whole(void **state)
{
    static const char *const lines[] = {
        "{\"n\":2}\n",
        EVENT("2", "start") "garbage\n",
        EVENT("2", "start") EVENT("4", "step"),
        "{\"n\":2,\"at_ms\":7,\"event\":\"start\"",
        "{\"n\":2,\"at_ms\":7,\"event\":\"start\",}\n",
    };
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        append(f, "web1", 2, lines[i]);
        assert_int_equal(f->kind, ERROR_INVALID);
    }
    expect_log(f, "", "", STORED("web1", "1", "begin"));
}

/* Otherwise a line would have two names, and most readers take the last one. */
static void test_events_name_no_other_node(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, "{\"n\":1,\"at_ms\":7,\"event\":\"begin\",\"node\":\"db1\"}\n");
    assert_int_equal(f->kind, ERROR_INVALID);
    append(f, "web1", 1, "{\"n\":1,\"at_ms\":7,\"event\":\"begin\",\"node\":[\"web1\"]}\n");
    assert_int_equal(f->kind, ERROR_INVALID);
    append(f, "web1", 1, "{\"n\":1,\"at_ms\":7,\"event\":\"begin\",\"nod\\u0065\":\"web1\"}\n");
    assert_int_equal(f->kind, ERROR_INVALID); /* the line would have two of these */
    append(f, "web1", 1, "{\"n\":1,\"at_ms\":7,\"event\":\"begin\", \"node\":\"web1\"}\n");
    assert_int_equal(f->kind, ERROR_INVALID);
    assert_int_equal(append(f, "web1", 1,
                            "{\"n\":1,\"at_ms\":7,\"event\":\"begin\",\"run\":\"r1\",\"node\":"
                            "\"web1\",\"steps\":[]}\n"
                            "{\"n\":2,\"at_ms\":7,\"event\":\"start\",\"node\":\"web1\"}\n"),
                     3);
    expect_log(
        f, "", "",
        "{\"node\":\"web1\",\"n\":1,\"at_ms\":7,\"event\":\"begin\",\"run\":\"r1\",\"steps\":[]}\n"
        "{\"node\":\"web1\",\"n\":2,\"at_ms\":7,\"event\":\"start\"}\n");
}

static void test_a_value_that_looks_like_the_name_of_the_node_is_kept(void **state)
{
    Fixture *f = *state;
    static const char *const members[] = {
        "\"changes\":{\"a\":[{}],\"node\":\"web1\"}",
        "\"changes\":[{\"a\":1,\"node\":\"web1\"}],\"text\":\"\\\"}\"",
    };
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        Arena *arena = &f->scratch->arena;
        const char *event =
            arena_format(arena, "\"n\":%d,\"at_ms\":7,\"event\":\"step\",%s", 1, members[i]).data;
        append(f, "web1", 1, arena_format(arena, "{%s,\"node\":\"web1\"}\n", event).data);
        expect_log(f, "web1", "", arena_format(arena, "{\"node\":\"web1\",%s}\n", event).data);
        run_logs_remove(f->logs, STR("r1"));
    }
}

enum {
    LARGE = 100 << 10
};

/* Events with texts of that size. */
static void append_large(Fixture *f, const char *event, int from, int count)
{
    AUTO_CLEAR(Buf) lines = buf_make(BUF_UNLIMITED);
    for (int n = from; n < from + count; n++) {
        buf_put_format(&lines, "{\"n\":%d,\"at_ms\":7,\"event\":\"%s\",\"text\":\"", n, event);
        buf_put_repeat(&lines, 'x', LARGE);
        buf_put(&lines, STR("\"}\n"));
    }
    assert_int_equal(append(f, "web1", (uint64_t)from, buf_c(&lines)), from + count);
}

static void test_important_events_have_a_limit_too(void **state)
{
    enum {
        COUNT = 250
    };
    Fixture *f = *state;
    AUTO(RunLogReader) *reader = NULL;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_end = false;
    Error err;
    append_large(f, "step", 1, COUNT);
    reopen(f);
    append_large(f, "step", (int)append(f, "web1", 0, ""), 1);
    assert_true(run_log_read(f->logs, STR("r1"), STR("web1"), STR(""), &reader, &err));
    while (!is_end) {
        assert_true(run_log_reader_next(reader, LARGE, &text, &is_end, &err));
    }
    assert_in_range(text.len, 2 * RUN_LOG_NODE_BYTES, 2 * RUN_LOG_NODE_BYTES + 2 * LARGE);
    size_t at = str_find(buf_str(&text), STR("truncated"), 0);
    assert_true(at != STR_NOT_FOUND);
    assert_true(str_find(buf_str(&text), STR("truncated"), at + 1) == STR_NOT_FOUND);
}

static void test_important_events_are_stored_beyond_the_limit_of_others(void **state)
{
    enum {
        COUNT = 100
    };
    static const char *const important[] = { "begin", "step", "leave", "end" };
    Fixture *f = *state;
    RunLogFile *files;
    uint32_t count;
    Error err;
    append_large(f, "output", 1, COUNT);
    assert_true(run_logs_list(f->logs, &f->scratch->arena, &files, &count, &err));
    assert_in_range(files[0].bytes, RUN_LOG_NODE_BYTES, RUN_LOG_NODE_BYTES + 2 * LARGE);
    for (int i = 0; i < (int)COUNT_OF(important); i++) {
        int64_t before = files[0].bytes;
        append_large(f, "output", COUNT + 1 + 2 * i, 1);
        append_large(f, important[i], COUNT + 2 + 2 * i, 1);
        assert_true(run_logs_list(f->logs, &f->scratch->arena, &files, &count, &err));
        assert_in_range(files[0].bytes, before + LARGE, before + LARGE + 200);
    }
}

/* A filter would keep the loop busy with a whole log otherwise. */
static void test_a_filter_reads_a_part_at_a_time(void **state)
{
    Fixture *f = *state;
    AUTO(RunLogReader) *reader = NULL;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_end = true;
    int calls = 1;
    Error err;
    append_large(f, "step", 1, 20);
    assert_true(run_log_read(f->logs, STR("r1"), STR(""), STR("web#a"), &reader, &err));
    assert_true(run_log_reader_next(reader, LARGE, &text, &is_end, &err));
    for (; !is_end; calls++) {
        assert_true(run_log_reader_next(reader, LARGE, &text, &is_end, &err));
    }
    assert_int_equal(text.len, 0);
    assert_true(calls > 5);
}

static void test_a_torn_last_line_is_truncated(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    run_logs_close(TAKE(f->logs));
    FILE *file = fopen(scratch_place(f->scratch, "logs/r1.ndjson"), "a");
    fputs("{\"node\":\"web1\",\"n\":2,\"at_", file);
    fclose(file);
    reopen(f);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start")), 3);
    expect_log(f, "", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
}

/* A part that was not synced is missing: data after it does not prove that it was there. */
static void test_a_log_ends_before_zeros(void **state)
{
    Fixture *f = *state;
    static const char zeros[30] = { 0 };
    append(f, "web1", 1, EVENT("1", "begin"));
    run_logs_close(TAKE(f->logs));
    FILE *file = fopen(scratch_place(f->scratch, "logs/r1.ndjson"), "a");
    fputs("{\"node\":\"web1\",\"n\":2,", file);
    fwrite(zeros, 1, sizeof zeros, file);
    fputs("}\n" STORED("web1", "3", "step"), file);
    fclose(file);
    reopen(f);
    expect_log(f, "web1", "", STORED("web1", "1", "begin") STORED("web1", "3", "step"));
    assert_int_equal(append(f, "web1", 0, ""), 2);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start")), 3);
    expect_log(f, "", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
}

static void test_an_impossible_number_is_ignored(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    run_logs_close(TAKE(f->logs));
    FILE *file = fopen(scratch_place(f->scratch, "logs/r1.ndjson"), "a");
    fputs(STORED("web1", "18446744073709551615", "end"), file);
    fclose(file);
    reopen(f);
    assert_int_equal(append(f, "web1", 0, ""), 2);
}

static void test_concurrent_appends_are_written_together(void **state)
{
    Fixture *f = *state;
    start(f, "web1", 1, EVENT("1", "begin"));
    start(f, "web1", 2, EVENT("2", "start"));
    start(f, "db1", 1, EVENT("1", "begin"));
    loop_run(f->loop);
    assert_int_equal(f->waiting, 0);
    expect_log(f, "db1", "", STORED("db1", "1", "begin"));
    expect_log(f, "web1", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
}

static bool keeps_nothing(void *context, Str run)
{
    return false;
}

typedef struct Waiting {
    Loop *loop;
    LoopTimer timer;
    int count;
} Waiting;

static void look_for_sync(void *context)
{
    Waiting *waiting = context;
    if (file_syncs >= waiting->count) {
        loop_stop(waiting->loop);
    } else {
        loop_timer_start(&waiting->timer, 1);
    }
}

/* Waits until the thread has made that many syncs of files. */
static void wait_for_sync(Fixture *f, int count)
{
    Waiting waiting = { .loop = f->loop, .count = count };
    loop_timer_init(&waiting.timer, f->loop, look_for_sync, &waiting);
    loop_timer_start(&waiting.timer, 1);
    loop_run(f->loop);
}

static void test_events_that_cannot_be_synced_are_not_acknowledged(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    disk_fails = true;
    append(f, "web1", 2, EVENT("2", "start"));
    assert_int_equal(f->kind, ERROR_OS);
    disk_fails = false;
    /* The kernel may show the second event, which is not on the disk. */
    assert_int_equal(append(f, "web1", 0, ""), 2);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start")), 3);
    expect_log(f, "", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
}

/* The kernel reports the error of a sync once: another run's group must not count as this one's. */
static void test_a_failed_first_sync_is_not_forgotten_by_other_runs(void **state)
{
    Fixture *f = *state;
    assert_int_equal(append(f, "web1", 1, EVENT("1", "begin")), 2);
    reopen(f);
    disk_fails = true;
    append(f, "web1", 2, EVENT("2", "step"));
    assert_int_equal(f->kind, ERROR_OS);
    disk_fails = false;
    start_of(f, "r2", "web1", 1, EVENT("1", "begin"));
    loop_run(f->loop);
    assert_int_equal(append(f, "web1", 2, ""), 2);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "step")), 3);
    assert_int_equal(f->kind, ERROR_NONE);
    reopen(f);
    assert_int_equal(append(f, "web1", 3, ""), 3);
}

static void test_events_that_do_not_fit_on_the_disk_are_not_acknowledged(void **state)
{
    Fixture *f = *state;
    struct rlimit before, small;
    append(f, "web1", 1, EVENT("1", "begin"));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ .rlim_cur = 100, .rlim_max = before.rlim_max };
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    append(f, "web1", 2, EVENT("2", "start"));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_not_equal(f->kind, ERROR_NONE);
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start")), 3);
    expect_log(f, "", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
}

static void test_a_disk_that_is_nearly_full_takes_no_events(void **state)
{
    Fixture *f = *state;
    const char *line = EVENT("1", "begin");
    disk_room = (int64_t)strlen(line) - 1;
    append(f, "web1", 1, line);
    assert_int_equal(f->kind, ERROR_UNAVAILABLE);
    disk_room = 2 * (int64_t)strlen(line) - 1;
    start(f, "web1", 1, line);
    start(f, "db1", 1, line); /* does not fit beside the other one */
    assert_int_equal(f->kind, ERROR_UNAVAILABLE);
    assert_int_equal(f->waiting, 1);
    loop_run(f->loop);
    disk_room = 1 << 30;
    expect_log(f, "", "", STORED("web1", "1", "begin"));
}

static void test_appends_queued_behind_a_failed_write_fail_too(void **state)
{
    Fixture *f = *state;
    int before = file_syncs;
    disk_waits = disk_fails = true;
    start(f, "web1", 1, EVENT("1", "begin"));
    wait_for_sync(f, before + 1);
    start(f, "web1", 2, EVENT("2", "start"));
    start_of(f, "r2", "web1", 1, EVENT("1", "begin"));
    start(f, "web1", 3, EVENT("3", "step"));
    disk_waits = false;
    loop_run(f->loop);
    assert_int_equal(f->failed, 4);
    disk_fails = false;
    assert_int_equal(append(f, "web1", 0, ""), 1);
    expect_log(f, "", "", "");
}

static void test_failed_writes_leave_capacity_for_others(void **state)
{
    enum {
        LINE = 60 << 10,
        LINES = 300
    };
    Fixture *f = *state;
    AUTO_CLEAR(Buf) lines = buf_make(BUF_UNLIMITED);
    int before = file_syncs;
    append(f, "web1", 1, EVENT("1", "begin"));
    disk_waits = disk_fails = true;
    start(f, "web1", 2, EVENT("2", "start"));
    wait_for_sync(f, before + 2);
    for (int i = 0; i < LINES; i++) {
        buf_put_format(&lines, "{\"n\":%d,\"at_ms\":7,\"event\":\"output\",\"text\":\"", i + 3);
        buf_put_repeat(&lines, 'x', LINE);
        buf_put(&lines, STR("\"}\n"));
    }
    buf_put_char(&lines, '\0');
    start(f, "web1", 3, lines.data);
    assert_int_equal(f->waiting, 2);
    start_of(f, "r2", "web1", 3, lines.data); /* together they are too large */
    assert_int_equal(f->kind, ERROR_LIMIT);
    assert_int_equal(f->waiting, 2);
    disk_waits = false;
    loop_run(f->loop);
    assert_int_equal(f->failed, 2);
    disk_fails = false;
    start(f, "web1", 2, EVENT("2", "start"));
    start(f, "web1", 3, lines.data);
    assert_int_equal(f->waiting, 2);
    loop_run(f->loop);
    assert_int_equal(f->next, LINES + 3);
}

/* A process killed between writing and syncing leaves unsynced events. */
static void test_an_opened_log_is_synced_with_its_name(void **state)
{
    Fixture *f = *state;
    int names = directory_syncs;
    append(f, "web1", 1, EVENT("1", "begin"));
    assert_int_equal(directory_syncs, names + 1);
    append(f, "web1", 2, EVENT("2", "start"));
    assert_int_equal(directory_syncs, names + 1);
    reopen(f);
    int before = file_syncs;
    assert_int_equal(append(f, "web1", 0, ""), 3);
    assert_int_equal(file_syncs, before + 1);
    assert_int_equal(append(f, "web1", 0, ""), 3);
    assert_int_equal(file_syncs, before + 1);
}

static void test_many_runs_are_written_concurrently(void **state)
{
    enum {
        RUNS = 150
    };
    Fixture *f = *state;
    char run[24];
    for (int i = 0; i < RUNS; i++) {
        snprintf(run, sizeof run, "many-%d", i);
        start_of(f, run, "web1", 1, EVENT("1", "begin"));
        start_of(f, run, "db1", 0, "");
    }
    loop_run(f->loop);
    assert_int_equal(f->failed, 0);
    for (int i = 0; i < RUNS; i++) {
        snprintf(run, sizeof run, "many-%d", i);
        start_of(f, run, "web1", 0, ""); /* only queries */
    }
    run_logs_remove(f->logs, STR("many-149")); /* not while a caller waits */
    loop_run(f->loop);
    assert_int_equal(f->failed, 0);
    assert_int_equal(f->next, 2);
}

static void test_logs_of_forgotten_runs_are_removed(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    run_logs_sweep(f->logs, keeps_nothing, NULL);
    expect_log(f, "", "", "");
    assert_int_equal(append(f, "web1", 0, ""), 1);
}

/* The events would go to a file that has no name anymore. */
static void test_a_log_stays_while_it_is_written(void **state)
{
    Fixture *f = *state;
    Error err;
    append(f, "web1", 1, EVENT("1", "begin"));
    int before = file_syncs;
    disk_waits = true;
    start(f, "web1", 2, EVENT("2", "start"));
    wait_for_sync(f, before + 1);
    assert_false(run_logs_replace(f->logs, STR("r1"), STR("{}\n"), &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    run_logs_remove(f->logs, STR("r1"));
    disk_waits = false;
    loop_run(f->loop);
    expect_log(f, "", "", STORED("web1", "1", "begin") STORED("web1", "2", "start"));
    run_logs_remove(f->logs, STR("r1"));
    expect_log(f, "", "", "");
}

/* Closed, it would be read again as if all of it were on the disk. */
static void test_a_log_with_unwritten_events_is_not_closed(void **state)
{
    enum {
        RUNS = 70
    };
    Fixture *f = *state;
    char run[24];
    append(f, "web1", 1, EVENT("1", "begin"));
    disk_fails = true;
    append(f, "web1", 2, EVENT("2", "start"));
    assert_int_equal(f->kind, ERROR_OS);
    for (int i = 0; i < RUNS; i++) {
        snprintf(run, sizeof run, "many-%d", i);
        start_of(f, run, "web1", 1, EVENT("1", "begin"));
    }
    loop_run(f->loop);
    disk_fails = false;
    assert_int_equal(append(f, "web1", 0, ""), 2);
    expect_log(f, "", "", STORED("web1", "1", "begin"));
}

static bool may_remove_r1_and_r3(void *context, Str run)
{
    return !str_eq_c(run, "r2");
}

/* The oldest ones first; a run in progress keeps its log. */
static void test_logs_beyond_the_limit_are_removed_and_say_when(void **state)
{
    static const char *const runs[] = { "r1", "r2", "r3" };
    Fixture *f = *state;
    char line[400];
    snprintf(line, sizeof line, "{\"n\":1,\"at_ms\":5,\"event\":\"begin\",\"x\":\"%0200d\"}\n", 0);
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        start_of(f, runs[i], "web1", 1, line);
        loop_run(f->loop);
    }
    RunLogFile *files;
    uint32_t count;
    Error err;
    assert_true(run_logs_list(f->logs, &f->scratch->arena, &files, &count, &err));
    run_logs_limit(f->logs, 3 * files[0].bytes, 7, may_remove_r1_and_r3, NULL);
    assert_int_equal(append(f, "web1", 0, ""), 2); /* nothing was removed yet */
    run_logs_limit(f->logs, 3 * files[0].bytes - 1, 7, may_remove_r1_and_r3, NULL);
    assert_true(run_logs_list(f->logs, &f->scratch->arena, &files, &count, &err));
    assert_int_equal(count, 3);
    assert_true(files[1].bytes > 200 && files[2].bytes > 200);
    const char *removed =
        arena_format(&f->scratch->arena, "{\"event\":\"removed\",\"at_ms\":7,\"bytes\":%lld}\n",
                     (long long)files[1].bytes)
            .data;
    expect_log(f, "", "", removed);
    expect_log(f, "web2", "step", removed);        /* for whatever is asked */
    assert_int_equal(append(f, "web1", 0, ""), 1); /* the node sends its events again */
    run_logs_limit(f->logs, 0, 9, may_remove_r1_and_r3, NULL);
    expect_log(f, "", "", removed); /* it was removed once */
    assert_true(run_logs_list(f->logs, &f->scratch->arena, &files, &count, &err));
    assert_true(files[1].bytes > 200 && files[2].bytes < 100);
}

static bool may_remove_all(void *context, Str run)
{
    return true;
}

static void test_a_log_that_cannot_be_removed_makes_no_room(void **state)
{
    static const char *const runs[] = { "r1", "r2" };
    Fixture *f = *state;
    char line[400];
    RunLogFile *files;
    uint32_t count;
    Error err;
    snprintf(line, sizeof line, "{\"n\":1,\"at_ms\":5,\"event\":\"begin\",\"x\":\"%0200d\"}\n", 0);
    for (size_t i = 0; i < COUNT_OF(runs); i++) {
        start_of(f, runs[i], "web1", 1, line);
        loop_run(f->loop);
    }
    int before = file_syncs;
    disk_waits = true;
    start(f, "db1", 1, EVENT("1", "begin"));
    wait_for_sync(f, before + 1);
    run_logs_limit(f->logs, 500, 7, may_remove_all, NULL);
    assert_true(run_logs_list(f->logs, &f->scratch->arena, &files, &count, &err));
    assert_true(files[0].bytes > 200 && files[1].bytes < 100);
    disk_waits = false;
    loop_run(f->loop);
}

static void test_all_logs_take_a_part_of_the_disk(void **state)
{
    Fixture *f = *state;
    disk_size = 80 << 20;
    assert_int_equal(run_logs_limit_default(f->logs), 10 << 20);
    disk_size = (int64_t)1 << 50;
    assert_int_equal(run_logs_limit_default(f->logs), (int64_t)RUN_LOGS_MIB << 20);
    disk_size = (int64_t)1 << 40;
}

/* --- Reading from a position ------------------------------------------------------------------ */

/* Reads from an offset to the end; returns the offset there. */
static int64_t read_from(Fixture *f, int64_t from, const char *expected)
{
    AUTO(RunLogReader) *reader = NULL;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_end = false;
    Error err;
    assert_true(run_log_read(f->logs, STR("r1"), STR_EMPTY, STR_EMPTY, &reader, &err));
    run_log_reader_start(reader, from);
    while (!is_end) {
        assert_true(run_log_reader_next(reader, 40, &text, &is_end, &err));
    }
    assert_str(buf_str(&text), expected);
    return run_log_reader_offset(reader);
}

static void test_reading_continues_at_a_position(void **state)
{
    Fixture *f = *state;
    int64_t start = read_from(f, 0, "");
    assert_int_equal(start, 0);
    append(f, "web1", 1, EVENT("1", "begin"));
    int64_t first = read_from(f, 0, STORED("web1", "1", "begin"));
    assert_int_equal(read_from(f, first, ""), first);
    append(f, "db1", 1, EVENT("1", "begin"));
    reopen(f);
    int64_t second = read_from(f, first, STORED("db1", "1", "begin"));
    assert_int_equal(second, first + (int64_t)strlen(STORED("db1", "1", "begin")));
}

static void test_reading_starts_over_where_no_line_starts(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    int64_t end = read_from(f, 0, STORED("web1", "1", "begin"));
    read_from(f, end - 1, STORED("web1", "1", "begin"));
    read_from(f, 1, STORED("web1", "1", "begin"));
    read_from(f, end + 100, STORED("web1", "1", "begin"));
}

static void test_only_durable_lines_are_read(void **state)
{
    Fixture *f = *state;
    append(f, "web1", 1, EVENT("1", "begin"));
    int before = file_syncs;
    disk_waits = true;
    start(f, "web1", 2, EVENT("2", "start"));
    wait_for_sync(f, before + 1);
    int64_t end = read_from(f, 0, STORED("web1", "1", "begin"));
    disk_waits = false;
    loop_run(f->loop);
    read_from(f, end, STORED("web1", "2", "start"));
}

/* What was read ahead of a failed sync is not there anymore. */
static void test_lines_that_were_not_synced_are_forgotten(void **state)
{
    Fixture *f = *state;
    AUTO(RunLogReader) *reader = NULL;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_end;
    Error err;
    append(f, "web1", 1, EVENT("1", "begin"));
    assert_true(run_log_read(f->logs, STR("r1"), STR_EMPTY, STR_EMPTY, &reader, &err));
    int before = file_syncs;
    disk_waits = disk_fails = true;
    start(f, "web1", 2, EVENT("2", "start"));
    wait_for_sync(f, before + 1);
    assert_true(run_log_reader_next(reader, SIZE_MAX / 2, &text, &is_end, &err));
    disk_waits = false;
    loop_run(f->loop);
    disk_fails = false;
    append(f, "db1", 1, EVENT("1", "begin"));
    assert_true(run_log_reader_next(reader, SIZE_MAX / 2, &text, &is_end, &err));
    assert_str(buf_str(&text), STORED("web1", "1", "begin") STORED("db1", "1", "begin"));
}

static void count_call(void *context)
{
    ++*(int *)context;
}

/* The next writer replaces what is left of an event. */
static void test_a_reader_reads_the_last_line_again(void **state)
{
    Fixture *f = *state;
    AUTO(RunLogReader) *reader = NULL;
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_end;
    Error err;
    append(f, "web1", 1, EVENT("1", "begin"));
    run_logs_close(TAKE(f->logs));
    FILE *file = fopen(scratch_place(f->scratch, "logs/r1.ndjson"), "a");
    fputs("{\"node\":\"web1\",\"n\":2,\"at_", file);
    fclose(file);
    reopen(f);
    assert_true(run_log_read(f->logs, STR("r1"), STR_EMPTY, STR_EMPTY, &reader, &err));
    assert_true(run_log_reader_next(reader, SIZE_MAX / 2, &text, &is_end, &err));
    assert_str(buf_str(&text), STORED("web1", "1", "begin"));
    assert_int_equal(append(f, "web1", 2, EVENT("2", "start")), 3);
    buf_reset(&text);
    assert_true(run_log_reader_next(reader, SIZE_MAX / 2, &text, &is_end, &err));
    assert_str(buf_str(&text), STORED("web1", "2", "start"));
}

static void test_closing_fails_what_is_not_written(void **state)
{
    Fixture *f = *state;
    int before = file_syncs;
    disk_waits = true;
    start(f, "web1", 1, EVENT("1", "begin"));
    wait_for_sync(f, before + 1);
    start(f, "web1", 2, EVENT("2", "start"));
    disk_waits = false;
    run_logs_close(TAKE(f->logs));
    assert_int_equal(f->failed, 2);
    assert_int_equal(f->waiting, 0);
    assert_int_equal(f->kind, ERROR_UNAVAILABLE);
    reopen(f);
}

static void test_readers_hear_of_durable_events_of_their_run(void **state)
{
    Fixture *f = *state;
    AUTO(RunLogReader) *reader = NULL;
    Error err;
    int calls = 0;
    assert_true(run_log_read(f->logs, STR("r1"), STR_EMPTY, STR_EMPTY, &reader, &err));
    run_log_reader_follow(reader, count_call, &calls);
    append(f, "web1", 1, EVENT("1", "begin"));
    assert_int_equal(calls, 1);
    start_of(f, "r2", "web1", 1, EVENT("1", "begin"));
    loop_run(f->loop);
    assert_int_equal(calls, 1);
    disk_fails = true;
    append(f, "web1", 2, EVENT("2", "start"));
    disk_fails = false;
    assert_int_equal(calls, 1);
    append(f, "web1", 2, EVENT("2", "start"));
    assert_int_equal(calls, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_events_are_stored_with_the_name_of_their_node, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_repeated_events_are_stored_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_events_after_a_gap_are_requested_again, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_invalid_events_are_rejected_as_a_whole, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_events_name_no_other_node, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_value_that_looks_like_the_name_of_the_node_is_kept,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_important_events_have_a_limit_too, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_important_events_are_stored_beyond_the_limit_of_others,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_filter_reads_a_part_at_a_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_torn_last_line_is_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_ends_before_zeros, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_impossible_number_is_ignored, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_concurrent_appends_are_written_together, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_events_that_cannot_be_synced_are_not_acknowledged,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failed_first_sync_is_not_forgotten_by_other_runs,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_events_that_do_not_fit_on_the_disk_are_not_acknowledged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_disk_that_is_nearly_full_takes_no_events, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_appends_queued_behind_a_failed_write_fail_too, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_failed_writes_leave_capacity_for_others, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_an_opened_log_is_synced_with_its_name, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_many_runs_are_written_concurrently, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_logs_of_forgotten_runs_are_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_stays_while_it_is_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_with_unwritten_events_is_not_closed, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_logs_beyond_the_limit_are_removed_and_say_when, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_log_that_cannot_be_removed_makes_no_room, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_all_logs_take_a_part_of_the_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_reader_reads_the_last_line_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_closing_fails_what_is_not_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reading_continues_at_a_position, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_reading_starts_over_where_no_line_starts, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_only_durable_lines_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_that_were_not_synced_are_forgotten, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_readers_hear_of_durable_events_of_their_run, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
