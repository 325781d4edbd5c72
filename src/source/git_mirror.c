#include "source/git_mirror.h"

#include <stdio.h>

#include "base/log.h"
#include "source/git_access.h"
#include "source/git_default_branch.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/file_tree.h"
#include "sys/process.h"

#define REPOSITORY "repository"
#define CONFIG     "config"
#define TIP        "refs/eden/tip"

enum {
    OUTPUT_MAX = 64 << 10,
    LISTING_MAX = 64 << 20,
    DISK_ROOM_MIN = 1 << 20,
    PACK_FILES_MAX = 100 * 1000,
    /* maximum number of object files; a mirror with more is fetched again */
    MIRROR_FILES_MAX = 2000,
    /* maximum size of objects, in addition to twice the size of the files */
    MIRROR_BYTES_MAX = 64 << 20,
};

typedef struct Run {
    const GitMirror *mirror;
    const GitSource *source;
    Arena *arena;
    Str branch;      /* branch to fetch; empty: a commit is fetched */
    size_t file_max; /* maximum size of a file that git may write */
    ProcessResult result;
    bool is_damaged; /* the mirror is damaged, not the repository */
    bool is_listing; /* the branches are listed, rather than one fetched */
    bool is_sha256;  /* object format of a mirror that does not exist yet */
} Run;

/* --- Running git ------------------------------------------------------------------------------ */

/* safe.directory: a local repository may belong to another user. Nothing in it is executed:
 * programs in its configuration are ignored, and hooks are not run when it is read. */
#define CONFIG_TEXT                                                                      \
    "[safe]\n\tdirectory = *\n"                                                          \
    "[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tbigFileThreshold = 8m\n"    \
    "\tpackedGitWindowSize = 32m\n\tpackedGitLimit = 256m\n\taskPass =\n"                \
    "[credential]\n\thelper =\n"                                                         \
    "[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n"                                  \
    "[fetch]\n\trecurseSubmodules = false\n\twriteCommitGraph = false\n"                 \
    "\tunpackLimit = 1\n"                                                                \
    "[submodule]\n\trecurse = false\n"                                                   \
    "[http]\n\tlowSpeedLimit = 1000\n\tlowSpeedTime = 30\n\tfollowRedirects = initial\n" \
    "[pack]\n\tthreads = 1\n[index]\n\tthreads = 1\n"                                    \
    "[protocol]\n\tversion = 2\n"

static const char *const fixed_environment[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL=C",
    "HOME=/nonexistent",
    "GIT_CONFIG_NOSYSTEM=1",
    ("GIT_DIR=" REPOSITORY),
    "GIT_TERMINAL_PROMPT=0",
    "GIT_ALLOW_PROTOCOL=https:ssh:file",
    "GIT_ATTR_NOSYSTEM=1",
    "GIT_NO_REPLACE_OBJECTS=1",
    "GIT_NO_LAZY_FETCH=1",
    "GIT_OPTIONAL_LOCKS=0",
    ("GIT_SSH_COMMAND=" GIT_ACCESS_SSH),
    "GIT_SSH_VARIANT=ssh",
    "SSH_ASKPASS_REQUIRE=never",
    NULL,
};

/* The path of the configuration is absolute: for a local repository git changes to its directory,
 * where a relative path would be a file of its owner, who could configure programs. */
static const char *const *make_environment(Arena *arena, const char *directory)
{
    const char **all = ARENA_ARRAY(arena, const char *, COUNT_OF(fixed_environment) + 1);
    memcpy(all + 1, fixed_environment, sizeof fixed_environment);
    all[0] = arena_format(arena, "GIT_CONFIG_GLOBAL=%" STR_FMT "/" CONFIG,
                          STR_ARG(file_absolute(arena, directory)))
                 .data;
    return all;
}

typedef struct GitCall {
    const char *const *argv;
    Str input;
    int64_t timeout_ms;
    size_t output_max;
    size_t data_max; /* 0: GIT_DATA_MAX */
    ProcessSink feed;
    void *feed_context;
} GitCall;

/* Whether git was executed and succeeded. Otherwise the result or the error has the reason. */
static bool call(Run *run, const GitCall *git, bool *has_result, Error *err)
{
    ProcessSpec spec = { .argv = git->argv,
                         .env = make_environment(run->arena, run->mirror->directory),
                         .input = git->input,
                         .directory = run->mirror->directory,
                         .timeout_ms = git->timeout_ms,
                         .memory_max = GIT_MEMORY_MAX,
                         .data_max = git->data_max > 0 ? git->data_max : GIT_DATA_MAX,
                         .file_max = run->file_max,
                         .output_max = git->output_max,
                         .kill_at_max = true,
                         .canceled = run->mirror->canceled,
                         .sink = git->feed,
                         .sink_context = git->feed_context };
    *has_result = process_run(run->arena, &spec, &run->result, err);
    if (!*has_result) {
        return error_wrap(err, "git is required on servers");
    }
    return (run->result.ending == PROCESS_EXITED && run->result.exit_code == 0) ||
           process_failure(run->arena, &run->result, git->timeout_ms, err);
}

static bool read_from(Run *run, const char *const *argv, size_t max, Str *out, Error *err)
{
    bool ignored;
    if (!call(run, &(GitCall){ .argv = argv, .timeout_ms = GIT_READ_MS, .output_max = max },
              &ignored, err)) {
        return error_wrap(err, "git %s", argv[1]);
    }
    *out = run->result.out;
    return true;
}

/* Like run(), but truncates output that is too long. */
static bool read_start(Run *run, const char *const *argv, size_t max, Str *out, Error *err)
{
    if (!read_from(run, argv, max, out, err)) {
        if (run->result.ending != PROCESS_OUTPUT_LIMIT) {
            return false;
        }
        *out = run->result.out;
    }
    return true;
}

/* --- Directory -------------------------------------------------------------------------------- */

/* git writes one pack per fetch, which must not use the disk's reserve. */
static bool limit_files(Run *run, const Directory *directory, Error *err)
{
    int64_t room = directory_disk_unreserved(directory);
    run->file_max = room < (int64_t)GIT_FILE_MAX ? (size_t)(room < 0 ? 0 : room) : GIT_FILE_MAX;
    return room >= DISK_ROOM_MIN ||
           error_set(err, ERROR_UNAVAILABLE, "the server's disk is nearly full: %lld MiB are free",
                     (long long)(directory_disk_free(directory) >> 20));
}

/* Removes partial packs of a killed git. Returns the size of the largest one. */
static int64_t remove_drafts(const Directory *directory)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Directory) repository = { .descriptor = -1 };
    AUTO_CLEAR(Directory) objects = { .descriptor = -1 };
    AUTO_CLEAR(Directory) packs = { .descriptor = -1 };
    arena_init(&arena, ARENA_UNLIMITED);
    DirectoryEntry *entries;
    uint32_t count;
    int64_t largest = 0;
    Error err;
    if (!directory_open_child(directory, REPOSITORY, &repository, &err) ||
        !directory_open_child(&repository, "objects", &objects, &err) ||
        !directory_open_child(&objects, "pack", &packs, &err) ||
        !directory_list(&packs, &arena, PACK_FILES_MAX, &entries, &count, &err)) {
        return 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!str_starts(entries[i].name, STR("tmp_"))) {
            continue;
        }
        largest = entries[i].size > largest ? entries[i].size : largest;
        if (!directory_remove(&packs, entries[i].name.data, &err)) {
            log_warning("cannot remove an incomplete pack", LOG_C("error", err.text));
        }
    }
    return largest;
}

/* A killed git leaves lock files; no other git is running in this directory. */
static void remove_locks(const Directory *directory)
{
    static const char *const locks[] = { "shallow.lock", "packed-refs.lock", "config.lock",
                                         "HEAD.lock" };
    AUTO_CLEAR(Directory) repository = { .descriptor = -1 };
    AUTO_CLEAR(Directory) refs = { .descriptor = -1 };
    AUTO_CLEAR(Directory) namespace = { .descriptor = -1 };
    Error ignored;
    if (!directory_open_child(directory, REPOSITORY, &repository, &ignored)) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(locks); i++) {
        if (directory_has(&repository, locks[i]) &&
            !directory_remove(&repository, locks[i], &ignored)) {
            log_debug("lock not removed", LOG_C("error", ignored.text));
        }
    }
    if (directory_open_child(&repository, "refs", &refs, &ignored) &&
        directory_open_child(&refs, "eden", &namespace, &ignored) &&
        directory_has(&namespace, "tip.lock") &&
        !directory_remove(&namespace, "tip.lock", &ignored)) {
        log_debug("lock not removed", LOG_C("error", ignored.text));
    }
}

static bool prepare(Run *run, Directory *directory, Error *err)
{
    Buf config = buf_make_in(run->arena, BUF_UNLIMITED);
    buf_put_c(&config, CONFIG_TEXT);
    if (!directory_make(run->mirror->directory, directory, err)) {
        return false;
    }
    (void)remove_drafts(directory);
    if (!limit_files(run, directory, err) ||
        !git_access_prepare(directory, run->arena, run->source, run->mirror->credentials, &config,
                            err) ||
        !directory_write(directory, CONFIG, buf_str(&config), false, err)) {
        return false;
    }
    remove_locks(directory);
    return true;
}

static bool create_repository(Run *run, const Directory *directory, Error *err)
{
    const char *const init[] = {
        "git",    "init",        "--quiet",
        "--bare", "--template=", run->is_sha256 ? "--object-format=sha256" : "--object-format=sha1",
        NULL
    };
    AUTO_CLEAR(Directory) repository = { .descriptor = -1 };
    Str ignored;
    bool exists = directory_open_child(directory, REPOSITORY, &repository, err) &&
                  directory_has(&repository, "HEAD");
    return exists || read_from(run, init, OUTPUT_MAX, &ignored, err);
}

/* Unneeded commits are not deleted individually: a mirror that has grown is fetched again. */
static void trim(const Run *run, const Directory *directory, const GitTree *tree)
{
    static const FileTreeLimits limits = { MIRROR_FILES_MAX, 8, NULL };
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    const char *objects =
        arena_format(&arena, "%s/" REPOSITORY "/objects", run->mirror->directory).data;
    FileTree files;
    Error err;
    int64_t bytes = 0;
    bool is_listed = file_tree_list(&arena, objects, &limits, &files, &err);
    for (uint32_t i = 0; is_listed && i < files.count; i++) {
        bytes += files.items[i].size;
    }
    if (is_listed ? bytes > MIRROR_BYTES_MAX + 2 * manifest_bytes(&tree->files)
                  : err.kind == ERROR_LIMIT) {
        directory_remove_child(directory, REPOSITORY);
    }
}

/* --- Fetching --------------------------------------------------------------------------------- */

/* Caused by a killed git or a power failure: fetched objects are not synced to disk. */
static bool is_damage(Str output)
{
    static const char *const words[] = { ("not a git repository: '" REPOSITORY "'"),
                                         "object file ",
                                         "loose object ",
                                         "bad object ",
                                         "object corrupt or missing",
                                         "bad config line",
                                         "unable to find all commit-graph files",
                                         "your current branch appears to be broken" };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (str_find(output, str_from_c(words[i]), 0) != STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

/* The mirror names objects as the repository does: "mismatched algorithms: client sha1; server
 * sha256". */
static bool has_other_objects(Run *run)
{
    Str output = run->result.error_out;
    if (str_find(output, STR("mismatched algorithms: client "), 0) == STR_NOT_FOUND) {
        return false;
    }
    run->is_sha256 = str_find(output, STR("server sha256"), 0) != STR_NOT_FOUND;
    return true;
}

/* Extracts the reason from git's output, without prefixes; common reasons are reworded. */
static bool fetch_failure(Run *run, int64_t written, Error *err)
{
    const ProcessResult *result = &run->result;
    run->is_damaged = has_other_objects(run) || is_damage(result->error_out);
    if (result->ending == PROCESS_CANCELED) {
        return error_set(err, ERROR_UNAVAILABLE, "the server is stopping");
    }
    if (result->ending == PROCESS_TIMED_OUT) {
        return error_set(err, ERROR_TIMEOUT, "it could not be fetched within %d s",
                         GIT_FETCH_MS / 1000);
    }
    Str commit = run->source->commit;
    if (commit.len > 0 &&
        (str_find(result->error_out, STR("not our ref"), 0) != STR_NOT_FOUND ||
         str_find(result->error_out, STR("unadvertised object"), 0) != STR_NOT_FOUND ||
         str_find(result->error_out, STR("find remote ref"), 0) != STR_NOT_FOUND)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "the repository has no commit %.12s, or does not allow fetching it by "
                         "hash",
                         arena_copy_c(run->arena, commit));
    }
    if (str_find(result->error_out, STR("find remote ref"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_NOT_FOUND, "the repository has no branch '%" STR_FMT "'%s",
                         STR_ARG(run->branch),
                         run->source->is_default_branch
                             ? ", which was its default branch before: set the branch to follow"
                             : "");
    }
    bool is_too_large =
        written >= (int64_t)run->file_max ||
        str_find(result->error_out, STR("File too large"), 0) != STR_NOT_FOUND ||
        str_find(result->error_out, STR("signal 25"), 0) != STR_NOT_FOUND ||
        (result->ending == PROCESS_KILLED &&
         str_eq(process_signal_name(run->arena, result->signal_number), STR("SIGXFSZ")));
    if (is_too_large) {
        return error_set(err, ERROR_LIMIT, "the files of the newest commit take more than %lld MiB",
                         (long long)(run->file_max >> 20));
    }
    if (str_find(result->error_out, STR("Out of memory"), 0) != STR_NOT_FOUND) {
        return error_set(err, ERROR_LIMIT, "git needs more than %lld MiB of memory to %s",
                         (long long)((run->is_listing ? GIT_LIST_MAX : GIT_DATA_MAX) >> 20),
                         run->is_listing ? "list its branches" : "fetch it");
    }
    if (git_access_explain(run->source, run->mirror->credentials, result->error_out, err)) {
        return false;
    }
    Str why = git_access_reason(run->arena, result->error_out);
    return result->ending == PROCESS_EXITED && why.len > 0
               ? error_set(err, ERROR_UNAVAILABLE, "%" STR_FMT, STR_ARG(why))
               : process_failure(run->arena, result, GIT_FETCH_MS, err);
}

/* Determines the default branch of the repository: what its HEAD refers to. */
static bool find_branch(Run *run, const Directory *directory, Error *err)
{
    const char *const argv[] = { "git",     "ls-remote",
                                 "--quiet", "--symref",
                                 "--",      arena_copy_c(run->arena, run->source->url),
                                 "HEAD",    NULL };
    const GitCall git = {
        .argv = argv, .timeout_ms = GIT_FETCH_MS, .output_max = OUTPUT_MAX, .data_max = GIT_LIST_MAX
    };
    bool has_result;
    run->is_listing = false;
    run->branch = run->source->branch;
    if (run->branch.len > 0 || run->source->commit.len > 0) {
        return true;
    }
    run->is_listing = true;
    bool is_listed = call(run, &git, &has_result, err);
    if (!is_listed && has_result && run->result.ending != PROCESS_OUTPUT_LIMIT) {
        return fetch_failure(run, remove_drafts(directory), err);
    }
    run->is_listing = false;
    /* HEAD is listed first; many branches may have similar names. */
    return has_result && git_default_branch(run->arena, run->result.out, &run->branch, err);
}

/* Fetching by hash needs protocol version 2, in which a server sends any commit that it has. */
static Str put_refspec(const Run *run)
{
    return run->source->commit.len > 0
               ? run->source->commit
               : arena_join(run->arena, STR("refs/heads/"), run->branch, STR_EMPTY);
}

static bool fetch(Run *run, const Directory *directory, Error *err)
{
    Arena *arena = run->arena;
    Str from = put_refspec(run);
    const char *refspec = arena_format(arena, "+%" STR_FMT ":" TIP, STR_ARG(from)).data;
    const char *const argv[] = { "git",
                                 "fetch",
                                 "--quiet",
                                 "--depth=1",
                                 "--no-tags",
                                 "--no-write-fetch-head",
                                 "--no-recurse-submodules",
                                 "--no-auto-maintenance",
                                 "--update-shallow",
                                 "--",
                                 arena_copy_c(arena, run->source->url),
                                 refspec,
                                 NULL };
    const GitCall git = { .argv = argv, .timeout_ms = GIT_FETCH_MS, .output_max = OUTPUT_MAX };
    bool has_result;
    if (call(run, &git, &has_result, err)) {
        return true;
    }
    int64_t written = remove_drafts(directory);
    return has_result && fetch_failure(run, written, err);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static bool put_blob(void *context, Str id, Str data, Error *err)
{
    const Run *run = context;
    return blob_store_has_room(run->mirror->blobs, data.len, err) &&
           blob_store_put(run->mirror->blobs, id, data, err);
}

static bool has_blob(void *context, Str id)
{
    const Run *run = context;
    return blob_store_has(run->mirror->blobs, id);
}

typedef struct Reading {
    GitContents contents;
    Error err;
    bool has_failed;
} Reading;

static bool feed_contents(void *context, Str piece)
{
    Reading *reading = context;
    reading->has_failed = !git_contents_add(&reading->contents, piece, &reading->err);
    return !reading->has_failed;
}

/* Sets the rejection of the tree. */
static bool reject(GitTree *tree, const Error *why)
{
    tree->rejection = arena_copy(&tree->arena, str_from_c(why->text));
    tree->files = (Manifest){ 0 };
    str_map_init(&tree->by_object, &tree->arena);
    return true;
}

static bool read_contents(Run *run, GitTree *tree, const GitTree *before, Error *err)
{
    static const char *const argv[] = { "git", "cat-file", "--batch", "--buffer", NULL };
    Reading reading = { .contents = { .has = has_blob, .put = put_blob, .context = run } };
    bool has_result, is_complete;
    Str request = git_contents_start(run->arena, tree, before, &reading.contents);
    bool ok = request.len == 0 || call(run,
                                       &(GitCall){ .argv = argv,
                                                   .input = request,
                                                   .timeout_ms = GIT_FETCH_MS,
                                                   .output_max = OUTPUT_MAX,
                                                   .feed = feed_contents,
                                                   .feed_context = &reading },
                                       &has_result, err);
    if (!ok && reading.has_failed) {
        *err = reading.err;
    }
    if (ok && !git_contents_end(&reading.contents, &is_complete, err)) {
        ok = is_complete && reject(tree, err);
    }
    git_contents_clear(&reading.contents);
    return ok;
}

/* Fails with ERROR_DENIED if the commit is not signed by one of the signers. */
static bool check_signature(Run *run, Error *err)
{
    static const char *const verify[] = { "git", "verify-commit", TIP, NULL };
    static const char *const show[] = {
        "git", "log", "-1", "--no-mailmap", ("--format=" GIT_ACCESS_SIGNATURE), TIP, "--", NULL
    };
    bool has_result;
    Str text;
    Error why;
    if (run->source->signers.len == 0 ||
        call(run, &(GitCall){ .argv = verify, .timeout_ms = GIT_READ_MS, .output_max = OUTPUT_MAX },
             &has_result, err)) {
        return true;
    }
    if (!has_result || run->result.ending != PROCESS_EXITED) {
        return false;
    }
    if (!read_from(run, show, OUTPUT_MAX, &text, err)) {
        return false;
    }
    return !git_access_check_signature(text, &why)
               ? error_set(err, ERROR_DENIED, "%s", why.text)
               : error_set(err, ERROR_DENIED,
                           "the commit has no valid signature by one of the 'signers'");
}

static bool read_tip(Run *run, const GitTree *before, GitTree *tree, Error *err)
{
    static const char *const log[] = { "git",
                                       "log",
                                       "-1",
                                       "--no-show-signature",
                                       "--no-mailmap",
                                       ("--format=" GIT_TREE_LOG_FORMAT),
                                       TIP,
                                       "--",
                                       NULL };
    /* Directories are listed too, because a commit of a few kilobytes may contain billions of empty
     * ones. */
    static const char *const list[] = { "git",    "ls-tree",     "-r", "-t", "-z",
                                        "--long", "--full-tree", TIP,  NULL };
    Str text;
    /* The author's name and the first paragraph of the message may have any length. */
    if (!read_start(run, log, OUTPUT_MAX, &text, err) || !git_tree_read_commit(tree, text, err)) {
        return false;
    }
    const GitContents present = { .has = has_blob, .context = run };
    if (before != NULL && str_eq(before->commit, tree->commit) &&
        git_contents_exist(&present, before)) {
        return true; /* the caller keeps `before` */
    }
    if (!check_signature(run, err)) {
        return err->kind == ERROR_DENIED ? reject(tree, err) : false;
    }
    if (!read_from(run, list, LISTING_MAX, &text, err)) {
        return run->result.ending == PROCESS_OUTPUT_LIMIT ? reject(tree, err) : false;
    }
    return git_tree_read_listing(tree, text, err) ? read_contents(run, tree, before, err)
                                                  : reject(tree, err);
}

/* --- Update ----------------------------------------------------------------------------------- */

static bool update_once(Run *run, const Directory *directory, const GitTree *before, GitTree *tree,
                        Error *err)
{
    run->is_damaged = false;
    if (!create_repository(run, directory, err) || !find_branch(run, directory, err) ||
        !fetch(run, directory, err)) {
        return false;
    }
    tree->branch = arena_copy(&tree->arena, run->branch);
    if (!read_tip(run, before, tree, err)) {
        run->is_damaged = run->result.ending == PROCESS_EXITED;
        return false;
    }
    return true;
}

/* Files of an unreachable repository that were lost are read from the mirror again: other sources
 * need them for their versions, too. */
static void restore(const Run *failed, const GitTree *before)
{
    Run run = *failed;
    const GitContents present = { .has = has_blob, .context = &run };
    Error why;
    if (before == NULL || git_contents_exist(&present, before)) {
        return;
    }
    AUTO(GitTree) *tree = git_tree_new();
    if (!read_tip(&run, before, tree, &why)) {
        log_warning("cannot read lost files of a source from its mirror",
                    LOG_STR("source", run.source->name), LOG_C("error", why.text));
    }
}

/* A damaged mirror is replaced by a new one. */
static bool update(Run *run, const Directory *directory, const GitTree *before, GitTree **tree,
                   Error *err)
{
    bool ok = update_once(run, directory, before, *tree, err);
    if (!ok && run->is_damaged) {
        git_access_scrub(run->mirror->credentials, err);
        log_warning("mirror of a source cannot be used; fetching it again",
                    LOG_STR("source", run->source->name), LOG_C("error", err->text));
        directory_remove_child(directory, REPOSITORY);
        git_tree_unref(TAKE(*tree));
        *tree = git_tree_new();
        ok = update_once(run, directory, before, *tree, err);
    }
    if (!ok && !run->is_damaged) {
        restore(run, before);
    }
    if (ok && (before == NULL || !str_eq(before->commit, (*tree)->commit))) {
        trim(run, directory, *tree);
    }
    return ok;
}

bool git_mirror_update(const GitMirror *mirror, const GitSource *source, const GitTree *before,
                       GitTree **out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    AUTO(GitTree) *tree = git_tree_new();
    Run run = { .mirror = mirror, .source = source, .arena = &arena };
    bool ok = prepare(&run, &directory, err) && update(&run, &directory, before, &tree, err);
    git_access_end(&directory);
    if (!ok) {
        git_access_scrub(mirror->credentials, err);
        return false;
    }
    *out = TAKE(tree);
    return true;
}
