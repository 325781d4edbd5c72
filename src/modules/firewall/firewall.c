/* firewall.rules: one table of nftables.
 *
 * nft prints a table in other words than it was given, so what is loaded cannot be compared with
 * what is wanted. Instead the file that is loaded at boot also holds what nft printed right after
 * the table was loaded: the wish is compared with the file, and the kernel with that print. */
#include "base/text_diff.h"
#include "modules/command.h"
#include "modules/file/edit.h"
#include "modules/firewall/text.h"
#include "modules/tool.h"
#include "sys/clock.h"
#include "sys/probe.h"
#include "sys/trial.h"

#define FOLDER  "/etc/nftables.d"
#define INCLUDE STR("include \"" FOLDER "/eden-*.nft\"")

enum {
    FILE_MODE = 0600,    /* rules tell an intruder much */
    GRACE_MS = 2000,     /* for us to speak up, beyond the time for the confirmation */
    ASK_AGAIN_MS = 1000, /* whether it answers now that the former rules are back */
    CONFIRM_MS_MAX = 600000,
    CONFIRM_PAUSE_MS = 100
};

/* How new rules prove that they do not lock anybody out: parameter `confirm`. */
typedef struct Confirm {
    bool wanted; /* false: nothing is asked */
    Str address;
    uint16_t port;
    Value command; /* missing: the port is asked */
    int64_t timeout_ms;
} Confirm;

typedef struct RulesChange {
    FirewallWish wish;
    Confirm confirm;
    bool absent, secret;
    Str script; /* puts the table in place, or takes it away */
    bool load;
    Str file_path;
    FileInfo file;
    bool write_file;
    Target *conf; /* the file that includes it; NULL: stays as it is */
} RulesChange;

/* --- The confirmation ------------------------------------------------------------------------ */

static const ParamSpec confirm_specs[] = {
    { "address", PARAM_STRING, .help = "whom to connect to" },
    { "port", PARAM_INT, .help = "its TCP port" },
    { "cmd", PARAM_COMMAND, .help = "a command that must succeed" },
    { "timeout", PARAM_DURATION, .help = "how long to try" },
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
                             "there is no '%" STR_FMT "': it has address, port, cmd, timeout",
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
        return error_set(err, ERROR_INVALID, "needs either 'address' and 'port', or 'cmd'");
    }
    if (by_port) {
        int64_t port = values[CONFIRM_PORT].kind == VALUE_INT ? values[CONFIRM_PORT].integer : 0;
        if (value_is_missing(values[CONFIRM_ADDRESS]) || port < 1 || port > UINT16_MAX) {
            return error_set(err, ERROR_INVALID, "needs 'address', and 'port' from 1 to 65535");
        }
        out->address = value_str(values[CONFIRM_ADDRESS]);
        out->port = (uint16_t)port;
    }
    if (!value_is_missing(values[CONFIRM_TIMEOUT])) {
        out->timeout_ms = values[CONFIRM_TIMEOUT].integer;
    }
    return (out->timeout_ms > 0 && out->timeout_ms <= CONFIRM_MS_MAX) ||
           error_set(err, ERROR_INVALID, "'timeout' is from 1ms to %d minutes",
                     CONFIRM_MS_MAX / 60000);
}

static bool confirm_read(Call *call, Confirm *out, Error *err)
{
    *out = (Confirm){ .command = value_missing(), .timeout_ms = 5000 };
    out->wanted = call_has(call, "confirm");
    return !out->wanted || confirm_map(call, call_param(call, "confirm"), out, err) ||
           error_wrap(err, "confirm");
}

static bool confirm_once(Call *call, const Confirm *confirm, int64_t timeout_ms, Error *err)
{
    if (value_is_missing(confirm->command)) {
        return probe_port(call->arena, confirm->address, confirm->port, timeout_ms, call->cancelled,
                          err) ||
               error_wrap(err, "%" STR_FMT " port %u", STR_ARG(confirm->address), confirm->port);
    }
    Command command = { .command = confirm->command, .timeout_ms = timeout_ms };
    ProcessResult result;
    Str words = command_words(call->arena, confirm->command);
    bool ran = command_run(call, &command, &result, err);
    if (ran && result.ending == PROCESS_EXITED && result.exit_code == 0) {
        return true;
    }
    if (ran) {
        command_failure(call, &command, &result, err);
    }
    return error_wrap(err, "'%" STR_FMT "'", STR_ARG(words));
}

/* Asks until the answer is good, for at most `timeout_ms`. False with what was wrong at last. */
static bool confirm_ask(Call *call, const Confirm *confirm, int64_t timeout_ms, Error *err)
{
    int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
    for (int64_t left_ms = timeout_ms;; left_ms = (deadline_us - clock_monotonic_us()) / 1000) {
        ArenaMark mark = arena_mark(call->arena);
        bool ok = confirm_once(call, confirm, left_ms, err);
        arena_release(call->arena, mark);
        Error cancelled;
        if (ok || clock_monotonic_us() + (int64_t)CONFIRM_PAUSE_MS * 1000 >= deadline_us ||
            !call_sleep(call, CONFIRM_PAUSE_MS, &cancelled)) {
            return ok;
        }
    }
}

/* --- nft ------------------------------------------------------------------------------------- */

/* "Error: unknown statement: foo bar": of nft's messages the first, with the line that it means. */
static bool nft_failure(Str told, bool secret, Error *err)
{
    Str line = STR_EMPTY, source = STR_EMPTY;
    (void)(str_split_next(&told, '\n', &line) && str_split_next(&told, '\n', &source));
    size_t at = str_find(line, STR("Error: "), 0);
    line = at == STR_NOT_FOUND ? line : str_from_offset(line, at + strlen("Error: "));
    source = secret ? STR_EMPTY : str_trim(source);
    return error_set(err, ERROR_INVALID, "nft refuses the rules: %" STR_FMT "%s%" STR_FMT,
                     STR_ARG(line), source.len > 0 ? ": " : "", STR_ARG(source));
}

/* What nft prints of the table; empty when there is none. */
static bool nft_print(Call *call, const FirewallWish *wish, const char *options, Str *out,
                      Error *err)
{
    ToolArgs args = { 0 };
    tool_arg(call, &args, STR("nft"));
    if (options != NULL) {
        tool_arg(call, &args, str_from_c(options));
    }
    tool_arg(call, &args, STR("list"));
    tool_arg(call, &args, STR("table"));
    tool_arg(call, &args, wish->family);
    tool_arg(call, &args, wish->name);
    Tool tool = { .argv = tool_args_end(call, &args) };
    ProcessResult result;
    *out = STR_EMPTY;
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    if (result.ending == PROCESS_EXITED && result.exit_code == 0) {
        *out = result.out;
        return !result.out_cut ||
               error_set(err, ERROR_LIMIT, "the table is larger than %d bytes", TOOL_OUTPUT_MAX);
    }
    if (result.ending == PROCESS_EXITED &&
        str_find(result.error_out, STR("No such file or directory"), 0) != STR_NOT_FOUND) {
        return true;
    }
    return tool_failure(call, &tool, &result, err);
}

/* Without what changes by itself: counters, and what packets add to sets. */
static bool nft_list(Call *call, const FirewallWish *wish, Str *out, Error *err)
{
    if (!nft_print(call, wish, "-s", out, err)) {
        return false;
    }
    return str_find(*out, STR("dynamic"), 0) == STR_NOT_FOUND ||
           nft_print(call, wish, "-st", out, err);
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

/* Whether nft would take it; nothing is changed. */
static bool nft_try(Call *call, Str script, bool secret, Error *err)
{
    return nft_run(call, (const char *const[]){ "nft", "-c", "-f", "-", NULL }, script, secret,
                   err);
}

static bool nft_load(Call *call, Str script, bool secret, Error *err)
{
    return nft_run(call, (const char *const[]){ "nft", "-f", "-", NULL }, script, secret, err);
}

/* --- Check ----------------------------------------------------------------------------------- */

static bool read_wish(Call *call, RulesChange *change, Error *err)
{
    FirewallWish *wish = &change->wish;
    Str table;
    *wish = (FirewallWish){ .drops = str_eq(call_str(call, "policy"), STR("drop")),
                            .basics = call_bool(call, "basics"),
                            .rules = call_param(call, "rules"),
                            .content = call_str(call, "content"),
                            .definitions = call_str(call, "definitions") };
    change->absent = str_eq(call_str(call, "state"), STR("absent"));
    change->secret = value_holds_secret(wish->rules) ||
                     value_is_secret(call_param(call, "content")) ||
                     value_is_secret(call_param(call, "definitions"));
    if (!firewall_parse_table(call_str(call, "table"), wish, err) ||
        !firewall_format(call->arena, wish, &table, err) ||
        !confirm_read(call, &change->confirm, err)) {
        return false;
    }
    change->script = firewall_replace(call->arena, wish, change->absent ? STR_EMPTY : table);
    change->file_path = arena_format(call->arena, FOLDER "/eden-%" STR_FMT "-%" STR_FMT ".nft",
                                     STR_ARG(wish->family), STR_ARG(wish->name));
    return true;
}

/* The file of the distribution that its service loads. */
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

static void tell_diff(Call *call, Outcome *outcome, Str old_text, Str new_text, Str name,
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
    Str listing; /* empty: there is no such table */
    Str file;
} Found;

static bool look(Call *call, RulesChange *change, Found *found, Error *err)
{
    found->name = arena_format(call->arena, "table %" STR_FMT " %" STR_FMT,
                               STR_ARG(change->wish.family), STR_ARG(change->wish.name));
    if (!host_look(call->host, call->arena, change->file_path, FILE_CONTENT_MAX, &change->file,
                   &found->file, err) ||
        !nft_list(call, &change->wish, &found->listing, err)) {
        return false;
    }
    return change->file.kind == FILE_ABSENT || change->file.kind == FILE_REGULAR ||
           error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a file",
                     STR_ARG(change->file_path), file_kind_name(change->file.kind));
}

static void tell_absence(Call *call, RulesChange *change, const Found *found, Outcome *outcome)
{
    change->load = found->listing.len > 0;
    change->write_file = change->file.kind == FILE_REGULAR;
    if (change->load) {
        outcome_change(call, outcome, arena_copy_c(call->arena, found->name),
                       value_string(STR("loaded")), value_string(STR("absent")));
        tell_diff(call, outcome, found->listing, STR_EMPTY, found->name, change->secret);
    } else if (change->write_file) {
        outcome_change(call, outcome, arena_copy_c(call->arena, change->file_path),
                       value_string(STR("file")), value_string(STR("absent")));
    }
    outcome->changed = change->load || change->write_file;
}

/* Whether it is the wish that moved, or what is loaded. */
static void tell_rules(Call *call, RulesChange *change, const Found *found, Outcome *outcome)
{
    Str script = STR_EMPTY, remembered = STR_EMPTY;
    Str now = found->listing.len == 0 ? STR("absent") : STR("loaded"), then = STR("loaded");
    if (firewall_parse_file(call->arena, found->file, &script, &remembered) &&
        str_eq(script, change->script)) {
        now = found->listing.len == 0 ? now : STR("changed by others");
        tell_diff(call, outcome, found->listing, remembered, found->name, change->secret);
    } else {
        then = found->listing.len == 0 ? then : STR("other rules");
        tell_diff(call, outcome, script, change->script, change->file_path, change->secret);
    }
    outcome_change(call, outcome, arena_copy_c(call->arena, found->name), value_string(now),
                   value_string(then));
    outcome->changed = true;
}

static bool compare(Call *call, RulesChange *change, Outcome *outcome, Error *err)
{
    Found found;
    if (!look(call, change, &found, err)) {
        return false;
    }
    if (change->absent) {
        tell_absence(call, change, &found, outcome);
        return true;
    }
    change->load = found.listing.len == 0 ||
                   !str_eq(found.file, firewall_file(call->arena, change->script, found.listing));
    change->write_file = change->load;
    if (!change->load) {
        return true;
    }
    tell_rules(call, change, &found, outcome);
    return nft_try(call, change->script, change->secret, err);
}

static bool rules_check(Call *call, Outcome *outcome, Error *err)
{
    RulesChange *change = ARENA_NEW(call->arena, RulesChange);
    if (!read_wish(call, change, err)) {
        return false;
    }
    if (!host_is_live(call->host)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "a firewall needs the running machine, not the root '%s'",
                         host_root(call->host));
    }
    outcome->found = change;
    outcome->state = change->absent ? STR("absent") : STR("present");
    if (!tool_is_there(call, "nft")) {
        outcome->changed = outcome->unknown = call_lacks_program(call, "nft");
        return outcome->unknown ||
               error_set(err, ERROR_NOT_FOUND, "there is no nft here (package nftables)");
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

/* The former rules are back; `why` tells what the new ones were lacking. */
static bool tell_rollback(Call *call, const RulesChange *change, const Error *why, Error *err)
{
    Error again;
    bool answers =
        call_cancelled(call) || confirm_ask(call, &change->confirm, ASK_AGAIN_MS, &again);
    return error_set(err, why->kind,
                     "the new rules were not confirmed within %g s, the former ones are back%s: %s",
                     (double)change->confirm.timeout_ms / 1000,
                     answers ? "" : " (and do not get confirmed either)", why->text);
}

/* With a process that puts the former rules back if nobody says that the new ones are good. */
static bool load_on_trial(Call *call, const RulesChange *change, Outcome *outcome, Error *err)
{
    Str former, program, told = STR_EMPTY;
    if (!nft_print(call, &change->wish, NULL, &former, err)) {
        return false;
    }
    TrialSpec spec = {
        .argv = (const char *const[]){ "nft", "-f", "-", NULL },
        .env =
            (const char *const[]){ "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", NULL },
        .change = change->script,
        .restore = firewall_replace(call->arena, &change->wish, former),
        .timeout_ms = change->confirm.timeout_ms + GRACE_MS,
    };
    if (!nft_try(call, spec.restore, change->secret, err)) {
        return error_wrap(err, "the rules that are loaded could not be put back");
    }
    if (!tool_find(call, "nft", &program)) {
        return error_set(err, ERROR_NOT_FOUND, "there is no nft here (package nftables)");
    }
    spec.program = arena_copy_c(call->arena, program);
    AUTO(Trial) *trial = NULL;
    if (!trial_start(call->arena, &spec, &trial, &told, err)) {
        return told.len > 0 ? nft_failure(told, change->secret, err) : false;
    }
    Error why;
    if (confirm_ask(call, &change->confirm, change->confirm.timeout_ms, &why)) {
        outcome->changed = trial_keep(&trial, err);
        return outcome->changed ||
               error_wrap(err,
                          "the new rules were confirmed too late and the former ones are back");
    }
    if (!trial_undo(&trial, err) && !nft_load(call, spec.restore, change->secret, err)) {
        outcome->changed = true;
        return error_wrap(err,
                          "the new rules were not confirmed (%s), and the former ones could "
                          "not be put back",
                          why.text);
    }
    return tell_rollback(call, change, &why, err);
}

static bool write_file(Call *call, const RulesChange *change, Outcome *outcome, Error *err)
{
    Str listing;
    if (!call_keep(call, change->file_path, err)) {
        return false;
    }
    if (change->absent) {
        return host_remove(call->host, change->file_path, err);
    }
    if (!nft_list(call, &change->wish, &listing, err)) {
        return false;
    }
    FileWrite write = { .content = firewall_file(call->arena, change->script, listing),
                        .mode = FILE_MODE,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID };
    return host_make_directory(call->host, STR(FOLDER), DIRECTORY_MODE_NEW, true, err) &&
           host_write(call->host, change->file_path, &write, err);
}

static bool rules_apply(Call *call, Outcome *outcome, Error *err)
{
    RulesChange *change = outcome->found;
    if (change->load) {
        bool ok = change->confirm.wanted ? load_on_trial(call, change, outcome, err)
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

/* --- The row --------------------------------------------------------------------------------- */

static const ParamSpec rules_params[] = {
    { "table", PARAM_STRING, .fallback = "inet eden",
      .help = "family and name of the table that belongs to this step" },
    { "rules", PARAM_ANY,
      .help = "a list of accept, drop or reject, each with port, protocol, from, interface" },
    { "policy", PARAM_STRING, .fallback = "drop", .choices = "accept|drop",
      .help = "what becomes of all that no rule speaks of" },
    { "basics", PARAM_BOOL, .fallback = "true",
      .help = "let answers, the loopback and ICMP in before all rules" },
    { "content", PARAM_STRING, .help = "further rules of the input chain, in nft's own words" },
    { "definitions", PARAM_STRING,
      .help = "what else the table shall have, such as sets and chains, in nft's own words" },
    { "confirm", PARAM_MAP,
      .help = "address and port, or cmd, that must work with the new rules within timeout (5s)" },
    { "boot", PARAM_BOOL, .fallback = "true", .help = "have /etc/nftables.conf include the rules" },
    { "state", PARAM_STRING, .fallback = "present", .choices = "present|absent",
      .help = "whether there shall be such a table" },
    { 0 },
};

static void rules_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("needs:pkg:nftables")));
    claims_add_param(arena, claims, "nft:", params[0]);
}

static const Action actions[] = {
    { "rules", "Ensure the rules of the firewall, by nftables.", rules_params, rules_check,
      rules_apply, .claims = rules_claims, .id_param = "table", .waits = true, .cost_ms = 100,
      .text =
          "One table belongs to the step. It is replaced as a whole and at one moment; other\n"
          "tables are left alone. Rules are asked in their order and the first that fits decides;\n"
          "'policy' decides about the rest. Answers to what this machine asked for, its own\n"
          "loopback and ICMP come in before all rules, unless 'basics: false'.\n"
          "\n"
          "    rules:\n"
          "      - accept: {port: [80, 443]}\n"
          "      - accept: {ports: 60000-61000, protocol: udp, interface: eth0}\n"
          "      - reject: {from: [192.0.2.0/24, \"2001:db8::/32\"]}\n"
          "\n"
          "Further rules of the same chain are written in nft's own words in 'content', sets and\n"
          "other chains in 'definitions'.\n"
          "\n"
          "With 'confirm' the new rules are on trial: unless the address accepts a connection, or\n"
          "the command succeeds, within the timeout, the former rules come back and the step\n"
          "fails. They come back too when eden is killed meanwhile. Only confirmed rules are\n"
          "written to the disk. An address proves that this machine still reaches others; that\n"
          "others reach it, such as by ssh, takes a command that asks one of them.\n"
          "\n"
          "For the next boot the table is kept in /etc/nftables.d, and /etc/nftables.conf gets a\n"
          "line that includes it (not with 'boot: false'). That the service nftables is enabled\n"
          "is for another step. What others change in the table is noticed and put right.\n",
      .example = "- name: only the web and ssh\n"
                 "  firewall.rules:\n"
                 "    - rules:\n"
                 "        - accept: {port: [80, 443]}\n"
                 "        - accept: {port: 22, from: 192.0.2.0/24}\n"
                 "    - confirm: {address: 192.0.2.1, port: 22, timeout: 5s}\n" },
    { 0 },
};

const Module modules_firewall = {
    .name = "firewall",
    .help = "What may come in.",
    .actions = actions,
};
