/* eden versions: versions of the site in the cluster. */
#include "base/text_diff.h"
#include "base/utf8.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/kind_command.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/problem_input.h"
#include "cli/responses.h"
#include "cli/version_ref.h"
#include "source/manifest.h"

/* --- Differences between versions ------------------------------------------------------------- */

/* Prints the differences between two versions of the site. */

typedef struct Diff {
    Invocation *invocation;
    const ManifestChange *changes;
    uint32_t count;
} Diff;

static const char letters[] = {
    [MANIFEST_ADDED] = 'A', [MANIFEST_REMOVED] = 'D', [MANIFEST_CHANGED] = 'M'
};

static Str path_of(const ManifestChange *change)
{
    return change->after != NULL ? change->after->path : change->before->path;
}

/* --- Content ---------------------------------------------------------------------------------- */

/* Returns the content of a file as text. `*is_text` is false if it is large or binary. */
static int read_text(Invocation *invocation, const ManifestFile *file, Str *out, bool *is_text)
{
    *out = STR_EMPTY;
    *is_text = file == NULL || file->blob_count <= 1;
    if (file != NULL && file->link.len > 0) {
        *out = arena_format(invocation->arena, "link to %" STR_FMT "\n", STR_ARG(file->link));
    }
    if (file == NULL || file->blob_count != 1) {
        return EXIT_OK;
    }
    Str target = cluster_target(invocation->arena, "/v1/blobs/", file->blobs[0]);
    ClusterRequest request = { .method = "GET", .target = target };
    ClusterRefusal refusal = { .target = target, .response = value_null() };
    ClusterResponse response;
    Error err;
    if (!cluster_exchange(invocation, &request, NULL, &response, &err)) {
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    if (response.status >= 300) {
        refusal.responded = true;
        (void)!cluster_response_read(invocation->arena, &response, &refusal.response, &err);
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    *out = response.body;
    *is_text = utf8_is_valid(*out) && memchr(out->data, '\0', out->len) == NULL;
    return EXIT_OK;
}

static Str shown_name(Arena *arena, const char *side, const ManifestFile *file)
{
    return file == NULL ? STR("/dev/null")
                        : arena_format(arena, "%s/%" STR_FMT, side, STR_ARG(file->path));
}

static int print_content(Invocation *invocation, const ManifestChange *change)
{
    Arena *arena = invocation->arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Str old_name = shown_name(arena, "a", change->before),
        new_name = shown_name(arena, "b", change->after), before, after;
    bool is_text_before, is_text_after;
    int code = read_text(invocation, change->before, &before, &is_text_before);
    if (code == EXIT_OK) {
        code = read_text(invocation, change->after, &after, &is_text_after);
    }
    if (code != EXIT_OK) {
        return code;
    }
    if (is_text_before && is_text_after) {
        text_diff(before, after, old_name, new_name, &text);
    } else {
        buf_put_format(&text, "binary or large files %" STR_FMT " and %" STR_FMT " differ\n",
                       STR_ARG(old_name), STR_ARG(new_name));
    }
    if (change->kind == MANIFEST_CHANGED &&
        strcmp(change->before->mode, change->after->mode) != 0) {
        buf_put_format(&text, "mode of %" STR_FMT ": %s to %s\n", STR_ARG(path_of(change)),
                       change->before->mode, change->after->mode);
    }
    output_text(invocation->out, buf_str(&text));
    return EXIT_OK;
}

/* --- Output ----------------------------------------------------------------------------------- */

static Value changes_value(const Diff *diff, Str before, Str after)
{
    static const char *const words[] = {
        [MANIFEST_ADDED] = "added", [MANIFEST_REMOVED] = "removed", [MANIFEST_CHANGED] = "changed"
    };
    Arena *arena = diff->invocation->arena;
    Map *map = map_new(arena, 4);
    List *files = list_new(arena, diff->count);
    for (uint32_t i = 0; i < diff->count; i++) {
        Map *file = map_new(arena, 2);
        map_set_str(arena, file, STR("path"), value_string(path_of(&diff->changes[i])));
        map_set_str(arena, file, STR("change"),
                    value_string(str_from_c(words[diff->changes[i].kind])));
        list_push(arena, files, value_map(file));
    }
    map_set_str(arena, map, STR("format"), value_string(STR("eden.version-diff/1")));
    map_set_str(arena, map, STR("before"), value_string(before));
    map_set_str(arena, map, STR("after"), value_string(after));
    map_set_str(arena, map, STR("files"), value_list(files));
    return value_map(map);
}

/* Compares two versions, given as API objects. Returns the exit code. */
static int version_diff(Invocation *invocation, Value before, Value after)
{
    Manifest old, new;
    ManifestChange *changes;
    int code = version_manifest(invocation, before, &old);
    if (code == EXIT_OK) {
        code = version_manifest(invocation, after, &new);
    }
    if (code != EXIT_OK) {
        return code;
    }
    Diff diff = { .invocation = invocation };
    diff.count = manifest_compare(invocation->arena, &old, &new, &changes);
    diff.changes = changes;
    if (output_wants_value(invocation)) {
        return output_response(invocation,
                               changes_value(&diff, object_name(before), object_name(after)));
    }
    for (uint32_t i = 0; code == EXIT_OK && i < diff.count; i++) {
        if (invocation_flag(invocation, "name-status") || invocation_prints(invocation, "name")) {
            output_line(invocation->out, "%c %" STR_FMT, letters[changes[i].kind],
                        STR_ARG(path_of(&changes[i])));
        } else {
            code = print_content(invocation, &changes[i]);
        }
    }
    return code;
}

static int run_list(Invocation *invocation)
{
    return kind_list_as(invocation, kind_print_table,
                        "no versions; 'eden push DIR' creates the first one");
}

static const char *ref_of(const Invocation *invocation, uint32_t arg, const char *fallback)
{
    return invocation->arg_count > arg ? invocation->args[arg] : fallback;
}

/* --- show ------------------------------------------------------------------------------------- */

static int print_problems(Invocation *invocation, Value version)
{
    Inputs inputs;
    Value problems;
    inputs_init(&inputs, invocation->arena);
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = "GET",
                           .target = cluster_target_with(invocation->arena, "/v1/versions/",
                                                         object_name(version), "/problems") },
        &problems);
    if (code == EXIT_OK) {
        problem_input_add(&inputs.problems, problems, NULL);
        (void)inputs_report(&inputs, invocation);
    }
    return code;
}

static int run_show(Invocation *invocation)
{
    Value version;
    int code = version_ref_find(invocation, ref_of(invocation, 0, "current"), &version);
    if (code != EXIT_OK || kind_print_value(invocation, version, &code)) {
        return code;
    }
    code = output_yaml(invocation, version);
    return code == EXIT_OK && value_get_int(object_status(version), "problems") > 0
               ? print_problems(invocation, version)
               : code;
}

/* --- diff ------------------------------------------------------------------------------------- */

static int run_diff(Invocation *invocation)
{
    Value before, after;
    int code = version_ref_find(invocation, ref_of(invocation, 0, "previous"), &before);
    if (code == EXIT_OK) {
        code = version_ref_find(invocation, ref_of(invocation, 1, "current"), &after);
    }
    return code == EXIT_OK ? version_diff(invocation, before, after) : code;
}

/* --- Changing --------------------------------------------------------------------------------- */

/* "9132faeb48c4 (node4: use port 8084)" */
static Str describe(Arena *arena, Value version)
{
    Str subject = value_get_text(value_get_map(version, "spec"), "subject");
    return subject.len == 0 ? object_name(version)
                            : arena_format(arena, "%" STR_FMT " (%" STR_FMT ")",
                                           STR_ARG(object_name(version)), STR_ARG(subject));
}

static int report_conflict(Invocation *invocation, Str text)
{
    Error err;
    error_set(&err, ERROR_CONFLICT, "%" STR_FMT, STR_ARG(text));
    return daemon_command_fail(invocation, "E0854", &err);
}

static int check_options(const Invocation *invocation)
{
    return invocation_flag(invocation, "wait") && invocation_flag(invocation, "no-run")
               ? usage_error(invocation, "--wait watches the run that --no-run omits")
               : EXIT_OK;
}

/* `pin` may be missing. */
static int activate(Invocation *invocation, Value version, Value pin, bool run)
{
    bool is_unpin = strcmp(invocation->verb->name, "unpin") == 0;
    bool waits = run && invocation_flag(invocation, "wait");
    /* If the version is already current, the run that applies it may already exist. */
    Str newest = waits && !value_get_bool(object_status(version), "current")
                     ? version_newest_run(invocation)
                     : STR_EMPTY;
    int code = version_activate_at(invocation, object_name(version), pin, run, &version);
    if (code == EXIT_OK && waits) {
        return version_run_watch(invocation, version, true, newest);
    }
    if (code != EXIT_OK || kind_print_value(invocation, version, &code)) {
        return code;
    }
    output_line(invocation->out, "version %" STR_FMT " is current%s", STR_ARG(object_name(version)),
                value_get_bool(object_status(version), "pinned") ? " and pinned"
                : is_unpin                                       ? " and no longer pinned"
                                                                 : "");
    return EXIT_OK;
}

/* Finds the version before the current one. After a rollback, that is the newer version, which a
 * second rollback must not restore. */
static int find_earlier(Invocation *invocation, Value *out)
{
    Value current;
    int code = version_ref_find(invocation, "previous", out);
    code = code == EXIT_OK ? version_ref_find(invocation, "current", &current) : code;
    if (code != EXIT_OK || value_get_int(value_get_map(*out, "metadata"), "revision") <
                               value_get_int(value_get_map(current, "metadata"), "revision")) {
        return code;
    }
    Arena *arena = invocation->arena;
    Value status = object_status(current);
    return report_conflict(
        invocation,
        arena_format(arena,
                     "the previous version, %" STR_FMT ", is newer than the current one, %" STR_FMT
                     ", which was made current at %" STR_FMT " by %" STR_FMT
                     ": to go back further, use 'eden versions rollback REF'; to return to the "
                     "newer one, use 'eden versions activate %" STR_FMT "'",
                     STR_ARG(describe(arena, *out)), STR_ARG(describe(arena, current)),
                     STR_ARG(value_get_text(status, "since")),
                     STR_ARG(value_get_text(status, "activated_by")), STR_ARG(object_name(*out))));
}

static int run_rollback(Invocation *invocation)
{
    Value version;
    bool pin = invocation_flag(invocation, "pin");
    int code = check_options(invocation);
    if (code == EXIT_OK) {
        code = invocation->arg_count > 0
                   ? version_ref_find(invocation, invocation->args[0], &version)
                   : find_earlier(invocation, &version);
    }
    if (code != EXIT_OK) {
        return code;
    }
    output_line(invocation->err, "rolling back to version %" STR_FMT "%s",
                STR_ARG(describe(invocation->arena, version)),
                pin ? "" : "; the next push or commit replaces it, unless it is pinned");
    return activate(invocation, version, value_bool(pin), !invocation_flag(invocation, "no-run"));
}

static int run_activate(Invocation *invocation)
{
    Value version;
    int code = check_options(invocation);
    code = code == EXIT_OK ? version_ref_find(invocation, invocation->args[0], &version) : code;
    return code == EXIT_OK ? activate(invocation, version, value_missing(),
                                      !invocation_flag(invocation, "no-run"))
                           : code;
}

/* Pinning the current version applies nothing. */
static int run_pin(Invocation *invocation)
{
    Value version;
    int code = check_options(invocation);
    code = code == EXIT_OK
               ? version_ref_find(invocation, ref_of(invocation, 0, "current"), &version)
               : code;
    return code == EXIT_OK ? activate(invocation, version, value_bool(true),
                                      !value_get_bool(object_status(version), "current") &&
                                          !invocation_flag(invocation, "no-run"))
                           : code;
}

static int run_unpin(Invocation *invocation)
{
    Value version;
    int code = version_ref_find(invocation, "current", &version);
    return code == EXIT_OK ? activate(invocation, version, value_bool(false), false) : code;
}

static int run_delete(Invocation *invocation)
{
    Str *names = ARENA_ARRAY(invocation->arena, Str, invocation->arg_count);
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        Value version;
        int code = version_ref_find(invocation, invocation->args[i], &version);
        if (code != EXIT_OK) {
            return code;
        }
        names[i] = object_name(version);
    }
    return responses_request_each(
        invocation,
        &(EachRequest){
            .method = "DELETE", .prefix = "/v1/versions/", .suffix = "", .done = "is deleted" },
        names, invocation->arg_count);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static const Option diff_options[] = {
    { .name = "name-status", .help = "only list the files that differ" },
    { 0 },
};
static const Option rollback_options[] = {
    { .name = "pin", .help = "keep the version current until 'eden versions unpin'" },
    VERSION_RUN_OPTIONS,
    { 0 },
};
static const Option activate_options[] = { VERSION_RUN_OPTIONS, { 0 } };
static const Option pin_options[] = { VERSION_RUN_OPTIONS, { 0 } };

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List versions, newest first.",
      .options = kind_list_options,
      .examples = { { "eden versions", "list all versions" } },
      .run = run_list },
    { .name = "show",
      .args = { { "[REF]", WORD_VERSION } },
      .help = "Show a version, including its problems and their locations.",
      .examples = { { "eden versions show", "the current version" },
                    { "eden versions show 3f2a", "show the version whose name starts with 3f2a" } },
      .run = run_show },
    { .name = "diff",
      .args = { { "[REF]", WORD_VERSION }, { "[REF]", WORD_VERSION } },
      .help = "Show the differences between two versions.",
      .text = "Without REF, compares the previous and the current version; with one REF,\n"
              "compares that version and the current one. Files that are binary or larger than 1\n"
              "MiB are only listed.",
      .options = diff_options,
      .examples = { { "eden versions diff", "show what the last push changed" },
                    { "eden versions diff 3f2a 9be1 --name-status",
                      "list the files that differ" } },
      .run = run_diff },
    { .name = "activate",
      .args = { { "REF", WORD_VERSION } },
      .help = "Make a version current.",
      .text =
          "For example, a version that was created with 'eden push --no-activate', or the\n"
          "newest version from git sources after a rollback. If another version is pinned, the\n"
          "exit code is 5.",
      .options = activate_options,
      .examples = { { "eden versions activate 3f2a", "make a version current and apply it to all "
                                                     "nodes" } },
      .run = run_activate },
    { .name = "pin",
      .args = { { "[REF]", WORD_VERSION } },
      .help = "Make a version current and keep it until it is unpinned.",
      .text = "Without REF, pins the current version. A pinned version is not replaced by a push\n"
              "or a new commit.",
      .options = pin_options,
      .examples = { { "eden versions pin --reason 'release freeze'", "keep the current version" } },
      .run = run_pin },
    { .name = "unpin",
      .help = "Allow other versions to replace the current one.",
      .text = "If the newest commits of the git sources are in a different version, that version "
              "becomes current.",
      .examples = { { "eden versions unpin", "end a freeze" } },
      .run = run_unpin },
    { .name = "rollback",
      .args = { { "[REF]", WORD_VERSION } },
      .help = "Make an earlier version current again.",
      .text =
          "Without REF, returns to the previous version. If that is newer than the current one,\n"
          "as after a rollback, nothing is done (exit code 5). This also unpins a pinned\n"
          "version, unless --pin is given. Without --pin, the next push or commit replaces the\n"
          "version.",
      .options = rollback_options,
      .examples = { { "eden versions rollback", "undo the last push" },
                    { "eden versions rollback --wait", "also watch the nodes apply it" },
                    { "eden versions rollback 3f2a --pin", "return to a version and pin it" } },
      .run = run_rollback },
    { .name = "delete",
      .args = { { "REF...", WORD_VERSION } },
      .help = "Delete versions that are not in use.",
      .text = "The current and previous versions cannot be deleted.",
      .examples = { { "eden versions delete 3f2a", "delete a version" } },
      .run = run_delete },
    { 0 },
};

const Command command_versions = {
    .name = "versions",
    .group = GROUP_CLUSTER,
    .kind = "Version",
    .help = "List the site's versions and select the current one.",
    .text = "A version is a snapshot of the site; 'eden push' creates one. Nodes apply the\n"
            "current version.\n"
            "\n"
            "REF is the name or git commit of a version, a unique prefix of either, 'current' or\n"
            "'previous'.",
    .options = kind_options,
    .verbs = verbs,
};
