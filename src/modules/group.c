/* group.*: user groups, with groupadd and related programs. */
#include "modules/accounts.h"
#include "modules/tool.h"

enum {
    GROUP_MEMBERS = 3 /* index of the field in /etc/group */
};

typedef struct GroupChange {
    AccountRow current;
    bool set_gid, set_members;
    List *members; /* the requested members */
} GroupChange;

static bool check_members(Call *call, GroupChange *change, Outcome *outcome, Error *err)
{
    if (!call_has(call, "members")) {
        return true;
    }
    change->members = accounts_sort_names(call->arena, call_param(call, "members"));
    if (!accounts_check_exist(call, &account_kind_user, "members", change->members, err)) {
        return false;
    }
    List *now = accounts_split_names(call->arena, change->current.fields[GROUP_MEMBERS]);
    if (!accounts_same_names(now, change->members)) {
        change->set_members = true;
        outcome_change(call, outcome, "members",
                       account_old_value(&change->current, value_list(now)),
                       value_list(change->members));
    }
    return true;
}

static bool verify_params(Call *call, Error *err)
{
    return (account_check_name(call_str(call, "name"), account_kind_group.noun, err) ||
            call_blame(call, "name")) &&
           (!call_has(call, "gid") || account_check_id(call_int(call, "gid", 0), err) ||
            call_blame(call, "gid")) &&
           accounts_check_names(call, &account_kind_user, "members", err);
}
CALL_VERIFY(present_verify, verify_params)

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    GroupChange *change = ARENA_NEW(call->arena, GroupChange);
    if (!account_read(call, &account_kind_group, &change->current, err)) {
        return false;
    }
    if (!change->current.found) {
        outcome_change(call, outcome, "group", value_missing(),
                       value_string(call_str(call, "name")));
    }
    if (!account_compare_id(call, &account_kind_group, "gid", &change->current, outcome,
                            &change->set_gid, err) ||
        !check_members(call, change, outcome, err)) {
        return false;
    }
    outcome->check_data = change;
    account_report_present(&change->current, outcome);
    return true;
}

static bool set_members(Call *call, Str name, const List *members, Error *err)
{
    const char *group = arena_copy_c(call->arena, name);
    return TOOL_RUN(call, NULL, err, "gpasswd", "-M",
                    arena_copy_c(call->arena, accounts_join_names(call->arena, members)), group);
}

static bool present_apply(Call *call, Outcome *outcome, Error *err)
{
    const GroupChange *change = outcome->check_data;
    Str name = call_str(call, "name");
    if (!call_journal(call, account_kind_group.path, err)) {
        return false;
    }
    if (!change->current.found || change->set_gid) {
        ToolArgs args = { 0 };
        tool_arg(call, &args, change->current.found ? STR("groupmod") : STR("groupadd"));
        if (change->set_gid) {
            tool_arg(call, &args, STR("-g"));
            tool_arg(call, &args,
                     arena_format(call->arena, "%lld", (long long)call_int(call, "gid", 0)));
        }
        if (!change->current.found && call_bool(call, "system")) {
            tool_arg(call, &args, STR("-r"));
        }
        tool_arg(call, &args, name);
        if (!tool_run_checked(call, tool_args_end(call, &args), NULL, err)) {
            return false;
        }
        outcome->changed = true;
        host_forget_accounts(call->host);
    }
    if (change->set_members) {
        if (!set_members(call, name, change->members, err)) {
            return false;
        }
        outcome->changed = true;
        host_forget_accounts(call->host);
    }
    return true;
}

static bool read_name(Call *call, Error *err)
{
    return account_check_name(call_str(call, "name"), account_kind_group.noun, err) ||
           call_blame(call, "name");
}
CALL_VERIFY(absent_verify, read_name)

/* groupdel refuses to remove the primary group of a user. */
static bool check_unused(Call *call, const AccountRow *now, Error *err)
{
    enum {
        PRIMARY_GROUP = 3 /* index of the field in /etc/passwd */
    };
    AccountRow user;
    if (!accounts_find(call, account_kind_user.path, PRIMARY_GROUP, now->fields[ACCOUNT_ID], &user,
                       err)) {
        return false;
    }
    Str name = user.fields[ACCOUNT_NAME], before = call->provided_by;
    if (!user.found) {
        return true;
    }
    if (!call_report_missing(call, "name", "user", name)) {
        return error_set(err, ERROR_CONFLICT,
                         "the group is the primary group of user '%" STR_FMT "'", STR_ARG(name));
    }
    call->provided_by = before.len > 0
                            ? before
                            : arena_format(call->arena,
                                           "the group is the primary group of user '%" STR_FMT
                                           "', unless an earlier step changes that",
                                           STR_ARG(name));
    return true;
}

static bool absent_check(Call *call, Outcome *outcome, Error *err)
{
    AccountRow now;
    if (!account_read(call, &account_kind_group, &now, err) ||
        (call->planning && now.found && !check_unused(call, &now, err))) {
        return false;
    }
    account_report_absent(call, &account_kind_group, &now, outcome);
    return true;
}

static bool absent_apply(Call *call, Outcome *outcome, Error *err)
{
    const char *name = arena_copy_c(call->arena, call_str(call, "name"));
    if (!call_journal(call, account_kind_group.path, err) ||
        !TOOL_RUN(call, NULL, err, "groupdel", name)) {
        return false;
    }
    outcome->changed = true;
    host_forget_accounts(call->host);
    return true;
}

static const ParamSpec present_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the group", .claims = "group" },
    { "members", PARAM_STRINGS, .aspect = "members%", .help = "exact list of its members",
      .claims = "needs:user" },
    { "gid", PARAM_INT, .aspect = "gid#", .help = "group ID" },
    { "system", PARAM_BOOL, .fallback = "false",
      .help = "if the group is created, use a system group ID" },
    { 0 },
};

static const ParamSpec absent_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the group", .claims = "group" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that a group exists.", present_params, present_check, present_apply,
      .verify_all = present_verify, .cost_ms = 30, .resource = "group name",
      .desired_state = "state=present",
      .text = "With 'members', exactly these users are members; users who have it as their\n"
              "primary group are not included. Without 'members', the members are left\n"
              "unchanged.\n",
      .example = "- name: administrators\n"
                 "  group.present:\n"
                 "    - name: admins\n"
                 "    - gid: 900\n" },
    { "absent", "Ensure that a group does not exist.", absent_params, absent_check, absent_apply,
      .verify = absent_verify, .cost_ms = 30, .resource = "group name",
      .desired_state = "state=absent",
      .text = "The step fails if it is the primary group of a user.\n",
      .example = "- name: no group for games\n"
                 "  group.absent:\n"
                 "    - name: games\n" },
    { 0 },
};

const Module modules_group = {
    .name = "group",
    .help = "User groups.",
    .id_param = "name",
    .actions = actions,
};
