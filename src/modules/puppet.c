/* puppet.*: Puppet manifests, for what has not been converted to steps yet.
 *
 * check runs Puppet with --noop in private directories, so that not even Puppet's own state
 * changes. */
#include "modules/foreign_report.h"
#include "modules/foreign_tool.h"

enum {
    EXIT_CHANGES = 2, /* exit codes of --detailed-exitcodes, as bits */
    EXIT_FAILURES = 4
};

static const ForeignTool puppet = {
    .name = "Puppet",
    .program = "puppet",
    .package = "puppet-agent",
    .document = "manifest",
    .text = "code",
    .file = "site.pp",
};

/* Facts are passed in the environment, where they override those that Facter finds. */
static bool environment(Call *call, const char *const **out, Error *err)
{
    VEC(const char *) all = { 0 };
    Value facts = call_param(call, "facts");
    for (uint32_t i = 0; facts.kind == VALUE_MAP && i < facts.map->len; i++) {
        const MapEntry *entry = &facts.map->entries[i];
        if (!value_is_string(entry->key) || !value_is_string(entry->value) ||
            str_find(value_str(entry->key), STR("="), 0) != STR_NOT_FOUND) {
            return error_set(err, ERROR_INVALID, "'facts' must map names to strings");
        }
        Str text = arena_format(call->arena, "FACTER_%" STR_FMT "=%" STR_FMT,
                                STR_ARG(value_str(entry->key)), STR_ARG(value_str(entry->value)));
        VEC_PUSH(call->arena, &all, arena_copy_c(call->arena, text));
    }
    VEC_PUSH(call->arena, &all, NULL);
    *out = all.items;
    return true;
}

/* Makes a dry run write all of its files to the scratch directory. */
static void use_scratch_directories(Call *call, ToolArgs *args, const Scratch *scratch)
{
    static const char *const directories[] = {
        "vardir",    "ssldir",   "logdir",    "rundir",
        "publicdir", "statedir", "devicedir", "deviceconfdir"
    };
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        tool_option(call, args, directories[i], scratch_path(scratch, directories[i]));
    }
}

static bool build_arguments(Call *call, Scratch *scratch, bool dry_run, ToolArgs *args, Error *err)
{
    Str manifest;
    if (!foreign_tool_document(&puppet, scratch, &manifest, err)) {
        return false;
    }
    tool_arg(call, args, STR("puppet"));
    tool_arg(call, args, STR("apply"));
    tool_arg(call, args, STR("--detailed-exitcodes"));
    tool_arg(call, args, STR("--color=false"));
    tool_arg(call, args, STR("--show_diff"));
    if (dry_run) {
        tool_arg(call, args, STR("--noop"));
        use_scratch_directories(call, args, scratch);
    }
    tool_option(call, args, "lastrunreport", scratch_path(scratch, "report.yaml"));
    tool_option(call, args, "environment", call_str(call, "environment"));
    tool_option(call, args, "modulepath", tool_join(call, call_param(call, "modules"), ':'));
    tool_option(call, args, "hiera_config", call_str(call, "hiera_config"));
    tool_option(call, args, "tags", tool_join(call, call_param(call, "tags"), ','));
    tool_arg(call, args, manifest);
    return true;
}

/* If there is no report, nothing was done, for instance because the manifest does not compile. */
static bool read_report(Scratch *scratch, const Tool *tool, const ProcessResult *result,
                        Outcome *outcome, ForeignReport *out, Error *err)
{
    Call *call = scratch->call;
    Str text;
    Error missing;
    bool ended = result->ending == PROCESS_EXITED;
    if (!ended || (result->exit_code & ~(EXIT_CHANGES | EXIT_FAILURES)) != 0) {
        return tool_failure(call, tool, result, err);
    }
    if (!foreign_tool_report(scratch, "report.yaml", &text, &missing)) {
        if (result->exit_code != 0) {
            return tool_failure(call, tool, result, err);
        }
        *err = missing;
        return error_wrap(err, "puppet wrote no report");
    }
    return puppet_report_read(call, text, outcome, out, err);
}

static bool run_puppet(Call *call, bool dry_run, Outcome *outcome, ForeignReport *report,
                       Error *err)
{
    AUTO_CLEAR(Scratch) scratch = { 0 };
    ToolArgs args = { 0 };
    ProcessResult result;
    const char *const *env;
    if (!environment(call, &env, err) || !scratch_make(call, &scratch, err) ||
        !build_arguments(call, &scratch, dry_run, &args, err)) {
        return false;
    }
    Tool tool = { .argv = tool_args_end(call, &args),
                  .env = env,
                  .timeout_ms = call_int(call, "timeout", 0) };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (!dry_run) {
        tool_report(&result, outcome);
    }
    return read_report(&scratch, &tool, &result, outcome, report, err);
}

static bool verify_params(Call *call, Error *err)
{
    const char *from;
    return foreign_tool_choose(call, &puppet, &from, err);
}
CALL_VERIFY(apply_verify, verify_params)

static bool apply_check(Call *call, Outcome *outcome, Error *err)
{
    const char *from;
    const char *const *env;
    bool is_ready;
    ForeignReport report;
    if (!foreign_tool_choose(call, &puppet, &from, err) || !environment(call, &env, err) ||
        !foreign_tool_is_live(call, &puppet, err) ||
        !foreign_tool_ready(call, &puppet, from, outcome, &is_ready, err)) {
        return false;
    }
    if (!is_ready) {
        return true;
    }
    if (!run_puppet(call, true, outcome, &report, err)) {
        /* An earlier step may install a module or class, but it cannot fix a syntax error. */
        if (!call->planning ||
            str_find(str_from_c(err->text), STR("Syntax error"), 0) != STR_NOT_FOUND) {
            return false;
        }
        outcome->changed = outcome->unknown = true;
        outcome->comment = arena_copy(call->arena, str_from_c(err->text));
        return true;
    }
    outcome->changed = report.changed > 0 || report.failed > 0;
    if (report.failed > 0) { /* resources that fail now may succeed once their dependencies exist */
        outcome->unknown = true;
        outcome->comment = report.failures;
    } else {
        outcome->comment = report.changed == 0
                               ? STR("nothing to change")
                               : arena_format(call->arena, "%u %s changed", report.changed,
                                              report.changed == 1 ? "resource" : "resources");
    }
    return true;
}

static bool apply_apply(Call *call, Outcome *outcome, Error *err)
{
    ForeignReport report = { 0 };
    outcome->changes = NULL;
    outcome->diff = STR_EMPTY;
    if (!run_puppet(call, false, outcome, &report, err)) {
        /* Puppet ran, but it is unknown what it did. */
        outcome->changed = outcome->has_exit_code && outcome->exit_code != 1;
        return false;
    }
    host_forget_accounts(call->host);
    outcome->changed = report.changed > 0;
    outcome->comment = arena_format(call->arena, "%u %s changed", report.changed,
                                    report.changed == 1 ? "resource" : "resources");
    if (report.failed > 0) {
        return error_set(err, ERROR_OS, "%u resources failed, %u were skipped: %" STR_FMT,
                         report.failed, report.skipped, STR_ARG(report.failures));
    }
    return outcome->exit_code < EXIT_FAILURES ||
           error_set(err, ERROR_OS, "puppet exited with %d, but its report contains no failure",
                     outcome->exit_code);
}

static const ParamSpec apply_params[] = {
    { "name", PARAM_STRING, .help = "identifier for requisites; has no other effect" },
    { "manifest", PARAM_PATH,
      .help = "path of a manifest, or a directory of manifests, on the machine" },
    { "source", PARAM_SITE_FILE, .help = "manifest in the site's files/" },
    { "code", PARAM_STRING, .help = "content of the manifest" },
    { "environment", PARAM_STRING, .help = "Puppet environment" },
    { "modules", PARAM_STRINGS, .help = "module directories, instead of Puppet's defaults" },
    { "hiera_config", PARAM_PATH, .help = "path of the hiera.yaml to use" },
    { "facts", PARAM_MAP, .help = "facts as strings, which override those that Facter finds" },
    { "tags", PARAM_STRINGS, .help = "apply only resources with one of these tags" },
    { "ask", PARAM_BOOL, .fallback = "true",
      .help = "run with --noop first; otherwise a plan cannot predict changes" },
    { "timeout", PARAM_DURATION, .help = "time limit for running Puppet" },
    { 0 },
};

static const Action actions[] = {
    { "apply", "Apply a Puppet manifest.", apply_params, apply_check, apply_apply,
      .verify_all = apply_verify, .claims = foreign_claims, .cost_ms = 10000,
      .text = "Runs the machine's 'puppet apply', first with --noop: a plan shows the changes\n"
              "it reports, and if it reports none, the step is ok. Each resource is reported as\n"
              "a change of its properties, with the diffs of files. If a resource fails, the\n"
              "step fails with its message and line; other changes that Puppet has made are not\n"
              "reverted.\n"
              "\n"
              "Messages (notify) are shown and do not count as changes. A manifest from\n"
              "'source' or 'code' is written to a private file while it runs. Puppet must be\n"
              "installed (package puppet-agent); in another root (--root) this is not\n"
              "supported.\n",
      .example = "- name: apply what is still in Puppet\n"
                 "  puppet.apply:\n"
                 "    - manifest: /etc/puppet/manifests/site.pp\n"
                 "    - modules: /etc/puppet/modules\n" },
    { 0 },
};

const Module modules_puppet = {
    .name = "puppet",
    .help = "Puppet manifests.",
    .id_param = "name|manifest",
    .actions = actions,
};
