/* ansible.*: Ansible playbooks, for what has not been converted to steps yet.
 *
 * check runs the playbook with --check --diff. Ansible's core has no machine-readable output, so a
 * callback plugin appends each result to a file. Danger: Ansible runs plugins from the playbook's
 * directory, from the user's home directory and from paths in ansible.cfg, all as root. Locations
 * that other users can write to are rejected or ignored. */
#include "lang/json.h"
#include "modules/foreign_report.h"
#include "modules/foreign_tool.h"

static const ForeignTool ansible = {
    .name = "Ansible",
    .program = "ansible-playbook",
    .package = "ansible-core",
    .document = "playbook",
    .text = "content",
    .file = "playbook.yaml",
};

#define INVENTORY                         \
    "localhost ansible_connection=local " \
    "ansible_python_interpreter=\"{{ ansible_playbook_python }}\"\n"

/* The callback plugin: writes a line of JSON for each result of a task to the file named by
 * EDEN_REPORT. Ansible censors the results of tasks with no_log before it passes them on. */
static const char ansible_callback[] =
    "import json\n"
    "import os\n"
    "\n"
    "from ansible.plugins.callback import CallbackBase\n"
    "\n"
    "DOCUMENTATION = '''\n"
    "name: eden_report\n"
    "type: aggregate\n"
    "short_description: results for eden\n"
    "description: [results as lines of JSON]\n"
    "'''\n"
    "\n"
    "\n"
    "class CallbackModule(CallbackBase):\n"
    "    CALLBACK_VERSION = 2.0\n"
    "    CALLBACK_TYPE = 'aggregate'\n"
    "    CALLBACK_NAME = 'eden_report'\n"
    "\n"
    "    def write(self, status, result):\n"
    "        task, host, data = result._task, result._host, result._result\n"
    "        parts = [part for part in data.get('results', []) if isinstance(part, dict)] or "
    "[data]\n"
    "        shown = [part for part in parts if part.get('failed')] or parts\n"
    "        words = [str(shown[0].get(key)) for key in\n"
    "                 ('msg', 'reason', 'censored', 'module_stderr', 'stderr') if "
    "shown[0].get(key)]\n"
    "        diffs = [self._get_diff(part['diff']) for part in parts\n"
    "                 if part.get('diff') and part.get('changed')]\n"
    "        diff = ''.join(text for text in diffs if text)\n"
    "        if len(diff) > 200000:  # cut at a line: part of a secret would not be redacted\n"
    "            diff = diff[:200000].rpartition('\\n')[0] + '\\n'\n"
    "        line = {\n"
    "            'status': status,\n"
    "            'host': host.get_name(),\n"
    "            'task': task.get_name().strip(),\n"
    "            'action': task.action,\n"
    "            'place': task.get_path() or '',\n"
    "            'changed': bool(data.get('changed')),\n"
    "            'unasked': any('check mode' in str(part.get('msg')) for part in parts)\n"
    "            and task.changed_when not in ([False], ['false'], ['False']),\n"
    "            'message': ': '.join(words)[:2000],\n"
    "            'diff': diff,\n"
    "        }\n"
    "        with open(os.environ['EDEN_REPORT'], 'a') as out:\n"
    "            out.write(json.dumps(line) + '\\n')\n"
    "\n"
    "    def v2_runner_on_ok(self, result):\n"
    "        self.write('ok', result)\n"
    "\n"
    "    def v2_runner_on_skipped(self, result):\n"
    "        self.write('skipped', result)\n"
    "\n"
    "    def v2_runner_on_failed(self, result, ignore_errors=False):\n"
    "        self.write('ignored' if ignore_errors else 'failed', result)\n"
    "\n"
    "    def v2_runner_on_unreachable(self, result):\n"
    "        self.write('unreachable', result)\n";

static bool check_params(const Call *call, Error *err)
{
    Str limit = call_str(call, "limit"), inventory = call_str(call, "inventory");
    return (limit.len == 0 || tool_check_word(limit, "a limit", err)) &&
           (inventory.len == 0 || tool_check_word(inventory, "an inventory", err));
}

/* Variables may contain secrets, so they are passed in a file. */
static bool add_variables(Call *call, Scratch *scratch, ToolArgs *args, Error *err)
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

static bool add_inventory(Call *call, Scratch *scratch, ToolArgs *args, Error *err)
{
    Str inventory = call_str(call, "inventory");
    if (inventory.len == 0 && !scratch_put(scratch, "inventory", STR(INVENTORY), &inventory, err)) {
        return false;
    }
    tool_option(call, args, "inventory", inventory);
    return true;
}

static bool build_arguments(Call *call, Scratch *scratch, bool dry_run, ToolArgs *args, Error *err)
{
    Str playbook;
    if (!foreign_tool_document(&ansible, scratch, &playbook, err)) {
        return false;
    }
    tool_arg(call, args, STR("ansible-playbook"));
    tool_arg(call, args, STR("--diff"));
    if (dry_run) {
        tool_arg(call, args, STR("--check"));
    }
    if (!add_inventory(call, scratch, args, err) || !add_variables(call, scratch, args, err)) {
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
        VEC_PUSH(call->arena, env, tool_variable(call, name, value));
    }
}

/* The ansible.cfg next to the playbook, as if Ansible ran in that directory. It can specify
 * plugins, which run as root, so it is ignored in a directory that other users can write to. */
static Str find_config(Call *call)
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
        call_progress(call,
                      arena_format(call->arena,
                                   "%" STR_FMT
                                   " is ignored: it does not belong to the owner of the playbook",
                                   STR_ARG(path)));
        return STR_EMPTY;
    }
    return path;
}

/* Ansible creates its home directory and leaves files there even with --check, so it gets a private
 * one. Roles, collections and plugins from the real one are linked into it. */
static bool create_home(Call *call, Scratch *scratch, Error *err)
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

static const char *const *build_environment(Call *call, Scratch *scratch, bool dry_run)
{
    Environment env = { 0 };
    set(call, &env, "EDEN_REPORT", scratch_path(scratch, "report"));
    set(call, &env, "ANSIBLE_CALLBACK_PLUGINS", scratch->path);
    set(call, &env, "ANSIBLE_STDOUT_CALLBACK", STR("default"));
    set(call, &env, "ANSIBLE_HOME", scratch_path(scratch, "home"));
    set(call, &env, "ANSIBLE_LOCAL_TEMP", scratch_path(scratch, "local"));
    /* Otherwise Ansible creates ~/.ansible/tmp, even on this machine if the inventory lists it. */
    if (dry_run || !call_has(call, "inventory")) {
        set(call, &env, "ANSIBLE_REMOTE_TEMP", scratch_path(scratch, "remote"));
    }
    /* ansible.cfg may set paths for logs and facts, but a check must not leave anything behind */
    if (dry_run) {
        set(call, &env, "ANSIBLE_CACHE_PLUGIN", STR("memory"));
        set(call, &env, "ANSIBLE_LOG_PATH", STR("/dev/null"));
    }
    set(call, &env, "ANSIBLE_ROLES_PATH", tool_join(call, call_param(call, "roles"), ':'));
    set(call, &env, "ANSIBLE_CONFIG", find_config(call));
    set(call, &env, "ANSIBLE_NOCOLOR", STR("1"));
    set(call, &env, "ANSIBLE_FORCE_COLOR", STR("0"));
    set(call, &env, "ANSIBLE_RETRY_FILES_ENABLED", STR("0"));
    set(call, &env, "ANSIBLE_LOCALHOST_WARNING", STR("0"));
    set(call, &env, "PYTHONDONTWRITEBYTECODE", STR("1"));
    VEC_PUSH(call->arena, &env, NULL);
    return env.items;
}

static bool finish(Scratch *scratch, const Tool *tool, const ProcessResult *result,
                   Outcome *outcome, ForeignReport *report, Error *err)
{
    Call *call = scratch->call;
    Str text;
    Error missing;
    bool has_report = foreign_tool_report(scratch, "report", &text, &missing);
    if (!has_report && missing.kind != ERROR_NOT_FOUND) {
        *err = missing;
        return error_wrap(err, "cannot read Ansible's report");
    }
    if (has_report && !ansible_report_read(call, text, outcome, report, err)) {
        return false;
    }
    /* A failure that the playbook handles with 'rescue' is not an error. */
    if (result->ending == PROCESS_EXITED && result->exit_code == 0) {
        return true;
    }
    return report->failed > 0 ? error_set(err, ERROR_OS, "%" STR_FMT, STR_ARG(report->failures))
                              : tool_failure(call, tool, result, err);
}

static bool run_playbook(Call *call, bool dry_run, Outcome *outcome, ForeignReport *report,
                         Error *err)
{
    AUTO_CLEAR(Scratch) scratch = { 0 };
    ToolArgs args = { 0 };
    ProcessResult result;
    Str plugin;
    if (!scratch_make(call, &scratch, err) ||
        !scratch_put(&scratch, "eden_report.py", str_from_c(ansible_callback), &plugin, err) ||
        !create_home(call, &scratch, err) ||
        !build_arguments(call, &scratch, dry_run, &args, err)) {
        return false;
    }
    Tool tool = { .argv = tool_args_end(call, &args),
                  .env = build_environment(call, &scratch, dry_run),
                  .timeout_ms = call_int(call, "timeout", 0) };
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (!dry_run) {
        tool_report(&result, outcome);
    }
    return finish(&scratch, &tool, &result, outcome, report, err);
}

/* Ansible runs plugins and modules next to the playbook, regardless of their owner. */
static bool check_location(Call *call, const char *from, Error *err)
{
    FileInfo info;
    Str playbook = call_str(call, "playbook");
    if (strcmp(from, "playbook") != 0) {
        return true;
    }
    Str directory =
        arena_format(call->arena, "%" STR_FMT "/.",
                     STR_ARG(str_slice(playbook, 0, str_find_last(playbook, STR("/")))));
    if (!host_stat(call->host, directory, &info, err)) {
        return call_blame(call, "playbook");
    }
    return info.kind == FILE_ABSENT || (info.mode & S_IWOTH) == 0 ||
           error_set(err, ERROR_DENIED,
                     "%" STR_FMT ": its directory is world-writable, and Ansible would run plugins "
                     "that other users put there",
                     STR_ARG(playbook)) ||
           call_blame(call, "playbook");
}

static bool verify_params(Call *call, Error *err)
{
    const char *from;
    return foreign_tool_choose(call, &ansible, &from, err) && check_params(call, err);
}
CALL_VERIFY(playbook_verify, verify_params)

static bool playbook_check(Call *call, Outcome *outcome, Error *err)
{
    const char *from;
    bool is_ready;
    ForeignReport report = { 0 };
    if (!foreign_tool_choose(call, &ansible, &from, err) || !check_params(call, err) ||
        !foreign_tool_is_live(call, &ansible, err) || !check_location(call, from, err) ||
        !foreign_tool_ready(call, &ansible, from, outcome, &is_ready, err)) {
        return false;
    }
    if (!is_ready) {
        return true;
    }
    if (!run_playbook(call, true, outcome, &report, err)) {
        if (report.failed == 0) {
            return false;
        }
        /* With --check, tasks fail if they use what earlier tasks would have created, so only the
         * actual run shows whether they fail. */
        outcome->changed = outcome->unknown = true;
        outcome->comment = arena_format(call->arena, "unknown: --check failed: %s", err->text);
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
    ForeignReport report = { 0 };
    outcome->changes = NULL;
    outcome->diff = STR_EMPTY;
    bool ok = run_playbook(call, false, outcome, &report, err);
    host_forget_accounts(call->host);
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

static const ParamSpec playbook_params[] = {
    { "name", PARAM_STRING, .help = "identifier for requisites; has no other effect" },
    { "playbook", PARAM_PATH, .help = "path of the playbook on the machine" },
    { "source", PARAM_SITE_FILE, .help = "playbook in the site's files/" },
    { "content", PARAM_STRING, .help = "content of the playbook" },
    { "inventory", PARAM_STRING,
      .help = "path of an inventory, or a comma-separated list of hosts; default: this machine" },
    { "limit", PARAM_STRING, .help = "subset of hosts to run on" },
    { "extra_vars", PARAM_MAP, .help = "variables, passed in a private file" },
    { "vault_password", PARAM_STRING, .help = "password for vaults, passed in a private file" },
    { "tags", PARAM_STRINGS, .help = "run only tasks with one of these tags" },
    { "skip_tags", PARAM_STRINGS, .help = "skip tasks with one of these tags" },
    { "roles", PARAM_STRINGS, .help = "directories of roles" },
    { "ask", PARAM_BOOL, .fallback = "true",
      .help = "run with --check first; otherwise a plan cannot predict changes" },
    { "timeout", PARAM_DURATION, .help = "time limit for running Ansible" },
    { 0 },
};

static const Action actions[] = {
    { "playbook", "Run an Ansible playbook.", playbook_params, playbook_check, playbook_apply,
      .verify_all = playbook_verify, .claims = foreign_claims, .cost_ms = 10000,
      .text = "Runs the machine's 'ansible-playbook', first with --check --diff: a plan shows\n"
              "the changes it reports, and if it reports none, the step is ok. Commands do not\n"
              "run with --check; they count as a change unless they have 'changed_when: false'.\n"
              "If a task fails with --check, because it uses what another task would have\n"
              "created, a plan cannot predict the result. In the run, tasks that report a\n"
              "change count as changes. If a task fails, the step fails with its message and\n"
              "location.\n"
              "\n"
              "Without 'inventory' the playbook runs on this machine, as 'localhost', without\n"
              "ssh. Variables and vault passwords are passed in private files. An ansible.cfg\n"
              "next to the playbook is used; a playbook in a world-writable directory is\n"
              "rejected. Ansible gets a private home directory that is removed afterward;\n"
              "collections, roles and plugins under ~/.ansible are available. With --check, it\n"
              "does not write logs or cached facts. Ansible must be installed (package\n"
              "ansible-core); in another root (--root) this is not supported.\n",
      .example = "- name: run what is still in Ansible\n"
                 "  ansible.playbook:\n"
                 "    - playbook: /srv/ansible/site.yaml\n"
                 "    - extra_vars:\n"
                 "        port: 8080\n" },
    { 0 },
};

const Module modules_ansible = {
    .name = "ansible",
    .help = "Ansible playbooks.",
    .id_param = "name|playbook",
    .actions = actions,
};
