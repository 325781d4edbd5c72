/* Repositories, made by the real git, become the current version on the leader, and their statuses
 * say what happened. */
#include "source/git_sources.h"

#include "cluster/cluster_keys.h"
#include "cluster/stored_object.h"
#include "net/world.h"
#include "ready_state.h"
#include "source/git_proposal.h"
#include "source/git_source.h"
#include "source/manifest.h"
#include "source/site_parts.h"

#define PREFIX STR("/eden")

/* A site whose file "invalid" exists is not valid. */
#define PROGRAM                                                                           \
    "#!/bin/sh\n"                                                                         \
    "if test -e invalid || test -e shop/invalid; then\n"                                  \
    "    echo '{\"problems\":[{\"file\":\"invalid\",\"line\":1,\"message\":\"bad\"}]}'\n" \
    "    exit 1\n"                                                                        \
    "fi\n"                                                                                \
    "echo '{\"problems\":[]}'\n"

typedef struct Fixture {
    World world;
    Scratch *scratch;
    ClusterStore cluster_store;
    Versions *versions;
    SourceVault *vault;
    Audit *audit;
    GitSources *sources;
    StoreCompare fence;
    uint32_t waiting;
} Fixture;

static Arena *arena_of(Fixture *f)
{
    return &f->scratch->arena;
}

static void ended(Fixture *f, const Error *err)
{
    assert_null(err);
    f->waiting--;
    loop_stop(f->world.loop);
}

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    ended(context, err);
}

static void activated(void *context, const Error *err)
{
    ended(context, err);
}

static void finish(Fixture *f)
{
    while (f->waiting > 0) {
        world_run(&f->world);
    }
}

static int64_t revision_of(Fixture *f)
{
    int64_t revision = store_status(f->cluster_store.store).revision;
    while (state_age(f->cluster_store.state).revision < revision) {
        world_pass(&f->world, 1);
    }
    return revision;
}

static int64_t put_key(Fixture *f, Str key, Str value)
{
    Error err;
    f->waiting++;
    assert_true(store_put(f->cluster_store.store, key, value, 0, stored, f, &err));
    finish(f);
    return revision_of(f);
}

static void delete_key(Fixture *f, Str key)
{
    Error err;
    f->waiting++;
    assert_true(store_delete(f->cluster_store.store, key, stored, f, &err));
    finish(f);
}

static int64_t lead(Fixture *f)
{
    Str key = cluster_key_leader(arena_of(f), PREFIX);
    delete_key(f, key);
    f->fence = (StoreCompare){ .target = STORE_CREATE_REVISION,
                               .relation = STORE_EQUAL,
                               .key = key,
                               .number = put_key(f, key, STR("{}")) };
    return f->fence.number;
}

static void open_sources(Fixture *f)
{
    f->sources =
        git_sources_new(&(GitSourcesOptions){ .cluster_store = f->cluster_store,
                                              .versions = f->versions,
                                              .vault = f->vault,
                                              .audit = f->audit,
                                              .directory = scratch_place(f->scratch, "server"),
                                              .fence = f->fence });
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
    scratch_put(f->scratch, "program", PROGRAM);
    chmod(scratch_place(f->scratch, "program"), 0755);
    mkdir(scratch_place(f->scratch, "server"), 0700);
    f->versions =
        versions_new(&(VersionsSettings){ .cluster_store = f->cluster_store,
                                          .directory = scratch_place(f->scratch, "server"),
                                          .program = scratch_place(f->scratch, "program") });
    f->vault = source_vault_new(scratch_place(f->scratch, "server"));
    f->audit = audit_new(&f->cluster_store);
    lead(f);
    open_sources(f);
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    git_sources_free(f->sources);
    versions_free(f->versions);
    source_vault_free(f->vault);
    audit_free(f->audit);
    follow_stop(&f->cluster_store);
    world_pass(&f->world, 5);
    store_close(f->cluster_store.store);
    follow_free(&f->cluster_store);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

/* --- Repositories and sources ----------------------------------------------------------------- */

#define GIT                                                                                      \
    "env -i PATH=\"$PATH\" HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null " \
    "GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann "               \
    "GIT_COMMITTER_EMAIL=ann@example.org git -C %s %s"

static void git(Fixture *f, const char *repository, const char *words)
{
    const char *place = scratch_place(f->scratch, repository);
    Str command = arena_format(arena_of(f), GIT "%c", place, words, '\0');
    if (system(command.data) != 0) { /* NOLINT(cert-env33-c) */
        fail_msg("%s", command.data);
    }
}

/* Writes a file, or removes it if the text is NULL, and commits everything. */
static void commit(Fixture *f, const char *repository, const char *path, const char *text)
{
    const char *name = arena_format(arena_of(f), "%s/%s%c", repository, path, '\0').data;
    if (access(scratch_place(f->scratch, repository), F_OK) != 0) {
        mkdir(scratch_place(f->scratch, repository), 0755);
        git(f, repository, "init --quiet --initial-branch=main");
    }
    if (text == NULL) {
        assert_int_equal(remove(scratch_place(f->scratch, name)), 0);
    } else {
        scratch_put(f->scratch, name, text);
    }
    git(f, repository, "add --all");
    git(f, repository, "commit --quiet --message change");
}

static void put_source(Fixture *f, const char *name, const char *fields)
{
    Str text = arena_format(
        arena_of(f),
        "{\"format\":\"eden.object/1\",\"uuid\":\"6f1c2a40-0000-4000-8000-000000000000\","
        "\"created_ms\":1,\"labels\":{},\"annotations\":{},"
        "\"spec\":{\"url\":\"%s\",\"interval\":\"1h\"%s}}",
        scratch_place(f->scratch, name), fields);
    put_key(f, cluster_key_source(arena_of(f), PREFIX, str_from_c(name)), text);
}

static int64_t request(Fixture *f, const char *name)
{
    Buf text = buf_make_in(arena_of(f), BUF_UNLIMITED);
    git_source_request_print(&(GitSourceRequest){ .time_ms = 1, .requested_by = STR("user:ann") },
                             &text);
    return put_key(f, cluster_key_source_request(arena_of(f), PREFIX, str_from_c(name)),
                   buf_str(&text));
}

static GitSourceStatus status_of(Fixture *f, const char *name)
{
    return git_source_status_find(arena_of(f), f->cluster_store.state, PREFIX, str_from_c(name));
}

enum {
    PATIENCE = 20000 /* turns of at least a millisecond */
};

/* Waits for the status to say this; "" is any. */
static GitSourceStatus expect_status(Fixture *f, const char *name, const char *expected,
                                     int64_t handled)
{
    for (int i = 0; i < PATIENCE; i++) {
        GitSourceStatus status = status_of(f, name);
        if (status.handled >= handled && strcmp(git_source_status_name(&status), expected) == 0) {
            return status;
        }
        world_pass(&f->world, 1);
    }
    GitSourceStatus status = status_of(f, name);
    fail_msg("%s is %s: %.*s %.*s", name, git_source_status_name(&status), (int)status.error.len,
             status.error.data == NULL ? "" : status.error.data, (int)status.rejection.len,
             status.rejection.data == NULL ? "" : status.rejection.data);
    return status;
}

/* Fetches the source, and waits until the result is recorded. */
static GitSourceStatus sync_to(Fixture *f, const char *name, const char *expected)
{
    return expect_status(f, name, expected, request(f, name));
}

static CurrentVersion current(Fixture *f)
{
    CurrentVersion found = { 0 };
    (void)versions_current(arena_of(f), f->cluster_store.state, PREFIX, &found);
    return found;
}

static uint32_t version_count(Fixture *f)
{
    VersionEntry *entries;
    return versions_list(arena_of(f), f->cluster_store.state, PREFIX, &entries);
}

static Manifest manifest_of(Fixture *f, const char *id)
{
    BlobStore *blobs;
    Manifest manifest;
    Str text;
    Error err;
    assert_true(versions_blob_store(f->versions, &blobs, &err));
    assert_true(blob_store_read(blobs, arena_of(f), str_from_c(id), &text, &err));
    assert_true(manifest_read(arena_of(f), text, &manifest, &err));
    return manifest;
}

static bool has_file(Fixture *f, const char *path)
{
    CurrentVersion now = current(f);
    Manifest files = manifest_of(f, now.manifest);
    return manifest_find(&files, str_from_c(path)) != NULL;
}

static void wait_for_file(Fixture *f, const char *path, bool is_there)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (current(f).version[0] != '\0' && has_file(f, path) == is_there) {
            return;
        }
        world_pass(&f->world, 1);
    }
    fail_msg("%s", path);
}

static void put_site(Fixture *f)
{
    commit(f, "site", "jobs/base.yaml", "steps: []\n");
    put_source(f, "site", "");
    expect_status(f, "site", "ok", 0);
}

/* --- From a commit to the current version ----------------------------------------------------- */

static void a_commit_becomes_the_current_version(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    assert_true(first.is_applied);
    assert_str(first.requested_by, "source:site");
    GitSourceStatus status = status_of(f, "site");
    assert_str(status.author, "Ann <ann@example.org>");
    assert_str(status.subject, "change");
    assert_str(first.reason,
               arena_format(arena_of(f), "%.12s change%c", status.commit.data, '\0').data);
    SiteParts parts = site_parts_find(arena_of(f), f->cluster_store.state, PREFIX);
    assert_int_equal(parts.count, 1);
    assert_true(str_eq(parts.items[0].commit, status.commit));
    assert_true(str_eq_c(parts.version, first.version));
    assert_true(str_eq_c(parts.manifest, first.manifest));
    commit(f, "site", "files/motd", "welcome\n");
    GitSourceStatus next = sync_to(f, "site", "ok");
    assert_false(str_eq(next.commit, status.commit));
    assert_string_equal(current(f).previous, first.version);
    assert_true(has_file(f, "files/motd"));
    GitTree *trees[GIT_SOURCES_MAX];
    assert_int_equal(git_sources_trees(f->sources, trees), 1);
    assert_true(str_eq(trees[0]->commit, next.commit));
    git_tree_unref(trees[0]);
    assert_int_equal(git_sources_trees(NULL, trees), 0);
}

static void nothing_new_changes_nothing(void **state)
{
    Fixture *f = *state;
    put_site(f);
    int64_t since = current(f).since_ms;
    GitSourceStatus before = sync_to(f, "site", "ok"), after = sync_to(f, "site", "ok");
    assert_true(after.handled > before.handled);
    assert_int_equal(after.since_ms, before.since_ms);
    assert_int_equal(current(f).since_ms, since);
    assert_int_equal(version_count(f), 1);
}

static void an_invalid_commit_is_rejected_and_the_version_stays(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    commit(f, "site", "invalid", "x");
    GitSourceStatus status = sync_to(f, "site", "rejected");
    assert_str(status.rejection, "invalid:1:0: bad");
    assert_string_equal(current(f).version, first.version);
    uint32_t count = version_count(f);
    sync_to(f, "site", "rejected"); /* not tried again */
    assert_int_equal(version_count(f), count);
    commit(f, "site", "invalid", NULL);
    status = sync_to(f, "site", "ok");
    assert_str(status.rejection, "");
}

static void a_commit_that_is_no_site_is_rejected(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    GitTree *trees[GIT_SOURCES_MAX];
    scratch_link(f->scratch, "site/out", "../../etc/passwd");
    commit(f, "site", "files/x", "x");
    GitSourceStatus status = sync_to(f, "site", "rejected");
    assert_true(str_starts(status.rejection, STR("out: ")));
    assert_string_equal(current(f).version, first.version);
    assert_int_equal(git_sources_trees(f->sources, trees), 1);
    assert_int_equal(trees[0]->files.file_count, 0);
    git_tree_unref(trees[0]);
    commit(f, "site", "out", NULL);
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "files/x"));
}

static void a_repository_that_is_missing_is_reported_until_it_exists(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    put_source(f, "shop", ",\"directory\":\"shop\"");
    GitSourceStatus status = expect_status(f, "shop", "unreachable", 0);
    assert_true(status.error.len > 0);
    assert_int_equal(status.commit.len, 0);
    assert_string_equal(current(f).version, first.version);
    commit(f, "shop", "x", "1");
    sync_to(f, "shop", "ok");
    assert_true(has_file(f, "shop/x"));
    assert_true(has_file(f, "jobs/base.yaml"));
}

static void a_missing_branch_is_named(void **state)
{
    Fixture *f = *state;
    commit(f, "site", "jobs/base.yaml", "steps: []\n");
    put_source(f, "site", ",\"branch\":\"stable\"");
    GitSourceStatus status = expect_status(f, "site", "unreachable", 0);
    assert_str(status.error, "the repository has no branch 'stable'");
    git(f, "site", "branch stable");
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    assert_false(has_file(f, "later"));
    put_source(f, "site", ""); /* its default branch */
    wait_for_file(f, "later", true);
}

static void a_branch_that_is_checked_out_later_is_not_followed(void **state)
{
    Fixture *f = *state;
    put_site(f);
    GitSourceStatus status = status_of(f, "site");
    assert_str(status.branch, "main");
    assert_true(str_eq_c(status.url, scratch_place(f->scratch, "site")));
    git(f, "site", "checkout --quiet -b unmerged");
    commit(f, "site", "later", "x");
    assert_true(str_eq(sync_to(f, "site", "ok").commit, status.commit));
    assert_false(has_file(f, "later"));
    git(f, "site", "checkout --quiet main");
    commit(f, "site", "merged", "x");
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "merged"));
    assert_false(has_file(f, "later"));
}

static void a_repository_that_is_gone_keeps_its_files(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    assert_int_equal(rename(scratch_place(f->scratch, "site"), scratch_place(f->scratch, "away")),
                     0);
    GitSourceStatus status = sync_to(f, "site", "unreachable");
    assert_true(status.commit.len > 0);
    assert_string_equal(current(f).version, first.version);
    assert_int_equal(rename(scratch_place(f->scratch, "away"), scratch_place(f->scratch, "site")),
                     0);
    status = sync_to(f, "site", "ok");
    assert_str(status.error, "");
    assert_string_equal(current(f).version, first.version);
}

static void a_damaged_mirror_is_fetched_again(void **state)
{
    Fixture *f = *state;
    put_site(f);
    scratch_put(f->scratch, "server/sources/site/repository/HEAD", "damage\n");
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "later"));
}

static void what_a_killed_git_left_is_removed(void **state)
{
    Fixture *f = *state;
    put_site(f);
    static const char *const left[] = {
        "server/sources/site/repository/objects/pack/tmp_pack_x",
        "server/sources/site/repository/shallow.lock",
        "server/sources/site/repository/refs/eden/tip.lock",
    };
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        scratch_put(f->scratch, left[i], "x");
    }
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "later"));
    for (size_t i = 0; i < COUNT_OF(left); i++) {
        assert_int_equal(access(scratch_place(f->scratch, left[i]), F_OK), -1);
    }
}

/* --- Contents that were lost --- */

static const char *place_of_blob(Fixture *f, const char *id)
{
    return scratch_place(f->scratch,
                         arena_format(arena_of(f), "server/blobs/%.2s/%s", id, id).data);
}

static void lose(Fixture *f, const char *id)
{
    assert_int_equal(unlink(place_of_blob(f, id)), 0);
}

static const char *blob_of(Fixture *f, const char *path)
{
    CurrentVersion now = current(f);
    Manifest files = manifest_of(f, now.manifest);
    return arena_copy_c(arena_of(f), manifest_find(&files, str_from_c(path))->blobs[0]);
}

static void a_lost_file_does_not_hold_back_the_next_commit(void **state)
{
    Fixture *f = *state;
    put_site(f);
    lose(f, blob_of(f, "jobs/base.yaml"));
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "later"));
}

static void a_damaged_file_does_not_hold_back_the_next_commit(void **state)
{
    Fixture *f = *state;
    put_site(f);
    const char *place = place_of_blob(f, blob_of(f, "jobs/base.yaml"));
    FILE *file = fopen(place, "we");
    assert_non_null(file);
    fputs("damage", file);
    assert_int_equal(fclose(file), 0);
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "later"));
}

static void what_the_current_version_has_lost_is_stored_again(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    const char *blob = blob_of(f, "jobs/base.yaml");
    lose(f, blob);
    lose(f, first.manifest);
    sync_to(f, "site", "ok");
    assert_int_equal(access(place_of_blob(f, blob), F_OK), 0);
    assert_int_equal(access(place_of_blob(f, first.manifest), F_OK), 0);
    assert_int_equal(current(f).since_ms, first.since_ms);
    assert_int_equal(version_count(f), 1);
}

/* Its repository is not needed: the mirror has them. */
static void a_lost_file_of_an_unreachable_source_does_not_hold_back_another(void **state)
{
    Fixture *f = *state;
    put_site(f);
    commit(f, "shop", "x", "1");
    put_source(f, "shop", ",\"directory\":\"shop\"");
    wait_for_file(f, "shop/x", true);
    const char *blob = blob_of(f, "shop/x");
    lose(f, blob);
    assert_int_equal(rename(scratch_place(f->scratch, "shop"), scratch_place(f->scratch, "away")),
                     0);
    sync_to(f, "shop", "unreachable");
    assert_int_equal(access(place_of_blob(f, blob), F_OK), 0);
    lose(f, blob);
    commit(f, "site", "later", "x");
    request(f, "site");
    wait_for_file(f, "later", true);
    assert_true(has_file(f, "shop/x"));
    assert_int_equal(access(place_of_blob(f, blob), F_OK), 0);
    expect_status(f, "shop", "unreachable", 0);
}

/* --- Several sources -------------------------------------------------------------------------- */

static void an_invalid_source_does_not_hold_back_another(void **state)
{
    Fixture *f = *state;
    put_site(f);
    commit(f, "shop", "x", "1");
    put_source(f, "shop", ",\"directory\":\"shop\"");
    expect_status(f, "shop", "ok", 0);
    commit(f, "shop", "invalid", "1");
    GitSourceStatus status = sync_to(f, "shop", "rejected");
    assert_true(status.rejection.len > 0);
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "later"));
    assert_true(has_file(f, "shop/x"));
    assert_false(has_file(f, "shop/invalid"));
    expect_status(f, "shop", "rejected", 0);
}

static void a_removed_source_takes_its_files_along(void **state)
{
    Fixture *f = *state;
    put_site(f);
    commit(f, "shop", "x", "1");
    commit(f, "zoo", "y", "1");
    put_source(f, "shop", ",\"directory\":\"shop\"");
    put_source(f, "zoo", ",\"directory\":\"zoo\"");
    expect_status(f, "shop", "ok", 0);
    expect_status(f, "zoo", "ok", 0);
    assert_int_equal(access(scratch_place(f->scratch, "server/sources/shop"), F_OK), 0);
    delete_key(f, cluster_key_source(arena_of(f), PREFIX, STR("shop")));
    wait_for_file(f, "shop/x", false);
    assert_true(has_file(f, "zoo/y"));
    assert_true(has_file(f, "jobs/base.yaml"));
    assert_int_equal(access(scratch_place(f->scratch, "server/sources/shop"), F_OK), -1);
    assert_int_equal(access(scratch_place(f->scratch, "server/sources/zoo"), F_OK), 0);
    commit(f, "zoo", "z", "1");
    sync_to(f, "zoo", "ok");
    assert_true(has_file(f, "zoo/z"));
}

static void an_unreadable_source_keeps_its_files_and_their_place(void **state)
{
    Fixture *f = *state;
    put_site(f);
    commit(f, "shop", "x", "1");
    put_source(f, "shop", ",\"directory\":\"shop\"");
    expect_status(f, "shop", "ok", 0);
    put_source(f, "shop", ",\"directory\":7");
    GitSourceStatus status = expect_status(f, "shop", "unreachable", 0);
    assert_true(status.error.len > 0);
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    assert_true(has_file(f, "later"));
    assert_true(has_file(f, "shop/x"));
}

/* --- Pins ------------------------------------------------------------------------------------- */

static void pin(Fixture *f, VersionPin how)
{
    CurrentVersion now = current(f);
    f->waiting++;
    versions_activate(f->versions,
                      &(VersionActivation){ .version = str_from_c(now.version),
                                            .pin = how,
                                            .requested_by = STR("user:ann") },
                      activated, f);
    finish(f);
    revision_of(f);
}

static void a_commit_that_a_pin_held_becomes_current_without_it(void **state)
{
    Fixture *f = *state;
    put_site(f);
    pin(f, PIN_SET);
    CurrentVersion pinned = current(f);
    commit(f, "site", "later", "x");
    GitSourceStatus status = sync_to(f, "site", "held");
    assert_true(status.held.len > 0);
    assert_string_equal(current(f).version, pinned.version);
    sync_to(f, "site", "held");
    pin(f, PIN_CLEAR);
    wait_for_file(f, "later", true);
    status = expect_status(f, "site", "ok", 0);
    assert_str(status.held, "");
    assert_true(current(f).is_applied);
    assert_str(current(f).reason, "no version is pinned anymore");
}

static void make_current(Fixture *f, const char *version, VersionPin how)
{
    f->waiting++;
    versions_activate(f->versions,
                      &(VersionActivation){ .version = str_from_c(version),
                                            .pin = how,
                                            .requested_by = STR("user:ann"),
                                            .reason = STR("it broke") },
                      activated, f);
    finish(f);
    revision_of(f);
}

static void a_rollback_is_in_the_status_of_the_source(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    CurrentVersion second = current(f);
    make_current(f, first.version, PIN_CLEAR);
    GitSourceStatus status = expect_status(f, "site", "held", 0);
    assert_true(str_find(status.held, STR("by user:ann (it broke)"), 0) != STR_NOT_FOUND);
    assert_true(str_find(status.held, str_from_c(second.version), 0) != STR_NOT_FOUND);
    assert_str(status.pinned, "");
    sync_to(f, "site", "held");
    assert_string_equal(current(f).version, first.version);
    make_current(f, second.version, PIN_UNCHANGED);
    status = expect_status(f, "site", "ok", 0);
    assert_str(status.held, "");
}

static void a_version_that_is_chosen_instead_of_a_pinned_one_stays(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    commit(f, "site", "later", "x");
    sync_to(f, "site", "ok");
    CurrentVersion second = current(f);
    pin(f, PIN_SET);
    commit(f, "site", "latest", "x");
    assert_true(str_eq_c(sync_to(f, "site", "held").pinned, second.version));
    make_current(f, first.version, PIN_CLEAR);
    assert_str(sync_to(f, "site", "held").pinned, "");
    assert_string_equal(current(f).version, first.version);
}

/* --- Proposals -------------------------------------------------------------------------------- */

static GitProposal propose(Fixture *f, const GitProposal *wanted)
{
    Buf text = buf_make_in(arena_of(f), BUF_UNLIMITED);
    git_proposal_print(wanted, &text);
    Str key = cluster_key_source_proposal(arena_of(f), PREFIX, STR("site"));
    int64_t revision = put_key(f, key, buf_str(&text));
    GitProposal found = { 0 };
    for (int i = 0; i < PATIENCE && found.request != revision; i++) {
        world_pass(&f->world, 1);
        git_proposal_find(arena_of(f), f->cluster_store.state, PREFIX, STR("site"), &found);
    }
    assert_int_equal(found.request, revision);
    return found;
}

static void a_branch_is_proposed(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    git(f, "site", "checkout --quiet -b topic");
    commit(f, "site", "proposed", "x");
    git(f, "site", "checkout --quiet main");
    GitProposal found = propose(
        f, &(GitProposal){ .time_ms = 1, .requested_by = STR("user:ann"), .branch = STR("topic") });
    assert_string_equal(git_proposal_state(&found), "ok");
    VersionEntry entry;
    Error err;
    assert_true(
        versions_find(arena_of(f), f->cluster_store.state, PREFIX, found.version, &entry, &err));
    Manifest files = manifest_of(f, entry.version.manifest);
    assert_non_null(manifest_find(&files, STR("proposed")));
    assert_non_null(manifest_find(&files, STR("jobs/base.yaml")));
    assert_string_equal(current(f).version, first.version);
    found = propose(
        f, &(GitProposal){ .time_ms = 2, .requested_by = STR("user:ann"), .branch = STR("no") });
    assert_str(found.error, "the repository has no branch 'no'");
    found = propose(f, &(GitProposal){ .time_ms = 3,
                                       .requested_by = STR("user:ann"),
                                       .commit = entry.version.source.commit });
    assert_string_equal(git_proposal_state(&found), "ok");
    assert_true(str_eq(found.version, entry.name));
    found = propose(f, &(GitProposal){ .time_ms = 4, .requested_by = STR("user:ann") });
    assert_true(str_eq_c(found.version, first.version)); /* the newest commit of the source */
    sync_to(f, "site", "ok");
    assert_string_equal(current(f).version, first.version);
}

static void a_proposal_of_an_unreadable_source_ends(void **state)
{
    Fixture *f = *state;
    put_site(f);
    put_source(f, "site", ",\"directory\":7");
    GitSourceStatus status = expect_status(f, "site", "unreachable", 0);
    GitProposal found = propose(f, &(GitProposal){ .time_ms = 1, .requested_by = STR("user:ann") });
    assert_true(str_eq(found.error, status.error));
    sync_to(f, "site", "unreachable");
}

/* --- Leaders ---------------------------------------------------------------------------------- */

/* The newest commit that was fetched, other than this one. */
static GitTree *wait_for_tree(Fixture *f, Str known)
{
    for (int i = 0; i < PATIENCE; i++) {
        GitTree *trees[GIT_SOURCES_MAX];
        uint32_t count = git_sources_trees(f->sources, trees);
        assert_true(count <= 1);
        if (count == 1 && !str_eq(trees[0]->commit, known)) {
            return trees[0];
        }
        git_tree_unref(count == 1 ? trees[0] : NULL);
        world_pass(&f->world, 1);
    }
    fail_msg("nothing was fetched");
    return NULL;
}

static void a_former_leader_changes_nothing(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    lead(f); /* the fence of the sources no longer holds */
    commit(f, "site", "later", "x");
    int64_t requested = request(f, "site");
    GitTree *tree = wait_for_tree(f, status_of(f, "site").commit);
    while (tree->references > 2) { /* of the build */
        world_pass(&f->world, 1);
    }
    git_tree_unref(tree);
    assert_int_equal(version_count(f), 1);
    assert_true(status_of(f, "site").handled < requested);
    assert_string_equal(current(f).version, first.version);
    git_sources_free(TAKE(f->sources));
    open_sources(f);
    expect_status(f, "site", "ok", requested);
    assert_true(has_file(f, "later"));
}

static void the_next_leader_fetches_what_is_current_once(void **state)
{
    Fixture *f = *state;
    put_site(f);
    CurrentVersion first = current(f);
    GitSourceStatus before = sync_to(f, "site", "ok");
    git_sources_free(TAKE(f->sources));
    lead(f);
    open_sources(f);
    git_tree_unref(wait_for_tree(f, STR_EMPTY));
    GitSourceStatus after = sync_to(f, "site", "ok");
    assert_int_equal(after.since_ms, before.since_ms);
    assert_int_equal(current(f).since_ms, first.since_ms);
    assert_int_equal(version_count(f), 1);
}

/* --- Audit ------------------------------------------------------------------------------------ */

typedef struct Listing {
    Fixture *f;
    uint32_t done, failed, refused;
    bool is_listed;
} Listing;

static void listed(void *context, const AuditPage *page, const Error *err)
{
    const AuditEntry *entries = page->entries;
    uint32_t count = page->count;
    Listing *listing = context;
    assert_null(err);
    for (uint32_t i = 0; i < count; i++) {
        assert_str(entries[i].who, "source:site");
        assert_str(entries[i].kind, "Version");
        assert_true(entries[i].name.len == VERSION_NAME_LEN);
        listing->done +=
            entries[i].outcome == AUDIT_DONE && str_eq(entries[i].verb, STR("activate"));
        listing->failed += entries[i].outcome == AUDIT_FAILED &&
                           str_eq(entries[i].verb, STR("create")) && entries[i].detail.len > 0;
        listing->refused += entries[i].outcome == AUDIT_DENIED &&
                            str_eq(entries[i].verb, STR("activate")) && entries[i].detail.len > 0;
    }
    listing->is_listed = true;
}

static void every_result_is_in_the_audit_log(void **state)
{
    Fixture *f = *state;
    put_site(f);
    commit(f, "site", "invalid", "x");
    sync_to(f, "site", "rejected");
    pin(f, PIN_SET);
    commit(f, "site", "invalid", NULL);
    commit(f, "site", "later", "x");
    sync_to(f, "site", "held");
    Listing listing = { .f = f };
    for (int i = 0; i < PATIENCE && listing.done + listing.failed + listing.refused < 3; i++) {
        listing = (Listing){ .f = f };
        audit_list(&f->cluster_store, &(AuditQuery){ .limit = 10 }, listed, &listing);
        while (!listing.is_listed) {
            world_pass(&f->world, 1);
        }
    }
    assert_int_equal(listing.done, 1);
    assert_int_equal(listing.failed, 1);
    assert_int_equal(listing.refused, 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_commit_becomes_the_current_version),
        CASE(nothing_new_changes_nothing),
        CASE(an_invalid_commit_is_rejected_and_the_version_stays),
        CASE(a_commit_that_is_no_site_is_rejected),
        CASE(a_repository_that_is_missing_is_reported_until_it_exists),
        CASE(a_missing_branch_is_named),
        CASE(a_branch_that_is_checked_out_later_is_not_followed),
        CASE(a_repository_that_is_gone_keeps_its_files),
        CASE(a_damaged_mirror_is_fetched_again),
        CASE(what_a_killed_git_left_is_removed),
        CASE(a_lost_file_does_not_hold_back_the_next_commit),
        CASE(a_damaged_file_does_not_hold_back_the_next_commit),
        CASE(what_the_current_version_has_lost_is_stored_again),
        CASE(a_lost_file_of_an_unreachable_source_does_not_hold_back_another),
        CASE(an_invalid_source_does_not_hold_back_another),
        CASE(a_removed_source_takes_its_files_along),
        CASE(an_unreadable_source_keeps_its_files_and_their_place),
        CASE(a_commit_that_a_pin_held_becomes_current_without_it),
        CASE(a_rollback_is_in_the_status_of_the_source),
        CASE(a_version_that_is_chosen_instead_of_a_pinned_one_stays),
        CASE(a_branch_is_proposed),
        CASE(a_proposal_of_an_unreadable_source_ends),
        CASE(a_former_leader_changes_nothing),
        CASE(the_next_leader_fetches_what_is_current_once),
        CASE(every_result_is_in_the_audit_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
