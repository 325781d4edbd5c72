/* A store that is damaged or has lost writes: detected, reported, and no longer written to. */
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cluster/cluster_keys.h"
#include "scratch.h"
#include "store/store.h"
#include "syncs.h"
#include "sys/file_commit.h"

typedef struct World {
    Scratch *scratch;
    const char *directory;
    Loop *loop;
    Store *store;
    int reported; /* often enough to count as damaged */
    char why[500];
} World;

typedef struct Answer {
    bool done, ok;
    Error err;
    int64_t revision;
    char value[16];
} Answer;

static void damaged(void *context, const char *why)
{
    World *world = context;
    world->reported++;
    snprintf(world->why, sizeof world->why, "%s", why);
}

static void open_store(World *world, const StoreSettings *given)
{
    StoreSettings settings = given == NULL ? (StoreSettings){ 0 } : *given;
    Error err;
    settings.damaged = damaged;
    settings.context = world;
    world->loop = loop_new_virtual(1);
    if (!store_open_sqlite(world->loop, world->directory, &settings, &world->store, &err)) {
        fail_msg("%s", err.text);
    }
    loop_run_virtual_until(world->loop, 0);
}

static void close_store(World *world)
{
    store_close(world->store);
    loop_free(world->loop);
}

static void answered(void *context, const StoreReply *reply, const Error *err)
{
    Answer *answer = context;
    answer->done = true;
    answer->ok = err == NULL;
    if (err != NULL) {
        answer->err = *err;
        return;
    }
    answer->revision = reply->revision;
    if (reply->ops[0].kv_count > 0) {
        Str value = str_slice(reply->ops[0].kvs[0].value, 0, sizeof answer->value - 1);
        memcpy(answer->value, value.data, value.len);
    }
}

static Answer put(World *world, const char *key, Str value)
{
    Answer answer = { 0 };
    Error err;
    assert_true(store_put(world->store, str_from_c(key), value, 0, answered, &answer, &err));
    loop_run_virtual_until(world->loop, 0);
    assert_true(answer.done);
    return answer;
}

static Answer get(World *world, const char *key)
{
    Answer answer = { 0 };
    Error err;
    assert_true(store_get(world->store, str_from_c(key), answered, &answer, &err));
    loop_run_virtual_until(world->loop, 0);
    assert_true(answer.done);
    return answer;
}

/* Some pages of values, each value in a separate page. */
static void fill(World *world, int count)
{
    char value[3500], key[16];
    memset(value, 'x', sizeof value);
    for (int i = 0; i < count; i++) {
        snprintf(key, sizeof key, "key%03d", i);
        assert_true(put(world, key, str_from(value, sizeof value)).ok);
    }
}

static int set_up(void **state)
{
    World *world = calloc(1, sizeof *world);
    void *scratch;
    assert_int_equal(scratch_set_up(&scratch), 0);
    world->scratch = scratch;
    world->directory = scratch_place(world->scratch, "store");
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    World *world = *state;
    void *scratch = world->scratch;
    free(world);
    return scratch_tear_down(&scratch);
}

/* --- Lost writes ----------------------------------------------------------------------------- */

static void copy_file(World *world, const char *from, const char *to)
{
    FILE *in = fopen(scratch_place(world->scratch, from), "r");
    FILE *out = fopen(scratch_place(world->scratch, to), "w");
    assert_non_null(in);
    assert_non_null(out);
    for (int byte; (byte = fgetc(in)) != EOF;) {
        fputc(byte, out);
    }
    fclose(in);
    fclose(out);
}

/* What exists when a process is killed, restored over what it left later. */
static void go_back_in_time(World *world)
{
    open_store(world, NULL);
    fill(world, 3);
    close_store(world);
    copy_file(world, "store/store.db", "old");
    open_store(world, NULL);
    fill(world, 6);
    close_store(world);
    copy_file(world, "old", "store/store.db");
}

static void a_store_that_lost_writes_is_detected(void **state)
{
    World *world = *state;
    Error err;
    go_back_in_time(world);
    assert_false(store_check(world->directory, &err));
    assert_int_equal(err.kind, ERROR_OS);
    assert_non_null(strstr(err.text, "it ends at revision 3, but 9 was acknowledged"));
    for (int i = 1; i < 3; i++) { /* the second start knows it too */
        open_store(world, NULL);
        assert_int_equal(world->reported, i);
        assert_non_null(strstr(world->why, "lost acknowledged writes"));
        assert_non_null(strstr(world->why, "eden backup restore FILE"));
        StoreStatus status = store_status(world->store);
        assert_int_equal(status.condition, STORE_DAMAGED);
        assert_false(status.writable);
        Answer refused = put(world, "new", STR("x"));
        assert_false(refused.ok);
        assert_int_equal(refused.err.kind, ERROR_UNAVAILABLE);
        assert_non_null(strstr(refused.err.text, "the store is damaged and read-only"));
        assert_true(get(world, "key000").ok); /* existing data is read */
        assert_int_equal(store_status(world->store).revision, 3);
        close_store(world);
    }
}

static void seen(void *context, const StoreBatch *batch)
{
    *(bool *)context = batch->resync;
}

static void after_an_accepted_loss_revisions_exceed_all_seen_ones(void **state)
{
    World *world = *state;
    StoreAccepted accepted;
    Error err;
    go_back_in_time(world);
    open_store(world, NULL);
    assert_false(store_accept(world->directory, STR("id"), STR("2"), &accepted, &err));
    assert_int_equal(err.kind, ERROR_CONFLICT); /* it is open */
    close_store(world);
    if (!store_accept(world->directory, STR("id"), STR("2"), &accepted, &err)) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(accepted.found, 3);
    assert_int_equal(accepted.acknowledged, 9);
    assert_true(accepted.revision > 9);
    assert_true(store_check(world->directory, &err));
    world->reported = 0;
    open_store(world, NULL);
    assert_int_equal(world->reported, 0);
    assert_int_equal(store_status(world->store).condition, STORE_OK);
    assert_string_equal(get(world, "id").value, "2");
    assert_true(get(world, "key002").ok);
    assert_int_equal(put(world, "new", STR("x")).revision, accepted.revision + 1);
    for (int64_t from = 1; from <= 10; from++) { /* clients that have seen up to 9, and less */
        bool resync = false;
        StoreWatch *watch;
        StoreWatchSpec spec = {
            .key = STR("a"), .end = STORE_ALL, .from = from, .done = seen, .context = &resync
        };
        assert_true(store_watch(world->store, &spec, &watch, &err));
        loop_run_virtual_until(world->loop, 0);
        assert_true(resync);
        store_watch_cancel(watch);
    }
    close_store(world);
    assert_false(store_accept(world->directory, STR("id"), STR("3"), &accepted, &err));
    assert_non_null(strstr(err.text, "there is nothing to accept"));
}

/* A mark left by a power failure proves less, and is not taken as loss. */
static void a_late_or_missing_mark_is_repaired(void **state)
{
    World *world = *state;
    Error err;
    open_store(world, NULL);
    fill(world, 3);
    close_store(world);
    copy_file(world, "store/store.mark", "mark");
    open_store(world, NULL);
    fill(world, 3);
    close_store(world);
    copy_file(world, "mark", "store/store.mark");
    open_store(world, NULL);
    assert_int_equal(store_status(world->store).condition, STORE_OK);
    close_store(world);
    file_remove(scratch_place(world->scratch, "store/store.mark"));
    assert_true(store_check(world->directory, &err));
    open_store(world, NULL);
    assert_true(put(world, "new", STR("x")).ok);
    close_store(world);
    struct stat status;
    assert_int_equal(stat(scratch_place(world->scratch, "store/store.mark"), &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(world->reported, 0);
}

/* A new store with this ID, in place of the previous one. */
static void make_store(World *world, const char *id)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    file_remove(scratch_place(world->scratch, "store/store.db"));
    open_store(world, NULL);
    const char *key = arena_copy_c(&arena, cluster_key_store_id(&arena, KEYS_PREFIX));
    assert_true(put(world, key, str_from_c(id)).ok);
    close_store(world);
    open_store(world, NULL); /* its mark has the ID from the second start */
    close_store(world);
}

/* Either may be restored without the other. */
static void the_mark_of_another_store_proves_nothing(void **state)
{
    World *world = *state;
    Error err;
    make_store(world, "one");
    copy_file(world, "store/store.db", "one");
    open_store(world, NULL);
    fill(world, 9);
    close_store(world);
    copy_file(world, "store/store.mark", "mark");
    file_remove(scratch_place(world->scratch, "store/store.mark"));
    make_store(world, "two");
    copy_file(world, "mark", "store/store.mark");
    assert_true(store_check(world->directory, &err));
    open_store(world, NULL);
    assert_int_equal(store_status(world->store).condition, STORE_OK);
    assert_true(put(world, "new", STR("x")).ok);
    close_store(world);
    /* It still proves what its own store has lost. */
    copy_file(world, "one", "store/store.db");
    assert_false(store_check(world->directory, &err));
    assert_non_null(strstr(err.text, "lost acknowledged writes"));
}

static void a_new_mark_is_synced_when_the_store_opens(void **state)
{
    World *world = *state;
    syncs_forget();
    open_store(world, NULL);
    assert_true(is_synced(scratch_place(world->scratch, "store/store.mark")));
    close_store(world);
}

static void a_torn_mark_leaves_the_previous_one(void **state)
{
    World *world = *state;
    Error err;
    go_back_in_time(world);
    FILE *mark = fopen(scratch_place(world->scratch, "store/store.mark"), "r+");
    assert_non_null(mark);
    /* The newer of two slots, each in a separate page: 8 was acknowledged, too. */
    uint64_t number[2] = { 0, 0 };
    for (int i = 0; i < 2; i++) {
        fseek(mark, 4096 * i + 4, SEEK_SET);
        assert_int_equal(fread(&number[i], sizeof number[i], 1, mark), 1);
    }
    fseek(mark, (number[0] > number[1] ? 0 : 4096) + 28, SEEK_SET);
    fputc('x', mark);
    fclose(mark);
    assert_false(store_check(world->directory, &err));
    assert_non_null(strstr(err.text, "it ends at revision 3, but 8 was acknowledged"));
}

/* --- Damaged pages --------------------------------------------------------------------------- */

/* Overwrites pages in the middle of the file. */
static void hurt_pages(World *world, long from, long count)
{
    FILE *file = fopen(scratch_place(world->scratch, "store/store.db"), "r+");
    assert_non_null(file);
    fseek(file, from * 4096, SEEK_SET);
    for (long i = 0; i < count * 4096; i++) {
        fputc(0xa5, file);
    }
    fclose(file);
}

static long page_count(World *world)
{
    struct stat status;
    assert_int_equal(stat(scratch_place(world->scratch, "store/store.db"), &status), 0);
    return status.st_size / 4096;
}

static void hurt(World *world)
{
    long third = page_count(world) / 3;
    hurt_pages(world, third, third);
}

static void damage_found_by_a_read_stops_writing_and_is_remembered(void **state)
{
    World *world = *state;
    Error err;
    open_store(world, NULL);
    fill(world, 60);
    close_store(world);
    hurt(world);
    open_store(world, NULL);
    bool failed = false;
    for (int i = 0; i < 60 && !failed; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%03d", i);
        Answer answer = get(world, key);
        failed = !answer.ok;
        assert_true(answer.ok || answer.err.kind == ERROR_OS);
    }
    assert_true(failed);
    assert_int_equal(world->reported, 1);
    assert_non_null(strstr(world->why, "is damaged"));
    assert_non_null(strstr(world->why, "eden backup restore FILE"));
    assert_int_equal(store_status(world->store).condition, STORE_DAMAGED);
    assert_false(put(world, "new", STR("x")).ok);
    assert_true(get(world, "key000").ok); /* other pages are read */
    assert_int_equal(world->reported, 1);
    close_store(world);
    open_store(world, NULL);
    assert_int_equal(world->reported, 2); /* once more, before anything was checked */
    assert_false(put(world, "new", STR("x")).ok);
    close_store(world);
    StoreAccepted accepted;
    assert_false(store_accept(world->directory, STR("id"), STR("2"), &accepted, &err));
    assert_int_equal(err.kind, ERROR_OS); /* this is not a loss that could be accepted */
}

/* By reading every page; a start does not read those that only continue a value. */
static void unread_damage_is_found(void **state)
{
    static char value[400000];
    World *world = *state;
    memset(value, 'x', sizeof value);
    open_store(world, NULL);
    assert_true(put(world, "key", str_from(value, sizeof value)).ok);
    close_store(world);
    hurt_pages(world, page_count(world) / 2, 1);
    open_store(world, NULL);
    assert_int_equal(store_status(world->store).condition, STORE_OK);
    close_store(world);
    assert_int_equal(world->reported, 0);
    open_store(world, &(StoreSettings){ .verify_ms = 1000 });
    assert_int_equal(world->reported, 1);
    assert_int_equal(store_status(world->store).condition, STORE_DAMAGED);
    close_store(world);
}

static void an_intact_store_is_verified_repeatedly(void **state)
{
    World *world = *state;
    open_store(world, &(StoreSettings){ .verify_ms = 1000 });
    fill(world, 10);
    loop_run_virtual_until(world->loop, 3500);
    assert_int_equal(world->reported, 0);
    assert_true(put(world, "new", STR("x")).ok);
    close_store(world);
}

static void a_repaired_page_is_accepted_again(void **state)
{
    World *world = *state;
    StoreAccepted accepted;
    Error err;
    open_store(world, NULL);
    fill(world, 60);
    close_store(world);
    copy_file(world, "store/store.db", "good");
    hurt(world);
    open_store(world, &(StoreSettings){ .verify_ms = 1000 });
    assert_int_equal(world->reported, 1);
    close_store(world);
    copy_file(world, "good", "store/store.db");
    open_store(world, NULL);
    assert_int_equal(world->reported, 2);
    close_store(world);
    assert_true(store_accept(world->directory, STR("id"), STR("2"), &accepted, &err));
    assert_int_equal(accepted.found, 60);
    assert_int_equal(accepted.acknowledged, 60);
    open_store(world, NULL);
    assert_int_equal(world->reported, 2);
    assert_true(put(world, "new", STR("x")).ok);
    close_store(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_store_that_lost_writes_is_detected, set_up, tear_down),
        cmocka_unit_test_setup_teardown(after_an_accepted_loss_revisions_exceed_all_seen_ones,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_late_or_missing_mark_is_repaired, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_mark_of_another_store_proves_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_new_mark_is_synced_when_the_store_opens, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_torn_mark_leaves_the_previous_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_found_by_a_read_stops_writing_and_is_remembered,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(unread_damage_is_found, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_intact_store_is_verified_repeatedly, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_repaired_page_is_accepted_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
