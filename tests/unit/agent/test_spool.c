#include "agent/spool.h"

#include <sys/resource.h>
#include <unistd.h>

#include "agent/spool_frame.h"
#include "base/crc32c.h"
#include "base/log.h"
#include "scratch.h"
#include "syncs.h"
#include "sys/file.h"

typedef struct Fixture {
    Scratch *scratch;
    Loop *loop;
    Directory directory;
    Spool *spool;
    int stored;
} Fixture;

static void stored(void *context)
{
    Fixture *f = context;
    f->stored++;
}

static bool try_open(Fixture *f, Error *err)
{
    return spool_open(
        &(SpoolOptions){
            .loop = f->loop, .directory = &f->directory, .stored = stored, .context = f },
        &f->spool, err);
}

static void open_spool(Fixture *f)
{
    Error err;
    assert_true(try_open(f, &err));
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    f->loop = loop_new_virtual(1);
    Error err;
    assert_true(directory_open(f->scratch->path, &f->directory, &err));
    open_spool(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    spool_close(f->spool);
    directory_close(&f->directory);
    loop_free(f->loop);
    free(f);
    return scratch_tear_down(state);
}

static void pass(Fixture *f, int64_t ms)
{
    loop_run_virtual_until(f->loop, loop_now_ms(f->loop) + ms);
}

static void reopen(Fixture *f)
{
    spool_close(f->spool);
    f->spool = NULL;
    open_spool(f);
}

static uint64_t add(Fixture *f, RecordKind kind, const char *body)
{
    uint64_t sequence;
    Error err;
    assert_true(
        outbox_add(spool_outbox(f->spool), kind, STR("key"), str_from_c(body), &sequence, &err));
    return sequence;
}

/* What there is to send, one letter each; all of it then counts as sent. */
static void check_unsent(Fixture *f, const char *bodies)
{
    const Record *record;
    Outbox *outbox = spool_outbox(f->spool);
    for (; *bodies != '\0'; bodies++) {
        record = outbox_peek(outbox);
        assert_non_null(record);
        assert_int_equal(record->body.len, 1);
        assert_int_equal(record->body.data[0], *bodies);
        assert_str(record->key, "key");
        outbox_advance(outbox);
    }
    assert_null(outbox_peek(outbox));
}

static Str file_text(Fixture *f)
{
    Str text;
    Error err;
    assert_true(file_read(&f->scratch->arena, scratch_place(f->scratch, "spool"), SPOOL_FILE_MAX,
                          &text, &err));
    return text;
}

static void put_file(Fixture *f, Str text)
{
    Error err;
    assert_true(file_write_atomic(scratch_place(f->scratch, "spool"), text, &err));
}

static void test_records_are_sent_when_they_are_stored(void **state)
{
    Fixture *f = *state;
    assert_int_equal(add(f, RECORD_FACTS, "a"), 1);
    add(f, RECORD_LOG, "b");
    assert_null(outbox_peek(spool_outbox(f->spool)));
    pass(f, SPOOL_FLUSH_MS + 1);
    assert_int_equal(f->stored, 1);
    check_unsent(f, "ab");
}

/* An older eden sends what a newer one wrote; the server decides. */
static void test_records_of_a_newer_version_are_kept(void **state)
{
    Fixture *f = *state;
    add(f, RECORD_FACTS, "a");
    add(f, (RecordKind)200, "b");
    add(f, RECORD_FACTS, "c");
    reopen(f);
    outbox_advance(spool_outbox(f->spool));
    assert_int_equal(outbox_peek(spool_outbox(f->spool))->kind, 200);
    check_unsent(f, "bc");
}

static void test_records_survive_the_process(void **state)
{
    Fixture *f = *state;
    uint64_t epoch = outbox_epoch(spool_outbox(f->spool));
    assert_true(epoch != 0);
    add(f, RECORD_FACTS, "a");
    add(f, RECORD_RESULT, "b");
    add(f, RECORD_LOG, "c");
    reopen(f);
    assert_int_equal(outbox_epoch(spool_outbox(f->spool)), epoch);
    check_unsent(f, "abc");
    outbox_acknowledge(spool_outbox(f->spool), 2);
    pass(f, SPOOL_TRIM_MS + 1);
    reopen(f);
    check_unsent(f, "c");
    outbox_acknowledge(spool_outbox(f->spool), 3);
    reopen(f);
    check_unsent(f, "");
    /* A sequence number is never used twice. */
    assert_int_equal(outbox_last_sequence(spool_outbox(f->spool)), 3);
    assert_int_equal(add(f, RECORD_FACTS, "d"), 4);
}

static void test_sequence_numbers_restart_in_a_new_epoch(void **state)
{
    Fixture *f = *state;
    add(f, RECORD_FACTS, "a");
    add(f, RECORD_FACTS, "b");
    pass(f, SPOOL_FLUSH_MS + 1);
    check_unsent(f, "ab");
    outbox_acknowledge(spool_outbox(f->spool), 1);
    add(f, RECORD_FACTS, "c");
    outbox_restart(spool_outbox(f->spool), 77);
    add(f, RECORD_FACTS, "d");
    pass(f, SPOOL_FLUSH_MS + 1);
    check_unsent(f, "bcd");
    reopen(f);
    assert_int_equal(outbox_epoch(spool_outbox(f->spool)), 77);
    assert_int_equal(outbox_last_sequence(spool_outbox(f->spool)), 3);
    check_unsent(f, "bcd");
}

static void test_the_file_stays_small(void **state)
{
    Fixture *f = *state;
    static char body[10000];
    memset(body, 'x', sizeof body - 1);
    for (int i = 0; i < 500; i++) {
        uint64_t sequence = add(f, RECORD_RESULT, body);
        pass(f, SPOOL_FLUSH_MS + 1);
        assert_non_null(outbox_peek(spool_outbox(f->spool)));
        outbox_advance(spool_outbox(f->spool));
        outbox_acknowledge(spool_outbox(f->spool), sequence);
        assert_true(spool_status(f->spool).bytes < SPOOL_SLACK + 50000);
    }
    add(f, RECORD_RESULT, "a");
    reopen(f);
    check_unsent(f, "a");
    assert_int_equal(outbox_last_sequence(spool_outbox(f->spool)), 501);
}

/* With the next write, not the one after it: there may be none. */
static void test_the_file_shrinks_at_once(void **state)
{
    Fixture *f = *state;
    static char body[100000];
    memset(body, 'x', sizeof body - 1);
    Outbox *outbox = spool_outbox(f->spool);
    uint64_t sequence = 0;
    for (size_t bytes = 0; bytes < 2 * SPOOL_SLACK; bytes += sizeof body) {
        sequence = add(f, RECORD_RESULT, body);
    }
    pass(f, SPOOL_FLUSH_MS + 1);
    while (outbox_peek(outbox) != NULL) {
        outbox_advance(outbox);
    }
    assert_true(file_text(f).len > SPOOL_SLACK);
    outbox_acknowledge(outbox, sequence);
    add(f, RECORD_RESULT, "a");
    pass(f, SPOOL_FLUSH_MS + 1);
    assert_true(file_text(f).len < SPOOL_SLACK / 2);
}

static void test_a_torn_tail_is_truncated(void **state)
{
    Fixture *f = *state;
    add(f, RECORD_FACTS, "a");
    pass(f, SPOOL_FLUSH_MS + 1);
    size_t first = file_text(f).len;
    add(f, RECORD_FACTS, "b");
    pass(f, SPOOL_FLUSH_MS + 1);
    Str text = file_text(f);
    spool_close(f->spool);
    for (size_t len = first; len <= text.len; len++) {
        put_file(f, str_slice(text, 0, len));
        syncs_forget();
        open_spool(f);
        assert_int_equal(syncs, len > first && len < text.len); /* before anything follows it */
        check_unsent(f, len == text.len ? "ab" : "a");
        /* The next record replaces the torn one. */
        add(f, RECORD_FACTS, "c");
        reopen(f);
        check_unsent(f, len == text.len ? "abc" : "ac");
        spool_close(f->spool);
    }
    char *zeros = arena_copy_c(&f->scratch->arena, text);
    memset(zeros + first, 0, text.len - first);
    put_file(f, str_from(zeros, text.len));
    open_spool(f);
    check_unsent(f, "a");
}

static void flip(Fixture *f, Str text, size_t at)
{
    char *bytes = arena_copy_c(&f->scratch->arena, text);
    bytes[at] ^= 0x10;
    put_file(f, str_from(bytes, text.len));
}

static bool has_damaged(Fixture *f)
{
    return spool_status(f->spool).was_damaged;
}

/* With one modified byte in the file, at most the record that contains it is lost. */
static void test_damage_affects_only_what_it_hits(void **state)
{
    Fixture *f = *state;
    Error err;
    uint64_t epoch = outbox_epoch(spool_outbox(f->spool));
    size_t ends[4] = { file_text(f).len };
    for (int i = 0; i < 3; i++) {
        add(f, RECORD_FACTS, (const char *const[]){ "a", "b", "c" }[i]);
        pass(f, SPOOL_FLUSH_MS + 1);
        ends[i + 1] = file_text(f).len;
    }
    Str text = file_text(f);
    spool_close(f->spool);
    static const char *const left[] = { "abc", "bc", "ac", "ab" };
    for (size_t at = 0; at < text.len; at++) {
        unsigned part = 0;
        while (at >= ends[part]) {
            part++;
        }
        flip(f, text, at);
        open_spool(f);
        assert_int_equal(outbox_epoch(spool_outbox(f->spool)), epoch);
        /* A torn tail is truncated, because it looks like an incomplete write. */
        assert_int_equal(has_damaged(f), part < 3);
        check_unsent(f, left[part]);
        /* The numbers are kept and continue: no server accepts one twice. */
        assert_int_equal(outbox_last_sequence(spool_outbox(f->spool)), part == 3 ? 2 : 3);
        assert_int_equal(add(f, RECORD_FACTS, "d"), part == 3 ? 3 : 4);
        spool_close(f->spool);
        (void)!directory_remove(&f->directory, "spool.damaged", &err);
        open_spool(f); /* repairs are permanent */
        assert_false(has_damaged(f));
        assert_int_equal(outbox_counts(spool_outbox(f->spool)).records, strlen(left[part]) + 1);
        spool_close(f->spool);
    }
    f->spool = NULL;
}

static void test_damaged_bytes_are_saved_aside(void **state)
{
    Fixture *f = *state;
    Str saved;
    Error err;
    size_t first = file_text(f).len;
    add(f, RECORD_FACTS, "a");
    pass(f, SPOOL_FLUSH_MS + 1);
    size_t second = file_text(f).len;
    add(f, RECORD_FACTS, "b");
    pass(f, SPOOL_FLUSH_MS + 1);
    Str text = file_text(f);
    spool_close(f->spool);
    flip(f, text, second - 1);
    Str bad = file_text(f);
    open_spool(f);
    assert_true(
        directory_read(&f->directory, &f->scratch->arena, "spool.damaged", 1000, &saved, &err));
    assert_true(str_eq(saved, str_slice(bad, first, second)));
}

/* A trim or a drop may be for a record that was lost. */
static void test_records_after_damage_are_readable(void **state)
{
    Fixture *f = *state;
    add(f, RECORD_FACTS, "a");
    pass(f, SPOOL_FLUSH_MS + 1);
    size_t first = file_text(f).len;
    add(f, RECORD_RESULT, "b");
    pass(f, SPOOL_FLUSH_MS + 1);
    check_unsent(f, "ab");
    outbox_acknowledge(spool_outbox(f->spool), 2);
    pass(f, SPOOL_TRIM_MS + 1);
    Str text = file_text(f);
    spool_close(f->spool);
    flip(f, text, first + 20);
    open_spool(f);
    check_unsent(f, "");
    assert_int_equal(outbox_last_sequence(spool_outbox(f->spool)), 2);
}

static void test_an_unreadable_spool_starts_over(void **state)
{
    static const char *const texts[] = { "", "xyz", "eden.spool/1\n",
                                         "eden.spool/1\nxxxxxxxxxxxxxxxxxxxxxxxxx" };
    Fixture *f = *state;
    uint64_t epoch = outbox_epoch(spool_outbox(f->spool));
    Error err;
    spool_close(f->spool);
    f->spool = NULL;
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        put_file(f, str_from_c(texts[i]));
        open_spool(f);
        assert_true(has_damaged(f));
        assert_int_not_equal(outbox_epoch(spool_outbox(f->spool)), epoch);
        assert_int_equal(add(f, RECORD_FACTS, "a"), 1);
        spool_close(f->spool);
    }
    f->spool = NULL;
    put_file(f, STR("eden.spool/2\nxxxxxxxxxxxxxxxxxxxxxxxxx"));
    assert_false(try_open(f, &err)); /* from a newer program, which may return */
    assert_int_equal(err.kind, ERROR_INVALID);
    assert_non_null(strstr(err.text, "/spool: "));
    assert_str(file_text(f), "eden.spool/2\nxxxxxxxxxxxxxxxxxxxxxxxxx");
}

/* --- A disk that loses writes ----------------------------------------------------------------- */

static void test_records_are_synced_before_they_are_sent(void **state)
{
    Fixture *f = *state;
    add(f, RECORD_FACTS, "a");
    int before = syncs;
    pass(f, SPOOL_FLUSH_MS + 1);
    assert_true(syncs > before);
    check_unsent(f, "a");
    outbox_restart(spool_outbox(f->spool), 77);
    before = syncs;
    pass(f, SPOOL_FLUSH_MS + 1);
    assert_true(syncs >= before + 2); /* the new file, and its name */
    check_unsent(f, "a");
}

static void test_the_frame_of_a_failed_sync_is_removed(void **state)
{
    Fixture *f = *state;
    add(f, RECORD_FACTS, "a");
    pass(f, SPOOL_FLUSH_MS + 1);
    check_unsent(f, "a");
    Str text = file_text(f);
    add(f, RECORD_FACTS, "b");
    syncs_fail = true;
    pass(f, SPOOL_FLUSH_MS + 1);
    assert_int_equal(f->stored, 1);
    assert_null(outbox_peek(spool_outbox(f->spool))); /* it is not sent */
    assert_non_null(spool_status(f->spool).why);
    assert_true(str_eq(file_text(f), text));
    pass(f, SPOOL_RETRY_MS + 1);
    assert_true(str_eq(file_text(f), text));
    syncs_fail = false;
    pass(f, SPOOL_RETRY_MS + 1);
    assert_int_equal(f->stored, 2);
    check_unsent(f, "b");
    reopen(f);
    check_unsent(f, "ab");
}

/* A record may contain anything, including the bytes of a spool. */
static void test_a_spool_inside_of_a_record_is_only_a_record(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) inner = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) content = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    SpoolImage image = { .epoch = 5 };
    spool_print(&image, &inner);
    buf_put_char(&inner, 'x'); /* the torn end: the inner frames are whole */
    image.epoch = 6;
    spool_print(&image, &text);
    size_t complete_bytes = text.len;
    spool_put_record(&content, &(Record){ 1, RECORD_LOG, STR_EMPTY, buf_str(&inner), 0 });
    spool_put_frame(&text, 6, buf_str(&content));
    Error err;
    SpoolImage back;
    assert_true(spool_read(&arena, str_slice(buf_str(&text), 0, text.len - 1), &back, &err));
    assert_int_equal(back.complete_bytes, complete_bytes);
    assert_int_equal(back.records.len, 0);
    assert_true(spool_read(&arena, buf_str(&text), &back, &err));
    assert_int_equal(back.records.len, 1);
    assert_int_equal(back.complete_bytes, text.len);
}

static void test_a_record_can_be_empty(void **state)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    SpoolImage image = { .epoch = 6, .last_sequence = 1 }, back;
    Error err;
    VEC_PUSH(&arena, &image.records, ((Record){ .sequence = 1, .kind = RECORD_LOG }));
    spool_print(&image, &text);
    assert_true(spool_read(&arena, buf_str(&text), &back, &err));
    assert_int_equal(back.records.len, 1);
    assert_int_equal(back.complete_bytes, text.len);
}

#define START   "\1\0\0\0\0\0\0\0\0"
#define START_7 "\1\7\0\0\0\0\0\0\0"
#define DROP_1  "\3\1\0\0\0\0\0\0\0"
#define TRIM    "\4\0\0\0\0\0\0\0\0"
#define TRIM_7  "\4\7\0\0\0\0\0\0\0"
#define UNKNOWN "\5\0\0\0\0\0\0\0\0"
#define BYTES(text)              \
    {                            \
        (text), sizeof(text) - 1 \
    }

/* Whole frames, with entries that the writer never creates. */
static void test_a_file_has_exactly_one_start_frame(void **state)
{
    static const struct {
        Str first, second;
        bool ok;
    } rows[] = {
        { BYTES(START), BYTES(TRIM), true },        { BYTES(START_7), BYTES(TRIM_7), true },
        { BYTES(START), BYTES(START), false },      { BYTES(TRIM), BYTES(TRIM), false },
        { BYTES(START START), BYTES(TRIM), false }, { BYTES("\1\0\0"), BYTES(TRIM), false },
        { BYTES(START), BYTES(TRIM_7), false },     { BYTES(START), BYTES(DROP_1), false },
        { BYTES(START), BYTES(UNKNOWN), false },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        SpoolImage back;
        Error err;
        buf_put(&text, SPOOL_MAGIC);
        spool_put_frame(&text, 6, rows[i].first);
        spool_put_frame(&text, 6, rows[i].second);
        if (spool_read(&arena, buf_str(&text), &back, &err) != rows[i].ok) {
            fail_msg("row %zu", i);
        }
    }
}

/* The reader rejects frames that the writer never creates. */
static void test_empty_and_oversized_frames_are_not_read(void **state)
{
    static const size_t lens[] = { 0, 1, SPOOL_CONTENT_MAX, SPOOL_CONTENT_MAX + 1 };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(lens); i++) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        SpoolImage image = { .epoch = 6 }, back;
        Error err;
        spool_print(&image, &text);
        size_t start = text.len;
        /* A trim to 0 removes no record: as many of them as fit, and the start of one more. */
        unsigned char head[SPOOL_FRAME_HEAD] = { [4] = 6 };
        for (unsigned at = 0; at < 4; at++) {
            head[12 + at] = (unsigned char)(lens[i] >> (8 * at));
        }
        buf_put(&text, str_from((const char *)head, sizeof head));
        for (size_t at = 0; at < lens[i]; at++) {
            buf_put_char(&text, at % 9 == 0 ? 4 : 0);
        }
        uint32_t crc = crc32c(str_from_offset(buf_str(&text), start + 4));
        for (unsigned at = 0; at < 4; at++) {
            text.data[start + at] = (char)(crc >> (8 * at));
        }
        bool is_frame = lens[i] > 0 && lens[i] <= SPOOL_CONTENT_MAX;
        /* The content of a real frame is read, and is invalid at its end. */
        assert_int_equal(spool_read(&arena, buf_str(&text), &back, &err), !is_frame);
        if (!is_frame) {
            assert_int_equal(back.complete_bytes, start);
        }
    }
}

static void test_pending_records_are_limited(void **state)
{
    static char body[SESSION_RECORD_MAX];
    enum {
        HEAD = 26, /* in a record */
        RECORDS = SPOOL_LIVE_MAX / SESSION_RECORD_MAX,
    };
    for (unsigned over = 0; over < 2; over++) {
        AUTO_CLEAR(Arena) arena;
        arena_init(&arena, ARENA_UNLIMITED);
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        SpoolImage image = { .epoch = 6, .last_sequence = RECORDS }, back;
        Error err;
        for (unsigned i = 0; i < RECORDS; i++) {
            size_t len = sizeof body - HEAD + (i == 0 ? over : 0);
            Record record = { i + 1, RECORD_LOG, STR_EMPTY, str_from(body, len), 0 };
            VEC_PUSH(&arena, &image.records, record);
        }
        spool_print(&image, &text);
        assert_int_equal(spool_read(&arena, buf_str(&text), &back, &err), !over);
        if (over) {
            assert_int_equal(err.kind, ERROR_LIMIT);
        }
    }
}

/* No space on the disk: a limit of the process has the same effect. */
static void test_a_full_disk_delays_records(void **state)
{
    Fixture *f = *state;
    static char body[20000];
    memset(body, 'x', sizeof body - 1);
    struct rlimit old, none = { 200, 200 };
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    none.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
    add(f, RECORD_RESULT, body);
    pass(f, SPOOL_FLUSH_MS + 1);
    assert_non_null(spool_status(f->spool).why);
    assert_null(outbox_peek(spool_outbox(f->spool)));
    /* With much traffic, memory stays within the limit: logs are dropped in favor of results. */
    for (int i = 0; i < 400; i++) {
        uint64_t sequence;
        Error err;
        bool ok = outbox_add(spool_outbox(f->spool), i < 200 ? RECORD_LOG : RECORD_RESULT,
                             STR("key"), str_from_c(body), &sequence, &err);
        assert_true(ok || err.kind == ERROR_LIMIT);
        pass(f, SPOOL_RETRY_MS);
    }
    assert_int_equal(f->stored, 0);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    pass(f, SPOOL_RETRY_MS + 1);
    assert_null(spool_status(f->spool).why);
    assert_int_equal(f->stored, 1);
    uint32_t records = outbox_counts(spool_outbox(f->spool)).records;
    assert_true(records > 100);
    reopen(f);
    assert_int_equal(outbox_counts(spool_outbox(f->spool)).records, records);
    assert_int_equal(outbox_peek(spool_outbox(f->spool))->sequence, 1);
}

int main(void)
{
    log_set_sink((LogSink){ .level = LOG_LEVEL_OFF }); /* warnings are expected here */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_records_are_sent_when_they_are_stored, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_records_survive_the_process, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_records_of_a_newer_version_are_kept, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_sequence_numbers_restart_in_a_new_epoch, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_file_stays_small, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_file_shrinks_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_torn_tail_is_truncated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damage_affects_only_what_it_hits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_bytes_are_saved_aside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_records_after_damage_are_readable, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_unreadable_spool_starts_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_records_are_synced_before_they_are_sent, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_frame_of_a_failed_sync_is_removed, set_up,
                                        tear_down),
        cmocka_unit_test(test_a_spool_inside_of_a_record_is_only_a_record),
        cmocka_unit_test(test_a_record_can_be_empty),
        cmocka_unit_test(test_a_file_has_exactly_one_start_frame),
        cmocka_unit_test(test_empty_and_oversized_frames_are_not_read),
        cmocka_unit_test(test_pending_records_are_limited),
        cmocka_unit_test_setup_teardown(test_a_full_disk_delays_records, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
