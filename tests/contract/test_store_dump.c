/* Dumps of every backend: loaded into any other backend they result in the same store, and damage
 * is detected. */
#include "remote_store.h"
#include "store/dump.h"
#include "store/dump_reader.h"
#include "store/load.h"
#include "store_world.h"

#define ID STR("a1b2-c3")

/* --- Dumping and loading --------------------------------------------------------------------- */

typedef struct Dump {
    World *world;
    StoreDump *dump;
    Buf bytes; /* all received bytes */
    uint32_t chunks;
    bool received; /* a chunk or an error was received */
    bool over;
    StoreDumpHead head;
    StoreDumpEnd end;
    Error err;
} Dump;

static void dump_received(void *context, const StoreDumpPiece *piece, const Error *err)
{
    Dump *dump = context;
    assert_true((piece == NULL) == (err != NULL));
    dump->received = true;
    if (err != NULL) {
        dump->err = *err;
        dump->over = true;
    } else {
        assert_true(piece->bytes.len > 0);
        dump->chunks++;
        dump->head = *piece->head;
        buf_put(&dump->bytes, piece->bytes);
        dump->over = piece->end != NULL;
        dump->end = piece->end == NULL ? dump->end : *piece->end;
    }
    world_wake(dump->world);
}

static bool omits(void *context, Str key)
{
    return str_starts(key, STR("alive/"));
}

static Dump *dump_new(World *world, Store *store)
{
    Dump *dump = ARENA_NEW(&world->arena, Dump);
    dump->world = world;
    dump->bytes = buf_make_in(&world->arena, BUF_UNLIMITED);
    dump->dump = store_dump_new(&(StoreDumpSpec){
        .store = store, .store_id = ID, .omits = omits, .done = dump_received, .context = dump });
    return dump;
}

static void dump_next(Dump *dump)
{
    Error err;
    dump->received = false;
    if (!store_dump_next(dump->dump, &err)) {
        fail_msg("%s", err.text);
    }
    assert_false(dump->received);
    world_wait(dump->world, &dump->received);
}

static Dump *dump_rest(Dump *dump)
{
    while (!dump->over) {
        dump_next(dump);
    }
    store_dump_free(TAKE(dump->dump));
    return dump;
}

static Dump *dump_whole(World *world, Store *store)
{
    Dump *dump = dump_rest(dump_new(world, store));
    if (dump->err.kind != ERROR_NONE) {
        fail_msg("%s", dump->err.text);
    }
    assert_int_equal(dump->end.bytes, dump->bytes.len);
    assert_string_equal(dump->head.store_id, "a1b2-c3");
    return dump;
}

typedef struct Load {
    World *world;
    Str rest;
    bool done;
    StoreLoaded loaded;
    Error err;
} Load;

static bool load_read(void *context, char *buffer, size_t size, size_t *length, Error *err)
{
    Load *load = context;
    *length = load->rest.len < size ? load->rest.len : size;
    memcpy(buffer, load->rest.data, *length);
    load->rest = str_from_offset(load->rest, *length);
    return true;
}

static void load_done(void *context, const StoreLoaded *loaded, const Error *err)
{
    Load *load = context;
    assert_false(load->done);
    load->done = true;
    if (err != NULL) {
        load->err = *err;
    } else {
        load->loaded = *loaded;
    }
    world_wake(load->world);
}

static Load *load_into(World *world, Store *store, Str bytes)
{
    Load *load = ARENA_NEW(&world->arena, Load);
    load->world = world;
    load->rest = bytes;
    assert_true(store_load(&(StoreLoadSpec){ store, load_read, load_done, load }, &load->err));
    world_wait(world, &load->done);
    return load;
}

static const char *const targets[] = { "memory", "sqlite" };

static Store *open_target(World *world, size_t target, int64_t after)
{
    StoreSettings settings = { .after = after };
    static int made;
    Store *store;
    Error err;
    if (target == 0) {
        return store_open_memory(world->loop, &settings);
    }
    const char *path =
        arena_format(&world->arena, "%s/target%d%c", world->directory, made++, '\0').data;
    if (!store_open_sqlite(world->loop, path, &settings, &store, &err)) {
        fail_msg("%s", err.text);
    }
    return store;
}

/* --- Contents of a store --------------------------------------------------------------------- */

static void put(World *world, Str key, Str value, int64_t lease)
{
    Answer *answer =
        world_op(world, (StoreOp){ .kind = STORE_PUT, .key = key, .value = value, .lease = lease });
    if (answer->err.kind != ERROR_NONE) {
        fail_msg("%s", answer->err.text);
    }
}

typedef struct Puts {
    World *world;
    uint32_t left;
    bool done;
} Puts;

static void one_put(void *context, const StoreReply *reply, const Error *err)
{
    Puts *puts = context;
    assert_null(err);
    puts->done = --puts->left == 0;
    world_wake(puts->world);
}

/* Each put has its own revision, but they share an fsync. */
static void put_some(World *world, uint32_t count)
{
    Puts puts = { .world = world, .left = count };
    char key[32], value[64];
    Error err;
    for (uint32_t i = 0; i < count; i++) {
        snprintf(key, sizeof key, "n/%05u", i);
        snprintf(value, sizeof value, "value %u", i);
        assert_true(
            store_put(world->store, str_from_c(key), str_from_c(value), 0, one_put, &puts, &err));
    }
    world_wait(world, &puts.done);
}

/* Contents that a dump could get wrong. */
static void fill(World *world)
{
    char *large = arena_alloc(&world->arena, STORE_VALUE_MAX);
    memset(large, 'x', STORE_VALUE_MAX);
    put(world, STR("\0"), STR(""), 0);
    put(world, STR("\0\0\xff"), STR("\0k\n"), 0);
    put(world, str_from(large, STORE_KEY_MAX), STR("the longest key"), 0);
    put(world, STR("large/1"), str_from(large, STORE_VALUE_MAX), 0);
    put(world, STR("large/2"), str_from(large, STORE_VALUE_MAX - 1), 0);
    memset(large, 0xff, STORE_KEY_MAX);
    put(world, str_from(large, STORE_KEY_MAX), STR("the last key"), 0);
    put_some(world, 1200);
    world_put(world, "gone", "1");
    world_delete(world, "gone");
    world_put(world, "twice", "1");
    world_put(world, "twice", "2");
    assert_int_equal(world_grant(world, 600, 77)->err.kind, ERROR_NONE);
    put(world, STR("leased/1"), STR("1"), 77);
    put(world, STR("m"), STR("between"), 0);
    put(world, STR("nonce"), STR("2"), 77);
    put(world, STR("alive/a"), STR("left out"), 77);
    put(world, STR("alive/for good"), STR("not left out: it has no lease"), 0);
}

static void every_backend_loads_dumps_of_the_others(World *world)
{
    fill(world);
    int64_t now = world_now(world);
    Dump *dump = dump_whole(world, world->store);
    assert_int_equal(dump->end.count, 1200 + 11);
    assert_true(dump->chunks >= 3);
    assert_int_equal(dump->head.revision, now);
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        int64_t after = dump->head.revision + STORE_LOAD_STEP;
        Store *target = open_target(world, i, after);
        Load *load = load_into(world, target, buf_str(&dump->bytes));
        if (load->err.kind != ERROR_NONE) {
            fail_msg("%s: %s", targets[i], load->err.text);
        }
        assert_string_equal(load->loaded.end.digest, dump->end.digest);
        assert_true(load->loaded.revision > after);
        assert_int_equal(store_status(target).revision, load->loaded.revision);
        assert_int_equal(store_status(target).compacted, load->loaded.revision);
        assert_int_equal(store_status(target).leases, 1);
        /* The same keys and values; only their revisions differ. */
        Dump *again = dump_whole(world, target);
        assert_int_equal(again->end.count, dump->end.count);
        assert_string_equal(again->end.content, dump->end.content);
        assert_string_not_equal(again->end.digest, dump->end.digest);
        store_close(target);
    }
}

static void an_empty_store_can_be_dumped_and_loaded(World *world)
{
    Dump *dump = dump_whole(world, world->store);
    assert_int_equal(dump->end.count, 0);
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        Store *target = open_target(world, i, 0);
        Load *load = load_into(world, target, buf_str(&dump->bytes));
        assert_int_equal(load->err.kind, ERROR_NONE);
        assert_int_equal(dump_whole(world, target)->end.count, 0);
        store_close(target);
    }
}

static void a_loaded_store_has_later_revisions(World *world)
{
    world_put(world, "a", "1");
    Dump *dump = dump_whole(world, world->store);
    for (size_t i = 0; i < COUNT_OF(targets); i++) {
        Store *target = open_target(world, i, 5000);
        World other = { .loop = world->loop, .arena = world->arena, .store = target };
        Backend backend = *world->backend;
        backend.others = false;
        other.backend = &backend;
        assert_int_equal(load_into(&other, target, buf_str(&dump->bytes))->loaded.revision, 5001);
        Answer *answer = world_op(&other, (StoreOp){ .kind = STORE_RANGE, .key = STR("a") });
        assert_int_equal(answer->reply.ops[0].kvs[0].mod_revision, 5001);
        assert_int_equal(answer->reply.revision, 5001);
        /* A client that resumes at the old revision has to resync. */
        WatchLog seen = { .acks = true };
        watch_log_start(&seen, &other, "a", STR_EMPTY, dump->head.revision, false);
        watch_log_wait(&seen, 1);
        assert_true(seen.resync);
        store_watch_cancel(seen.watch);
        assert_int_equal(world_put(&other, "b", "1")->reply.revision, 5002);
        world->arena = other.arena;
        store_close(target);
    }
}

static void a_dump_shows_one_revision(World *world)
{
    put_some(world, 300);
    Dump *before = dump_whole(world, world->store);
    Dump *dump = dump_new(world, world->store);
    dump_next(dump);
    assert_false(dump->over);
    world_put(world, "n/00299", "changed");
    world_put(world, "n/00298b", "new");
    world_delete(world, "n/00297");
    world_put(world, "zzz", "behind all");
    dump_rest(dump);
    assert_int_equal(dump->err.kind, ERROR_NONE);
    assert_int_equal(dump->head.revision, before->head.revision);
    assert_string_equal(dump->end.digest, before->end.digest);
    assert_string_not_equal(dump_whole(world, world->store)->end.content, before->end.content);
}

/* The retention rules would have dropped it. */
static void the_revision_is_kept_while_it_is_read(World *world)
{
    world->settings.keep_revisions = 100;
    world->settings.keep_ms = -1;
    world_reopen(world);
    put_some(world, 300);
    Dump *dump = dump_new(world, world->store);
    dump_next(dump);
    put_some(world, 300);
    put_some(world, 300);
    assert_true(store_status(world->store).compacted <= dump->head.revision);
    dump_rest(dump);
    assert_int_equal(dump->err.kind, ERROR_NONE);
    assert_int_equal(dump->end.count, 300);
    put_some(world, 300);
    assert_true(store_status(world->store).compacted > dump->head.revision);
}

static void the_revision_is_not_kept_indefinitely(World *world)
{
    world->settings.keep_bytes = 50 * 1000;
    world_reopen(world);
    put_some(world, 300);
    Dump *dump = dump_new(world, world->store);
    dump_next(dump);
    for (int i = 0; i < 5; i++) {
        put_some(world, 300);
    }
    assert_true(store_status(world->store).log_bytes < 150 * 1000);
    dump_rest(dump);
    assert_int_equal(dump->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(dump->err.text, "compacted beyond revision"));
}

static void a_compacted_revision_is_reported(World *world)
{
    put_some(world, 300);
    Dump *dump = dump_new(world, world->store);
    dump_next(dump);
    world_put(world, "a", "1");
    assert_int_equal(world_compact(world, world_now(world))->err.kind, ERROR_NONE);
    dump_rest(dump);
    assert_int_equal(dump->err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(dump->err.text, "try again"));
    assert_int_equal(dump_whole(world, world->store)->end.count, 301);
}

static void a_dump_can_be_abandoned_at_any_time(World *world)
{
    Error err;
    put_some(world, 300);
    store_dump_free(dump_new(world, world->store)->dump);
    Dump *dump = dump_new(world, world->store);
    dump_next(dump);
    store_dump_free(dump->dump);
    dump = dump_new(world, world->store);
    assert_true(store_dump_next(dump->dump, &err));
    store_dump_free(dump->dump);
    world_get(world, "a");
    assert_false(dump->received);
    /* The store may be closed before the dump, too. */
    dump = dump_new(world, world->store);
    dump_next(dump);
    assert_true(store_dump_next(dump->dump, &err));
    dump->received = false;
    store_close(world->store);
    assert_true(dump->received);
    store_dump_free(dump->dump);
    world->store = store_open_memory(world->loop, NULL);
}

/* Like a server with a remote store, which cannot hold revisions and whose responses are
 * delayed. */
static void a_remote_store_gives_the_same_dump(World *world)
{
    RemoteCounts counts = { 0 };
    RemoteStore *remote = remote_store_new(world->loop, world->store, &counts);
    Error err;
    put_some(world, 300);
    remote_store_open(remote);
    remote_store_calm(remote);
    Dump *dump = dump_new(world, remote_store_handle(remote));
    while (!dump->over) {
        dump->received = false;
        assert_true(store_dump_next(dump->dump, &err));
        while (!dump->received) {
            loop_run_virtual_until(world->loop, loop_now_ms(world->loop) + 10);
            remote_store_deliver(remote);
        }
    }
    assert_int_equal(dump->err.kind, ERROR_NONE);
    assert_string_equal(dump->end.digest, dump_whole(world, world->store)->end.digest);
    store_dump_free(dump->dump);
    remote_store_close(remote);
    remote_store_free(remote);
}

static void an_expired_lease_deletes_its_keys(World *world)
{
    put_some(world, 100);
    assert_int_equal(world_grant(world, 600, 77)->err.kind, ERROR_NONE);
    put(world, STR("z"), STR("1"), 77);
    Dump *dump = dump_new(world, world->store);
    dump_next(dump);
    assert_int_equal(world_revoke(world, 77)->err.kind, ERROR_NONE);
    dump_rest(dump);
    assert_int_equal(dump->err.kind, ERROR_NONE);
    assert_int_equal(dump->end.count, 100);
}

/* --- Rejected dumps -------------------------------------------------------------------------- */

static void only_an_empty_store_can_be_loaded(World *world)
{
    world_put(world, "a", "1");
    Dump *dump = dump_whole(world, world->store);
    Load *load = load_into(world, world->store, buf_str(&dump->bytes));
    assert_int_equal(load->err.kind, ERROR_CONFLICT);
    assert_string_equal(world_get(world, "a"), "1");
}

static bool read_whole(Str bytes, size_t piece, Error *err)
{
    AUTO_CLEAR(StoreDumpReader) reader;
    store_dump_reader_init(&reader, &(StoreDumpSink){ 0 });
    while (bytes.len > 0) {
        Str part = str_slice(bytes, 0, piece);
        bytes = str_from_offset(bytes, piece);
        if (!store_dump_reader_feed(&reader, &part, err)) {
            return false;
        }
        if (part.len > 0) {
            return error_set(err, ERROR_INVALID, "trailing data");
        }
    }
    return store_dump_reader_finish(&reader, err);
}

static Dump *dump_small(World *world)
{
    world_put(world, "a", "1");
    world_put(world, "b", "");
    world_grant(world, 600, 77);
    world_put_lease(world, "c", "leased", 77);
    return dump_whole(world, world->store);
}

static void every_flipped_bit_is_detected(World *world)
{
    Dump *dump = dump_small(world);
    Error err;
    assert_true(read_whole(buf_str(&dump->bytes), 7, &err));
    for (size_t i = 0; i < dump->bytes.len * 8; i++) {
        char *byte = &dump->bytes.data[i / 8];
        *byte = (char)(*byte ^ 1 << i % 8);
        if (read_whole(buf_str(&dump->bytes), 64, &err)) {
            fail_msg("bit %zu of byte %zu", i % 8, i / 8);
        }
        *byte = (char)(*byte ^ 1 << i % 8);
    }
}

static void every_truncation_is_detected(World *world)
{
    Dump *dump = dump_small(world);
    Error err;
    for (size_t i = 0; i < dump->bytes.len; i++) {
        assert_false(read_whole(str_slice(buf_str(&dump->bytes), 0, i), 11, &err));
        assert_int_equal(err.kind, ERROR_INVALID);
    }
    buf_put_char(&dump->bytes, 'k');
    assert_false(read_whole(buf_str(&dump->bytes), 100000, &err));
}

/* The reader would mistake the middle of a record for its start. */
static void a_failed_reader_cannot_continue(World *world)
{
    Dump *dump = dump_small(world);
    AUTO_CLEAR(StoreDumpReader) reader;
    Error err;
    dump->bytes.data[0] ^= 1;
    store_dump_reader_init(&reader, &(StoreDumpSink){ 0 });
    Str bytes = buf_str(&dump->bytes);
    assert_false(store_dump_reader_feed(&reader, &bytes, &err));
    assert_true(bytes.len > 0);
    assert_false(store_dump_reader_is_complete(&reader));
    assert_bug((void)!store_dump_reader_feed(&reader, &bytes, &err));
}

static void damaged_dumps_are_not_loaded(World *world)
{
    Dump *dump = dump_small(world);
    size_t len = dump->bytes.len;
    for (size_t i = 0; i < len; i += 13) {
        Store *target = open_target(world, 0, 0);
        dump->bytes.data[i] ^= 1;
        assert_int_equal(load_into(world, target, buf_str(&dump->bytes))->err.kind, ERROR_INVALID);
        dump->bytes.data[i] ^= 1;
        store_close(target);
        target = open_target(world, 0, 0);
        Str cut = str_slice(buf_str(&dump->bytes), 0, i);
        assert_int_equal(load_into(world, target, cut)->err.kind, ERROR_INVALID);
        store_close(target);
    }
    buf_put_char(&dump->bytes, '\0');
    Store *target = open_target(world, 0, 0);
    Load *load = load_into(world, target, buf_str(&dump->bytes));
    assert_int_equal(load->err.kind, ERROR_INVALID);
    assert_non_null(strstr(load->err.text, "trailing data"));
    store_close(target);
}

static void an_aborted_load_reports_the_reason(World *world)
{
    put_some(world, 300);
    Dump *dump = dump_new(world, world->store);
    Error why, err;
    dump_next(dump);
    error_set(&why, ERROR_UNAVAILABLE, "the disk\nis gone");
    store_dump_put_failure(&dump->bytes, &why);
    store_dump_free(dump->dump);
    assert_false(read_whole(buf_str(&dump->bytes), 100, &err));
    assert_int_equal(err.kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "the disk?is gone"));
}

int main(void)
{
    static const StoreTest tests[] = {
        STORE_TEST(every_backend_loads_dumps_of_the_others),
        STORE_TEST(an_empty_store_can_be_dumped_and_loaded),
        STORE_TEST(a_loaded_store_has_later_revisions),
        STORE_TEST(a_dump_shows_one_revision),
        { "the_revision_is_kept_while_it_is_read", the_revision_is_kept_while_it_is_read,
          .local_only = true },
        { "the_revision_is_not_kept_indefinitely", the_revision_is_not_kept_indefinitely,
          .time_only = true },
        STORE_TEST(a_compacted_revision_is_reported),
        STORE_TEST(a_dump_can_be_abandoned_at_any_time),
        { "a_remote_store_gives_the_same_dump", a_remote_store_gives_the_same_dump,
          .time_only = true },
        STORE_TEST(an_expired_lease_deletes_its_keys),
        STORE_TEST(only_an_empty_store_can_be_loaded),
        STORE_TEST(every_flipped_bit_is_detected),
        STORE_TEST(every_truncation_is_detected),
        STORE_TEST(a_failed_reader_cannot_continue),
        STORE_TEST(damaged_dumps_are_not_loaded),
        STORE_TEST(an_aborted_load_reports_the_reason),
    };
    return store_tests_run("store_dump", tests, COUNT_OF(tests));
}
