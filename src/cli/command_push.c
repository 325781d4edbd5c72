/* eden push: sends a site from this machine to the cluster. */
#include "api/kind.h"
#include "base/json_out.h"
#include "cli/daemon_command.h"
#include "cli/git_state.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/problem_input.h"
#include "cli/site_check.h"
#include "cli/site_upload.h"
#include "cli/validation.h"
#include "cli/version_ref.h"
#include "run/node_paths.h"
#include "source/site_tree.h"
#include "sys/file.h"

enum {
    CREATE_MS = 150 * 1000 /* the server checks one site at a time, each for a minute at most */
};

typedef struct Push {
    Invocation *invocation;
    const char *directory;
    Manifest manifest;
    SiteUpload upload;
    Value version;  /* the object */
    bool is_active; /* it is the current version now */
    bool was_active;
} Push;

/* --- Checking --------------------------------------------------------------------------------- */

/* Finds the problems that the server would find, before anything is sent. */
static int check(const Push *push)
{
    Invocation *invocation = push->invocation;
    Validation validation = { .trust = node_trust_path(NULL) };
    Error err;
    if (!site_check_is_site(push->directory)) {
        error_set(&err, file_is_directory(push->directory) ? ERROR_INVALID : ERROR_NOT_FOUND,
                  file_is_directory(push->directory) ? "%s: not a site: it has no jobs/base.yaml"
                                                     : "%s: no such directory",
                  push->directory);
        return daemon_command_fail(invocation, "E0881", &err);
    }
    inputs_init(&validation.inputs, invocation->arena);
    validation_check(&validation, push->directory);
    return validation.inputs.problems.errors > 0 ? inputs_report(&validation.inputs, invocation)
                                                 : EXIT_OK;
}

/* --- Creating --------------------------------------------------------------------------------- */

static void set_known(Arena *arena, Map *map, Str name, Str text)
{
    if (text.len > 0) {
        map_set_str(arena, map, name, value_string(text));
    }
}

static int create(Push *push)
{
    Arena *arena = push->invocation->arena;
    Map *spec = map_new(arena, 8), *body = map_new(arena, 1);
    VersionSource source = { .source = file_absolute(arena, push->directory) };
    git_state_read(arena, push->directory, &source);
    set_known(arena, spec, STR("manifest"), str_from_c(push->upload.id));
    set_known(arena, spec, STR("source"), str_slice(source.source, 0, VERSION_TEXT_MAX));
    set_known(arena, spec, STR("commit"), source.commit);
    set_known(arena, spec, STR("branch"), source.branch);
    set_known(arena, spec, STR("author"), source.author);
    set_known(arena, spec, STR("subject"), source.subject);
    map_set_str(arena, body, STR("spec"), value_map(spec));
    return cluster_call(push->invocation,
                        &(ClusterRequest){ .method = "POST",
                                           .target = STR("/v1/versions"),
                                           .body = cluster_body(arena, value_map(body)),
                                           .timeout_ms = CREATE_MS },
                        &push->version);
}

/* The server found problems that were not found here: it may be newer. */
static int report_rejected(const Push *push)
{
    Invocation *invocation = push->invocation;
    Inputs inputs;
    Value problems;
    inputs_init(&inputs, invocation->arena);
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = "GET",
                           .target = cluster_target_with(invocation->arena, "/v1/versions/",
                                                         object_name(push->version), "/problems") },
        &problems);
    if (code != EXIT_OK) {
        return code;
    }
    problem_input_add(&inputs.problems, problems, push->directory);
    code = inputs_report(&inputs, invocation);
    return code == EXIT_OK ? EXIT_FAILED : code;
}

static int activate(Push *push)
{
    Invocation *invocation = push->invocation;
    bool pin = invocation_flag(invocation, "pin");
    push->was_active = value_get_bool(object_status(push->version), "current");
    push->is_active = push->was_active;
    if ((push->was_active && !pin) || invocation_flag(invocation, "no-activate")) {
        return EXIT_OK;
    }
    int code = version_activate_at(invocation, object_name(push->version),
                                   pin ? value_bool(true) : value_missing(),
                                   !invocation_flag(invocation, "no-run"), &push->version);
    push->is_active = code == EXIT_OK;
    return code;
}

/* --- Output ----------------------------------------------------------------------------------- */

static int print_json(const Push *push)
{
    Buf json = buf_make_in(push->invocation->arena, BUF_UNLIMITED);
    Str name = object_name(push->version);
    json_out_start(&json, "eden.push/1");
    json_out_text(&json, "version", name);
    json_out_text(&json, "manifest", str_from_c(push->upload.id));
    json_out_int(&json, "files", push->manifest.file_count);
    json_out_int(&json, "bytes", manifest_bytes(&push->manifest));
    json_out_int(&json, "blobs", push->upload.blobs);
    json_out_int(&json, "sent_blobs", push->upload.sent);
    json_out_int(&json, "sent_bytes", push->upload.sent_bytes);
    json_out_bool(&json, "current", push->is_active);
    json_out_bool(&json, "changed", push->is_active && !push->was_active);
    json_out_close(&json, '}');
    buf_put_char(&json, '\n');
    output_json_text(push->invocation->out, buf_str(&json));
    return EXIT_OK;
}

/* A push beside a git source lasts only until the next commit. Callers who may not list sources are
 * not told. */
static void print_sources(const Push *push)
{
    ClusterRequest request = { .method = "GET", .target = STR("/v1/sources?limit=1") };
    Value list;
    bool responded;
    Error ignored;
    if (push->is_active && !value_get_bool(object_status(push->version), "pinned") &&
        cluster_send(push->invocation, &request, &list, &responded, &ignored) &&
        object_items(list)->len > 0) {
        output_line(push->invocation->err,
                    "the next commit of source '%" STR_FMT "' replaces this version; 'eden "
                    "versions pin' keeps it",
                    STR_ARG(object_name(object_items(list)->items[0])));
    }
}

static int print(const Push *push)
{
    const Invocation *invocation = push->invocation;
    Str name = object_name(push->version);
    if (invocation_prints(invocation, "json")) {
        return print_json(push);
    }
    output_line(invocation->err, "sent %u of %u blobs, %lld bytes", push->upload.sent,
                push->upload.blobs, (long long)push->upload.sent_bytes);
    output_line(invocation->out, "version %" STR_FMT " is %scurrent%s", STR_ARG(name),
                push->was_active   ? "already "
                : !push->is_active ? "not "
                                   : "",
                value_get_bool(object_status(push->version), "pinned") ? " and pinned" : "");
    print_sources(push);
    return EXIT_OK;
}

/* --- Command ---------------------------------------------------------------------------------- */

static int run(Invocation *invocation)
{
    Push push = { .invocation = invocation, .directory = invocation->args[0] };
    Error err;
    if (invocation_flag(invocation, "no-activate") && invocation_flag(invocation, "pin")) {
        return usage_error(invocation, "--pin makes a version current, --no-activate does not");
    }
    if (invocation_flag(invocation, "wait") &&
        (invocation_flag(invocation, "no-activate") || invocation_flag(invocation, "no-run"))) {
        return usage_error(invocation,
                           "--wait watches a run, which --no-activate and --no-run omit");
    }
    int code = check(&push);
    if (code != EXIT_OK) {
        return code;
    }
    if (!site_tree_scan(invocation->arena, push.directory, NULL, &push.manifest, &err)) {
        return daemon_command_fail(invocation, "E0881", &err);
    }
    push.upload = (SiteUpload){ .invocation = invocation,
                                .directory = push.directory,
                                .manifest = &push.manifest };
    code = site_upload(&push.upload);
    code = code == EXIT_OK ? create(&push) : code;
    if (code == EXIT_OK &&
        !str_eq(value_get_text(object_status(push.version), "state"), STR("valid"))) {
        return report_rejected(&push);
    }
    code = code == EXIT_OK ? activate(&push) : code;
    return code != EXIT_OK ? code
           : invocation_flag(invocation, "wait")
               ? version_run_watch(invocation, push.version, !push.was_active)
               : print(&push);
}

static const Option options[] = {
    { .name = "pin", .help = "keep this version current until 'eden versions unpin'" },
    { .name = "no-activate", .help = "create the version without making it current" },
    VERSION_RUN_OPTIONS,
    CLUSTER_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden push site/", "push a site and make it the current version" },
    { "eden push site/ --wait", "also watch how the nodes apply it; for CI" },
    { "eden push site/ --reason 'new certificate'", "record a reason" },
    { "eden push site/ --no-activate", "create a version for 'eden run --check --version REF'" },
    { "eden push site/ --pin --no-run", "keep it current, and let nodes apply it later" },
    { 0 },
};

const Command command_push = {
    .name = "push",
    .group = GROUP_CLUSTER,
    .args = { { "DIR", WORD_DIRECTORY } },
    .help = "Send a site to the cluster and make it the current version.",
    .text =
        "Validates the site as 'eden validate' does, sends the files that the server does not\n"
        "have, and creates a version, which all nodes then apply. If the site has errors, they\n"
        "are printed, nothing is sent, and the exit code is 1. To resume an interrupted push,\n"
        "run the command again.\n"
        "\n"
        "Everything except '.git' is sent, including hidden files, uncommitted files, and files\n"
        "that '.gitignore' excludes. Symbolic links must not point outside the site. A site can\n"
        "contain up to 100,000 files and 1 GiB.\n"
        "\n"
        "With --no-activate, the version is created but not made current: 'eden run --check\n"
        "--version REF' shows what it would change, 'eden versions activate REF' makes it\n"
        "current.\n"
        "\n"
        "With --wait, the run that applies the version is watched and reported as by 'eden\n"
        "run', and the exit code is that of its outcome.\n"
        "\n"
        "While another version is pinned, the version is created but not made current, and\n"
        "the exit code is 5.",
    .options = options,
    .examples = examples,
    .run = run,
};
