/* group.*: groups of users, by groupadd and its kin. */
#include "modules/people.h"
#include "modules/tool.h"

enum {
    GROUP_MEMBERS = 3 /* the field of /etc/group */
};

typedef struct GroupChange {
    PeopleRow now;
    bool set_gid, set_members;
    List *members; /* wanted */
} GroupChange;

static bool check_members(Call *call, GroupChange *change, Outcome *outcome, Error *err)
{
    if (!call_has(call, "members")) {
        return true;
    }
    change->members = people_sorted(call->arena, call_param(call, "members"));
    if (!people_check_exist(call, &people_user, "members", change->members, err)) {
        return false;
    }
    List *now = people_names(call->arena, change->now.fields[GROUP_MEMBERS]);
    if (!people_same_names(now, change->members)) {
        change->set_members = true;
        outcome_change(call, outcome, "members", people_old(&change->now, value_list(now)),
                       value_list(change->members));
    }
    return true;
}

static bool present_check(Call *call, Outcome *outcome, Error *err)
{
    GroupChange *change = ARENA_NEW(call->arena, GroupChange);
    if (!people_look(call, &people_group, &change->now, err)) {
        return false;
    }
    if (!change->now.found) {
        outcome_change(call, outcome, "group", value_missing(),
                       value_string(call_str(call, "name")));
    }
    if (!people_check_number(call, &people_group, "gid", &change->now, outcome, &change->set_gid,
                             err) ||
        !check_members(call, change, outcome, err)) {
        return false;
    }
    outcome->found = change;
    people_tell_present(&change->now, outcome);
    return true;
}

static bool set_members(Call *call, Str name, const List *members, Error *err)
{
    const char *group = arena_copy_c(call->arena, name);
    return TOOL_DO(call, NULL, err, "gpasswd", "-M",
                   arena_copy_c(call->arena, people_joined(call->arena, members)), group);
}

static bool present_apply(Call *call, Outcome *outcome, Error *err)
{
    const GroupChange *change = outcome->found;
    Str name = call_str(call, "name");
    if (!call_keep(call, people_group.path, err)) {
        return false;
    }
    if (!change->now.found || change->set_gid) {
        ToolArgs args = { 0 };
        tool_arg(call, &args, change->now.found ? STR("groupmod") : STR("groupadd"));
        if (change->set_gid) {
            tool_arg(call, &args, STR("-g"));
            tool_arg(call, &args,
                     arena_format(call->arena, "%lld", (long long)call_int(call, "gid", 0)));
        }
        if (!change->now.found && call_bool(call, "system")) {
            tool_arg(call, &args, STR("-r"));
        }
        tool_arg(call, &args, name);
        if (!tool_do(call, tool_args_end(call, &args), NULL, err)) {
            return false;
        }
        outcome->changed = true;
        host_forget_people(call->host);
    }
    if (change->set_members) {
        if (!set_members(call, name, change->members, err)) {
            return false;
        }
        outcome->changed = true;
        host_forget_people(call->host);
    }
    return true;
}

static bool absent_check(Call *call, Outcome *outcome, Error *err)
{
    PeopleRow now;
    if (!people_look(call, &people_group, &now, err)) {
        return false;
    }
    people_tell_absent(call, &people_group, &now, outcome);
    return true;
}

static bool absent_apply(Call *call, Outcome *outcome, Error *err)
{
    const char *name = arena_copy_c(call->arena, call_str(call, "name"));
    if (!call_keep(call, people_group.path, err) || !TOOL_DO(call, NULL, err, "groupdel", name)) {
        return false;
    }
    outcome->changed = true;
    host_forget_people(call->host);
    return true;
}

static const ParamSpec present_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "the group", .claims = "group" },
    { "members", PARAM_STRINGS, .decides = "members",
      .help = "the users that belong to it, and no others", .claims = "needs:user" },
    { "gid", PARAM_INT, .decides = "gid", .help = "its number" },
    { "system", PARAM_BOOL, .fallback = "false",
      .help = "take a number for system groups when it is created" },
    { 0 },
};

static const ParamSpec absent_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "the group", .claims = "group" },
    { 0 },
};

static const Action actions[] = {
    { "present", "Ensure that a group exists.", present_params, present_check, present_apply,
      .cost_ms = 30, .thing = "group name", .wants = "state=present",
      .text =
          "With 'members' exactly these belong to it; users who have it as their own group are\n"
          "not among them. Without, its members stay as they are.\n",
      .example = "- name: administrators\n"
                 "  group.present:\n"
                 "    - name: admins\n"
                 "    - gid: 900\n" },
    { "absent", "Ensure that a group does not exist.", absent_params, absent_check, absent_apply,
      .cost_ms = 30, .thing = "group name", .wants = "state=absent",
      .text = "A group that some user has as their own cannot go; the step fails then.\n",
      .example = "- name: no games\n"
                 "  group.absent:\n"
                 "    - name: games\n" },
    { 0 },
};

const Module modules_group = {
    .name = "group",
    .help = "Groups of users.",
    .id_param = "name",
    .actions = actions,
};
