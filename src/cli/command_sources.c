/* eden sources: the git repositories of the site. */
#include "cli/exit_codes.h"
#include "cli/kind_command.h"
#include "cli/output.h"
#include "cli/responses.h"
#include "cli/source_input.h"
#include "source/git_url.h"
#include "sys/clock.h"

enum {
    POLL_MS = 100,
    RETRY_INTERVAL_MS = 500,
    BRANCH_TIMEOUT_MS = 5000,
    SYNC_TIMEOUT_MS = 300 * 1000, /* longer than the limits of fetching and validating */
};

/* --- add -------------------------------------------------------------------------------------- */

static int send_source(Invocation *invocation, const char *method, Str target, Value body,
                       Value *out)
{
    bool is_patch = strcmp(method, "PATCH") == 0;
    return cluster_call(
        invocation,
        &(ClusterRequest){ .method = method,
                           .target = target,
                           .body = cluster_body(invocation->arena, body),
                           .content_type = is_patch ? "application/merge-patch+json" : NULL },
        out);
}

static int get_source(Invocation *invocation, Str name, Value *out)
{
    return cluster_call(
        invocation,
        &(ClusterRequest){ .method = "GET",
                           .target = cluster_target(invocation->arena, "/v1/sources/", name) },
        out);
}

/* Waits until the leader has determined the default branch or failed to. The wait is short because
 * the source has already been added. */
static void wait_for_branch(Invocation *invocation, Value *source)
{
    int64_t end_us = clock_monotonic_us() + (int64_t)BRANCH_TIMEOUT_MS * 1000;
    Str name = str_from_c(invocation->args[0]);
    do {
        Value now;
        (void)clock_sleep_ms(POLL_MS, NULL);
        if (get_source(invocation, name, &now) != EXIT_OK) {
            return;
        }
        *source = now;
    } while (str_eq_c(value_get_text(object_status(*source), "state"), "new") &&
             clock_monotonic_us() < end_us);
}

static void print_branch(const Invocation *invocation, Value source)
{
    Value status = object_status(source);
    Str branch = value_get_text(status, "branch");
    GitUrl url;
    Error ignored;
    if (invocation_text(invocation, "branch") != NULL) {
        return;
    }
    if (branch.len == 0) {
        Str why = value_get_text(status, "why");
        output_line(
            invocation->out,
            "the default branch is determined when the repository is first fetched%s%" STR_FMT,
            why.len > 0 ? ": " : "", STR_ARG(why));
        return;
    }
    bool is_local = git_url_parse(str_from_c(invocation->args[1]), &url, &ignored) &&
                    url.transport == GIT_LOCAL;
    output_line(invocation->out,
                "following branch %" STR_FMT
                ", %s; 'eden sources set %s --branch BRANCH' changes it",
                STR_ARG(branch),
                is_local ? "which HEAD of the repository refers to now (what is checked out there)"
                         : "the default branch of the repository",
                invocation->args[0]);
}

static int run_add(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Map *metadata = map_new(arena, 1), *spec = map_new(arena, 8), *body = map_new(arena, 2);
    Value created;
    int code;
    map_set_str(arena, metadata, STR("name"), value_string(str_from_c(invocation->args[0])));
    map_set_str(arena, spec, STR("url"), value_string(str_from_c(invocation->args[1])));
    if (!source_input(invocation, invocation->args[1], spec, &code)) {
        return code;
    }
    map_set_str(arena, body, STR("metadata"), value_map(metadata));
    map_set_str(arena, body, STR("spec"), value_map(spec));
    code = send_source(invocation, "POST", STR("/v1/sources"), value_map(body), &created);
    if (code != EXIT_OK) {
        return code;
    }
    Str key = value_get_text(object_status(created), "public_key");
    if (invocation_text(invocation, "branch") == NULL && key.len == 0) {
        wait_for_branch(invocation, &created);
    }
    if (kind_print_value(invocation, created, &code)) {
        return code;
    }
    output_line(invocation->out, "source %s is added", invocation->args[0]);
    print_branch(invocation, created);
    if (key.len > 0) {
        output_line(invocation->out, "add this key to the repository, with read permission:");
        output_line(invocation->out, "  %" STR_FMT, STR_ARG(key));
    }
    return EXIT_OK;
}

/* --- set -------------------------------------------------------------------------------------- */

static int run_set(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Str name = str_from_c(invocation->args[0]);
    const char *url = invocation_text(invocation, "url");
    Map *spec = map_new(arena, 8), *body = map_new(arena, 1);
    Value source;
    int code;
    if (url != NULL) {
        map_set_str(arena, spec, STR("url"), value_string(str_from_c(url)));
    } else if (invocation_flag(invocation, "known-hosts")) {
        code = get_source(invocation, name, &source);
        if (code != EXIT_OK) {
            return code;
        }
        const Value *present = value_get(source, STR("spec"));
        url = arena_copy_c(arena, present == NULL ? STR_EMPTY : value_get_text(*present, "url"));
    }
    if (invocation_flag(invocation, "no-token")) {
        map_set_str(arena, spec, STR("token"), value_string(STR_EMPTY));
    }
    if (!source_input(invocation, url, spec, &code)) {
        return code;
    }
    if (spec->len == 0) {
        return usage_error(invocation, "at least one option is required");
    }
    map_set_str(arena, body, STR("spec"), value_map(spec));
    code = send_source(invocation, "PATCH", cluster_target(arena, "/v1/sources/", name),
                       value_map(body), &source);
    if (code != EXIT_OK || kind_print_value(invocation, source, &code)) {
        return code;
    }
    output_line(invocation->out, "source %s is changed", invocation->args[0]);
    return EXIT_OK;
}

/* --- key and webhook -------------------------------------------------------------------------- */

static int run_key(Invocation *invocation)
{
    Str name = str_from_c(invocation->args[0]), key = STR_EMPTY;
    Value response;
    int code;
    if (!invocation_flag(invocation, "new")) {
        code = get_source(invocation, name, &response);
        if (code != EXIT_OK) {
            return code;
        }
        key = value_get_text(object_status(response), "public_key");
    }
    if (key.len == 0) {
        code =
            cluster_call(invocation,
                         &(ClusterRequest){ .method = "POST",
                                            .target = cluster_target_with(
                                                invocation->arena, "/v1/sources/", name, "/key") },
                         &response);
        if (code != EXIT_OK) {
            return code;
        }
        key = value_get_text(response, "public_key");
    }
    if (output_wants_value(invocation)) {
        Map *map = map_new(invocation->arena, 1);
        map_set_str(invocation->arena, map, STR("public_key"), value_string(key));
        return output_response(invocation, value_map(map));
    }
    output_line(invocation->out, "%" STR_FMT, STR_ARG(key));
    return EXIT_OK;
}

static int run_webhook(Invocation *invocation)
{
    Str name = str_from_c(invocation->args[0]);
    bool is_removal = invocation_flag(invocation, "remove");
    Value response;
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = is_removal ? "DELETE" : "POST",
                           .target = cluster_target_with(invocation->arena, "/v1/sources/", name,
                                                         "/webhook-secret") },
        &response);
    if (code != EXIT_OK || output_wants_value(invocation)) {
        return code != EXIT_OK ? code : output_response(invocation, response);
    }
    if (is_removal) {
        output_line(invocation->out, "%s no longer accepts webhooks", invocation->args[0]);
        return EXIT_OK;
    }
    const List *urls = value_get_list(response, "urls");
    for (uint32_t i = 0; i < urls->len; i++) {
        output_line(invocation->out, "%s%" STR_FMT, i == 0 ? "URL:     " : "      or ",
                    STR_ARG(value_str(urls->items[i])));
    }
    output_line(invocation->out, "Secret:  %" STR_FMT, STR_ARG(value_get_text(response, "secret")));
    output_line(invocation->err,
                "the secret is not shown again; use the content type application/json, and send "
                "only push events");
    return EXIT_OK;
}

/* --- sync ------------------------------------------------------------------------------------- */

/* Waits until the status shows that the leader has handled the request. */
static int wait_for_sync(Invocation *invocation, Str name, int64_t request, Value *out)
{
    int64_t end_us = clock_monotonic_us() + (int64_t)SYNC_TIMEOUT_MS * 1000;
    while (clock_monotonic_us() < end_us) {
        int code = get_source(invocation, name, out);
        if (code != EXIT_OK || value_get_int(object_status(*out), "handled") >= request) {
            return code;
        }
        (void)clock_sleep_ms(POLL_MS, NULL);
    }
    output_line(invocation->err,
                "%" STR_FMT ": no result after %d s; 'eden sources' shows it later", STR_ARG(name),
                SYNC_TIMEOUT_MS / 1000);
    return EXIT_TIMED_OUT;
}

static void print_synced(const Invocation *invocation, Str name, Value status)
{
    Str state = value_get_text(status, "state"), why = value_get_text(status, "why");
    Str commit = str_slice(value_get_text(status, "commit"), 0, 12);
    if (str_eq_c(state, "held")) {
        output_line(invocation->out,
                    "%" STR_FMT " is at commit %" STR_FMT ", version %" STR_FMT
                    ", which is not current: %" STR_FMT,
                    STR_ARG(name), STR_ARG(commit), STR_ARG(value_get_text(status, "version")),
                    STR_ARG(why));
    } else if (why.len > 0) {
        output_line(invocation->out, "%" STR_FMT " is %" STR_FMT ": %" STR_FMT, STR_ARG(name),
                    STR_ARG(state), STR_ARG(why));
    } else {
        output_line(invocation->out, "%" STR_FMT " is at commit %" STR_FMT ", version %" STR_FMT,
                    STR_ARG(name), STR_ARG(commit), STR_ARG(value_get_text(status, "version")));
    }
}

static int sync_one(Responses *responses, Str name)
{
    Invocation *invocation = responses->invocation;
    Value response;
    int code =
        cluster_call(invocation,
                     &(ClusterRequest){ .method = "POST",
                                        .target = cluster_target_with(
                                            invocation->arena, "/v1/sources/", name, "/sync") },
                     &response);
    int64_t request = code == EXIT_OK ? value_get_int(response, "request") : 0;
    if (code == EXIT_OK && !invocation_flag(invocation, "no-wait")) {
        code = wait_for_sync(invocation, name, request, &response);
    } else if (code == EXIT_OK) {
        code = get_source(invocation, name, &response);
    }
    if (code != EXIT_OK) {
        return code;
    }
    Value status = object_status(response);
    Str state = value_get_text(status, "state");
    if (!responses_add(responses, name, response)) {
        if (invocation_flag(invocation, "no-wait")) {
            output_line(invocation->out, "%" STR_FMT " is being synchronized", STR_ARG(name));
        } else {
            print_synced(invocation, name, status);
        }
    }
    return invocation_flag(invocation, "no-wait") || str_eq_c(state, "ok") ? EXIT_OK
           : str_eq_c(state, "held")                                       ? EXIT_CONFLICT
                                                                           : EXIT_FAILED;
}

/* --- Proposals -------------------------------------------------------------------------------- */

/* Retries while another proposal of the source is in progress. */
static int send_proposal(Invocation *invocation, Str name, Str body, int64_t *request)
{
    int64_t end_us = clock_monotonic_us() + (int64_t)SYNC_TIMEOUT_MS * 1000;
    Str target = cluster_target_with(invocation->arena, "/v1/sources/", name, "/propose");
    for (;;) {
        ClusterRefusal refusal = { .target = target };
        Value response = value_null();
        Error err;
        if (cluster_send(invocation,
                         &(ClusterRequest){ .method = "POST", .target = target, .body = body },
                         &response, &refusal.responded, &err)) {
            *request = value_get_int(response, "request");
            return EXIT_OK;
        }
        if (err.kind != ERROR_CONFLICT || clock_monotonic_us() >= end_us) {
            refusal.response = response;
            return cluster_report_refusal(invocation, &refusal, &err);
        }
        (void)clock_sleep_ms(RETRY_INTERVAL_MS, NULL);
    }
}

static Value proposal_of(Value source)
{
    return value_get_map(object_status(source), "proposal");
}

static int wait_for_proposal(Invocation *invocation, Str name, int64_t request, Value *out)
{
    int64_t end_us = clock_monotonic_us() + (int64_t)SYNC_TIMEOUT_MS * 1000;
    while (clock_monotonic_us() < end_us) {
        int code = get_source(invocation, name, out);
        Value proposal = proposal_of(*out);
        if (code != EXIT_OK || value_get_int(proposal, "request") > request ||
            !str_eq_c(value_get_text(proposal, "state"), "pending")) {
            return code;
        }
        (void)clock_sleep_ms(POLL_MS, NULL);
    }
    output_line(invocation->err,
                "%" STR_FMT ": no result after %d s; 'eden sources show' shows it later",
                STR_ARG(name), SYNC_TIMEOUT_MS / 1000);
    return EXIT_TIMED_OUT;
}

static void print_proposal(const Invocation *invocation, Str name, Value proposal)
{
    Str state = value_get_text(proposal, "state"), why = value_get_text(proposal, "why"),
        commit = str_slice(value_get_text(proposal, "commit"), 0, 12);
    if (commit.len == 0) {
        output_line(invocation->out, "%" STR_FMT ": %" STR_FMT, STR_ARG(name), STR_ARG(why));
    } else if (why.len > 0) {
        output_line(invocation->out, "%" STR_FMT " commit %" STR_FMT " is %" STR_FMT ": %" STR_FMT,
                    STR_ARG(name), STR_ARG(commit), STR_ARG(state), STR_ARG(why));
    } else {
        Str version = value_get_text(proposal, "version");
        output_line(invocation->out, "%" STR_FMT " commit %" STR_FMT " is version %" STR_FMT,
                    STR_ARG(name), STR_ARG(commit), STR_ARG(version));
        output_line(invocation->err,
                    "'eden run --check --version %" STR_FMT "' shows what it would change",
                    STR_ARG(version));
    }
}

/* Repeats the request if another one has replaced its result in the meantime. */
static int propose(Responses *responses, Str name)
{
    Invocation *invocation = responses->invocation;
    Map *body = map_new(invocation->arena, 2);
    source_input_option(invocation, body, "commit");
    source_input_option(invocation, body, "branch");
    Str text = cluster_body(invocation->arena, value_map(body));
    int64_t request = 0;
    Value source = value_null();
    do {
        int code = send_proposal(invocation, name, text, &request);
        if (code == EXIT_OK && invocation_flag(invocation, "no-wait")) {
            output_line(invocation->err, "%" STR_FMT " is being fetched", STR_ARG(name));
            return EXIT_OK;
        }
        code = code == EXIT_OK ? wait_for_proposal(invocation, name, request, &source) : code;
        if (code != EXIT_OK) {
            return code;
        }
    } while (value_get_int(proposal_of(source), "request") != request);
    if (!responses_add(responses, name, source)) {
        print_proposal(invocation, name, proposal_of(source));
    }
    return str_eq_c(value_get_text(proposal_of(source), "state"), "ok") ? EXIT_OK : EXIT_FAILED;
}

static int check_proposal(const Invocation *invocation)
{
    bool has_commit = invocation_text(invocation, "commit") != NULL,
         has_branch = invocation_text(invocation, "branch") != NULL;
    if (has_commit && has_branch) {
        return usage_error(invocation, "--commit and --branch are mutually exclusive");
    }
    if ((has_commit || has_branch) && !invocation_flag(invocation, "no-activate")) {
        return usage_error(invocation,
                           "--commit and --branch require --no-activate: only the source's own "
                           "branch becomes current");
    }
    return has_commit && invocation->arg_count > 1
               ? usage_error(invocation, "--commit requires a single source")
               : EXIT_OK;
}

static int run_sync(Invocation *invocation)
{
    bool is_proposal = invocation_flag(invocation, "no-activate");
    if (check_proposal(invocation) != EXIT_OK) {
        return EXIT_USAGE;
    }
    Responses responses;
    responses_init(&responses, invocation, invocation->arg_count);
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        Str name = str_from_c(invocation->args[i]);
        int code = is_proposal ? propose(&responses, name) : sync_one(&responses, name);
        responses.worst = exit_code_worse(responses.worst, code);
    }
    return responses_end(&responses);
}

/* --- Rows ------------------------------------------------------------------------------------- */

static const Option add_options[] = { SOURCE_OPTIONS, { 0 } };

static const Option set_options[] = {
    { .name = "url", .argument = "URL", .help = "address of the repository" },
    SOURCE_OPTIONS,
    { .name = "no-token", .help = "remove the token" },
    { 0 },
};

static const Option key_options[] = {
    { .name = "new", .help = "generate a new key; the old one stops working" },
    { 0 },
};

static const Option webhook_options[] = {
    { .name = "remove", .help = "stop accepting webhooks" },
    { 0 },
};

static const Option sync_options[] = {
    { .name = "commit",
      .argument = "HASH",
      .help = "with --no-activate: full hash of the commit to use" },
    SOURCE_BRANCH_OPTION,
    { .name = "no-activate",
      .help = "create a version from the commit, but do not make it current" },
    { .name = "no-wait", .help = "do not wait for the result" },
    { 0 },
};

static const Verb verbs[] = {
    { .name = "list",
      .is_default = true,
      .help = "List sources with their state and newest commit.",
      .options = kind_list_options,
      .examples = { { "eden sources", "list all sources" } },
      .run = kind_run_list },
    { .name = "show",
      .args = { { "NAME" } },
      .help = "Show a source.",
      .examples = { { "eden sources show site", "show all fields of a source" } },
      .run = kind_run_show },
    { .name = "add",
      .args = { { "NAME" }, { "URL" } },
      .help = "Follow a git repository.",
      .text =
          "The leading server fetches the newest commit of the branch and creates a version of\n"
          "the site from it, which all nodes apply. If the commit makes the site invalid, it is\n"
          "rejected and the problems are recorded; the last valid version stays current.\n"
          "\n"
          "If there are several sources, all but one need --directory.\n"
          "\n"
          "For an SSH URL, the server generates a key and prints its public part: add it to the\n"
          "repository as a read-only deploy key. The SSH server's host keys are required: they\n"
          "are not trusted on first use. For a private repository with an HTTPS URL, provide a\n"
          "token in a file that only you can read.",
      .options = add_options,
      .examples = { { "eden sources add site https://git.example.net/site.git",
                      "use a repository as the site" },
                    { "eden sources add web git@git.example.net:web.git --directory files/web "
                      "--known-hosts ~/.ssh/known_hosts",
                      "use a second repository as a directory in the site" } },
      .run = run_add },
    { .name = "set",
      .args = { { "NAME" } },
      .help = "Change a source.",
      .text =
          "Settings that you do not specify are left unchanged. A token is sent only to the host\n"
          "for which it was provided; if --url specifies a different host, provide the token\n"
          "again.",
      .options = set_options,
      .examples = { { "eden sources set site --branch production", "follow another branch" },
                    { "eden sources set site --token-file - < token", "replace the token" } },
      .run = run_set },
    { .name = "key",
      .args = { { "NAME" } },
      .help = "Print the SSH key that the server uses to fetch a repository.",
      .options = key_options,
      .examples = { { "eden sources key site", "print the deploy key to add to the repository" } },
      .run = run_key },
    { .name = "webhook",
      .args = { { "NAME" } },
      .help = "Create a webhook secret for a source and print it once.",
      .text =
          "GitHub, GitLab or Gitea call the URL after each push, so that the commit is fetched\n"
          "immediately. Running the command again replaces the secret; the old one stops working.",
      .options = webhook_options,
      .examples = { { "eden sources webhook site",
                      "print the URL and secret to configure in GitHub or GitLab" } },
      .run = run_webhook },
    KIND_VERB_APPLY("sources", "source", "NAME"),
    { .name = "sync",
      .args = { { "NAME..." } },
      .help = "Fetch the newest commit now.",
      .text =
          "Waits until the commit is part of the current version or has been rejected. The exit\n"
          "code is 1 if it was rejected or cannot be fetched, and 5 if another version was made\n"
          "current instead.\n"
          "\n"
          "With --no-activate, a version is created from a proposed commit and the current\n"
          "content of the other sources. 'eden run --check --version REF' shows what it would\n"
          "change.",
      .options = sync_options,
      .examples = { { "eden sources sync site", "fetch now instead of at the next interval" },
                    { "eden sources sync site --branch next --no-activate",
                      "create a version from a proposed change" } },
      .run = run_sync },
    { .name = "remove",
      .alias = "delete",
      .args = { { "NAME..." } },
      .help = "Stop following a repository.",
      .text = "If other sources remain, the repository's files are removed from the site; if it\n"
              "was the last source, the current version stays unchanged.",
      .examples = { { "eden sources remove web", "stop following a repository" } },
      .run = kind_run_delete },
    { 0 },
};

const Command command_sources = {
    .name = "sources",
    .alias = "source",
    .group = GROUP_CLUSTER,
    .kind = "Source",
    .help = "Follow git repositories: each new commit becomes a version of the site.",
    .options = kind_options,
    .verbs = verbs,
};
