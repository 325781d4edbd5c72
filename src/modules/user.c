/* user.*: users, with useradd and related programs.
 *
 * The current state is read from the files in the root itself, so that a check needs no process. A
 * password is always a hash, and is passed to chpasswd on standard input. */
#include "modules/accounts.h"
#include "modules/tool.h"

#define SHADOW_FILE STR("/etc/shadow")

/* Field indexes in passwd and shadow. */
enum {
    PASSWD_GID = 3,
    PASSWD_FULLNAME = 4,
    PASSWD_HOME = 5,
    PASSWD_SHELL = 6,
    SHADOW_HASH = 1,
};

typedef struct UserChange {
    AccountRow current, shadow;
    ToolArgs options; /* options of both useradd and usermod */
    bool set_password;
    bool needs_usermod; /* usermod must run */
} UserChange;

static void add_option(Call *call, UserChange *change, const char *option, Str value)
{
    tool_arg(call, &change->options, str_from_c(option));
    tool_arg(call, &change->options, value);
    change->needs_usermod = true;
}

/* A string field of passwd. */
typedef struct TextField {
    const char *param;
    uint32_t index;
    const char *option; /* option of useradd and usermod */
} TextField;

static const TextField fullname_field = { "fullname", PASSWD_FULLNAME, "-c" };
static const TextField home_field = { "home", PASSWD_HOME, "-d" };
static const TextField shell_field = { "shell", PASSWD_SHELL, "-s" };

static bool check_characters(Call *call, const TextField *field, Error *err)
{
    Str text = call_str(call, field->param);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == ':' || (unsigned char)text.data[i] < ' ') {
            return error_set(err, ERROR_INVALID, "'%s' cannot contain ':' or control characters",
                             field->param);
        }
    }
    return true;
}

static bool verify_params(Call *call, Error *err)
{
    return check_characters(call, &fullname_field, err) &&
           check_characters(call, &home_field, err) && check_characters(call, &shell_field, err) &&
           accounts_check_names(call, &account_kind_group, "groups", err);
}
CALL_VERIFY(present_verify_all, verify_params)

static bool check_text(Call *call, UserChange *change, const TextField *field, Outcome *outcome,
                       Error *err)
{
    Str wanted = call_str(call, field->param), now = change->current.fields[field->index];
    if (!call_has(call, field->param) || str_eq(wanted, now)) {
        return true;
    }
    if (!check_characters(call, field, err)) {
        return false;
    }
    add_option(call, change, field->option, wanted);
    outcome_change(call, outcome, field->param,
                   account_old_value(&change->current, value_string(now)), value_string(wanted));
    return true;
}

static bool check_uid(Call *call, UserChange *change, Outcome *outcome, Error *err)
{
    bool differs;
    if (!account_compare_id(call, &account_kind_user, "uid", &change->current, outcome, &differs,
                            err)) {
        return false;
    }
    if (differs) {
        add_option(call, change, "-u",
                   arena_format(call->arena, "%lld", (long long)call_int(call, "uid", 0)));
    }
    return true;
}

/* Checks the primary group, given by name or number. In a plan, it may not exist yet. */
static bool check_gid(Call *call, UserChange *change, Outcome *outcome, Error *err)
{
    Str wanted = call_str(call, "group");
    gid_t gid = 0;
    int64_t now = -1;
    if (!call_has(call, "group")) {
        return true;
    }
    if (!tool_check_word(wanted, "a group", err)) {
        return false;
    }
    bool known = host_find_group(call->host, wanted, &gid, err);
    if (!known &&
        (err->kind != ERROR_NOT_FOUND || !call_report_missing(call, "group", "group", wanted))) {
        return false;
    }
    (void)str_to_i64(change->current.fields[PASSWD_GID], &now);
    if (!known || (int64_t)gid != now) {
        add_option(call, change, "-g", wanted);
        Str old = host_group_name(call->host, call->arena, (gid_t)now);
        outcome_change(call, outcome, "group",
                       account_old_value(&change->current, value_string(old)),
                       value_string(wanted));
    }
    return true;
}

/* Without `remove_groups`, the user stays in groups that are not listed, including groups that were
 * added in the meantime, for instance by a package. */
static void set_groups(Call *call, UserChange *change, List *now, const List *wanted,
                       Outcome *outcome)
{
    List *all = list_new(call->arena, now->len + wanted->len);
    bool adds = change->current.found && !call_bool(call, "remove_groups");
    for (uint32_t i = 0; i < wanted->len; i++) {
        list_push(call->arena, all, wanted->items[i]);
    }
    for (uint32_t i = 0; adds && i < now->len; i++) {
        list_push(call->arena, all, now->items[i]);
    }
    all = accounts_sort_names(call->arena, value_list(all));
    if (accounts_same_names(now, all)) {
        return;
    }
    if (adds) {
        tool_arg(call, &change->options, STR("-a"));
    }
    add_option(call, change, "-G", accounts_join_names(call->arena, wanted));
    outcome_change(call, outcome, "groups", account_old_value(&change->current, value_list(now)),
                   value_list(all));
}

static bool check_groups(Call *call, UserChange *change, Outcome *outcome, Error *err)
{
    List *now, *wanted = accounts_sort_names(call->arena, call_param(call, "groups"));
    if (!call_has(call, "groups")) {
        return true;
    }
    if (!accounts_check_exist(call, &account_kind_group, "groups", wanted, err) ||
        !accounts_groups_of(call, call_str(call, "name"), &now, err)) {
        return false;
    }
    set_groups(call, change, now, wanted, outcome);
    return true;
}

/* useradd only warns about a missing shell, but the user could not log in. */
static bool check_shell(Call *call, const UserChange *change, Error *err)
{
    FileInfo info;
    Str shell = call_str(call, "shell");
    if (shell.len == 0 || str_eq(shell, change->current.fields[PASSWD_SHELL])) {
        return true;
    }
    if (!host_stat(call->host, shell, &info, err)) {
        return call_blame(call, "shell");
    }
    bool is_absent = info.kind == FILE_ABSENT;
    bool is_usable =
        info.kind == FILE_LINK || (info.kind == FILE_REGULAR && (info.mode & 0111) != 0);
    return is_usable || call_report_missing(call, "shell", "path", shell) ||
           error_set(err, is_absent ? ERROR_NOT_FOUND : ERROR_CONFLICT, "shell '%" STR_FMT "' %s",
                     STR_ARG(shell), is_absent ? "not found" : "is not a program");
}

static bool check_hash(Str hash, Error *err)
{
    for (size_t i = 0; i < hash.len; i++) {
        if (hash.data[i] == ':' || (unsigned char)hash.data[i] <= ' ') {
            return error_set(err, ERROR_INVALID,
                             "'password' is not a password hash as printed by 'mkpasswd'");
        }
    }
    if (hash.len == 0) {
        return error_set(err, ERROR_INVALID,
                         "'password' is empty, which would allow logins without a password; use "
                         "'!' to disable it");
    }
    return hash.data[0] == '$' || hash.data[0] == '!' || hash.data[0] == '*' ||
           error_set(err, ERROR_INVALID,
                     "'password' must be the hash of a password, not the password itself; create "
                     "it with 'mkpasswd'");
}

static bool present_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                           Error *err)
{
    Value password = params_get(action->params, params, "password");
    Str name = params_text(action->params, params, "name");
    *at = "name";
    if (name.len > 0 && !account_check_name(name, "a user", err)) {
        return false;
    }
    Value uid = params_get(action->params, params, "uid");
    *at = "uid";
    if (uid.kind == VALUE_INT && !account_check_id(uid.integer, err)) {
        return false;
    }
    *at = "password";
    return !value_is_string(password) || check_hash(value_str(password), err);
}

static bool check_password(Call *call, UserChange *change, Outcome *outcome, Error *err)
{
    Str hash = call_str(call, "password");
    if (!call_has(call, "password")) {
        return true;
    }
    if (!check_hash(hash, err)) {
        return call_blame(call, "password");
    }
    if (str_eq(hash, change->shadow.fields[SHADOW_HASH])) {
        return true;
    }
    change->set_password = true;
    outcome_change(call, outcome, "password", value_missing(), value_string(STR("(secret)")));
    outcome_observe(call, outcome, change->shadow.fields[SHADOW_HASH]);
    outcome_observe(call, outcome, hash);
    return true;
}

static bool changes_home(Call *call, const UserChange *change)
{
    return change->current.found && call_bool(call, "move_home") && call_has(call, "home") &&
           !str_eq(call_str(call, "home"), change->current.fields[PASSWD_HOME]);
}

/* useradd and usermod create the home directory and chown it by name: the owner of a parent
 * directory could replace it with a symlink in between and become the owner of /etc. */
static bool check_home(Call *call, const UserChange *change, Error *err)
{
    bool is_made =
        !change->current.found && call_bool(call, "create_home") && call_has(call, "home");
    Str home = call_str(call, "home"), ignored;
    if ((!is_made && !changes_home(call, change)) || home.len < 2) {
        return true;
    }
    while (home.len > 1 && home.data[home.len - 1] == '/') {
        home.len--;
    }
    size_t slash = str_find_last(home, STR("/"));
    Str above = slash == 0 ? STR("/") : str_slice(home, 0, slash);
    FileInfo info;
    if (!host_protected_path(call->host, call->arena, above, &ignored, err) ||
        !host_stat(call->host, home, &info, err)) {
        return call_blame(call, "home");
    }
    return info.kind == FILE_ABSENT || info.kind == FILE_DIRECTORY || info.kind == FILE_LINK ||
           call_report_missing(call, "home", "path", home) ||
           error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory", STR_ARG(home),
                     file_kind_name(info.kind));
}

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    Str name = call_str(call, "name");
    UserChange *change = ARENA_NEW(call->arena, UserChange);
    if (!account_read(call, &account_kind_user, &change->current, err) ||
        !accounts_find(call, SHADOW_FILE, ACCOUNT_NAME, name, &change->shadow, err)) {
        return false;
    }
    if (!change->current.found) {
        outcome_change(call, outcome, "user", value_missing(), value_string(name));
    }
    if (!check_uid(call, change, outcome, err) || !check_gid(call, change, outcome, err) ||
        !check_groups(call, change, outcome, err) ||
        !check_text(call, change, &fullname_field, outcome, err) ||
        !check_text(call, change, &home_field, outcome, err) || !check_home(call, change, err) ||
        !check_shell(call, change, err) || !check_text(call, change, &shell_field, outcome, err) ||
        !check_password(call, change, outcome, err)) {
        return false;
    }
    outcome->check_data = change;
    account_report_present(&change->current, outcome);
    return true;
}

static bool run_tool(Call *call, UserChange *change, Error *err)
{
    ToolArgs args = { 0 };
    bool is_new = !change->current.found;
    tool_arg(call, &args, is_new ? STR("useradd") : STR("usermod"));
    for (uint32_t i = 0; i < change->options.len; i++) {
        tool_arg(call, &args, str_from_c(change->options.items[i]));
    }
    if (is_new) {
        tool_arg(call, &args, call_bool(call, "create_home") ? STR("-m") : STR("-M"));
        if (call_bool(call, "system")) {
            tool_arg(call, &args, STR("-r"));
        }
    } else if (changes_home(call, change)) {
        tool_arg(call, &args, STR("-m"));
    }
    tool_arg(call, &args, call_str(call, "name"));
    return tool_run_checked(call, tool_args_end(call, &args), NULL, err);
}

static bool set_password(Call *call, Error *err)
{
    Str name = call_str(call, "name"), hash = call_str(call, "password");
    Tool tool = { .argv = (const char *const[]){ "chpasswd", "-e", NULL },
                  .input = arena_format(call->arena, "%" STR_FMT ":%" STR_FMT "\n", STR_ARG(name),
                                        STR_ARG(hash)) };
    ProcessResult result;
    if (!tool_run(call, &tool, &result, err)) {
        return false;
    }
    return (result.ending == PROCESS_EXITED && result.exit_code == 0) ||
           tool_failure(call, &tool, &result, err);
}

static bool present_apply(Call *call, Outcome *outcome, Error *err)
{
    UserChange *change = outcome->check_data;
    if (!call_journal(call, account_kind_user.path, err)) {
        return false;
    }
    if (!change->current.found || change->needs_usermod) {
        if (!run_tool(call, change, err)) {
            return false;
        }
        outcome->changed = true;
        host_forget_accounts(call->host);
    }
    if (change->set_password) {
        if (!set_password(call, err)) {
            return false;
        }
        outcome->changed = true;
    }
    return true;
}

static bool absent_check(Call *call, Outcome *outcome, Error *err)
{
    AccountRow now;
    if (!account_read(call, &account_kind_user, &now, err)) {
        return false;
    }
    if (str_eq(now.fields[ACCOUNT_ID], STR("0"))) {
        return error_set(err, ERROR_DENIED, "'%" STR_FMT "' has uid 0 and cannot be removed",
                         STR_ARG(call_str(call, "name")));
    }
    account_report_absent(call, &account_kind_user, &now, outcome);
    return true;
}

static bool absent_apply(Call *call, Outcome *outcome, Error *err)
{
    ToolArgs args = { 0 };
    tool_arg(call, &args, STR("userdel"));
    if (call_bool(call, "purge")) {
        tool_arg(call, &args, STR("-r"));
    }
    tool_arg(call, &args, call_str(call, "name"));
    if (!call_journal(call, account_kind_user.path, err) ||
        !tool_run_checked(call, tool_args_end(call, &args), NULL, err)) {
        return false;
    }
    outcome->changed = true;
    host_forget_accounts(call->host);
    return true;
}

/* present_claims() depends on this order. */
enum {
    PRESENT_NAME,
    PRESENT_GROUP,
    PRESENT_HOME,
};

/* useradd creates a group of the same name unless one is set, and the home directory. */
static void present_claims(Arena *arena, const Value *params, List *claims)
{
    Value name = params[PRESENT_NAME];
    if (!value_is_string(name)) {
        return;
    }
    if (value_is_missing(params[PRESENT_GROUP])) {
        claims_add(arena, claims, "group:", value_str(name));
    }
    Str home = value_is_string(params[PRESENT_HOME])
                   ? value_str(params[PRESENT_HOME])
                   : arena_join(arena, STR("/home/"), value_str(name), STR_EMPTY);
    claims_add(arena, claims, "provides:path:", home);
    claims_add(arena, claims, "provides:path:", arena_join(arena, home, STR("/"), STR_EMPTY));
}

static const ParamSpec present_params[] = {
    [PRESENT_NAME] = { "name", PARAM_STRING, .required = true, .help = "name of the user",
                       .claims = "user" },
    [PRESENT_GROUP] = { "group", PARAM_STRING, .help = "primary group, by name or number",
                        .aspect = "group", .claims = "needs:group" },
    [PRESENT_HOME] = { "home", PARAM_PATH, .aspect = "home", .help = "home directory" },
    { "groups", PARAM_STRINGS, .aspect = "groups%", .help = "supplementary groups",
      .claims = "needs:group" },
    { "shell", PARAM_PATH, .aspect = "shell", .help = "login shell", .claims = "needs:path" },
    { "remove_groups", PARAM_BOOL, .aspect = "!groups", .fallback = "false",
      .help = "remove the user from supplementary groups that are not listed in 'groups'" },
    { "uid", PARAM_INT, .aspect = "uid#", .help = "user ID" },
    { "fullname", PARAM_STRING, .aspect = "full name", .help = "full name of the user" },
    { "create_home", PARAM_BOOL, .fallback = "true",
      .help = "create the home directory together with the user" },
    { "move_home", PARAM_BOOL, .fallback = "false",
      .help = "move the content of the home directory if its path changes" },
    { "password", PARAM_STRING, .aspect = "password",
      .help = "hash of the password; '!' disables it" },
    { "system", PARAM_BOOL, .fallback = "false",
      .help = "if the user is created, use a system user ID" },
    { 0 },
};

static const ParamSpec absent_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the user", .claims = "user" },
    { "purge", PARAM_BOOL, .fallback = "false", .help = "remove the home directory and mail too" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that a user exists.", present_params, present_check, present_apply,
      .verify = present_verify, .verify_all = present_verify_all, .claims = present_claims,
      .cost_ms = 60, .resource = "user name", .desired_state = "state=present",
      .text =
          "Settings that are not specified are left unchanged or, for new users, set to the\n"
          "system's defaults. Groups must exist; group.present steps run first regardless of\n"
          "their position. A home directory is not created under a directory of another user,\n"
          "who could replace it with a symlink.\n"
          "\n"
          "'password' is a hash, as printed by 'mkpasswd', and should be a !secret: it is never\n"
          "shown.\n",
      .example = "- name: user for the web server\n"
                 "  user.present:\n"
                 "    - name: web\n"
                 "    - system: true\n"
                 "    - home: /srv/web\n"
                 "    - shell: /usr/sbin/nologin\n" },
    { "absent", "Ensure that a user does not exist.", absent_params, absent_check, absent_apply,
      .cost_ms = 60, .resource = "user name", .desired_state = "state=absent",
      .text = "The user's processes are not killed: if there are any, the step fails. A user\n"
              "with uid 0 is never removed.\n",
      .example = "- name: no user for games\n"
                 "  user.absent:\n"
                 "    - name: games\n" },
    { 0 },
};

const Module modules_user = {
    .name = "user",
    .help = "Users.",
    .id_param = "name",
    .actions = actions,
};
