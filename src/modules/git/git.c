/* git.cloned: a clone of a repository, at a branch, tag or commit.
 *
 * refs/eden/head in the clone is the commit that eden last checked out. Commits that neither it nor
 * a branch of the repository contains were made locally. */
#include "modules/file/target.h"
#include "modules/git/program.h"
#include "modules/git/refs.h"
#include "modules/tool.h"
#include "sys/host_stream.h"

enum {
    DEPTH_MAX = 1000000
};

static const ParamSpec cloned_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of the directory" },
    { "repo", PARAM_STRING, .aspect = "repository", .required = true,
      .help = "address of the repository: https://..., ssh://..., host:path, or a path" },
    { "rev", PARAM_STRING, .aspect = "revision",
      .help = "branch, tag, or full commit hash; default: the repository's default branch" },
    { "depth", PARAM_INT, .fallback = "0", .help = "number of commits to fetch; 0: all" },
    { "submodules", PARAM_BOOL, .fallback = "false", .help = "clone submodules too" },
    { "force", PARAM_BOOL, .fallback = "false",
      .help = "discard local changes and commits instead of failing" },
    { "user", PARAM_STRING, .help = "user that runs git and owns the clone" },
    { "key", PARAM_PATH, .help = "path of the private key for ssh" },
    { "known_hosts", PARAM_PATH, .help = "path of the only known_hosts file that ssh uses" },
    { "username", PARAM_STRING, .help = "user name for https" },
    { "password", PARAM_STRING,
      .help = "password or token for https; not sent to any other server" },
    { 0 },
};

/* What check has found; passed to apply. */
typedef struct Clone {
    Git git;
    Str path, address, rev;
    Str git_path;  /* path of the clone, as passed to git */
    FileKind kind; /* kind of the existing file */
    bool exists;   /* the path is a clone */
    GitRef wanted; /* `commit` is empty if not known yet */
    Str head;      /* commit that is checked out; may be empty */
    Str branch;    /* current branch; may be empty */
    bool changes_address;
    bool switches_commit;    /* check out another commit or branch */
    bool discards_changes;   /* discard local changes */
    bool updates_submodules; /* submodules need an update */
} Clone;

/* --- Parameters ------------------------------------------------------------------------------ */

static bool read_params(Call *call, Clone *clone, Error *err)
{
    int64_t depth = call_int(call, "depth", 0);
    clone->path = call_str(call, "name");
    clone->address = call_str(call, "repo");
    clone->rev = call_str(call, "rev");
    if (!git_begin(call, &clone->git, err) || !git_check_address(clone->address, err)) {
        return false;
    }
    if (value_is_secret(call_param(call, "repo"))) {
        return error_set(err, ERROR_INVALID,
                         "'repo' is stored in the clone and cannot be a secret; use 'password'");
    }
    if (depth < 0 || depth > DEPTH_MAX) {
        return error_set(err, ERROR_INVALID, "'depth' must be a number from 0 to %d", DEPTH_MAX);
    }
    clone->git.local = git_address_is_local(clone->address);
    clone->git.server = git_server_of(call->arena, clone->address);
    return !call_has(call, "rev") || git_check_rev(clone->rev, err) || call_blame(call, "rev");
}

static bool verify_params(Call *call, Error *err)
{
    Clone ignored = { 0 };
    return read_params(call, &ignored, err);
}
CALL_VERIFY(cloned_verify, verify_params)

/* If an earlier step of the plan creates it, the outcome is unknown. */
static bool report_pending(Outcome *outcome, bool is_pending)
{
    outcome->changed = outcome->unknown = is_pending;
    return is_pending;
}

/* The repository cannot be read, but an earlier step may create what is missing: the repository
 * itself, or ssh's configuration. */
static bool remote_is_pending(Call *call, const Clone *clone)
{
    if (clone->git.local && str_starts(clone->address, STR("/"))) {
        return call_report_missing(call, "repo", "path", clone->address);
    }
    return call_report_missing(call, "repo", "remote", clone->address) ||
           call_report_missing(call, "repo", "path", STR("/etc/ssh/")) ||
           call_report_missing(call, "repo", "path", STR("/root/.ssh/"));
}

static bool check_prerequisites(Call *call, bool *created_later, Error *err)
{
    Account ignored;
    Str user = call_str(call, "user");
    *created_later = false;
    if (!tool_exists(call, "git")) {
        *created_later = call_report_missing_program(call, "git");
        return *created_later || error_set(err, ERROR_NOT_FOUND, "git not found (package git)");
    }
    if (user.len == 0 || host_find_account(call->host, call->arena, user, &ignored, err)) {
        return true;
    }
    *created_later =
        err->kind == ERROR_NOT_FOUND && call_report_missing(call, "user", "user", user);
    return *created_later;
}

static bool find_wanted(Call *call, Clone *clone, Error *err)
{
    Str listed;
    if (git_is_commit(clone->rev)) {
        char *digits = arena_copy_c(call->arena, clone->rev);
        for (size_t i = 0; i < clone->rev.len; i++) {
            digits[i] = ascii_lower(digits[i]);
        }
        clone->wanted = (GitRef){ .commit = str_from(digits, clone->rev.len), .name = STR_EMPTY };
        return true;
    }
    Git git = clone->git;
    git.directory = STR_EMPTY;
    return GIT_RUN(&git, &listed, err, "ls-remote", "--symref", "--",
                   arena_copy_c(call->arena, clone->address)) &&
           git_find_ref(listed, clone->rev, &clone->wanted, err);
}

/* --- Current state --------------------------------------------------------------------------- */

/* git resolves paths by name repeatedly. If another user could replace a path component, git
 * running as root would work elsewhere; and in another user's clone it would run commands from its
 * configuration. */
static bool resolve_path(Call *call, Clone *clone, Error *err)
{
    uid_t uid = 0;
    Error ignored;
    clone->git_path = clone->path;
    if (clone->git.has_account &&
        (!host_find_user(call->host, call_str(call, "user"), &uid, NULL, &ignored) || uid != 0)) {
        return true;
    }
    if (host_protected_path(call->host, call->arena, clone->path, &clone->git_path, err)) {
        return true;
    }
    const char *hint = err->kind == ERROR_DENIED ? "; set 'user' to run git as another user" : "";
    char text[sizeof err->text];
    memcpy(text, err->text, sizeof text);
    return error_set(err, err->kind, "%s%s", text, hint);
}

static bool check_destination(Call *call, Clone *clone, Error *err)
{
    FileInfo info;
    Str *names;
    uint32_t count;
    if (!host_stat(call->host, clone->path, &info, err)) {
        return false;
    }
    clone->kind = info.kind;
    if (info.kind != FILE_ABSENT && info.kind != FILE_DIRECTORY) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                         STR_ARG(clone->path), file_kind_name(info.kind));
    }
    if (!resolve_path(call, clone, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        return true;
    }
    Str inner = arena_join(call->arena, clone->path, STR("/.git"), STR_EMPTY);
    if (!host_stat(call->host, inner, &info, err)) {
        return false;
    }
    clone->exists = info.kind == FILE_DIRECTORY;
    if (clone->exists) {
        clone->git.directory = clone->git_path;
        return true;
    }
    if (!host_list(call->host, call->arena, clone->path, 2, &names, &count, err)) {
        /* Too many entries to list, or the directory is only planned. */
        return err->kind == ERROR_NOT_FOUND && call->planning
                   ? true
                   : error_set(err, ERROR_CONFLICT, "%" STR_FMT " exists and is not a clone",
                               STR_ARG(clone->path));
    }
    return count == 0 || error_set(err, ERROR_CONFLICT, "%" STR_FMT " exists and is not a clone",
                                   STR_ARG(clone->path));
}

static bool read_clone(Clone *clone, Error *err)
{
    Git *git = &clone->git;
    bool yes;
    Str address;
    if (!GIT_QUERY(git, &yes, &address, err, "config", "--get", "remote.origin.url")) {
        return false;
    }
    clone->changes_address = !yes || !str_eq(address, clone->address);
    /* The first command that accesses the repository reports why it cannot be used. */
    if (!GIT_RUN(git, NULL, err, "rev-parse", "--git-dir") ||
        !GIT_QUERY(git, &yes, &clone->head, err, "rev-parse", "--verify", "--quiet", "HEAD") ||
        !GIT_QUERY(git, &yes, &clone->branch, err, "symbolic-ref", "--quiet", "--short", "HEAD")) {
        return false;
    }
    return true;
}

static Str first_lines(Arena *arena, Str text)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    Str line;
    for (int i = 0; text.len > 0 && str_split_next(&text, '\n', &line); i++) {
        if (i == 3) {
            buf_put_c(&out, ", ...");
            break;
        }
        buf_put_c(&out, i > 0 ? ", " : "");
        buf_put(&out, str_trim(str_from_offset(line, 2)));
    }
    return buf_str(&out);
}

/* Finds changed files, and commits that exist nowhere else. */
static bool check_local_changes(Call *call, Clone *clone, Error *err)
{
    Git *git = &clone->git;
    bool ours;
    Str changed, own = STR_EMPTY, ignored;
    const char *modules =
        call_bool(call, "submodules") ? "--ignore-submodules=untracked" : "--ignore-submodules=all";
    if (!GIT_RUN(git, &changed, err, "status", "--porcelain", "--untracked-files=no", modules)) {
        return false;
    }
    if (clone->head.len > 0) {
        if (!GIT_QUERY(git, &ours, &ignored, err, "rev-parse", "--verify", "--quiet",
                       "refs/eden/head")) {
            return false;
        }
        /* Without our ref, the clone was not created by eden; compare with the remote's branches
         * and tags instead. */
        const char *mark = ours ? "refs/eden/head" : "--tags";
        if (!GIT_RUN(git, &own, err, "rev-list", "--max-count=1", "HEAD", "--not", mark,
                     "--remotes", "--tags")) {
            return false;
        }
    }
    if (changed.len == 0 && own.len == 0) {
        return true;
    }
    if (!call_bool(call, "force")) {
        return changed.len > 0
                   ? error_set(err, ERROR_CONFLICT,
                               "%" STR_FMT " has local changes (%" STR_FMT
                               "); set 'force: true' to discard them",
                               STR_ARG(clone->path), STR_ARG(first_lines(call->arena, changed)))
                   : error_set(err, ERROR_CONFLICT,
                               "%" STR_FMT
                               " has local commits (%.12s); set 'force: true' to discard them",
                               STR_ARG(clone->path), arena_copy_c(call->arena, own));
    }
    clone->discards_changes = changed.len > 0;
    return true;
}

/* Lines of `git submodule status` start with a space if the submodule is up to date. */
static bool check_submodules(Call *call, Clone *clone, Error *err)
{
    Str status, line;
    if (!call_bool(call, "submodules")) {
        return true;
    }
    if (!GIT_RUN(&clone->git, &status, err, "submodule", "status", "--recursive")) {
        return false;
    }
    while (status.len > 0 && str_split_next(&status, '\n', &line)) {
        clone->updates_submodules =
            clone->updates_submodules || (line.len > 0 && line.data[0] != ' ');
    }
    return true;
}

/* --- Check ----------------------------------------------------------------------------------- */

static void compare(Call *call, Clone *clone, Outcome *outcome)
{
    Str branch = git_branch_of(clone->wanted.name);
    bool other_branch = branch.len > 0 && !str_eq(branch, clone->branch);
    bool other_commit = !str_eq(clone->wanted.commit, clone->head);
    clone->switches_commit = other_branch || other_commit;
    if (clone->changes_address) {
        outcome_change(call, outcome, "repo", value_missing(), value_string(clone->address));
    }
    if (other_commit) {
        outcome_change(call, outcome, "commit",
                       clone->head.len > 0 ? value_string(clone->head) : value_missing(),
                       value_string(clone->wanted.commit));
    }
    if (other_branch) {
        outcome_change(call, outcome, "branch",
                       clone->branch.len > 0 ? value_string(clone->branch) : value_missing(),
                       value_string(branch));
    }
    if (clone->discards_changes) {
        outcome_change(call, outcome, "files", value_string(STR("changed")),
                       value_string(STR("as committed")));
    }
    if (clone->updates_submodules) {
        outcome_change(call, outcome, "submodules", value_missing(), value_string(STR("updated")));
    }
    outcome->changed = outcome->changes != NULL;
    outcome->comment = outcome->changed ? STR("updated") : STR("already cloned");
}

static bool check_existing(Call *call, Clone *clone, Outcome *outcome, Error *err)
{
    if (!read_clone(clone, err) || !check_local_changes(call, clone, err) ||
        !check_submodules(call, clone, err)) {
        return false;
    }
    if (!find_wanted(call, clone, err)) {
        return report_pending(outcome, remote_is_pending(call, clone));
    }
    compare(call, clone, outcome);
    return true;
}

static bool check_new(Call *call, Clone *clone, Outcome *outcome, Error *err)
{
    if (call->planning && !target_check_parents(call, clone->path, true, err)) {
        return false;
    }
    outcome->changed = true;
    outcome->comment = STR("cloned");
    outcome_change(call, outcome, "repo", value_missing(), value_string(clone->address));
    FileInfo made = { .kind = FILE_DIRECTORY, .mode = DIRECTORY_MODE_NEW };
    call_plan(call, clone->path, &(PlannedFile){ .info = made });
    if (!find_wanted(call, clone, err)) {
        return report_pending(outcome, remote_is_pending(call, clone));
    }
    outcome_change(call, outcome, "commit", value_missing(), value_string(clone->wanted.commit));
    return true;
}

static bool cloned_check(Call *call, Outcome *outcome, Error *err)
{
    Clone *clone = ARENA_NEW(call->arena, Clone);
    outcome->state = STR("present");
    outcome->check_data = clone;
    if (!read_params(call, clone, err) || !check_destination(call, clone, err)) {
        return false;
    }
    bool created_later;
    if (!check_prerequisites(call, &created_later, err)) {
        return false;
    }
    if (created_later) {
        return report_pending(outcome, true);
    }
    return clone->exists ? check_existing(call, clone, outcome, err)
                         : check_new(call, clone, outcome, err);
}

/* --- Apply ----------------------------------------------------------------------------------- */

static bool fetch_all(Clone *clone, Error *err)
{
    return GIT_RUN(&clone->git, NULL, err, "fetch", "--quiet", "--force", "--tags", "--", "origin",
                   "+refs/heads/*:refs/remotes/origin/*");
}

/* The local ref for a fetched ref. */
static Str local_ref(Arena *arena, Str name)
{
    Str branch = git_branch_of(name);
    if (branch.len > 0) {
        return arena_join(arena, STR("refs/remotes/origin/"), branch, STR_EMPTY);
    }
    return str_starts(name, STR("refs/tags/")) ? name : STR("refs/eden/fetched");
}

static void add_depth(Call *call, ToolArgs *args)
{
    long long depth = call_int(call, "depth", 0);
    if (depth > 0) {
        tool_arg(call, args, arena_format(call->arena, "--depth=%lld", depth));
    }
}

static bool fetch_one(Call *call, Clone *clone, Str what, Str to, Error *err)
{
    static const char *const words[] = { "fetch", "--quiet", "--force", "--no-tags" };
    ToolArgs args = { 0 };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        tool_arg(call, &args, str_from_c(words[i]));
    }
    add_depth(call, &args);
    tool_arg(call, &args, STR("--"));
    tool_arg(call, &args, STR("origin"));
    tool_arg(call, &args,
             to.len == 0 ? what
                         : arena_format(call->arena, "+%" STR_FMT ":%" STR_FMT, STR_ARG(what),
                                        STR_ARG(to)));
    return git_run(&clone->git, tool_args_end(call, &args), NULL, err);
}

static bool has_commit(Clone *clone, const char *commit, bool *yes, Error *err)
{
    Str ignored;
    return GIT_QUERY(&clone->git, yes, &ignored, err, "cat-file", "-e", commit);
}

/* Some servers do not allow fetching a commit by its hash; fetch all branches from those. */
static bool fetch_commit(Call *call, Clone *clone, Error *err)
{
    Str commit = clone->wanted.commit;
    const char *object =
        arena_copy_c(call->arena, arena_join(call->arena, commit, STR("^{commit}"), STR_EMPTY));
    bool exists;
    Error ignored;
    if (!has_commit(clone, object, &exists, err)) {
        return false;
    }
    if (exists) {
        return true;
    }
    bool shallow = call_int(call, "depth", 0) > 0;
    if (shallow && fetch_one(call, clone, commit, STR_EMPTY, &ignored)) {
        return true;
    }
    if (!fetch_all(clone, err) || !has_commit(clone, object, &exists, err)) {
        return false;
    }
    if (!exists && !fetch_one(call, clone, commit, STR_EMPTY, &ignored)) {
        return error_set(err, ERROR_NOT_FOUND, "the repository has no commit %" STR_FMT,
                         STR_ARG(commit));
    }
    return true;
}

static bool fetch(Call *call, Clone *clone, Error *err)
{
    Str name = clone->wanted.name;
    if (name.len == 0) {
        return fetch_commit(call, clone, err);
    }
    Str to = local_ref(call->arena, name);
    bool fetches_one = call_int(call, "depth", 0) > 0 || str_eq(to, STR("refs/eden/fetched"));
    return fetches_one ? fetch_one(call, clone, name, to, err) : fetch_all(clone, err);
}

static bool check_out(Call *call, Clone *clone, Error *err)
{
    Git *git = &clone->git;
    Str name = clone->wanted.name;
    Str from = name.len == 0 ? clone->wanted.commit : local_ref(call->arena, name);
    Str branch = git_branch_of(name), commit;
    const char *object =
        arena_copy_c(call->arena, arena_join(call->arena, from, STR("^{commit}"), STR_EMPTY));
    const char *force = call_bool(call, "force") ? "--force" : "--quiet";
    if (!GIT_RUN(git, &commit, err, "rev-parse", "--verify", object)) {
        return false;
    }
    const char *digits = arena_copy_c(call->arena, commit);
    const char *local = arena_copy_c(call->arena, branch);
    if (branch.len == 0) {
        if (!GIT_RUN(git, NULL, err, "checkout", "--quiet", force, "--detach", digits)) {
            return false;
        }
    } else {
        const char *upstream =
            arena_copy_c(call->arena, arena_join(call->arena, STR("origin/"), branch, STR_EMPTY));
        if (!GIT_RUN(git, NULL, err, "checkout", "--quiet", force, "--no-track", "-B", local,
                     digits) ||
            !GIT_RUN(git, NULL, err, "branch", "--quiet", "--set-upstream-to", upstream, local)) {
            return false;
        }
    }
    return GIT_RUN(git, NULL, err, "update-ref", "refs/eden/head", "HEAD");
}

static bool update_modules(Call *call, Clone *clone, Error *err)
{
    static const char *const words[] = { "submodule", "--quiet",     "update",
                                         "--init",    "--recursive", "--force" };
    ToolArgs args = { 0 };
    if (!call_bool(call, "submodules")) {
        return true;
    }
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        tool_arg(call, &args, str_from_c(words[i]));
    }
    add_depth(call, &args);
    return GIT_RUN(&clone->git, NULL, err, "submodule", "--quiet", "sync", "--recursive") &&
           git_run(&clone->git, tool_args_end(call, &args), NULL, err);
}

static bool fetch_and_check_out(Call *call, Clone *clone, Error *err)
{
    return fetch(call, clone, err) && check_out(call, clone, err) &&
           update_modules(call, clone, err);
}

static bool clone_into_staging(Call *call, Clone *clone, Str staging, Error *err)
{
    Git *git = &clone->git;
    git->directory = staging;
    return GIT_RUN(git, NULL, err, "init", "--quiet", "--initial-branch=main") &&
           GIT_RUN(git, NULL, err, "remote", "add", "--", "origin",
                   arena_copy_c(call->arena, clone->address)) &&
           fetch_and_check_out(call, clone, err);
}

static bool create_staging(Call *call, Clone *clone, Str staging, Error *err)
{
    size_t slash = str_find_last(clone->git_path, STR("/"));
    Account *account = &clone->git.account;
    bool has_account = clone->git.has_account;
    return (slash == 0 || host_make_directory(call->host, str_slice(clone->git_path, 0, slash),
                                              DIRECTORY_MODE_NEW, true, err)) &&
           (!has_account ||
            host_find_account(call->host, call->arena, call_str(call, "user"), account, err)) &&
           host_remove(call->host, staging, err) &&
           host_create_directory(call->host, staging, DIRECTORY_MODE_NEW,
                                 has_account ? account->uid : HOST_KEEP_ID,
                                 has_account ? account->gid : HOST_KEEP_ID, err);
}

/* Clones next to the destination and moves the clone there when complete. */
static bool apply_new(Call *call, Clone *clone, Outcome *outcome, Error *err)
{
    Str staging = host_draft_path(call->arena, clone->git_path);
    Error ignored;
    if (!create_staging(call, clone, staging, err)) {
        return false;
    }
    if (clone_into_staging(call, clone, staging, err) && call_journal(call, clone->path, err) &&
        host_move(call->host, staging, call->host, clone->git_path, err)) {
        outcome->changed = true;
        return true;
    }
    return host_remove(call->host, staging, &ignored)
               ? false
               : error_wrap(err, "%" STR_FMT " was left behind", STR_ARG(staging));
}

static bool set_address(Call *call, Clone *clone, Error *err)
{
    const char *address = arena_copy_c(call->arena, clone->address);
    return GIT_RUN(&clone->git, NULL, err, "config", "--replace-all", "remote.origin.url",
                   address) &&
           GIT_RUN(&clone->git, NULL, err, "config", "--replace-all", "remote.origin.fetch",
                   "+refs/heads/*:refs/remotes/origin/*");
}

static bool apply_existing(Call *call, Clone *clone, Outcome *outcome, Error *err)
{
    Str head = arena_join(call->arena, clone->path, STR("/.git/HEAD"), STR_EMPTY);
    if (!call_journal(call, head, err)) {
        return false;
    }
    if (clone->changes_address) {
        if (!set_address(call, clone, err)) {
            return false;
        }
        outcome->changed = true;
    }
    if (clone->switches_commit || clone->discards_changes) {
        if (!fetch(call, clone, err)) {
            return false;
        }
        if (clone->discards_changes &&
            !GIT_RUN(&clone->git, NULL, err, "reset", "--quiet", "--hard")) {
            return false;
        }
        outcome->changed = true;
        if (!check_out(call, clone, err)) {
            return false;
        }
    }
    if (clone->switches_commit || clone->discards_changes || clone->updates_submodules) {
        if (!update_modules(call, clone, err)) {
            return false;
        }
        outcome->changed = true;
    }
    return true;
}

static bool cloned_apply(Call *call, Outcome *outcome, Error *err)
{
    Clone *clone = outcome->check_data;
    return clone->exists ? apply_existing(call, clone, outcome, err)
                         : apply_new(call, clone, outcome, err);
}

/* --- Module table ---------------------------------------------------------------------------- */

static void claim(Arena *arena, const Value *params, const char *name, const char *prefix,
                  List *claims)
{
    claims_add_param(arena, claims, prefix, params_get(cloned_params, params, name));
}

static void cloned_claims(Arena *arena, const Value *params, List *claims)
{
    claim(arena, params, "name", "path:", claims);
    claim(arena, params, "name", "fills:", claims);
    claim(arena, params, "user", "needs:user:", claims);
    claim(arena, params, "key", "needs:path:", claims);
    claim(arena, params, "known_hosts", "needs:path:", claims);
    list_push(arena, claims, value_string(STR("needs:pkg:git")));
}

static const Action actions[] = {
    { "cloned", "Ensure that a directory is a clone of a repository.", cloned_params, cloned_check,
      cloned_apply, .verify_all = cloned_verify, .claims = cloned_claims, .cost_ms = 2000,
      .resource = "path name", .desired_state = "kind=directory",
      .text = "With a branch, the clone follows it; with a tag or a full commit hash, it stays\n"
              "there. No network access is needed if the commit is already checked out. A new\n"
              "clone is created next to its destination and moved there when complete.\n"
              "\n"
              "The step fails if there are changed files or local commits, unless 'force'\n"
              "discards them; untracked files are never changed.\n"
              "\n"
              "git does not prompt and runs no hooks. With ssh, the host key must be known\n"
              "(ssh.known_host). 'password' does not appear in process listings and is not\n"
              "stored in the clone.\n",
      .example = "- name: clone the application\n"
                 "  git.cloned:\n"
                 "    - name: /srv/app\n"
                 "    - repo: https://git.example.net/app.git\n"
                 "    - rev: v1.4\n"
                 "    - depth: 1\n" },
    { 0 },
};

const Module modules_git = {
    .name = "git",
    .help = "Clones of git repositories.",
    .id_param = "name",
    .actions = actions,
};
