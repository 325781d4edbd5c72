/* Old versions and their blobs are removed, and nothing else. */
#include "source/versions_sweep.h"

#include <sys/stat.h>
#include <time.h>

#include "cluster/cluster_keys.h"
#include "failing_store.h"
#include "net/world.h"
#include "ready_state.h"
#include "source/site_parts.h"

#define PREFIX STR("/eden")

enum {
    MAX = 6,  /* versions */
    KEPT = 2, /* by a pass */
    HOUR_S = 3600,
};

typedef struct Fixture {
    World world;
    Scratch *scratch;
    ClusterStore cluster_store;
    FailingStore *store;
    Versions *versions;
    VersionsSweep *sweep;
    const char *in_use; /* by a run; NULL: none */
    uint32_t waiting;
    ErrorKind kind;
    char name[20];
    bool is_new;
} Fixture;

static void add_uses(void *context, StrMap *uses)
{
    const Fixture *f = context;
    if (f->in_use != NULL) {
        str_map_put(uses, str_from_c(f->in_use), NULL);
    }
}

static void open_versions(Fixture *f)
{
    f->versions =
        versions_new(&(VersionsSettings){ .cluster_store = f->cluster_store,
                                          .directory = scratch_place(f->scratch, "server"),
                                          .program = scratch_place(f->scratch, "program"),
                                          .add_uses = add_uses,
                                          .context = f,
                                          .max = MAX });
    f->sweep = versions_sweep_new(&(VersionsSweepOptions){
        .cluster_store = f->cluster_store,
        .versions = f->versions,
        .fence = { .target = STORE_CREATE_REVISION, .key = STR("/eden/leader/controllers") },
        .retained = KEPT });
}

/* Like a server that was restarted. */
static void reopen(Fixture *f)
{
    versions_sweep_free(TAKE(f->sweep));
    versions_free(TAKE(f->versions));
    open_versions(f);
}

static int set_up(void **state)
{
    scratch_set_up(state);
    Fixture *f = calloc(1, sizeof *f);
    f->scratch = *state;
    *state = f;
    world_open(&f->world);
    f->store = failing_store_open(f->world.loop);
    f->cluster_store =
        (ClusterStore){ .loop = f->world.loop, .store = &f->store->base, .prefix = PREFIX };
    follow_store(&f->cluster_store);
    while (!state_age(f->cluster_store.state).is_ready) {
        world_pass(&f->world, 1);
    }
    scratch_put(f->scratch, "program", "#!/bin/sh\necho '{\"problems\":[]}'\n");
    chmod(scratch_place(f->scratch, "program"), 0755);
    open_versions(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    versions_sweep_free(f->sweep);
    versions_free(f->versions);
    follow_stop(&f->cluster_store);
    world_pass(&f->world, 5);
    store_close(f->cluster_store.store);
    follow_free(&f->cluster_store);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void ended(Fixture *f, const Error *err)
{
    f->kind = err == NULL ? ERROR_NONE : err->kind;
    f->waiting--;
    loop_stop(f->world.loop);
}

static void finish(Fixture *f)
{
    while (f->waiting > 0) {
        world_run(&f->world);
    }
    assert_int_equal(f->kind, ERROR_NONE);
}

static void done(void *context, const Error *err)
{
    ended(context, err);
}

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    ended(context, err);
}

static void put_key(Fixture *f, Str key, Str value)
{
    Error err;
    f->waiting++;
    assert_true(store_put(f->cluster_store.store, key, value, 0, stored, f, &err));
    finish(f);
    world_pass(&f->world, 5);
}

/* --- Sites ------------------------------------------------------------------------------------ */

typedef struct Site {
    char manifest[BLOB_ID_TEXT + 1], content[BLOB_ID_TEXT + 1], name[VERSION_NAME_LEN + 1];
} Site;

static void put_blob(Fixture *f, Str data, char id[BLOB_ID_TEXT + 1])
{
    blob_id_of(data, id);
    f->waiting++;
    versions_put(f->versions, 0, str_from_c(id), data, done, f);
    finish(f);
}

static Site upload(Fixture *f, int number)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Site site;
    char data[40];
    snprintf(data, sizeof data, "steps: [%d]\n", number);
    put_blob(f, str_from_c(data), site.content);
    ManifestFile file = { .path = STR("jobs/base.yaml"),
                          .mode = "0644",
                          .size = (int64_t)strlen(data),
                          .blobs = (Str[]){ str_from_c(site.content) },
                          .blob_count = 1 };
    manifest_print(&(Manifest){ &file, 1 }, &text);
    put_blob(f, buf_str(&text), site.manifest);
    version_name_of(site.manifest, site.name);
    return site;
}

static void created(void *context, Str name, bool is_new, const Error *err)
{
    Fixture *f = context;
    f->is_new = is_new;
    ended(f, err);
}

static void create(Fixture *f, const Site *site)
{
    f->waiting++;
    versions_create(f->versions, &(VersionDraft){ .manifest = str_from_c(site->manifest) }, created,
                    f);
    finish(f);
    world_pass(&f->world, 5);
}

static const char *blob_path(Fixture *f, const char *id)
{
    Str path = arena_format(&f->scratch->arena, "server/blobs/%.2s/%s", id, id);
    return scratch_place(f->scratch, arena_copy_c(&f->scratch->arena, path));
}

static void make_blob_old(Fixture *f, const char *id)
{
    struct timespec times[2] = { { .tv_sec = time(NULL) - 2 * HOUR_S },
                                 { .tv_sec = time(NULL) - 2 * HOUR_S } };
    assert_int_equal(utimensat(AT_FDCWD, blob_path(f, id), times, 0), 0);
}

/* As if it had been created and used hours ago; the larger `age`, the older. */
static void make_old(Fixture *f, const Site *site, int age)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    Version version = { .origin = VERSION_PUSHED,
                        .created_ms = (time(NULL) - 2 * HOUR_S - age) * INT64_C(1000) };
    memcpy(version.manifest, site->manifest, sizeof version.manifest);
    version_print(&version, &text);
    put_key(f, cluster_key_version(&f->scratch->arena, PREFIX, str_from_c(site->name)),
            buf_str(&text));
    make_blob_old(f, site->manifest);
    make_blob_old(f, site->content);
}

static Site old_site(Fixture *f, int number)
{
    Site site = upload(f, number);
    make_old(f, &site, 1000 - number);
    return site;
}

static bool has_version(Fixture *f, const Site *site)
{
    VersionEntry entry;
    Error err;
    return versions_find(&f->scratch->arena, f->cluster_store.state, PREFIX, str_from_c(site->name),
                         &entry, &err);
}

static bool has_blobs(Fixture *f, const Site *site)
{
    bool has_manifest = access(blob_path(f, site->manifest), F_OK) == 0;
    assert_int_equal(access(blob_path(f, site->content), F_OK) == 0, has_manifest);
    return has_manifest;
}

static void run_sweep(Fixture *f)
{
    versions_sweep_start(f->sweep);
    for (int i = 0; i < 10000 && !versions_sweep_is_idle(f->sweep); i++) {
        world_pass(&f->world, 1);
    }
    assert_true(versions_sweep_is_idle(f->sweep));
    world_pass(&f->world, 5);
}

static void activate(Fixture *f, const Site *site)
{
    f->waiting++;
    versions_activate(f->versions, &(VersionActivation){ .version = str_from_c(site->name) }, done,
                      f);
    finish(f);
    world_pass(&f->world, 5);
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void old_versions_go_with_their_blobs(void **state)
{
    Fixture *f = *state;
    Site sites[5];
    for (int i = 0; i < 5; i++) {
        sites[i] = old_site(f, i);
    }
    activate(f, &sites[0]);
    f->in_use = sites[1].name;
    run_sweep(f);
    for (int i = 0; i < 5; i++) {
        bool stays = i != 2; /* current, used by a run, old, newest two */
        assert_int_equal(has_version(f, &sites[i]), stays);
        assert_int_equal(has_blobs(f, &sites[i]), stays);
    }
    VersionsFreed freed = versions_freed(f->versions);
    assert_int_equal(freed.versions, 1);
    assert_int_equal(freed.blobs, 2);
    f->in_use = NULL;
    run_sweep(f);
    assert_false(has_version(f, &sites[1]));
    assert_false(has_blobs(f, &sites[1]));
    assert_true(has_blobs(f, &sites[0]));
}

static void the_last_version_from_sources_stays(void **state)
{
    Fixture *f = *state;
    Site sites[3];
    for (int i = 0; i < 3; i++) {
        sites[i] = old_site(f, i);
    }
    Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    site_parts_print(&(SiteParts){ .version = str_from_c(sites[0].name),
                                   .manifest = str_from_c(sites[0].manifest) },
                     &text);
    put_key(f, cluster_key_source_parts(&f->scratch->arena, PREFIX), buf_str(&text));
    run_sweep(f);
    assert_true(has_version(f, &sites[0]));
    assert_true(has_blobs(f, &sites[0]));
}

static void shared_blobs_stay(void **state)
{
    Fixture *f = *state;
    Site sites[3];
    for (int i = 0; i < 3; i++) {
        sites[i] = old_site(f, i);
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    ManifestFile file = { .path = STR("jobs/base.yaml"),
                          .mode = "0755",
                          .size = 11,
                          .blobs = (Str[]){ str_from_c(sites[0].content) },
                          .blob_count = 1 };
    Site other = sites[0];
    manifest_print(&(Manifest){ &file, 1 }, &text);
    put_blob(f, buf_str(&text), other.manifest);
    version_name_of(other.manifest, other.name);
    make_old(f, &other, 0);
    run_sweep(f);
    assert_false(has_version(f, &sites[0]));
    assert_int_not_equal(access(blob_path(f, sites[0].manifest), F_OK), 0);
    assert_true(has_version(f, &other));
    assert_true(has_blobs(f, &other));
}

static void none_is_missing(void *context, const Str *ids, uint32_t count, const Error *err)
{
    assert_int_equal(count, 0);
    ended(context, err);
}

/* The steps of `eden push` during a pass: query the missing blobs, send them, and create the
 * version. */
static void a_push_in_progress_loses_nothing(void **state)
{
    Fixture *f = *state;
    Site sent = upload(f, 1), left = upload(f, 2);
    make_blob_old(f, left.manifest);
    make_blob_old(f, left.content);
    Str ids[] = { str_from_c(left.manifest), str_from_c(left.content) };
    versions_sweep_start(f->sweep);
    f->waiting++;
    versions_missing(f->versions, 0, ids, 2, none_is_missing, f);
    finish(f);
    run_sweep(f);
    assert_true(has_blobs(f, &sent));
    assert_true(has_blobs(f, &left));
    create(f, &sent);
    create(f, &left);
    run_sweep(f);
    assert_true(has_blobs(f, &sent));
    assert_true(has_blobs(f, &left));
}

static void what_is_created_again_is_not_deleted(void **state)
{
    Fixture *f = *state;
    Site sites[4];
    for (int i = 0; i < 4; i++) {
        sites[i] = old_site(f, i);
    }
    create(f, &sites[0]); /* exists: nothing is recorded, and it is about to be activated */
    assert_false(f->is_new);
    run_sweep(f);
    assert_true(has_version(f, &sites[0]));
    assert_true(has_blobs(f, &sites[0]));
    assert_false(has_version(f, &sites[1]));
    activate(f, &sites[0]);
}

/* As after a crash between the two. */
static void blobs_of_deleted_versions_are_removed_by_the_next_pass(void **state)
{
    Fixture *f = *state;
    Site left = upload(f, 1), retained = old_site(f, 2);
    make_blob_old(f, left.manifest);
    make_blob_old(f, left.content);
    reopen(f);
    run_sweep(f);
    assert_false(has_blobs(f, &left));
    assert_true(has_blobs(f, &retained));
}

static void a_pass_that_is_interrupted_is_completed_by_the_next_one(void **state)
{
    Fixture *f = *state;
    Site sites[4];
    for (int i = 0; i < 4; i++) {
        sites[i] = old_site(f, i);
    }
    for (int turns = 0; turns < 4; turns++) {
        versions_sweep_start(f->sweep);
        world_pass(&f->world, turns);
        reopen(f);
    }
    run_sweep(f);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(has_version(f, &sites[i]), i >= 2);
        assert_int_equal(has_blobs(f, &sites[i]), i >= 2);
    }
}

static void no_blob_is_removed_if_a_manifest_is_unreadable(void **state)
{
    Fixture *f = *state;
    Site left = upload(f, 1), retained = old_site(f, 2);
    make_blob_old(f, left.manifest);
    make_blob_old(f, left.content);
    assert_int_equal(remove(blob_path(f, retained.manifest)), 0);
    run_sweep(f);
    assert_true(has_blobs(f, &left));
    put_key(f, cluster_key_version(&f->scratch->arena, PREFIX, str_from_c(retained.name)),
            STR("nonsense"));
    run_sweep(f);
    assert_true(has_blobs(f, &left));
    upload(f, 2);
    make_old(f, &retained, 0);
    run_sweep(f);
    assert_false(has_blobs(f, &left));
    assert_true(has_blobs(f, &retained));
}

static Str current_text(Fixture *f, const Site *site, const Site *previous)
{
    Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    CurrentVersion current = { .since_ms = 1,
                               .requested_by = STR("user:ann"),
                               .reason = STR("why") };
    memcpy(current.version, site->name, sizeof current.version);
    memcpy(current.manifest, site->manifest, sizeof current.manifest);
    memcpy(current.previous, previous->name, sizeof current.previous);
    current_version_print(&current, &text);
    return buf_str(&text);
}

/* Nodes may still be fetching them. */
static void files_of_the_current_version_stay_without_its_record(void **state)
{
    Fixture *f = *state;
    Site current = upload(f, 1), parts = upload(f, 2), left = upload(f, 3);
    const Site *all[] = { &current, &parts, &left };
    Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        make_blob_old(f, all[i]->manifest);
        make_blob_old(f, all[i]->content);
    }
    site_parts_print(
        &(SiteParts){ .version = str_from_c(parts.name), .manifest = str_from_c(parts.manifest) },
        &text);
    put_key(f, cluster_key_source_parts(&f->scratch->arena, PREFIX), buf_str(&text));
    put_key(f, cluster_key_current_version(&f->scratch->arena, PREFIX),
            current_text(f, &current, &current));
    run_sweep(f);
    assert_true(has_blobs(f, &current));
    assert_true(has_blobs(f, &parts));
    assert_false(has_blobs(f, &left));
}

static void the_problems_of_a_rejected_version_stay(void **state)
{
    Fixture *f = *state;
    Site site = upload(f, 1);
    Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    Version version = { .origin = VERSION_PUSHED, .state = VERSION_REJECTED, .created_ms = 1 };
    memcpy(version.manifest, site.manifest, sizeof version.manifest);
    put_blob(f, STR("{\"problems\":[]}"), version.problems);
    version.problem_count = 1;
    version_print(&version, &text);
    put_key(f, cluster_key_version(&f->scratch->arena, PREFIX, str_from_c(site.name)),
            buf_str(&text));
    make_blob_old(f, site.manifest);
    make_blob_old(f, site.content);
    make_blob_old(f, version.problems);
    run_sweep(f);
    assert_true(has_version(f, &site));
    assert_true(has_blobs(f, &site));
    assert_int_equal(access(blob_path(f, version.problems), F_OK), 0);
}

/* What happens after the pass was planned, and before it is written. */
static void put_meanwhile(Fixture *f, Str key, Str value)
{
    Error err;
    f->waiting++;
    assert_true(store_put(f->cluster_store.store, key, value, 0, stored, f, &err));
    run_sweep(f);
    finish(f);
}

static void a_version_that_becomes_current_meanwhile_is_not_deleted(void **state)
{
    Fixture *f = *state;
    Site sites[5];
    for (int i = 0; i < 5; i++) {
        sites[i] = old_site(f, i);
    }
    put_meanwhile(f, cluster_key_current_version(&f->scratch->arena, PREFIX),
                  current_text(f, &sites[0], &sites[1]));
    for (int i = 0; i < 5; i++) {
        bool stays = i != 2; /* current, previous, old, newest two */
        assert_int_equal(has_version(f, &sites[i]), stays);
        assert_int_equal(has_blobs(f, &sites[i]), stays);
    }
}

static void a_version_that_is_created_again_meanwhile_is_not_deleted(void **state)
{
    Fixture *f = *state;
    Site sites[4];
    VersionEntry entry;
    Error err;
    for (int i = 0; i < 4; i++) {
        sites[i] = old_site(f, i);
    }
    assert_true(versions_find(&f->scratch->arena, f->cluster_store.state, PREFIX,
                              str_from_c(sites[0].name), &entry, &err));
    Buf text = buf_make_in(&f->scratch->arena, BUF_UNLIMITED);
    entry.version.created_ms = loop_wall_ms(f->world.loop);
    version_print(&entry.version, &text);
    put_meanwhile(f, cluster_key_version(&f->scratch->arena, PREFIX, str_from_c(sites[0].name)),
                  buf_str(&text));
    assert_true(has_version(f, &sites[0]));
    assert_true(has_blobs(f, &sites[0]));
    assert_false(has_version(f, &sites[1]));
}

static void nothing_is_deleted_from_an_outdated_state(void **state)
{
    Fixture *f = *state;
    Site sites[4];
    Error broken;
    for (int i = 0; i < 4; i++) {
        sites[i] = old_site(f, i);
    }
    error_set(&broken, ERROR_OS, "disk I/O error");
    f->store->reads = &broken;
    failing_store_break_watch(f->store, &broken);
    f->store->reads = NULL; /* the state looks again later */
    assert_true(state_age(f->cluster_store.state).is_behind);
    versions_sweep_start(f->sweep);
    assert_true(versions_sweep_is_idle(f->sweep));
    while (state_age(f->cluster_store.state).is_behind) {
        world_pass(&f->world, 10);
    }
    assert_true(has_version(f, &sites[0]));
    run_sweep(f);
    assert_false(has_version(f, &sites[0]));
}

static void a_former_leader_deletes_nothing(void **state)
{
    Fixture *f = *state;
    Site sites[4];
    for (int i = 0; i < 4; i++) {
        sites[i] = old_site(f, i);
    }
    put_key(f, STR("/eden/leader/controllers"), STR("another"));
    run_sweep(f);
    for (int i = 0; i < 4; i++) {
        assert_true(has_version(f, &sites[i]));
        assert_true(has_blobs(f, &sites[i]));
    }
}

static void a_version_at_the_limit_replaces_the_oldest_unused_one(void **state)
{
    Fixture *f = *state;
    Site sites[MAX];
    for (int i = 0; i < MAX; i++) {
        sites[i] = old_site(f, i);
    }
    activate(f, &sites[0]);
    Site added = upload(f, 100);
    create(f, &added);
    assert_true(has_version(f, &added));
    assert_true(has_version(f, &sites[0]));
    assert_false(has_version(f, &sites[1]));
    assert_true(has_version(f, &sites[2]));
    for (int i = 0; i < 3 * MAX; i++) { /* as following commits does */
        Site next = upload(f, 200 + i);
        reopen(f); /* the ones just created are used, and there are no others */
        create(f, &next);
        activate(f, &next);
        assert_true(has_version(f, &next));
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(old_versions_go_with_their_blobs),
        TEST(the_last_version_from_sources_stays),
        TEST(shared_blobs_stay),
        TEST(a_push_in_progress_loses_nothing),
        TEST(what_is_created_again_is_not_deleted),
        TEST(blobs_of_deleted_versions_are_removed_by_the_next_pass),
        TEST(a_pass_that_is_interrupted_is_completed_by_the_next_one),
        TEST(no_blob_is_removed_if_a_manifest_is_unreadable),
        TEST(files_of_the_current_version_stay_without_its_record),
        TEST(the_problems_of_a_rejected_version_stay),
        TEST(a_version_that_becomes_current_meanwhile_is_not_deleted),
        TEST(a_version_that_is_created_again_meanwhile_is_not_deleted),
        TEST(nothing_is_deleted_from_an_outdated_state),
        TEST(a_former_leader_deletes_nothing),
        TEST(a_version_at_the_limit_replaces_the_oldest_unused_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
