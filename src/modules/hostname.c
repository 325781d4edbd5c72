/* hostname.*: the host name of the machine. */
#include <sys/utsname.h>

#include "modules/file/target.h"
#include "modules/tool.h"

#define HOSTNAME STR("/etc/hostname")

typedef struct NameChange {
    Target target;
    bool set_now; /* the name of the running system must be set */
} NameChange;

static bool check_name(Str name, Error *err)
{
    bool ok = name.len > 0 && name.len <= 64;
    for (size_t i = 0; ok && i < name.len; i++) {
        char c = name.data[i];
        bool edge = i == 0 || i + 1 == name.len || name.data[i - 1] == '.';
        ok = ascii_is_alpha(c) || ascii_is_digit(c) || (!edge && (c == '-' || c == '.'));
    }
    return ok ||
           error_set(
               err, ERROR_INVALID,
               "'%" STR_FMT
               "' is not a host name: only letters, digits, '-' and '.' are allowed, at most 64",
               STR_ARG(name));
}

static bool verify_params(Call *call, Error *err)
{
    return check_name(call_str(call, "name"), err) || call_blame(call, "name");
}
CALL_VERIFY(set_verify, verify_params)

static bool set_check(Call *call, Outcome *outcome, Error *err)
{
    Str name = call_str(call, "name");
    struct utsname now;
    NameChange *change = ARENA_NEW(call->arena, NameChange);
    if (!check_name(name, err)) {
        return false;
    }
    change->target = target_for_system_file(HOSTNAME);
    target_set_line(call, &change->target, name);
    if (!target_check_one(call, &change->target, outcome, err)) {
        return false;
    }
    if (host_is_live(call->host) && uname(&now) == 0 && !str_eq_c(name, now.nodename)) {
        change->set_now = true;
        outcome->changed = true;
        outcome_change(call, outcome, "hostname",
                       value_string(arena_copy(call->arena, str_from_c(now.nodename))),
                       value_string(name));
    }
    outcome->state = name;
    outcome->check_data = change;
    return true;
}

static bool set_apply(Call *call, Outcome *outcome, Error *err)
{
    NameChange *change = outcome->check_data;
    const char *name = arena_copy_c(call->arena, call_str(call, "name"));
    if (change->target.write && !target_apply(call, &change->target, outcome, err)) {
        return false;
    }
    if (change->set_now) {
        /* Minimal systems do not have the program. */
        if (!TOOL_RUN(call, NULL, err, "hostname", name) &&
            (err->kind != ERROR_NOT_FOUND ||
             !host_write_existing(call->host, STR("/proc/sys/kernel/hostname"), str_from_c(name),
                                  err))) {
            return false;
        }
        outcome->changed = true;
    }
    return true;
}

static void set_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/hostname")));
}

static const ParamSpec set_params[] = {
    { "name", PARAM_STRING, .aspect = "name", .required = true, .help = "host name" },
    { 0 },
};

static const Action actions[] = {
    { "set", "Ensure that the machine has the given host name.", set_params, set_check, set_apply,
      .verify_all = set_verify, .claims = set_claims, .resource = "hostname",
      .writes_whole_files = true,
      .text = "Sets it in /etc/hostname and, unless in another root, in the running system.\n",
      .example = "- name: host name\n"
                 "  hostname.set:\n"
                 "    - name: web1\n" },
    { 0 },
};

const Module modules_hostname = {
    .name = "hostname",
    .help = "The host name of the machine.",
    .id_param = "name",
    .actions = actions,
};
