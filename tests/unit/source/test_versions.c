/* Versions of the site on a server: their contents, checked by a program that replaces eden, and
 * which one is the current version. */
#include "source/versions.h"

#include "cluster/cluster_keys.h"
#include "disk_room.h"
#include "net/world.h"
#include "ready_state.h"
#include "source/manifest.h"

#define PREFIX STR("/eden")

typedef struct Fixture {
    World world;
    Scratch *scratch;
    ClusterStore cluster_store;
    Versions *versions;
    uint32_t waiting;
    ErrorKind kind;
    char text[600]; /* of the error */
    char name[20];  /* of the version */
    bool is_new;
    char missing[200];
    char data[100];
    uint32_t blobs;
    uint32_t max;          /* versions; 0: default */
    const char *elsewhere; /* what another server sends; NULL: there is none, "": it has nothing */
    uint32_t fetches;
} Fixture;

static void ended(Fixture *f, const Error *err)
{
    f->kind = err == NULL ? ERROR_NONE : err->kind;
    snprintf(f->text, sizeof f->text, "%s", err == NULL ? "" : err->text);
    f->waiting--;
    loop_stop(f->world.loop);
}

static void finish(Fixture *f)
{
    while (f->waiting > 0) {
        world_run(&f->world);
    }
}

static void done(void *context, const Error *err)
{
    ended(context, err);
}

static void put_program(Fixture *f, const char *script)
{
    scratch_put(f->scratch, "program", script);
    chmod(scratch_place(f->scratch, "program"), 0755);
}

static void fetch(void *context, Str id, VersionsGetDone *got_it, void *done_context)
{
    Fixture *f = context;
    Error err;
    f->fetches++;
    error_set(&err, ERROR_UNAVAILABLE, "no server has it");
    bool has_it = f->elsewhere[0] != '\0';
    got_it(done_context, str_from_c(f->elsewhere), has_it ? NULL : &err);
}

static void open_versions(Fixture *f)
{
    f->versions =
        versions_new(&(VersionsSettings){ .cluster_store = f->cluster_store,
                                          .directory = scratch_place(f->scratch, "server"),
                                          .program = scratch_place(f->scratch, "program"),
                                          .max = f->max,
                                          .fetch = f->elsewhere == NULL ? NULL : fetch,
                                          .fetch_context = f });
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->cluster_store = (ClusterStore){ .loop = f->world.loop,
                                       .store = store_open_memory(f->world.loop, NULL),
                                       .prefix = PREFIX };
    follow_store(&f->cluster_store);
    while (!state_age(f->cluster_store.state).is_ready) {
        world_pass(&f->world, 1);
    }
    put_program(f, "#!/bin/sh\necho '{\"format\":\"eden.problems/1\",\"problems\":[]}'\n");
    open_versions(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    versions_free(f->versions);
    follow_stop(&f->cluster_store);
    world_pass(&f->world, 5);
    store_close(f->cluster_store.store);
    follow_free(&f->cluster_store);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    ended(context, err);
}

static void put_key(Fixture *f, Str key, const char *value)
{
    Error err;
    f->waiting++;
    assert_true(store_put(f->cluster_store.store, key, str_from_c(value), 0, stored, f, &err));
    finish(f);
}

/* --- Blobs ------------------------------------------------------------------------------------ */

static void put(Fixture *f, const char *id, Str data)
{
    f->waiting++;
    versions_put(f->versions, 0, str_from_c(id), data, done, f);
    finish(f);
}

static void put_data(Fixture *f, const char *data, char id[BLOB_ID_TEXT + 1])
{
    blob_id_of(str_from_c(data), id);
    put(f, id, str_from_c(data));
    assert_int_equal(f->kind, ERROR_NONE);
}

static void missing(void *context, const Str *ids, uint32_t count, const Error *err)
{
    Fixture *f = context;
    f->missing[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        snprintf(f->missing + strlen(f->missing), 10, "%.4s ", ids[i].data);
    }
    ended(f, err);
}

static void got(void *context, Str data, const Error *err)
{
    Fixture *f = context;
    snprintf(f->data, sizeof f->data, "%.*s", (int)data.len, data.len > 0 ? data.data : "");
    ended(f, err);
}

static void get(Fixture *f, const char *id)
{
    f->waiting++;
    versions_get(f->versions, 0, str_from_c(id), got, f);
    finish(f);
}

static void a_blob_is_stored_and_read(void **state)
{
    Fixture *f = *state;
    char first[BLOB_ID_TEXT + 1], second[BLOB_ID_TEXT + 1], expected[20];
    put_data(f, "one", first);
    blob_id_of(STR("two"), second);
    f->waiting++;
    Str ids[] = { str_from_c(first), str_from_c(second) };
    versions_missing(f->versions, 0, ids, 2, missing, f);
    finish(f);
    snprintf(expected, sizeof expected, "%.4s ", second);
    assert_string_equal(f->missing, expected);
    get(f, first);
    assert_string_equal(f->data, "one");
    get(f, second);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    assert_string_equal(f->data, "");
    put(f, second, STR("three"));
    assert_int_equal(f->kind, ERROR_INVALID);
}

static void put_pack(Fixture *f, Str pack)
{
    f->waiting++;
    versions_put_pack(f->versions, 0, pack, done, f);
    finish(f);
}

static void a_pack_is_stored_blob_by_blob(void **state)
{
    const Str broken[] = {
        STR("\0\0\0"),        STR("\0\0\0\0"),     STR("\0\0\0\2a"),
        STR("\0\x10\0\1abc"), STR("\1\0\0\1abcd"), STR("\0\0\0\1ab"),
    };
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    put_pack(f, STR("\0\0\0\1a\0\0\0\2bc"));
    assert_int_equal(f->kind, ERROR_NONE);
    blob_id_of(STR("a"), id);
    get(f, id);
    assert_string_equal(f->data, "a");
    blob_id_of(STR("bc"), id);
    get(f, id);
    assert_string_equal(f->data, "bc");
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        put_pack(f, broken[i]);
        assert_int_equal(f->kind, ERROR_INVALID);
    }
    put_pack(f, STR_EMPTY);
    assert_int_equal(f->kind, ERROR_NONE);
}

static void a_blob_in_a_pack_has_a_maximum_size(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Buf) pack = buf_make(BUF_UNLIMITED);
    buf_put(&pack, STR("\0\x10\0\0"));
    buf_put_repeat(&pack, 'x', BLOB_MAX);
    put_pack(f, buf_str(&pack));
    assert_int_equal(f->kind, ERROR_NONE);
    buf_reset(&pack);
    buf_put(&pack, STR("\0\x10\0\1"));
    buf_put_repeat(&pack, 'x', BLOB_MAX + 1);
    put_pack(f, buf_str(&pack));
    assert_int_equal(f->kind, ERROR_INVALID);
}

static void a_disk_that_is_nearly_full_takes_no_blobs(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    blob_id_of(STR("content"), id);
    disk_room = 6;
    put(f, id, STR("content"));
    assert_int_equal(f->kind, ERROR_UNAVAILABLE);
    assert_non_null(strstr(f->text, "nearly full"));
    put_pack(f, STR("\0\0\0\7content"));
    assert_int_equal(f->kind, ERROR_UNAVAILABLE);
    disk_room = 7;
    put(f, id, STR("content"));
    disk_room = 1 << 30;
    assert_int_equal(f->kind, ERROR_NONE);
}

static void put_many(void *context, const Error *err)
{
    Fixture *f = context;
    assert_int_equal(f->missing[0], 'x'); /* the other one is done */
    ended(f, err);
}

static void put_one(void *context, const Error *err)
{
    Fixture *f = context;
    f->missing[0] = 'x';
    ended(f, err);
}

static void a_large_pack_does_not_delay_others(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Buf) pack = buf_make(BUF_UNLIMITED);
    char id[BLOB_ID_TEXT + 1];
    for (int i = 0; i < 200; i++) {
        buf_put(&pack, STR("\0\0\0\3"));
        buf_put_format(&pack, "%03d", i);
    }
    assert_int_equal(versions_pack_count(buf_str(&pack)), 200);
    blob_id_of(STR("one"), id);
    f->missing[0] = '\0';
    f->waiting += 2;
    versions_put_pack(f->versions, 1, buf_str(&pack), put_many, f);
    versions_put(f->versions, 2, str_from_c(id), STR("one"), put_one, f);
    finish(f);
    assert_int_equal(f->kind, ERROR_NONE);
    blob_id_of(STR("199"), id);
    get(f, id);
    assert_string_equal(f->data, "199");
}

static void a_pack_ends_with_the_server(void **state)
{
    Fixture *f = *state;
    f->waiting++;
    versions_put_pack(f->versions, 1, STR("\0\0\0\1a"), done, f);
    versions_free(TAKE(f->versions));
    assert_int_equal(f->waiting, 0);
    assert_int_equal(f->kind, ERROR_UNAVAILABLE);
}

static void without_a_directory_blobs_fail_until_there_is_one(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    scratch_put(f->scratch, "server", "not a directory");
    blob_id_of(STR("one"), id);
    put(f, id, STR("one"));
    assert_int_not_equal(f->kind, ERROR_NONE);
    get(f, id);
    assert_int_not_equal(f->kind, ERROR_NONE);
    assert_int_equal(remove(scratch_place(f->scratch, "server")), 0);
    put(f, id, STR("one"));
    assert_int_equal(f->kind, ERROR_NONE);
}

/* --- Creating --------------------------------------------------------------------------------- */

/* The id of a manifest with jobs/base.yaml and maybe another file; blobs are stored. */
static void put_site(Fixture *f, const char *path, const char *data, char id[BLOB_ID_TEXT + 1])
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    char blob[BLOB_ID_TEXT + 1];
    put_data(f, data, blob);
    ManifestFile file = { .path = str_from_c(path),
                          .mode = "0644",
                          .size = (int64_t)strlen(data),
                          .blobs = (Str[]){ str_from_c(blob) },
                          .blob_count = 1 };
    manifest_print(&(Manifest){ &file, 1 }, &text);
    buf_put_char(&text, '\0');
    put_data(f, text.data, id);
}

static void created(void *context, Str name, bool is_new, const Error *err)
{
    Fixture *f = context;
    snprintf(f->name, sizeof f->name, "%.*s", (int)name.len, name.data);
    f->is_new = is_new;
    ended(f, err);
}

static void create_with(Fixture *f, const char *manifest, Str subject)
{
    f->waiting++;
    versions_create(f->versions,
                    &(VersionDraft){ .manifest = str_from_c(manifest),
                                     .origin = VERSION_PUSHED,
                                     .source = { .subject = subject },
                                     .requested_by = STR("user:ann") },
                    created, f);
    finish(f);
}

static void create(Fixture *f, const char *manifest)
{
    create_with(f, manifest, STR("a change"));
}

/* As in the state, once it has seen the writes. */
static VersionEntry find(Fixture *f, const char *name)
{
    VersionEntry entry;
    Error err;
    for (int i = 0; i < 1000; i++) {
        world_pass(&f->world, 1);
        if (versions_find(&f->scratch->arena, f->cluster_store.state, PREFIX, str_from_c(name),
                          &entry, &err)) {
            return entry;
        }
    }
    fail_msg("%s", err.text);
    return entry;
}

static void a_valid_site_becomes_a_version(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    put_site(f, "jobs/base.yaml", "steps: []\n", id);
    create(f, id);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_true(f->is_new);
    VersionEntry entry = find(f, f->name);
    assert_int_equal(entry.version.state, VERSION_VALID);
    assert_int_equal(entry.version.files, 1);
    assert_int_equal(entry.version.bytes, 10);
    assert_str(entry.version.requested_by, "user:ann");
    assert_string_equal(entry.version.manifest, id);
    put_program(f, "#!/bin/sh\nexit 2\n"); /* it is not checked again */
    create(f, id);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_false(f->is_new);
    assert_int_equal(find(f, f->name).version.state, VERSION_VALID);
}

static void a_site_with_problems_is_rejected_until_it_is_valid(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    put_site(f, "jobs/base.yaml", "steps: [1]\n", id);
    put_program(f, "#!/bin/sh\ntest -f jobs/base.yaml || exit 9\n"
                   "echo '{\"problems\":[{\"code\":\"E0001\"},{\"code\":\"E0002\"}]}'\nexit 1\n");
    create(f, id);
    assert_int_equal(f->kind, ERROR_NONE);
    VersionEntry entry = find(f, f->name);
    assert_int_equal(entry.version.state, VERSION_REJECTED);
    assert_int_equal(entry.version.problem_count, 2);
    get(f, entry.version.problems);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_non_null(strstr(f->data, "E0001"));
    put_program(f, "#!/bin/sh\necho '{\"problems\":[]}'\n");
    create(f, id);
    assert_false(f->is_new);
    for (int i = 0; i < 1000 && find(f, f->name).version.state != VERSION_VALID; i++) {
    }
    assert_int_equal(find(f, f->name).version.state, VERSION_VALID);
}

static void a_failed_check_rejects_the_site(void **state)
{
    static const char *const scripts[] = {
        "#!/bin/sh\necho broken >&2\nexit 3\n",
        "#!/bin/sh\nkill -9 $$\n",
        "#!/bin/sh\necho 'no JSON'\n",
        "#!/bin/sh\nhead -c 2000000 /dev/zero\n",
    };
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(scripts); i++) {
        char id[BLOB_ID_TEXT + 1], data[20];
        snprintf(data, sizeof data, "steps: [%zu]\n", i);
        put_site(f, "jobs/base.yaml", data, id);
        put_program(f, scripts[i]);
        create(f, id);
        assert_int_equal(f->kind, ERROR_NONE);
        VersionEntry entry = find(f, f->name);
        assert_int_equal(entry.version.state, VERSION_REJECTED);
        assert_int_equal(entry.version.problem_count, 1);
    }
    assert_int_equal(rmdir(scratch_place(f->scratch, "server/checks")), 0);
}

static void anything_but_a_site_is_rejected(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1], blob[BLOB_ID_TEXT + 1], prefix[3];
    create(f, "../../etc/passwd");
    assert_int_equal(f->kind, ERROR_INVALID);
    put_data(f, "no manifest", id);
    create(f, id);
    assert_int_equal(f->kind, ERROR_INVALID);
    blob_id_of(STR("unknown"), id);
    create(f, id);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->text, "send it first"));
    put_site(f, "jobs/other.yaml", "steps: []\n", id);
    create(f, id);
    assert_int_equal(f->kind, ERROR_INVALID);
    put_site(f, "jobs/base.yaml", "steps: [7]\n", id);
    blob_id_of(STR("steps: [7]\n"), blob);
    snprintf(prefix, sizeof prefix, "%.2s", blob);
    Str path = arena_format(&f->scratch->arena, "server/blobs/%s/%s", prefix, blob);
    assert_int_equal(remove(scratch_place(f->scratch, arena_copy_c(&f->scratch->arena, path))), 0);
    create(f, id);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->text, "1 blob is missing"));
}

static void a_long_text_is_truncated_between_characters(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1], subject[3 * VERSION_TEXT_MAX];
    for (size_t i = 0; i < sizeof subject; i += 3) {
        memcpy(subject + i, "\xe2\x82\xac", 3);
    }
    put_site(f, "jobs/base.yaml", "steps: []\n", id);
    create_with(f, id, str_from(subject, sizeof subject));
    VersionEntry entry = find(f, f->name);
    assert_str(entry.error, "");
    assert_int_equal(entry.version.source.subject.len, VERSION_TEXT_MAX - VERSION_TEXT_MAX % 3);
}

typedef struct Creator {
    Fixture *f;
    char letter;
} Creator;

static void created_by(void *context, Str name, bool is_new, const Error *err)
{
    Creator *creator = context;
    strncat(creator->f->data, &creator->letter, 1);
    ended(creator->f, err);
}

static void those_who_create_versions_take_turns(void **state)
{
    Fixture *f = *state;
    char data[32];
    Creator creators[] = { { f, 'a' }, { f, 'a' }, { f, 'a' }, { f, 'a' }, { f, 'b' } };
    char ids[COUNT_OF(creators)][BLOB_ID_TEXT + 1];
    for (size_t i = 0; i < COUNT_OF(creators); i++) {
        snprintf(data, sizeof data, "steps: [%zu]\n", i);
        put_site(f, "jobs/base.yaml", data, ids[i]);
    }
    f->data[0] = '\0';
    for (size_t i = 0; i < COUNT_OF(creators); i++) {
        f->waiting++;
        versions_create(f->versions,
                        &(VersionDraft){ .manifest = str_from_c(ids[i]),
                                         .requested_by = str_from(&creators[i].letter, 1) },
                        created_by, &creators[i]);
    }
    finish(f);
    assert_string_not_equal(f->data, "aaaab");
    assert_int_equal(strlen(f->data), COUNT_OF(creators));
}

static void stopping_completes_what_is_in_progress(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    put_site(f, "jobs/base.yaml", "steps: []\n", id);
    for (int i = 0; i < 3; i++) {
        f->waiting += 2;
        versions_get(f->versions, 0, str_from_c(id), got, f);
        versions_create(f->versions, &(VersionDraft){ .manifest = str_from_c(id) }, created, f);
    }
    versions_free(TAKE(f->versions));
    world_pass(&f->world, 5);
    assert_int_equal(f->waiting, 0);
}

/* --- The set of a manifest -------------------------------------------------------------------- */

static void blobs_read(void *context, const StrMap *blobs, const Error *err)
{
    Fixture *f = context;
    f->blobs = blobs == NULL ? 0 : blobs->count;
    ended(f, err);
}

static void read_blobs(Fixture *f, const char *manifest)
{
    f->waiting++;
    versions_blobs(f->versions, 0, str_from_c(manifest), blobs_read, f);
    finish(f);
}

static void the_blobs_of_several_manifests_are_known(void **state)
{
    Fixture *f = *state;
    char ids[6][BLOB_ID_TEXT + 1], data[32];
    for (int i = 0; i < 6; i++) {
        snprintf(data, sizeof data, "steps: [%d]\n", i);
        put_site(f, "jobs/base.yaml", data, ids[i]);
    }
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 6; i++) {
            read_blobs(f, ids[i]);
            assert_int_equal(f->kind, ERROR_NONE);
            assert_int_equal(f->blobs, 1);
        }
    }
    blob_id_of(STR("unknown"), ids[0]);
    read_blobs(f, ids[0]);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    put_data(f, "no manifest", ids[0]);
    read_blobs(f, ids[0]);
    assert_int_equal(f->kind, ERROR_INVALID);
}

static void reopen_with(Fixture *f, uint32_t max)
{
    versions_free(f->versions);
    f->max = max;
    open_versions(f);
}

static void a_missing_blob_is_fetched_from_another_server_once(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1], manifest[BLOB_ID_TEXT + 1];
    blob_id_of(STR("far"), id);
    f->elsewhere = "far";
    reopen_with(f, 0);
    get(f, id);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_string_equal(f->data, "far");
    get(f, id);
    assert_string_equal(f->data, "far");
    assert_int_equal(f->fetches, 1);
    /* something else than was requested is not stored */
    blob_id_of(STR("other"), manifest);
    get(f, manifest);
    assert_int_equal(f->kind, ERROR_INVALID);
    read_blobs(f, manifest);
    assert_int_equal(f->kind, ERROR_INVALID);
    f->elsewhere = "";
    f->fetches = 0;
    get(f, manifest);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    read_blobs(f, manifest);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    assert_int_equal(f->fetches, 2);
    f->waiting++;
    versions_get_local(f->versions, 0, str_from_c(manifest), got, f);
    finish(f);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    assert_int_equal(f->fetches, 2);
}

/* --- The current version ---------------------------------------------------------------------- */

static const char *const digits[] = { "aaaaaaaaaaaa", "bbbbbbbbbbbb", "cccccccccccc" };

/* Its manifest repeats its name. */
static void put_version(Fixture *f, const char *name, const char *version_state)
{
    char manifest[BLOB_ID_TEXT + 1], text[300];
    memset(manifest, name[0], BLOB_ID_TEXT);
    manifest[BLOB_ID_TEXT] = '\0';
    snprintf(text, sizeof text,
             "{\"format\":\"eden.version/1\",\"manifest\":\"%s\",\"origin\":\"push\","
             "\"state\":\"%s\",\"created_ms\":1}",
             manifest, version_state);
    put_key(f, cluster_key_version(&f->scratch->arena, PREFIX, str_from_c(name)), text);
}

/* --- Too many versions ------------------------------------------------------------------------ */

static bool is_stored(Fixture *f, const char *name)
{
    VersionEntry entry;
    Error err;
    world_pass(&f->world, 20);
    return versions_find(&f->scratch->arena, f->cluster_store.state, PREFIX, str_from_c(name),
                         &entry, &err);
}

static void the_oldest_version_makes_room_for_a_new_one(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    reopen_with(f, 3);
    put_version(f, digits[0], "valid");
    put_version(f, digits[1], "valid");
    (void)find(f, digits[1]);
    put_site(f, "jobs/base.yaml", "steps: []\n", id);
    create(f, id);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_true(is_stored(f, digits[0]) && is_stored(f, digits[1])); /* as many as are allowed */
    assert_int_equal(versions_freed(f->versions).versions, 0);
    put_site(f, "jobs/base.yaml", "steps: [ ]\n", id);
    create(f, id);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_true(is_stored(f, digits[0]) != is_stored(f, digits[1]));
    assert_int_equal(versions_freed(f->versions).versions, 1);
    create(f, id); /* again */
    assert_int_equal(f->kind, ERROR_NONE);
    assert_false(f->is_new);
    assert_true(is_stored(f, digits[0]) != is_stored(f, digits[1]));
    assert_int_equal(versions_freed(f->versions).versions, 1);
}

static void a_rejected_version_that_becomes_valid_needs_no_room(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1];
    reopen_with(f, 2);
    put_version(f, digits[0], "valid");
    (void)find(f, digits[0]);
    put_site(f, "jobs/base.yaml", "steps: [1]\n", id);
    put_program(f, "#!/bin/sh\necho '{\"problems\":[{\"code\":\"E0001\"}]}'\nexit 1\n");
    create(f, id);
    assert_int_equal(find(f, f->name).version.state, VERSION_REJECTED);
    put_program(f, "#!/bin/sh\necho '{\"problems\":[]}'\n");
    create(f, id);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_true(is_stored(f, digits[0]));
    assert_int_equal(versions_freed(f->versions).versions, 0);
}

/* The name is only the start of the hash. */
static void a_version_is_not_mistaken_for_one_of_the_same_name(void **state)
{
    Fixture *f = *state;
    char id[BLOB_ID_TEXT + 1], name[VERSION_NAME_LEN + 1];
    put_site(f, "jobs/base.yaml", "steps: []\n", id);
    version_name_of(id, name);
    put_version(f, name, "valid"); /* with another manifest */
    (void)find(f, name);
    create(f, id);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->text, "another version has the same name"));
    put_version(f, name, "rejected");
    create(f, id);
    assert_int_equal(f->kind, ERROR_CONFLICT);
}

static void a_manifest_is_a_hash(void **state)
{
    Fixture *f = *state;
    create(f, "0123");
    assert_int_equal(f->kind, ERROR_INVALID);
    assert_non_null(strstr(f->text, "not a SHA-256"));
}

static void activate(Fixture *f, const char *name, VersionPin pin, bool run)
{
    f->waiting++;
    versions_activate(f->versions,
                      &(VersionActivation){ .version = str_from_c(name),
                                            .pin = pin,
                                            .run = run,
                                            .requested_by = STR("user:ann"),
                                            .reason = STR("why") },
                      done, f);
    finish(f);
}

static CurrentVersion current(Fixture *f)
{
    CurrentVersion found = { 0 };
    world_pass(&f->world, 5);
    (void)versions_current(&f->scratch->arena, f->cluster_store.state, PREFIX, &found);
    return found;
}

static int64_t revision_of_current(Fixture *f)
{
    world_pass(&f->world, 5);
    return state_find(f->cluster_store.state,
                      cluster_key_current_version(&f->scratch->arena, PREFIX))
        ->mod_revision;
}

static void a_version_replaces_the_current_one(void **state)
{
    Fixture *f = *state;
    put_version(f, digits[0], "valid");
    put_version(f, digits[1], "valid");
    activate(f, digits[0], PIN_UNCHANGED, true);
    assert_int_equal(f->kind, ERROR_NONE);
    CurrentVersion now = current(f);
    assert_string_equal(now.version, digits[0]);
    assert_string_equal(now.previous, "");
    assert_true(now.is_applied);
    assert_false(now.is_pinned);
    assert_true(now.since_ms > 0);
    assert_str(now.requested_by, "user:ann");
    assert_str(now.reason, "why");
    activate(f, digits[1], PIN_UNCHANGED, false);
    now = current(f);
    assert_string_equal(now.version, digits[1]);
    assert_string_equal(now.previous, digits[0]);
    assert_int_equal(now.manifest[BLOB_ID_TEXT - 1], 'b');
    assert_false(now.is_applied);
}

static void the_current_version_changes_only_if_something_differs(void **state)
{
    Fixture *f = *state;
    put_version(f, digits[0], "valid");
    put_version(f, digits[1], "valid");
    activate(f, digits[0], PIN_UNCHANGED, false);
    activate(f, digits[1], PIN_UNCHANGED, false);
    int64_t before = revision_of_current(f);
    activate(f, digits[1], PIN_UNCHANGED, false);
    assert_int_equal(revision_of_current(f), before);
    activate(f, digits[1], PIN_UNCHANGED, true); /* once more on all nodes */
    assert_true(revision_of_current(f) > before);
    assert_string_equal(current(f).previous, digits[0]);
    before = revision_of_current(f);
    activate(f, digits[1], PIN_SET, false);
    assert_true(revision_of_current(f) > before);
    assert_true(current(f).is_pinned);
}

static void a_pinned_version_is_replaced_only_on_request(void **state)
{
    Fixture *f = *state;
    put_version(f, digits[0], "valid");
    put_version(f, digits[1], "valid");
    activate(f, digits[0], PIN_SET, false);
    activate(f, digits[1], PIN_UNCHANGED, false);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->text, "is pinned by user:ann"));
    assert_string_equal(current(f).version, digits[0]);
    activate(f, digits[0], PIN_UNCHANGED, true);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_true(current(f).is_pinned);
    activate(f, digits[1], PIN_CLEAR, false);
    assert_int_equal(f->kind, ERROR_NONE);
    assert_string_equal(current(f).version, digits[1]);
    assert_false(current(f).is_pinned);
    activate(f, digits[0], PIN_UNCHANGED, false);
    assert_int_equal(f->kind, ERROR_NONE);
}

static void a_former_leader_activates_nothing(void **state)
{
    Fixture *f = *state;
    StoreCompare fence = { .target = STORE_CREATE_REVISION,
                           .relation = STORE_EQUAL,
                           .key = STR("/eden/leader/controllers"),
                           .number = 1 };
    put_version(f, digits[0], "valid");
    f->waiting++;
    versions_activate(f->versions,
                      &(VersionActivation){ .version = str_from_c(digits[0]),
                                            .requested_by = STR("a"),
                                            .fence = &fence },
                      done, f);
    finish(f);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    assert_string_equal(current(f).version, "");
}

static void leftovers_of_a_killed_server_are_removed(void **state)
{
    Fixture *f = *state;
    scratch_put(f->scratch, "server/checks/0123/jobs/base.yaml", "secret: 1\n");
    reopen_with(f, 0);
    assert_int_equal(access(scratch_place(f->scratch, "server/checks/0123"), F_OK), -1);
}

static void only_a_valid_version_is_activated(void **state)
{
    Fixture *f = *state;
    put_version(f, digits[0], "rejected");
    activate(f, digits[0], PIN_UNCHANGED, false);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    activate(f, digits[1], PIN_UNCHANGED, false);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    activate(f, "../x", PIN_UNCHANGED, false);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    put_key(f, cluster_key_version(&f->scratch->arena, PREFIX, str_from_c(digits[2])), "nonsense");
    activate(f, digits[2], PIN_UNCHANGED, false);
    assert_int_equal(f->kind, ERROR_INVALID);
    assert_string_equal(current(f).version, "");
}

static void delete_version(Fixture *f, const char *name, int64_t revision)
{
    f->waiting++;
    versions_remove(f->versions, str_from_c(name), revision, done, f);
    finish(f);
}

static void a_version_is_deleted_unless_it_is_needed(void **state)
{
    Fixture *f = *state;
    int64_t revisions[3];
    for (int i = 0; i < 3; i++) {
        put_version(f, digits[i], "valid");
        revisions[i] = find(f, digits[i]).revision;
    }
    activate(f, digits[0], PIN_UNCHANGED, false);
    activate(f, digits[1], PIN_UNCHANGED, false);
    delete_version(f, digits[0], revisions[0]);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->text, "previous"));
    delete_version(f, digits[1], revisions[1]);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    assert_non_null(strstr(f->text, "current"));
    delete_version(f, digits[2], revisions[2] - 1);
    assert_int_equal(f->kind, ERROR_CONFLICT);
    delete_version(f, digits[2], revisions[2]);
    assert_int_equal(f->kind, ERROR_NONE);
    delete_version(f, digits[2], revisions[2]);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
    delete_version(f, "x", 1);
    assert_int_equal(f->kind, ERROR_NOT_FOUND);
}

static void versions_are_listed_from_the_newest(void **state)
{
    Fixture *f = *state;
    VersionEntry *found;
    put_version(f, digits[1], "valid");
    put_version(f, digits[0], "valid");
    put_key(f, cluster_key_version(&f->scratch->arena, PREFIX, str_from_c(digits[2])), "nonsense");
    char id[BLOB_ID_TEXT + 1];
    put_site(f, "jobs/base.yaml", "steps: []\n", id);
    create(f, id);
    find(f, f->name);
    assert_int_equal(versions_list(&f->scratch->arena, f->cluster_store.state, PREFIX, &found), 4);
    assert_str(found[0].name, f->name);
    assert_str(found[1].name, digits[0]);
    assert_str(found[2].name, digits[1]);
    assert_str(found[3].name, digits[2]);
    assert_int_equal(found[3].version.state, VERSION_REJECTED);
    assert_true(found[3].error.len > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_blob_is_stored_and_read),
        TEST(a_pack_is_stored_blob_by_blob),
        TEST(a_blob_in_a_pack_has_a_maximum_size),
        TEST(a_disk_that_is_nearly_full_takes_no_blobs),
        TEST(a_large_pack_does_not_delay_others),
        TEST(a_pack_ends_with_the_server),
        TEST(without_a_directory_blobs_fail_until_there_is_one),
        TEST(a_valid_site_becomes_a_version),
        TEST(a_site_with_problems_is_rejected_until_it_is_valid),
        TEST(a_failed_check_rejects_the_site),
        TEST(anything_but_a_site_is_rejected),
        TEST(a_long_text_is_truncated_between_characters),
        TEST(those_who_create_versions_take_turns),
        TEST(stopping_completes_what_is_in_progress),
        TEST(the_blobs_of_several_manifests_are_known),
        TEST(a_missing_blob_is_fetched_from_another_server_once),
        TEST(the_oldest_version_makes_room_for_a_new_one),
        TEST(a_rejected_version_that_becomes_valid_needs_no_room),
        TEST(a_version_is_not_mistaken_for_one_of_the_same_name),
        TEST(a_manifest_is_a_hash),
        TEST(a_version_replaces_the_current_one),
        TEST(the_current_version_changes_only_if_something_differs),
        TEST(a_pinned_version_is_replaced_only_on_request),
        TEST(a_former_leader_activates_nothing),
        TEST(leftovers_of_a_killed_server_are_removed),
        TEST(only_a_valid_version_is_activated),
        TEST(a_version_is_deleted_unless_it_is_needed),
        TEST(versions_are_listed_from_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
