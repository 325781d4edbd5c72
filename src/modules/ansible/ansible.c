/* ansible.*: playbooks of Ansible, for what is not written as steps yet. */
#include "lang/json.h"
#include "modules/ansible/callback.h"
#include "modules/ansible/report.h"
#include "modules/scratch.h"
#include "modules/tool.h"

enum {
    REPORT_MAX = 64 << 20
};

#define INVENTORY                         \
    "localhost ansible_connection=local " \
    "ansible_python_interpreter=\"{{ ansible_playbook_python }}\"\n"

/* --- Parameters ------------------------------------------------------------------------------ */

static bool get_playbook(const Call *call, const char **name, Error *err)
{
    static const char *const names[] = { "playbook", "source", "content", NULL };
    if (!call_choose(call, names, name, err)) {
        return false;
    }
    return *name != NULL ||
           error_set(err, ERROR_INVALID, "needs one of 'playbook', 'source' and 'content'");
}

static bool check_words(const Call *call, Error *err)
{
    Str limit = call_str(call, "limit"), inventory = call_str(call, "inventory");
    return (limit.len == 0 || tool_word(limit, "a limit", err)) &&
           (inventory.len == 0 || tool_word(inventory, "an inventory", err));
}

/* What a plan finds missing, which an earlier step may bring; empty: nothing. */
static bool find_missing(Call *call, const char *from, Str *out, bool *comes, Error *err)
{
    FileInfo info;
    *out = STR_EMPTY;
    *comes = true;
    if (!tool_is_there(call, "ansible-playbook")) {
        *comes = call_lacks_program(call, "ansible-playbook");
        *out = STR("there is no program 'ansible-playbook' (package ansible-core)");
    } else if (strcmp(from, "playbook") == 0) {
        Str path = call_str(call, "playbook");
        if (!host_stat(call->host, path, &info, err)) {
            return false;
        }
        if (info.kind == FILE_ABSENT) {
            *comes = call_lacks(call, "playbook", "path", path);
            *out = arena_format(call->arena, "there is no playbook '%" STR_FMT "'", STR_ARG(path));
        }
    }
    return true;
}

/* --- Running --------------------------------------------------------------------------------- */

/* Variables may hold secrets, so they go into a file. */
static bool give_variables(Call *call, Scratch *scratch, ToolArgs *args, Error *err)
{
    Value variables = call_param(call, "extra_vars");
    Str path;
    if (variables.kind == VALUE_MAP) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
        if (!json_print(&text, variables, NULL, err)) {
            return error_wrap(err, "extra_vars");
        }
        if (!scratch_put(scratch, "extra_vars.json", buf_str(&text), &path, err)) {
            return false;
        }
        tool_option(call, args, "extra-vars",
                    arena_format(call->arena, "@%" STR_FMT, STR_ARG(path)));
    }
    if (call_has(call, "vault_password")) {
        if (!scratch_put(scratch, "vault_password", call_str(call, "vault_password"), &path, err)) {
            return false;
        }
        tool_option(call, args, "vault-password-file", path);
    }
    return true;
}

static bool give_inventory(Call *call, Scratch *scratch, ToolArgs *args, Error *err)
{
    Str inventory = call_str(call, "inventory");
    if (inventory.len == 0 && !scratch_put(scratch, "inventory", STR(INVENTORY), &inventory, err)) {
        return false;
    }
    tool_option(call, args, "inventory", inventory);
    return true;
}

static bool make_arguments(Call *call, Scratch *scratch, bool asks, ToolArgs *args, Error *err)
{
    const char *from;
    if (!get_playbook(call, &from, err)) {
        return false;
    }
    Str playbook = call_str(call, from);
    if (strcmp(from, "playbook") != 0 &&
        !scratch_put(scratch, "playbook.yaml", playbook, &playbook, err)) {
        return false;
    }
    tool_arg(call, args, STR("ansible-playbook"));
    tool_arg(call, args, STR("--diff"));
    if (asks) {
        tool_arg(call, args, STR("--check"));
    }
    if (!give_inventory(call, scratch, args, err) || !give_variables(call, scratch, args, err)) {
        return false;
    }
    tool_option(call, args, "limit", call_str(call, "limit"));
    tool_option(call, args, "tags", tool_join(call, call_param(call, "tags"), ','));
    tool_option(call, args, "skip-tags", tool_join(call, call_param(call, "skip_tags"), ','));
    tool_arg(call, args, STR("--"));
    tool_arg(call, args, playbook);
    return true;
}

typedef VEC(const char *) Environment;

static void set(Call *call, Environment *env, const char *name, Str value)
{
    if (value.len > 0) {
        VEC_PUSH(call->arena, env,
                 arena_copy_c(call->arena,
                              arena_format(call->arena, "%s=%" STR_FMT, name, STR_ARG(value))));
    }
}

/* The ansible.cfg beside the playbook, as when it is run from there. It can name plugins, which run as
 * root: in a directory that others may write to it could be anybody's. */
static Str find_settings(Call *call)
{
    Str playbook = call_str(call, "playbook");
    FileInfo info, own;
    Error err;
    size_t slash = str_find_last(playbook, STR("/"));
    if (slash == STR_NOT_FOUND) {
        return STR_EMPTY;
    }
    Str path = arena_format(call->arena, "%" STR_FMT "/ansible.cfg",
                            STR_ARG(str_slice(playbook, 0, slash)));
    if (!host_stat(call->host, path, &info, &err) || info.kind != FILE_REGULAR ||
        !host_stat(call->host, playbook, &own, &err)) {
        return STR_EMPTY;
    }
    if (info.uid != 0 && info.uid != own.uid) {
        call_progress(call, arena_format(call->arena,
                                         "%" STR_FMT " is not used: it belongs to another user "
                                         "than the playbook",
                                         STR_ARG(path)));
        return STR_EMPTY;
    }
    return path;
}

/* Ansible creates its home and leaves things there, even with --check, so it gets a private one.
 * Roles, collections and plugins that were installed in the real one are linked from there. */
static bool make_home(Call *call, Scratch *scratch, Error *err)
{
    static const char *const linked[] = { "collections", "plugins", "roles" };
    Str from = tool_home(call), home = scratch_path(scratch, "home");
    if (!host_make_directory(call->host, home, 0700, false, err)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(linked); i++) {
        FileInfo info;
        Str target =
            arena_format(call->arena, "%" STR_FMT "/.ansible/%s", STR_ARG(from), linked[i]);
        Str path = arena_format(call->arena, "%" STR_FMT "/%s", STR_ARG(home), linked[i]);
        if (!host_stat(call->host, target, &info, err) ||
            (info.kind != FILE_ABSENT && !host_make_link(call->host, path, target, err))) {
            return false;
        }
    }
    return true;
}

static const char *const *make_environment(Call *call, Scratch *scratch, bool asks)
{
    Environment env = { 0 };
    set(call, &env, "EDEN_REPORT", scratch_path(scratch, "report"));
    set(call, &env, "ANSIBLE_CALLBACK_PLUGINS", scratch->path);
    set(call, &env, "ANSIBLE_STDOUT_CALLBACK", STR("default"));
    set(call, &env, "ANSIBLE_HOME", scratch_path(scratch, "home"));
    set(call, &env, "ANSIBLE_LOCAL_TEMP", scratch_path(scratch, "local"));
    if (!call_has(call, "inventory")) { /* on this machine nothing is left elsewhere */
        set(call, &env, "ANSIBLE_REMOTE_TEMP", scratch_path(scratch, "remote"));
    }
    if (asks) { /* ansible.cfg may name files for both, and a check leaves nothing behind */
        set(call, &env, "ANSIBLE_CACHE_PLUGIN", STR("memory"));
        set(call, &env, "ANSIBLE_LOG_PATH", STR("/dev/null"));
    }
    set(call, &env, "ANSIBLE_ROLES_PATH", tool_join(call, call_param(call, "roles"), ':'));
    set(call, &env, "ANSIBLE_CONFIG", find_settings(call));
    set(call, &env, "ANSIBLE_NOCOLOR", STR("1"));
    set(call, &env, "ANSIBLE_FORCE_COLOR", STR("0"));
    set(call, &env, "ANSIBLE_RETRY_FILES_ENABLED", STR("0"));
    set(call, &env, "ANSIBLE_LOCALHOST_WARNING", STR("0"));
    set(call, &env, "PYTHONDONTWRITEBYTECODE", STR("1"));
    VEC_PUSH(call->arena, &env, NULL);
    return env.items;
}

static bool finish(Call *call, Scratch *scratch, const Tool *tool, const ProcessResult *result,
                   Outcome *outcome, AnsibleReport *report, Error *err)
{
    Str text;
    Error missing;
    bool there = host_read(call->host, call->arena, scratch_path(scratch, "report"), REPORT_MAX,
                           &text, &missing);
    if (!there && missing.kind != ERROR_NOT_FOUND) {
        *err = missing;
        return error_wrap(err, "the report of Ansible");
    }
    if (there && !ansible_report_read(call, text, outcome, report, err)) {
        return false;
    }
    /* What failed and was made good again ('rescue') is no failure. */
    if (result->ending == PROCESS_EXITED && result->exit_code == 0) {
        return true;
    }
    return report->failed > 0 ? error_set(err, ERROR_OS, "%" STR_FMT, STR_ARG(report->failures))
                              : tool_failure(call, tool, result, err);
}

static bool run_playbook(Call *call, bool asks, Outcome *outcome, AnsibleReport *report, Error *err)
{
    AUTO_CLEAR(Scratch) scratch = { 0 };
    ToolArgs args = { 0 };
    ProcessResult result;
    Str plugin;
    if (!scratch_make(call, &scratch, err) ||
        !scratch_put(&scratch, "eden_report.py", str_from_c(ansible_callback), &plugin, err) ||
        !make_home(call, &scratch, err) || !make_arguments(call, &scratch, asks, &args, err)) {
        return false;
    }
    Tool tool = { .argv = tool_args_end(call, &args),
                  .env = make_environment(call, &scratch, asks),
                  .timeout_ms = call_int(call, "timeout", 0) };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (!asks) {
        tool_show(&result, outcome);
    }
    return finish(call, &scratch, &tool, &result, outcome, report, err);
}

/* Ansible runs plugins and modules that lie beside a playbook, whoever put them there. */
static bool check_place(Call *call, const char *from, Error *err)
{
    FileInfo info;
    Str playbook = call_str(call, "playbook");
    if (strcmp(from, "playbook") != 0) {
        return true;
    }
    Str folder = arena_format(call->arena, "%" STR_FMT "/.",
                              STR_ARG(str_slice(playbook, 0, str_find_last(playbook, STR("/")))));
    if (!host_stat(call->host, folder, &info, err)) {
        return call_blame(call, "playbook");
    }
    return info.kind == FILE_ABSENT || (info.mode & S_IWOTH) == 0 ||
           error_set(err, ERROR_DENIED,
                     "%" STR_FMT ": everybody may write to its directory, and Ansible would run "
                     "plugins that others put there",
                     STR_ARG(playbook)) ||
           call_blame(call, "playbook");
}

static bool playbook_check(Call *call, Outcome *outcome, Error *err)
{
    const char *from;
    Str missing;
    bool comes;
    AnsibleReport report = { 0 };
    if (!get_playbook(call, &from, err) || !check_words(call, err)) {
        return false;
    }
    if (!host_is_live(call->host)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "Ansible manages the running machine, not the root '%s'",
                         host_root(call->host));
    }
    if (!check_place(call, from, err) || !find_missing(call, from, &missing, &comes, err)) {
        return false;
    }
    if (missing.len > 0 && !comes) {
        return error_set(err, ERROR_NOT_FOUND, "%" STR_FMT, STR_ARG(missing));
    }
    if (missing.len > 0 || !call_bool(call, "ask")) {
        outcome->changed = outcome->unknown = true;
        outcome->comment = missing.len > 0 ? STR_EMPTY : STR("is not asked before it runs");
        return true;
    }
    if (!run_playbook(call, true, outcome, &report, err)) {
        if (report.failed == 0) {
            return false;
        }
        /* Tasks that use what others would have made fail with --check: the run itself can tell. */
        outcome->changed = outcome->unknown = true;
        outcome->comment = arena_format(call->arena, "not known by --check: %s", err->text);
        return true;
    }
    outcome->changed = report.changed > 0;
    outcome->comment = report.changed == 0
                           ? STR("nothing to change")
                           : arena_format(call->arena, "%u %s", report.changed,
                                          report.changed == 1 ? "task changes something"
                                                              : "tasks change something");
    return true;
}

static bool playbook_apply(Call *call, Outcome *outcome, Error *err)
{
    AnsibleReport report = { 0 };
    outcome->changes = NULL;
    outcome->diff = STR_EMPTY;
    bool ok = run_playbook(call, false, outcome, &report, err);
    host_forget_people(call->host);
    outcome->changed = report.changed > 0;
    if (ok || report.changed > 0) {
        outcome->comment =
            report.changed == 0
                ? STR("nothing to change")
                : arena_format(call->arena, "%u %s changed something", report.changed,
                               report.changed == 1 ? "task" : "tasks");
    }
    return ok;
}

/* --- Rows ------------------------------------------------------------------------------------ */

static const ParamSpec playbook_params[] = {
    { "name", PARAM_STRING, .help = "what requisites call it; has no other meaning" },
    { "playbook", PARAM_PATH, .help = "the playbook, on the machine" },
    { "source", PARAM_SITE_FILE, .help = "a playbook below files/ of the site" },
    { "content", PARAM_STRING, .help = "the playbook itself" },
    { "inventory", PARAM_STRING,
      .help = "a path or a list of hosts with commas; this machine when not given" },
    { "limit", PARAM_STRING, .help = "only these of its hosts" },
    { "extra_vars", PARAM_MAP, .help = "variables, given in a private file" },
    { "vault_password", PARAM_STRING, .help = "opens vaults, given in a private file" },
    { "tags", PARAM_STRINGS, .help = "only tasks with one of these tags" },
    { "skip_tags", PARAM_STRINGS, .help = "no task with one of these tags" },
    { "roles", PARAM_STRINGS, .help = "folders of roles" },
    { "ask", PARAM_BOOL, .fallback = "true",
      .help = "ask with --check first; without, a plan cannot tell" },
    { "timeout", PARAM_DURATION, .help = "how long one run of Ansible may take" },
    { 0 },
};

static const Action actions[] = {
    { "playbook", "Run a playbook of Ansible.", playbook_params, playbook_check, playbook_apply,
      .cost_ms = 10000,
      .text =
          "Runs 'ansible-playbook' of this machine, first with --check --diff: what that reports\n"
          "is what a plan shows, and when it reports nothing, the step is ok. Commands do not run\n"
          "with --check; they count as a change to come unless they have 'changed_when: false'.\n"
          "When a task fails with --check, because it uses what another would have made, the plan\n"
          "cannot tell. In the end those tasks count that said they changed something. One that\n"
          "fails, fails the step with its message and place.\n"
          "\n"
          "Without 'inventory' the playbook runs on this machine, as 'localhost', without ssh.\n"
          "Variables and the password of a vault reach it by files for the owner alone. An\n"
          "ansible.cfg beside the playbook is used; where everybody may write, a playbook is\n"
          "refused. Ansible gets a private home that is removed afterwards; collections, roles\n"
          "and plugins below ~/.ansible are found. With --check it\n"
          "writes no log and no cached facts. Ansible must be installed (package ansible-core);\n"
          "below another root (--root) this is refused.\n",
      .example = "- name: what is still in Ansible\n"
                 "  ansible.playbook:\n"
                 "    - playbook: /srv/ansible/site.yaml\n"
                 "    - extra_vars:\n"
                 "        port: 8080\n" },
    { 0 },
};

const Module modules_ansible = {
    .name = "ansible",
    .help = "Playbooks of Ansible.",
    .id_param = "name|playbook",
    .actions = actions,
};
