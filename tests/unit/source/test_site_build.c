/* Commits become versions: checked by a program that replaces eden, made current, or only
 * proposed. */
#include "source/site_build.h"

#include "cluster/cluster_keys.h"
#include "failing_store.h"
#include "net/world.h"
#include "ready_state.h"
#include "source/site_proposal.h"

#define PREFIX STR("/eden")
#define BLOB   "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

#define VALID_PROGRAM "#!/bin/sh\necho '{\"problems\":[]}'\n"

typedef struct Fixture {
    FailingStore *store;
    World world;
    Scratch *scratch;
    ClusterStore cluster_store;
    Versions *versions;
    WorkQueue *queue;
    StoreCompare fence;
    GitTree *trees[4];
    uint32_t tree_count;
    uint32_t waiting;
    bool has_result;
    Error err;
    SiteBuildResult result; /* in the arena */
} Fixture;

static Arena *arena_of(Fixture *f)
{
    return &f->scratch->arena;
}

static void stored(void *context, const StoreReply *reply, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->waiting--;
    loop_stop(f->world.loop);
}

static void finish(Fixture *f)
{
    while (f->waiting > 0) {
        world_run(&f->world);
    }
}

/* Returns the revision, which the state has seen. */
static int64_t put_key(Fixture *f, Str key, Str value)
{
    Error err;
    f->waiting++;
    assert_true(store_put(f->cluster_store.store, key, value, 0, stored, f, &err));
    finish(f);
    int64_t revision = store_status(f->cluster_store.store).revision;
    while (state_age(f->cluster_store.state).revision < revision) {
        world_pass(&f->world, 1);
    }
    return revision;
}

static void put_program(Fixture *f, const char *script)
{
    scratch_put(f->scratch, "program", script);
    chmod(scratch_place(f->scratch, "program"), 0755);
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
    put_program(f, VALID_PROGRAM);
    f->versions =
        versions_new(&(VersionsSettings){ .cluster_store = f->cluster_store,
                                          .directory = scratch_place(f->scratch, "server"),
                                          .program = scratch_place(f->scratch, "program") });
    f->queue = work_queue_new(f->world.loop);
    Str key = cluster_key_leader(arena_of(f), PREFIX);
    f->fence = (StoreCompare){ .target = STORE_CREATE_REVISION,
                               .relation = STORE_EQUAL,
                               .key = key,
                               .number = put_key(f, key, STR("{}")) };
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    *state = f->scratch;
    work_queue_free(f->queue);
    versions_free(f->versions);
    for (uint32_t i = 0; i < f->tree_count; i++) {
        assert_int_equal(f->trees[i]->references, 1);
        git_tree_unref(f->trees[i]);
    }
    follow_stop(&f->cluster_store);
    world_pass(&f->world, 5);
    store_close(f->cluster_store.store);
    follow_free(&f->cluster_store);
    world_close(&f->world);
    free(f);
    return scratch_tear_down(state);
}

static void depose(Fixture *f)
{
    f->fence.number++;
}

static bool put_blob(void *context, Str id, Str data, Error *err)
{
    BlobStore *blobs;
    return versions_blob_store(context, &blobs, err) && blob_store_put(blobs, id, data, err);
}

static Str commit_of(Fixture *f, char digit)
{
    return arena_format(arena_of(f), "%.*s%c", GIT_ID_MAX - 1,
                        "0000000000000000000000000000000000000000000000000000000000000000", digit);
}

/* A commit with one file, whose blob is stored. */
static GitTree *make_tree(Fixture *f, char digit, const char *path, const char *data)
{
    GitTree *tree = f->trees[f->tree_count++] = git_tree_new();
    GitContents contents;
    bool is_complete;
    Error err;
    Str commit = commit_of(f, digit);
    Buf text = buf_make_in(arena_of(f), BUF_UNLIMITED);
    buf_put(&text, commit);
    buf_put(&text, STR("\0Ann <ann@example.org>\0greet all\n"));
    assert_true(git_tree_read_commit(tree, buf_str(&text), &err));
    text = buf_make_in(arena_of(f), BUF_UNLIMITED);
    buf_put_format(&text, "100644 blob " BLOB " %zu\t%s", strlen(data), path);
    buf_put_char(&text, '\0');
    assert_true(git_tree_read_listing(tree, buf_str(&text), &err));
    contents = (GitContents){ .put = put_blob, .context = f->versions };
    git_contents_start(arena_of(f), tree, NULL, &contents);
    text = buf_make_in(arena_of(f), BUF_UNLIMITED);
    buf_put_format(&text, BLOB " blob %zu\n%s\n", strlen(data), data);
    assert_true(git_contents_add(&contents, buf_str(&text), &err));
    assert_true(git_contents_end(&contents, &is_complete, &err));
    git_contents_clear(&contents);
    return tree;
}

static GitTree *make_site(Fixture *f)
{
    return make_tree(f, '1', "jobs/base.yaml", "steps: []\n");
}

/* --- Builds ----------------------------------------------------------------------------------- */

static void built(void *context, const SiteBuildResult *result, const Error *err)
{
    Fixture *f = context;
    assert_true((result == NULL) == (err != NULL));
    f->has_result = result != NULL;
    f->err = err == NULL ? (Error){ 0 } : *err;
    f->result = (SiteBuildResult){ 0 };
    if (result != NULL) {
        f->result = (SiteBuildResult){ arena_copy(arena_of(f), result->version),
                                       arena_copy(arena_of(f), result->manifest),
                                       arena_copy(arena_of(f), result->rejection),
                                       arena_copy(arena_of(f), result->held) };
    }
    f->waiting--;
    loop_stop(f->world.loop);
}

static SiteBuildSpec spec_of(Fixture *f, SitePart *parts, uint32_t count, GitTree *const *trees)
{
    return (SiteBuildSpec){ .cluster_store = f->cluster_store,
                            .versions = f->versions,
                            .queue = f->queue,
                            .fence = &f->fence,
                            .parts = { .items = parts, .count = count },
                            .trees = trees,
                            .source = { .source = STR("https://git.example.net/site.git"),
                                        .commit = trees[0]->commit,
                                        .branch = STR("main"),
                                        .author = trees[0]->author,
                                        .subject = trees[0]->subject },
                            .requested_by = STR("source:site"),
                            .reason = STR("a commit"),
                            .done = built,
                            .context = f };
}

static void build_of(Fixture *f, const SiteBuildSpec *spec)
{
    f->waiting++;
    assert_non_null(site_build_start(spec));
    assert_int_equal(f->waiting, 1);
    finish(f);
    world_pass(&f->world, 5);
}

/* The whole site is this commit. */
static void build(Fixture *f, GitTree *tree)
{
    SitePart part = { STR("site"), STR_EMPTY, tree->commit };
    SiteBuildSpec spec = spec_of(f, &part, 1, &tree);
    build_of(f, &spec);
}

static CurrentVersion current(Fixture *f)
{
    CurrentVersion found = { 0 };
    (void)versions_current(arena_of(f), f->cluster_store.state, PREFIX, &found);
    return found;
}

static VersionEntry find(Fixture *f, Str name)
{
    VersionEntry entry;
    Error err;
    assert_true(versions_find(arena_of(f), f->cluster_store.state, PREFIX, name, &entry, &err));
    return entry;
}

static Manifest manifest_of(Fixture *f, Str id)
{
    BlobStore *blobs;
    Manifest manifest;
    Str text;
    Error err;
    assert_true(versions_blob_store(f->versions, &blobs, &err));
    assert_true(blob_store_read(blobs, arena_of(f), id, &text, &err));
    assert_true(manifest_read(arena_of(f), text, &manifest, &err));
    return manifest;
}

static void a_commit_becomes_the_current_version(void **state)
{
    Fixture *f = *state;
    build(f, make_site(f));
    assert_true(f->has_result);
    assert_str(f->result.rejection, "");
    assert_str(f->result.held, "");
    VersionEntry entry = find(f, f->result.version);
    assert_int_equal(entry.version.state, VERSION_VALID);
    assert_int_equal(entry.version.origin, VERSION_FROM_GIT);
    assert_str(entry.version.requested_by, "source:site");
    assert_str(entry.version.source.source, "https://git.example.net/site.git");
    assert_true(str_eq(entry.version.source.commit, commit_of(f, '1')));
    assert_str(entry.version.source.branch, "main");
    assert_str(entry.version.source.author, "Ann <ann@example.org>");
    assert_str(entry.version.source.subject, "greet all");
    assert_true(str_eq_c(f->result.manifest, entry.version.manifest));
    CurrentVersion now = current(f);
    assert_true(str_eq_c(f->result.version, now.version));
    assert_true(now.is_applied);
    assert_false(now.is_pinned);
    assert_str(now.requested_by, "source:site");
    assert_str(now.reason, "a commit");
}

static void what_is_given_is_copied(void **state)
{
    Fixture *f = *state;
    GitTree *tree = make_site(f), *trees[] = { tree };
    char name[] = "site", directory[] = "", reason[] = "a commit", by[] = "source:site";
    SitePart part = { str_from_c(name), str_from_c(directory), tree->commit };
    SiteBuildSpec spec = spec_of(f, &part, 1, trees);
    spec.requested_by = str_from_c(by);
    spec.reason = str_from_c(reason);
    f->waiting++;
    assert_non_null(site_build_start(&spec));
    trees[0] = NULL;
    part = (SitePart){ 0 };
    memset(name, 'x', sizeof name - 1);
    memset(reason, 'x', sizeof reason - 1);
    memset(by, 'x', sizeof by - 1);
    assert_int_equal(tree->references, 2);
    finish(f);
    world_pass(&f->world, 5);
    assert_true(f->has_result);
    assert_str(current(f).requested_by, "source:site");
    assert_str(current(f).reason, "a commit");
}

static void a_source_without_a_commit_keeps_its_files(void **state)
{
    Fixture *f = *state;
    GitTree *base = make_site(f), *shop = make_tree(f, '2', "base.yaml", "steps: [1]\n");
    GitTree *newer = make_tree(f, '3', "base.yaml", "steps: [2]\n");
    SitePart parts[] = { { STR("base"), STR_EMPTY, base->commit },
                         { STR("shop"), STR("shop"), shop->commit } };
    GitTree *both[] = { base, shop }, *only[] = { base, NULL }, *last[] = { NULL, newer };
    SiteBuildSpec spec = spec_of(f, parts, 2, both);
    build_of(f, &spec);
    assert_true(f->has_result);
    Str first = f->result.manifest;
    spec.valid =
        (SiteParts){ .items = parts, .count = 2, .version = f->result.version, .manifest = first };
    spec.trees = only;
    build_of(f, &spec);
    assert_true(f->has_result);
    assert_true(str_eq(f->result.manifest, first));
    spec.trees = last;
    build_of(f, &spec);
    assert_true(f->has_result);
    assert_false(str_eq(f->result.manifest, first));
    Manifest before = manifest_of(f, first), now = manifest_of(f, f->result.manifest);
    assert_int_equal(now.file_count, 2);
    assert_true(str_eq(manifest_find(&now, STR("jobs/base.yaml"))->blobs[0],
                       manifest_find(&before, STR("jobs/base.yaml"))->blobs[0]));
    assert_false(str_eq(manifest_find(&now, STR("shop/base.yaml"))->blobs[0],
                        manifest_find(&before, STR("shop/base.yaml"))->blobs[0]));
}

/* It is not the fault of the commit, which must not count as rejected. */
static void an_unreadable_last_version_is_a_failure(void **state)
{
    Fixture *f = *state;
    GitTree *base = make_site(f), *trees[] = { base, NULL };
    SitePart parts[] = { { STR("base"), STR_EMPTY, base->commit },
                         { STR("shop"), STR("shop"), commit_of(f, '2') } };
    char missing[BLOB_ID_TEXT + 1], other[BLOB_ID_TEXT + 1];
    blob_id_of(STR("missing"), missing);
    blob_id_of(STR("steps: []\n"), other);
    SiteBuildSpec spec = spec_of(f, parts, 2, trees);
    const char *const ids[] = { missing, other };
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        spec.valid = (SiteParts){ .items = parts, .count = 2, .manifest = str_from_c(ids[i]) };
        build_of(f, &spec);
        assert_false(f->has_result);
        assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
        assert_non_null(strstr(f->err.text, "the last valid version cannot be read: "));
        assert_string_equal(current(f).version, "");
    }
}

static void sources_in_the_same_place_are_rejected(void **state)
{
    static const struct {
        const char *directory, *why;
    } rows[] = {
        { "", "sources 'base' and 'shop' provide the same directory of the site" },
        { "jobs",
          "jobs/base.yaml is in source 'base', but its directory belongs to source 'shop'" },
    };
    Fixture *f = *state;
    GitTree *base = make_site(f), *shop = make_tree(f, '2', "base.yaml", "steps: [1]\n");
    GitTree *trees[] = { base, shop };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        SitePart parts[] = { { STR("base"), STR_EMPTY, base->commit },
                             { STR("shop"), str_from_c(rows[i].directory), shop->commit } };
        SiteBuildSpec spec = spec_of(f, parts, 2, trees);
        build_of(f, &spec);
        assert_true(f->has_result);
        assert_str(f->result.rejection, rows[i].why);
        assert_int_equal(f->result.version.len, 0);
        assert_string_equal(current(f).version, "");
    }
}

static void a_commit_that_is_no_site_is_rejected(void **state)
{
    Fixture *f = *state;
    build(f, make_tree(f, '1', "README", "hello\n"));
    assert_true(f->has_result);
    assert_str(f->result.rejection, "not a site: it has no jobs/base.yaml");
    assert_int_equal(f->result.version.len, 0);
}

static void the_first_problem_is_the_reason(void **state)
{
    static const struct {
        const char *problems, *reason;
        bool is_counted;
    } rows[] = {
        { "{\"file\":\"jobs/base.yaml\",\"line\":3,\"column\":5,\"message\":\"bad\"}",
          "jobs/base.yaml:3:5: bad", false },
        { "{\"file\":\"jobs/base.yaml\",\"line\":1,\"column\":1,\"message\":\"bad\"}",
          "jobs/base.yaml:1:1: bad", false },
        { "{\"file\":\"jobs/base.yaml\",\"message\":\"bad\"}", "jobs/base.yaml: bad", false },
        { "{\"message\":\"bad\"}", "bad", false },
        { "{\"message\":\"bad\"},{\"message\":\"worse\"}",
          "bad (1 of 2 problems: 'eden versions show ", true },
    };
    Fixture *f = *state;
    GitTree *tree = make_site(f);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        put_program(f,
                    arena_format(arena_of(f), "#!/bin/sh\necho '{\"problems\":[%s]}'\nexit 1\n%c",
                                 rows[i].problems, '\0')
                        .data);
        build(f, tree);
        assert_true(f->has_result);
        Str expected = str_from_c(rows[i].reason);
        if (rows[i].is_counted) {
            expected = arena_format(arena_of(f), "%s%" STR_FMT "')", rows[i].reason,
                                    STR_ARG(f->result.version));
        }
        assert_true(str_eq(f->result.rejection, expected));
        assert_int_equal(find(f, f->result.version).version.state, VERSION_REJECTED);
        assert_string_equal(current(f).version, "");
    }
    put_program(f, VALID_PROGRAM);
    build(f, tree);
    assert_str(f->result.rejection, "");
    assert_true(str_eq_c(f->result.version, current(f).version));
}

/* A name of any length may be in a message, and the status must be readable. */
static void a_long_reason_is_cut(void **state)
{
    Fixture *f = *state;
    put_program(f, "#!/bin/sh\nprintf '{\"problems\":[{\"message\":\"'\n"
                   "head -c 20000 /dev/zero | tr '\\0' x; echo '\"}]}'\nexit 1\n");
    build(f, make_site(f));
    assert_true(f->has_result);
    assert_int_equal(f->result.rejection.len, GIT_TEXT_MAX);
}

static void ended(void *context, const Error *err)
{
    Fixture *f = context;
    assert_null(err);
    f->waiting--;
    loop_stop(f->world.loop);
}

static void a_pinned_version_stays(void **state)
{
    Fixture *f = *state;
    build(f, make_site(f));
    Str first = f->result.version;
    f->waiting++;
    versions_activate(
        f->versions,
        &(VersionActivation){ .version = first, .pin = PIN_SET, .requested_by = STR("user:ann") },
        ended, f);
    finish(f);
    build(f, make_tree(f, '2', "jobs/base.yaml", "steps: [2]\n"));
    assert_true(f->has_result);
    assert_str(f->result.rejection, "");
    assert_true(f->result.held.len > 0);
    assert_false(str_eq(f->result.version, first));
    assert_int_equal(find(f, f->result.version).version.state, VERSION_VALID);
    assert_true(str_eq_c(first, current(f).version));
}

static void a_former_leader_changes_nothing(void **state)
{
    Fixture *f = *state;
    GitTree *tree = make_site(f);
    depose(f);
    build(f, tree);
    assert_false(f->has_result);
    assert_int_equal(f->err.kind, ERROR_CONFLICT);
    VersionEntry *entries;
    assert_int_equal(versions_list(arena_of(f), f->cluster_store.state, PREFIX, &entries), 0);
}

static void a_server_without_a_directory_for_blobs_reports_it(void **state)
{
    Fixture *f = *state;
    GitTree *tree = f->trees[f->tree_count++] = git_tree_new();
    Error err;
    scratch_put(f->scratch, "server", "not a directory");
    assert_true(git_tree_read_commit(tree, STR(BLOB "\0Ann\0x"), &err));
    build(f, tree);
    assert_false(f->has_result);
    assert_int_not_equal(f->err.kind, ERROR_NONE);
}

static void an_abandoned_build_reports_nothing(void **state)
{
    Fixture *f = *state;
    GitTree *tree = make_site(f);
    SitePart part = { STR("site"), STR_EMPTY, tree->commit };
    SiteBuildSpec spec = spec_of(f, &part, 1, &tree);
    site_build_abandon(site_build_start(&spec));
    site_build_abandon(NULL);
    while (tree->references > 1) {
        world_pass(&f->world, 1);
    }
    assert_false(f->has_result);
    assert_string_equal(current(f).version, "");
}

static void a_stopping_server_ends_builds(void **state)
{
    Fixture *f = *state;
    GitTree *tree = make_site(f);
    SitePart part = { STR("site"), STR_EMPTY, tree->commit };
    SiteBuildSpec spec = spec_of(f, &part, 1, &tree);
    f->waiting++;
    assert_non_null(site_build_start(&spec));
    work_queue_free(TAKE(f->queue));
    assert_int_equal(f->waiting, 0);
    assert_false(f->has_result);
    assert_int_equal(f->err.kind, ERROR_UNAVAILABLE);
}

/* --- Proposals -------------------------------------------------------------------------------- */

static void proposed(void *context, const Error *err)
{
    Fixture *f = context;
    f->err = err == NULL ? (Error){ 0 } : *err;
    f->waiting--;
    loop_stop(f->world.loop);
}

static Str proposal_key(Fixture *f)
{
    return cluster_key_source_proposal(arena_of(f), PREFIX, STR("shop"));
}

static int64_t request(Fixture *f)
{
    Buf text = buf_make_in(arena_of(f), BUF_UNLIMITED);
    git_proposal_print(
        &(GitProposal){ .time_ms = 7, .requested_by = STR("user:ann"), .branch = STR("topic") },
        &text);
    return put_key(f, proposal_key(f), buf_str(&text));
}

/* Of the source "shop", whose files are in the directory shop. */
static SiteProposal *start_proposal(Fixture *f, GitTree *tree, const Error *err,
                                    const SiteParts *valid, int64_t revision)
{
    GitSource source = { .name = STR("shop"),
                         .url = STR("https://git.example.net/shop.git"),
                         .branch = STR("main"),
                         .directory = STR("shop") };
    GitProposal proposal = { .time_ms = 7,
                             .requested_by = STR("user:ann"),
                             .branch = STR("topic") };
    return site_proposal_start(&(SiteProposalSpec){ .cluster_store = f->cluster_store,
                                                    .versions = f->versions,
                                                    .queue = f->queue,
                                                    .fence = &f->fence,
                                                    .source = &source,
                                                    .proposal = &proposal,
                                                    .request = revision,
                                                    .tree = tree,
                                                    .err = err,
                                                    .valid = valid,
                                                    .done = proposed,
                                                    .context = f });
}

static void propose(Fixture *f, GitTree *tree, const Error *err, const SiteParts *valid,
                    int64_t revision)
{
    f->waiting++;
    assert_non_null(start_proposal(f, tree, err, valid, revision));
    assert_int_equal(f->waiting, 1);
    finish(f);
    world_pass(&f->world, 5);
}

static GitProposal proposal_of(Fixture *f)
{
    GitProposal found;
    assert_true(
        git_proposal_find(arena_of(f), f->cluster_store.state, PREFIX, STR("shop"), &found) > 0);
    assert_int_equal(found.time_ms, 7);
    assert_str(found.requested_by, "user:ann");
    assert_str(found.branch, "topic");
    return found;
}

static void a_proposal_becomes_a_version_that_is_not_current(void **state)
{
    Fixture *f = *state;
    GitTree *base = make_site(f);
    build(f, base);
    Str first = f->result.version;
    SitePart others[] = { { STR("base"), STR_EMPTY, base->commit },
                          { STR("shop"), STR("shop"), commit_of(f, '8') },
                          { STR("zoo"), STR("zoo"), commit_of(f, '9') } };
    int64_t revision = request(f);
    propose(f, make_tree(f, '2', "base.yaml", "steps: [2]\n"), NULL,
            &(SiteParts){
                .items = others, .count = 3, .version = first, .manifest = f->result.manifest },
            revision);
    assert_int_equal(f->err.kind, ERROR_NONE);
    GitProposal found = proposal_of(f);
    assert_int_equal(found.request, revision);
    assert_str(found.rejection, "");
    assert_str(found.error, "");
    assert_true(str_eq(found.found, commit_of(f, '2')));
    Version version = find(f, found.version).version;
    assert_str(version.requested_by, "user:ann");
    assert_str(version.source.branch, "topic");
    assert_str(version.source.source, "https://git.example.net/shop.git");
    assert_str(version.source.subject, "greet all");
    Manifest files = manifest_of(f, str_from_c(version.manifest));
    assert_int_equal(files.file_count, 2);
    assert_non_null(manifest_find(&files, STR("jobs/base.yaml")));
    assert_non_null(manifest_find(&files, STR("shop/base.yaml")));
    assert_true(str_eq_c(first, current(f).version));
}

static void the_first_proposal_needs_no_other_source(void **state)
{
    Fixture *f = *state;
    propose(f, make_tree(f, '2', "base.yaml", "steps: [2]\n"), NULL, &(SiteParts){ 0 }, request(f));
    GitProposal found = proposal_of(f);
    assert_str(found.rejection, "not a site: it has no jobs/base.yaml");
    assert_str(found.version, "");
    assert_string_equal(git_proposal_state(&found), "rejected");
}

static void a_commit_that_cannot_be_fetched_is_recorded(void **state)
{
    Fixture *f = *state;
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "no such branch");
    propose(f, NULL, &err, &(SiteParts){ 0 }, request(f));
    assert_int_equal(f->err.kind, ERROR_NONE);
    GitProposal found = proposal_of(f);
    assert_str(found.error, "no such branch");
    assert_string_equal(git_proposal_state(&found), "failed");
}

static void a_result_that_cannot_be_recorded_is_recorded_later(void **state)
{
    Fixture *f = *state;
    Error full, err;
    error_set(&full, ERROR_UNAVAILABLE, "the disk is full");
    error_set(&err, ERROR_UNAVAILABLE, "no such branch");
    int64_t revision = request(f);
    f->store->reads = &full;
    f->waiting++;
    assert_non_null(start_proposal(f, NULL, &err, &(SiteParts){ 0 }, revision));
    world_pass(&f->world, 20);
    assert_int_equal(f->waiting, 1);
    f->store->reads = NULL;
    finish(f);
    world_pass(&f->world, 5);
    assert_int_equal(f->err.kind, ERROR_NONE);
    assert_str(proposal_of(f).error, "no such branch");
}

static void a_commit_that_cannot_be_part_of_a_site_is_recorded(void **state)
{
    Fixture *f = *state;
    GitTree *tree = make_site(f);
    tree->rejection = STR("vendor: is a submodule");
    propose(f, tree, NULL, &(SiteParts){ 0 }, request(f));
    GitProposal found = proposal_of(f);
    assert_str(found.rejection, "vendor: is a submodule");
    assert_str(found.version, "");
    assert_true(str_eq(found.found, tree->commit));
}

static void a_failed_build_is_recorded(void **state)
{
    Fixture *f = *state;
    SitePart other = { STR("base"), STR_EMPTY, commit_of(f, '1') };
    char missing[BLOB_ID_TEXT + 1];
    blob_id_of(STR("missing"), missing);
    propose(f, make_tree(f, '2', "base.yaml", "steps: [2]\n"), NULL,
            &(SiteParts){ .items = &other, .count = 1, .manifest = str_from_c(missing) },
            request(f));
    GitProposal found = proposal_of(f);
    assert_string_equal(git_proposal_state(&found), "failed");
    assert_true(str_starts(found.error, STR("the last valid version cannot be read: ")));
}

static void a_replaced_request_is_left_alone(void **state)
{
    Fixture *f = *state;
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "no such branch");
    int64_t first = request(f);
    (void)request(f);
    propose(f, NULL, &err, &(SiteParts){ 0 }, first);
    assert_int_equal(f->err.kind, ERROR_NONE);
    GitProposal found = proposal_of(f);
    assert_string_equal(git_proposal_state(&found), "pending");
    assert_str(found.error, "");
}

static void a_former_leader_records_no_proposal(void **state)
{
    Fixture *f = *state;
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "no such branch");
    int64_t revision = request(f);
    depose(f);
    propose(f, NULL, &err, &(SiteParts){ 0 }, revision);
    assert_int_equal(f->err.kind, ERROR_CONFLICT);
    GitProposal found = proposal_of(f);
    assert_string_equal(git_proposal_state(&found), "pending");
}

static void an_abandoned_proposal_records_nothing(void **state)
{
    Fixture *f = *state;
    GitTree *tree = make_site(f);
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "no such branch");
    int64_t revision = request(f);
    site_proposal_abandon(start_proposal(f, NULL, &err, &(SiteParts){ 0 }, revision));
    site_proposal_abandon(start_proposal(f, tree, NULL, &(SiteParts){ 0 }, revision));
    site_proposal_abandon(NULL);
    while (tree->references > 1) {
        world_pass(&f->world, 1);
    }
    world_pass(&f->world, 5);
    GitProposal found = proposal_of(f);
    assert_string_equal(git_proposal_state(&found), "pending");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_commit_becomes_the_current_version),
        CASE(what_is_given_is_copied),
        CASE(a_source_without_a_commit_keeps_its_files),
        CASE(an_unreadable_last_version_is_a_failure),
        CASE(sources_in_the_same_place_are_rejected),
        CASE(a_commit_that_is_no_site_is_rejected),
        CASE(the_first_problem_is_the_reason),
        CASE(a_long_reason_is_cut),
        CASE(a_pinned_version_stays),
        CASE(a_former_leader_changes_nothing),
        CASE(a_server_without_a_directory_for_blobs_reports_it),
        CASE(an_abandoned_build_reports_nothing),
        CASE(a_stopping_server_ends_builds),
        CASE(a_proposal_becomes_a_version_that_is_not_current),
        CASE(the_first_proposal_needs_no_other_source),
        CASE(a_commit_that_cannot_be_fetched_is_recorded),
        CASE(a_commit_that_cannot_be_part_of_a_site_is_recorded),
        CASE(a_result_that_cannot_be_recorded_is_recorded_later),
        CASE(a_failed_build_is_recorded),
        CASE(a_replaced_request_is_left_alone),
        CASE(a_former_leader_records_no_proposal),
        CASE(an_abandoned_proposal_records_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
