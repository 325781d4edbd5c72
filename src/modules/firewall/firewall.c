/* firewall.rules: an nftables table.
 *
 * nft prints a table differently than it was written, so the loaded table cannot be compared with
 * the requested one. Instead, the file that is loaded at boot also contains what nft printed right
 * after loading the table: the requested rules are compared with the file, and the kernel's with
 * that listing. */
#include "base/text_diff.h"
#include "modules/command.h"
#include "modules/file/edit.h"
#include "modules/firewall/ruleset.h"
#include "modules/tool.h"
#include "sys/clock.h"
#include "sys/confirmed_change.h"
#include "sys/probe.h"

#define DIRECTORY "/etc/nftables.d"
#define INCLUDE   STR("include \"" DIRECTORY "/eden-*.nft\"")

enum {
    FILE_MODE = 0600, /* the rules would be useful to an attacker */
    GRACE_MS = 2000,  /* additional time for us to confirm, beyond the timeout of the test */
    RETEST_TIMEOUT_MS = 1000, /* timeout of the test after restoring the previous rules */
    CONFIRM_MS_MAX = 600000,
    CONFIRM_INTERVAL_MS = 100
};

/* How to test that new rules do not lock anybody out: parameter `confirm`. */
typedef struct Confirm {
    bool is_set; /* false: no test */
    Str address;
    uint16_t port;
    Value command; /* missing: connect to the port */
    int64_t timeout_ms;
} Confirm;

typedef struct RulesChange {
    FirewallSpec spec;
    Confirm confirm;
    bool absent, secret;
    Str script; /* loads the table, or removes it */
    bool load;
    Str file_path;
    FileInfo file;
    bool write_file;
    Target *conf; /* the file that includes the saved table; NULL: unchanged */
} RulesChange;

/* --- Confirmation ---------------------------------------------------------------------------- */

static const ParamSpec confirm_specs[] = {
    { "address", PARAM_STRING, .help = "address to connect to" },
    { "port", PARAM_INT, .help = "TCP port to connect to" },
    { "cmd", PARAM_COMMAND, .help = "command that must succeed" },
    { "timeout", PARAM_DURATION, .help = "how long to retry" },
};

enum {
    CONFIRM_ADDRESS,
    CONFIRM_PORT,
    CONFIRM_COMMAND,
    CONFIRM_TIMEOUT,
    CONFIRM_PARAMS
};

static bool confirm_params(Call *call, Value given, Value *values, Error *err)
{
    for (uint32_t i = 0; i < given.map->len; i++) {
        MapEntry entry = given.map->entries[i];
        Str key = value_is_string(entry.key) ? value_str(entry.key) : STR("?");
        uint32_t at = 0;
        while (at < CONFIRM_PARAMS && !str_eq_c(key, confirm_specs[at].name)) {
            at++;
        }
        if (at == CONFIRM_PARAMS) {
            return error_set(err, ERROR_INVALID,
                             "unknown key '%" STR_FMT "'; expected address, port, cmd or timeout",
                             STR_ARG(key));
        }
        if (entry.value.kind == VALUE_NULL) {
            continue;
        }
        if (!param_convert(call->arena, NULL, &confirm_specs[at], entry.value, &values[at], err)) {
            return error_wrap(err, "%s", confirm_specs[at].name);
        }
    }
    return true;
}

static bool confirm_map(Call *call, Value given, Confirm *out, Error *err)
{
    Value values[CONFIRM_PARAMS];
    for (uint32_t i = 0; i < CONFIRM_PARAMS; i++) {
        values[i] = value_missing();
    }
    if (!confirm_params(call, given, values, err)) {
        return false;
    }
    bool by_port =
        !value_is_missing(values[CONFIRM_ADDRESS]) || !value_is_missing(values[CONFIRM_PORT]);
    out->command = values[CONFIRM_COMMAND];
    if (by_port == !value_is_missing(out->command)) {
        return error_set(err, ERROR_INVALID, "either 'address' and 'port', or 'cmd' is required");
    }
    if (by_port) {
        int64_t port = values[CONFIRM_PORT].kind == VALUE_INT ? values[CONFIRM_PORT].integer : 0;
        if (value_is_missing(values[CONFIRM_ADDRESS]) || port < 1 || port > UINT16_MAX) {
            return error_set(err, ERROR_INVALID, "'address' and 'port' (1 to 65535) are required");
        }
        out->address = value_str(values[CONFIRM_ADDRESS]);
        out->port = (uint16_t)port;
    }
    if (!value_is_missing(values[CONFIRM_TIMEOUT])) {
        out->timeout_ms = values[CONFIRM_TIMEOUT].integer;
    }
    return (out->timeout_ms > 0 && out->timeout_ms <= CONFIRM_MS_MAX) ||
           error_set(err, ERROR_INVALID, "'timeout' must be between 1ms and %d minutes",
                     CONFIRM_MS_MAX / 60000);
}

static bool confirm_read(Call *call, Confirm *out, Error *err)
{
    *out = (Confirm){ .command = value_missing(), .timeout_ms = 5000 };
    out->is_set = call_has(call, "confirm");
    return !out->is_set || confirm_map(call, call_param(call, "confirm"), out, err) ||
           error_wrap(err, "confirm");
}

static bool confirm_once(Call *call, const Confirm *confirm, int64_t timeout_ms, Error *err)
{
    if (value_is_missing(confirm->command)) {
        return probe_port(call->arena, confirm->address, confirm->port, timeout_ms, call->canceled,
                          err) ||
               error_wrap(err, "%" STR_FMT " port %u", STR_ARG(confirm->address), confirm->port);
    }
    Command command = { .command = confirm->command, .timeout_ms = timeout_ms };
    ProcessResult result;
    Str words = command_words(call->arena, confirm->command);
    bool ran = command_execute(call, &command, &result, err);
    if (ran && result.ending == PROCESS_EXITED && result.exit_code == 0) {
        return true;
    }
    if (ran) {
        command_failure(call, &command, &result, err);
    }
    return error_wrap(err, "'%" STR_FMT "'", STR_ARG(words));
}

/* Repeats the test until it succeeds, for at most `timeout_ms`. Returns false with the last
 * error. */
static bool confirm_wait(Call *call, const Confirm *confirm, int64_t timeout_ms, Error *err)
{
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
    for (int64_t left_ms = timeout_ms;; left_ms = (deadline_us - clock_monotonic_us()) / 1000) {
        ArenaMark mark = arena_mark(call->arena);
        bool ok = confirm_once(call, confirm, left_ms, err);
        arena_release(call->arena, mark);
        Error canceled;
        if (ok || clock_monotonic_us() + (int64_t)CONFIRM_INTERVAL_MS * 1000 >= deadline_us ||
            !call_sleep(call, CONFIRM_INTERVAL_MS, &canceled)) {
            return ok;
        }
    }
}

/* --- nft ------------------------------------------------------------------------------------- */

/* "Error: unknown statement: foo bar": the first message from nft, with the line it refers to. */
static bool nft_failure(Str messages, bool secret, Error *err)
{
    Str line = STR_EMPTY, source = STR_EMPTY;
    (void)(str_split_next(&messages, '\n', &line) && str_split_next(&messages, '\n', &source));
    size_t at = str_find(line, STR("Error: "), 0);
    line = at == STR_NOT_FOUND ? line : str_from_offset(line, at + strlen("Error: "));
    source = secret ? STR_EMPTY : str_trim(source);
    return error_set(err, ERROR_INVALID, "nft rejects the rules: %" STR_FMT "%s%" STR_FMT,
                     STR_ARG(line), source.len > 0 ? ": " : "", STR_ARG(source));
}

/* Lists the table with nft; empty if it does not exist. */
static bool nft_print(Call *call, const FirewallSpec *spec, const char *options, Str *out,
                      Error *err)
{
    ToolArgs args = { 0 };
    tool_arg(call, &args, STR("nft"));
    if (options != NULL) {
        tool_arg(call, &args, str_from_c(options));
    }
    tool_arg(call, &args, STR("list"));
    tool_arg(call, &args, STR("table"));
    tool_arg(call, &args, spec->family);
    tool_arg(call, &args, spec->name);
    Tool tool = { .argv = tool_args_end(call, &args) };
    ProcessResult result;
    *out = STR_EMPTY;
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending == PROCESS_EXITED && result.exit_code == 0) {
        *out = result.out;
        return !result.out_truncated ||
               error_set(err, ERROR_LIMIT, "the table is larger than %d bytes", TOOL_OUTPUT_MAX);
    }
    if (result.ending == PROCESS_EXITED &&
        str_find(result.error_out, STR("No such file or directory"), 0) != STR_NOT_FOUND) {
        return true;
    }
    return tool_failure(call, &tool, &result, err);
}

/* Without volatile data: counters, and set elements that packets add. */
static bool nft_list(Call *call, const FirewallSpec *spec, Str *out, Error *err)
{
    if (!nft_print(call, spec, "-s", out, err)) {
        return false;
    }
    return str_find(*out, STR("dynamic"), 0) == STR_NOT_FOUND ||
           nft_print(call, spec, "-st", out, err);
}

static bool nft_run(Call *call, const char *const *argv, Str script, bool secret, Error *err)
{
    Tool tool = { .argv = argv, .input = script };
    ProcessResult result;
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending != PROCESS_EXITED) {
        return tool_failure(call, &tool, &result, err);
    }
    return result.exit_code == 0 || nft_failure(result.error_out, secret, err);
}

/* Checks whether nft accepts it, without changing anything. */
static bool nft_check(Call *call, Str script, bool secret, Error *err)
{
    return nft_run(call, (const char *const[]){ "nft", "-c", "-f", "-", NULL }, script, secret,
                   err);
}

static bool nft_load(Call *call, Str script, bool secret, Error *err)
{
    return nft_run(call, (const char *const[]){ "nft", "-f", "-", NULL }, script, secret, err);
}

/* --- Check ----------------------------------------------------------------------------------- */

static bool read_params(Call *call, RulesChange *change, Error *err)
{
    FirewallSpec *spec = &change->spec;
    Str table;
    *spec = (FirewallSpec){ .drops = str_eq(call_str(call, "policy"), STR("drop")),
                            .basics = call_bool(call, "basics"),
                            .rules = call_param(call, "rules"),
                            .content = call_str(call, "content"),
                            .definitions = call_str(call, "definitions") };
    change->absent = str_eq(call_str(call, "state"), STR("absent"));
    change->secret = value_holds_secret(spec->rules) ||
                     value_is_secret(call_param(call, "content")) ||
                     value_is_secret(call_param(call, "definitions"));
    if (!firewall_parse_table(call_str(call, "table"), spec, err) ||
        !firewall_format(call->arena, spec, &table, err) ||
        !confirm_read(call, &change->confirm, err)) {
        return false;
    }
    change->script = firewall_replace(call->arena, spec, change->absent ? STR_EMPTY : table);
    change->file_path = arena_format(call->arena, DIRECTORY "/eden-%" STR_FMT "-%" STR_FMT ".nft",
                                     STR_ARG(spec->family), STR_ARG(spec->name));
    return true;
}

static bool verify_params(Call *call, Error *err)
{
    return read_params(call, ARENA_NEW(call->arena, RulesChange), err) ||
           call_blame(call, str_starts(str_from_c(err->text), STR("confirm")) ? "confirm" : NULL);
}
CALL_VERIFY(rules_verify, verify_params)

/* Edits the distribution's file that the nftables service loads. */
static bool check_conf(Call *call, RulesChange *change, Outcome *outcome, Error *err)
{
    Str path = STR("/etc/sysconfig/nftables.conf");
    FileInfo info;
    Edit edit;
    if (change->absent || !call_bool(call, "boot")) {
        return true;
    }
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    path = info.kind == FILE_ABSENT ? STR("/etc/nftables.conf") : path;
    if (!edit_begin_system(call, path, &edit, err)) {
        return false;
    }
    for (uint32_t i = 0; i < edit.lines.len; i++) {
        if (str_eq(str_trim(edit.lines.items[i]), INCLUDE)) {
            return true;
        }
    }
    if (edit.target->before.kind == FILE_ABSENT) {
        edit_insert(&edit, 0, STR("#!/usr/sbin/nft -f"));
        edit_insert(&edit, 1, STR("flush ruleset"));
        edit.target->new_mode = 0755;
    }
    edit_insert(&edit, edit.lines.len, INCLUDE);
    Outcome own = { 0 };
    change->conf = edit.target;
    if (!edit_end(&edit, false, &own, err)) {
        return false;
    }
    outcome->changed = true;
    outcome->diff = own.diff;
    outcome_change(call, outcome, arena_copy_c(call->arena, path), value_missing(),
                   value_string(INCLUDE));
    return true;
}

static void report_diff(Call *call, Outcome *outcome, Str old_text, Str new_text, Str name,
                        bool secret)
{
    AUTO_CLEAR(Buf) diff = buf_make(BUF_UNLIMITED);
    if (secret) {
        buf_put_format(&diff, "%" STR_FMT ": changed (secret)\n", STR_ARG(name));
    } else {
        text_diff(old_text, new_text, old_text.len > 0 ? name : STR("/dev/null"),
                  new_text.len > 0 ? name : STR("/dev/null"), &diff);
    }
    buf_put(&diff, outcome->diff);
    outcome->diff = arena_copy(call->arena, buf_str(&diff));
}

typedef struct Found {
    Str name;    /* "table inet eden" */
    Str listing; /* empty: the table does not exist */
    Str file;
} Found;

static bool read_current(Call *call, RulesChange *change, Found *found, Error *err)
{
    found->name = arena_format(call->arena, "table %" STR_FMT " %" STR_FMT,
                               STR_ARG(change->spec.family), STR_ARG(change->spec.name));
    if (!host_inspect(call->host, call->arena, change->file_path, FILE_CONTENT_MAX, &change->file,
                      &found->file, err) ||
        !nft_list(call, &change->spec, &found->listing, err)) {
        return false;
    }
    return change->file.kind == FILE_ABSENT || change->file.kind == FILE_REGULAR ||
           error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a file",
                     STR_ARG(change->file_path), file_kind_name(change->file.kind));
}

static void report_absence(Call *call, RulesChange *change, const Found *found, Outcome *outcome)
{
    change->load = found->listing.len > 0;
    change->write_file = change->file.kind == FILE_REGULAR;
    if (change->load) {
        outcome_change(call, outcome, arena_copy_c(call->arena, found->name),
                       value_string(STR("loaded")), value_string(STR("absent")));
        report_diff(call, outcome, found->listing, STR_EMPTY, found->name, change->secret);
    } else if (change->write_file) {
        outcome_change(call, outcome, arena_copy_c(call->arena, change->file_path),
                       value_string(STR("file")), value_string(STR("absent")));
    }
    outcome->changed = change->load || change->write_file;
}

/* Reports whether the requested rules changed, or the loaded ones. */
static void report_rules(Call *call, RulesChange *change, const Found *found, Outcome *outcome)
{
    Str script = STR_EMPTY, remembered = STR_EMPTY;
    Str now = found->listing.len == 0 ? STR("absent") : STR("loaded"), then = STR("loaded");
    if (firewall_parse_file(call->arena, found->file, &script, &remembered) &&
        str_eq(script, change->script)) {
        now = found->listing.len == 0 ? now : STR("modified externally");
        report_diff(call, outcome, found->listing, remembered, found->name, change->secret);
    } else {
        then = found->listing.len == 0 ? then : STR("other rules");
        report_diff(call, outcome, script, change->script, change->file_path, change->secret);
    }
    outcome_change(call, outcome, arena_copy_c(call->arena, found->name), value_string(now),
                   value_string(then));
    outcome->changed = true;
}

static bool compare(Call *call, RulesChange *change, Outcome *outcome, Error *err)
{
    Found found;
    if (!read_current(call, change, &found, err)) {
        return false;
    }
    if (change->absent) {
        report_absence(call, change, &found, outcome);
        return true;
    }
    change->load = found.listing.len == 0 ||
                   !str_eq(found.file, firewall_file(call->arena, change->script, found.listing));
    change->write_file = change->load;
    if (!change->load) {
        return true;
    }
    report_rules(call, change, &found, outcome);
    return nft_check(call, change->script, change->secret, err);
}

static bool rules_check(Call *call, Outcome *outcome, Error *err)
{
    RulesChange *change = ARENA_NEW(call->arena, RulesChange);
    if (!read_params(call, change, err)) {
        return false;
    }
    if (!host_is_live(call->host)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "a firewall can be managed only on the running system, not under the "
                         "alternate root '%s'",
                         host_root(call->host));
    }
    outcome->check_data = change;
    outcome->state = change->absent ? STR("absent") : STR("present");
    if (!tool_exists(call, "nft")) {
        outcome->changed = outcome->unknown = call_report_missing_program(call, "nft");
        return outcome->unknown ||
               error_set(err, ERROR_NOT_FOUND, "nft not found (package nftables)");
    }
    if (!check_conf(call, change, outcome, err) || !compare(call, change, outcome, err)) {
        return false;
    }
    if (change->secret) {
        outcome_observe(call, outcome, change->script);
    }
    outcome->comment = !outcome->changed ? STR("already loaded")
                       : change->absent  ? STR("removed")
                                         : STR("loaded");
    return true;
}

/* --- Apply ----------------------------------------------------------------------------------- */

/* Reports that the previous rules were restored; `why` is the reason. */
static bool report_rollback(Call *call, const RulesChange *change, const Error *why, Error *err)
{
    Error again;
    bool answers =
        call_canceled(call) || confirm_wait(call, &change->confirm, RETEST_TIMEOUT_MS, &again);
    return error_set(
        err, why->kind,
        "the new rules were not confirmed within %g s and the previous ones were restored%s: %s",
        (double)change->confirm.timeout_ms / 1000,
        answers ? "" : " (but fail the confirmation too)", why->text);
}

/* Loads the rules. A separate process restores the previous rules unless the new ones are confirmed
 * in time. */
static bool load_with_rollback(Call *call, const RulesChange *change, Outcome *outcome, Error *err)
{
    Str former, program, messages = STR_EMPTY;
    if (!nft_print(call, &change->spec, NULL, &former, err)) {
        return false;
    }
    ConfirmedChangeSpec spec = {
        .argv = (const char *const[]){ "nft", "-f", "-", NULL },
        .env =
            (const char *const[]){ "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", NULL },
        .change = change->script,
        .restore = firewall_replace(call->arena, &change->spec, former),
        .timeout_ms = change->confirm.timeout_ms + GRACE_MS,
    };
    if (!nft_check(call, spec.restore, change->secret, err)) {
        return error_wrap(err, "the currently loaded rules could not be restored");
    }
    if (!tool_find(call, "nft", &program)) {
        return error_set(err, ERROR_NOT_FOUND, "nft not found (package nftables)");
    }
    spec.program = arena_copy_c(call->arena, program);
    AUTO(ConfirmedChange) *pending = NULL;
    if (!confirmed_change_start(call->arena, &spec, &pending, &messages, err)) {
        return messages.len > 0 ? nft_failure(messages, change->secret, err) : false;
    }
    Error why;
    if (confirm_wait(call, &change->confirm, change->confirm.timeout_ms, &why)) {
        outcome->changed = confirmed_change_keep(&pending, err);
        return outcome->changed ||
               error_wrap(
                   err,
                   "the new rules were confirmed too late and the previous ones were restored");
    }
    if (!confirmed_change_undo(&pending, err) &&
        !nft_load(call, spec.restore, change->secret, err)) {
        outcome->changed = true;
        return error_wrap(
            err,
            "the new rules were not confirmed (%s), and the previous ones could not be restored",
            why.text);
    }
    return report_rollback(call, change, &why, err);
}

static bool write_file(Call *call, const RulesChange *change, Outcome *outcome, Error *err)
{
    Str listing;
    if (!call_journal(call, change->file_path, err)) {
        return false;
    }
    if (change->absent) {
        return host_remove(call->host, change->file_path, err);
    }
    if (!nft_list(call, &change->spec, &listing, err)) {
        return false;
    }
    FileWrite write = { .content = firewall_file(call->arena, change->script, listing),
                        .mode = FILE_MODE,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID };
    return host_make_directory(call->host, STR(DIRECTORY), DIRECTORY_MODE_NEW, true, err) &&
           host_write(call->host, change->file_path, &write, err);
}

static bool rules_apply(Call *call, Outcome *outcome, Error *err)
{
    RulesChange *change = outcome->check_data;
    if (change->load) {
        bool ok = change->confirm.is_set ? load_with_rollback(call, change, outcome, err)
                                         : nft_load(call, change->script, change->secret, err);
        if (!ok) {
            return false;
        }
        outcome->changed = true;
    }
    if (change->write_file) {
        if (!write_file(call, change, outcome, err)) {
            return false;
        }
        outcome->changed = true;
    }
    return change->conf == NULL || target_apply(call, change->conf, outcome, err);
}

/* --- Module table ---------------------------------------------------------------------------- */

static const ParamSpec rules_params[] = {
    { "table", PARAM_STRING, .fallback = "inet eden",
      .help = "family and name of the table that this step manages" },
    { "rules", PARAM_ANY, .aspect = "rules=",
      .help = "list of accept, drop or reject, each with port, protocol, from, interface" },
    { "policy", PARAM_STRING, .aspect = "policy", .fallback = "drop", .choices = "accept|drop",
      .help = "what to do with packets that no rule matches" },
    { "basics", PARAM_BOOL, .aspect = "basics", .fallback = "true",
      .help = "accept replies, loopback and ICMP before all rules" },
    { "content", PARAM_STRING,
      .aspect = "additional rules=", .help = "additional rules of the input chain, in nft syntax" },
    { "definitions", PARAM_STRING, .aspect = "definitions=",
      .help = "additional content of the table, such as sets and chains, in nft syntax" },
    { "confirm", PARAM_MAP,
      .help = "test of the new rules: address and port, or cmd, that must succeed within timeout "
              "(5s)" },
    { "boot", PARAM_BOOL, .aspect = "boot", .fallback = "true",
      .help = "include the rules in /etc/nftables.conf" },
    { "state", PARAM_STRING, .aspect = "state", .fallback = "present", .choices = "present|absent",
      .help = "whether the table exists" },
    { 0 },
};

static void rules_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("needs:pkg:nftables")));
    claims_add_param(arena, claims, "nft:", params[0]);
}

static const Action actions[] = {
    { "rules", "Ensure that an nftables table has the given rules.", rules_params, rules_check,
      rules_apply, .verify_all = rules_verify, .claims = rules_claims, .id_param = "table",
      .may_sleep = true, .cost_ms = 100, .resource = "firewall-table table",
      .text = "The step manages one table. It is replaced atomically; other tables are left\n"
              "unchanged. Rules are evaluated in order, and the first match wins; 'policy'\n"
              "applies to packets that match no rule. Replies to the machine's own requests,\n"
              "loopback and ICMP are accepted before all rules, unless 'basics: false'.\n"
              "\n"
              "    rules:\n"
              "      - accept: {port: [80, 443]}\n"
              "      - accept: {ports: 60000-61000, protocol: udp, interface: eth0}\n"
              "      - reject: {from: [192.0.2.0/24, \"2001:db8::/32\"]}\n"
              "\n"
              "Additional rules of the same chain are written in nft syntax in 'content', sets\n"
              "and other chains in 'definitions'.\n"
              "\n"
              "With 'confirm' the new rules are tested: unless the address accepts a\n"
              "connection, or the command succeeds, within the timeout, the previous rules are\n"
              "restored and the step fails. They are also restored if eden is killed in the\n"
              "meantime. Only confirmed rules are written to disk. An address proves that this\n"
              "machine can still reach others; to prove that others can reach it, for example\n"
              "with ssh, use a command that tests the connection from another machine.\n"
              "\n"
              "For the next boot the table is saved in /etc/nftables.d, and /etc/nftables.conf\n"
              "gets a line that includes it (except with 'boot: false'). Enabling the nftables\n"
              "service is left to another step. External changes to the table are detected and\n"
              "reverted.\n",
      .example = "- name: allow only web and ssh\n"
                 "  firewall.rules:\n"
                 "    - rules:\n"
                 "        - accept: {port: [80, 443]}\n"
                 "        - accept: {port: 22, from: 192.0.2.0/24}\n"
                 "    - confirm: {address: 192.0.2.1, port: 22, timeout: 5s}\n" },
    { 0 },
};

const Module modules_firewall = {
    .name = "firewall",
    .help = "Firewall rules.",
    .actions = actions,
};
