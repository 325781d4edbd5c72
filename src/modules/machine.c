/* machine.*: starting the machine anew, or turning it off.
 *
 * A step only asks for it (Outcome.leave): the runner writes everything down first, and continues
 * the run when the machine is up again. Then the step finds that the machine came back, and is
 * done. */
#include "sys/machine.h"
#include "base/utc.h"
#include "modules/tool.h"

enum {
    KERNELS_MAX = 1000,
    SETTING_MAX = 64
};

/* --- Whether it may and can ------------------------------------------------------------------ */

static bool may_leave(Call *call, const char *what, Error *err)
{
    FileInfo info;
    if (!call_bool(call, "allow")) {
        return error_set(err, ERROR_DENIED, "to %s the machine takes 'allow: true'", what);
    }
    if (!host_is_live(call->host)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "only the running machine can %s, not the root '%s'", what,
                         host_root(call->host));
    }
    if (!host_stat(call->host, STR("/run/systemd/system"), &info, err)) {
        return false;
    }
    return info.kind == FILE_DIRECTORY ||
           error_set(err, ERROR_UNAVAILABLE,
                     "to %s the machine and go on needs systemd, which does not run here", what);
}

static bool exists(Call *call, Str path, bool *out, Error *err)
{
    FileInfo info;
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    *out = info.kind != FILE_ABSENT;
    return true;
}

static bool in_container(Call *call, bool *out, Error *err)
{
    return exists(call, STR("/run/systemd/container"), out, err);
}

/* --- Whether it is needed -------------------------------------------------------------------- */

/* "cloud-amd64" of "6.1.0-25-cloud-amd64": kernels of another kind are not newer ones. */
static Str flavor(Str release)
{
    for (size_t i = 0; i + 1 < release.len; i++) {
        if (release.data[i] == '-' && ascii_is_alpha(release.data[i + 1])) {
            return str_from_offset(release, i + 1);
        }
    }
    return STR_EMPTY;
}

static bool has_kernel(Call *call, Str release, bool *out, Error *err)
{
    Str in_boot = arena_format(call->arena, "/boot/vmlinuz-%" STR_FMT, STR_ARG(release));
    Str in_lib = arena_format(call->arena, "/lib/modules/%" STR_FMT "/vmlinuz", STR_ARG(release));
    return exists(call, in_boot, out, err) && (*out || exists(call, in_lib, out, err));
}

/* The newest installed kernel of the kind that runs; empty when that is the one, or none is. */
static bool find_newer_kernel(Call *call, Str running, Str *out, Error *err)
{
    Str *names;
    uint32_t count = 0;
    bool is_there;
    *out = STR_EMPTY;
    if (!exists(call, STR("/lib/modules"), &is_there, err)) {
        return false;
    }
    if (is_there && !host_list(call->host, call->arena, STR("/lib/modules"), KERNELS_MAX, &names,
                               &count, err)) {
        return false;
    }
    const char *newest = arena_copy_c(call->arena, running);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = arena_copy_c(call->arena, names[i]);
        if (!str_eq(flavor(names[i]), flavor(running)) || strverscmp(name, newest) <= 0) {
            continue;
        }
        if (!has_kernel(call, names[i], &is_there, err)) {
            return false;
        }
        if (is_there) {
            newest = name;
            *out = names[i];
        }
    }
    return true;
}

/* `*why` is empty when the machine need not be started anew. */
static bool find_need(Call *call, Str *why, Error *err)
{
    static const char *const marks[] = { "/run/reboot-required", "/var/run/reboot-required" };
    bool is_there, contained;
    *why = STR_EMPTY;
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        if (!exists(call, str_from_c(marks[i]), &is_there, err)) {
            return false;
        }
        if (is_there) {
            *why = arena_format(call->arena, "there is %s", marks[i]);
            return true;
        }
    }
    /* The kernel of a container is not its own. */
    if (!in_container(call, &contained, err)) {
        return false;
    }
    Str newer = STR_EMPTY, running = machine_kernel(call->arena);
    if (!contained && !find_newer_kernel(call, running, &newer, err)) {
        return false;
    }
    if (newer.len > 0) {
        *why = arena_format(call->arena, "kernel %" STR_FMT " runs, and %" STR_FMT " is installed",
                            STR_ARG(running), STR_ARG(newer));
    }
    return true;
}

/* --- The actions ----------------------------------------------------------------------------- */

static bool came_back(Call *call, Str *when)
{
    int64_t asked_ms;
    if (!call_came_back(call, &asked_ms)) {
        return false;
    }
    Str asked = utc_text(call->arena, asked_ms);
    *when =
        arena_format(call->arena, "booted since it asked for that at %" STR_FMT, STR_ARG(asked));
    return true;
}

static bool ask(Call *call, Outcome *outcome, const char *what, bool only_if_needed, Error *err)
{
    Str why = STR_EMPTY, when;
    if (!may_leave(call, what, err)) {
        return false;
    }
    if (came_back(call, &when)) {
        outcome->changed = !call->planning; /* apply tells those who run on its changes */
        outcome->comment = when;
        outcome->state = STR("running");
        return true;
    }
    if (only_if_needed) {
        if (!find_need(call, &why, err)) {
            return false;
        }
        if (why.len == 0) {
            outcome->comment = STR("not needed");
            return true;
        }
    }
    outcome->changed = true;
    outcome->comment =
        arena_format(call->arena, "%s %s%s%" STR_FMT, call->planning ? "would" : "will", what,
                     why.len > 0 ? ": " : "", STR_ARG(why));
    return true;
}

static bool is_needed_only(const Call *call)
{
    return str_eq_c(call_str(call, "when"), "needed");
}

static bool leave(Call *call, Outcome *outcome, Leave leave)
{
    Str when;
    if (came_back(call, &when)) {
        outcome->changed = true;
        outcome->comment = when;
        return true;
    }
    leave.delay_ms = call_int(call, "delay", 0);
    leave.message = call_str(call, "message");
    Leave *asked = ARENA_NEW(call->arena, Leave);
    *asked = leave;
    outcome->leave = asked;
    return true;
}

static bool reboot_check(Call *call, Outcome *outcome, Error *err)
{
    return ask(call, outcome, "reboot", is_needed_only(call), err);
}

static bool reboot_apply(Call *call, Outcome *outcome, Error *err)
{
    return leave(call, outcome, (Leave){ .kind = LEAVE_REBOOT, .resumes = true });
}

static bool poweroff_check(Call *call, Outcome *outcome, Error *err)
{
    return ask(call, outcome, "power off", false, err);
}

static bool poweroff_apply(Call *call, Outcome *outcome, Error *err)
{
    return leave(call, outcome,
                 (Leave){ .kind = LEAVE_POWEROFF, .resumes = call_bool(call, "continue") });
}

/* --- kexec ----------------------------------------------------------------------------------- */

/* Whether this kernel lets another one take its place. */
static bool can_kexec(Call *call, Error *err)
{
    bool contained, is_there;
    Str disabled;
    Error missing;
    if (!in_container(call, &contained, err) ||
        !exists(call, STR("/sys/kernel/kexec_loaded"), &is_there, err)) {
        return false;
    }
    if (contained) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "a container cannot kexec: its kernel is not its own");
    }
    if (!is_there) {
        return error_set(err, ERROR_UNAVAILABLE, "this kernel cannot kexec (CONFIG_KEXEC)");
    }
    if (host_read(call->host, call->arena, STR("/proc/sys/kernel/kexec_load_disabled"), SETTING_MAX,
                  &disabled, &missing) &&
        str_starts(disabled, STR("1"))) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "kexec is turned off until the next boot (kernel.kexec_load_disabled)");
    }
    return tool_is_there(call, "kexec") || call_lacks_program(call, "kexec") ||
           error_set(err, ERROR_NOT_FOUND, "there is no program 'kexec' (package kexec-tools)");
}

/* What the kernel of that release starts with; empty when there is no such thing. */
static bool find_initrd(Call *call, Str release, Str *out, Error *err)
{
    static const char *const names[][2] = { { "initrd.img-", "" },
                                            { "initramfs-", ".img" },
                                            { "initrd-", "" } };
    bool is_there = false;
    for (size_t i = 0; i < COUNT_OF(names) && !is_there; i++) {
        *out = arena_format(call->arena, "/boot/%s%" STR_FMT "%s", names[i][0], STR_ARG(release),
                            names[i][1]);
        if (!exists(call, *out, &is_there, err)) {
            return false;
        }
    }
    *out = is_there ? *out : STR_EMPTY;
    return true;
}

/* The newest kernel, or the one that was asked for, with what it starts with. */
static bool find_kernel(Call *call, Leave *out, Error *err)
{
    Str newer, release = machine_kernel(call->arena);
    bool is_there;
    out->kernel = call_str(call, "kernel");
    out->initrd = call_str(call, "initrd");
    out->command_line = call_str(call, "command_line");
    if (out->kernel.len == 0) {
        if (!find_newer_kernel(call, release, &newer, err)) {
            return false;
        }
        release = newer.len > 0 ? newer : release;
        out->kernel = arena_format(call->arena, "/boot/vmlinuz-%" STR_FMT, STR_ARG(release));
        if (out->initrd.len == 0 && !find_initrd(call, release, &out->initrd, err)) {
            return false;
        }
    }
    if (!exists(call, out->kernel, &is_there, err)) {
        return false;
    }
    return is_there || call_lacks(call, "kernel", "path", out->kernel) ||
           error_set(err, ERROR_NOT_FOUND, "there is no kernel '%" STR_FMT "'",
                     STR_ARG(out->kernel));
}

static bool kexec_check(Call *call, Outcome *outcome, Error *err)
{
    Leave leave = { .kind = LEAVE_KEXEC };
    return may_leave(call, "kexec", err) && can_kexec(call, err) &&
           find_kernel(call, &leave, err) && ask(call, outcome, "kexec", is_needed_only(call), err);
}

static bool kexec_apply(Call *call, Outcome *outcome, Error *err)
{
    Leave wanted = { .kind = LEAVE_KEXEC, .resumes = true };
    return find_kernel(call, &wanted, err) && leave(call, outcome, wanted);
}

/* --- Rows ------------------------------------------------------------------------------------ */

static void machine_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("machine:power")));
    list_push(arena, claims, value_string(STR("brings:*")));
}

#define LEAVE_PARAMS                                                                   \
    { "name", PARAM_STRING, .help = "what requisites call it; has no other meaning" }, \
        { "allow", PARAM_BOOL, .required = true, .help = "must be true" },             \
        { "delay", PARAM_DURATION, .fallback = "0s",                                   \
          .help = "how long to wait when everything else is done" },                   \
    {                                                                                  \
        "message", PARAM_STRING, .help = "a message to logged-in users"                \
    }

#define WHEN_PARAM                                                                          \
    {                                                                                       \
        "when", PARAM_STRING,                                                               \
            .fallback = "always", .choices = "always|needed",                               \
            .help = "needed: only when packages ask for it, or a newer kernel is installed" \
    }

static const ParamSpec reboot_params[] = { LEAVE_PARAMS, WHEN_PARAM, { 0 } };

static const ParamSpec kexec_params[] = {
    LEAVE_PARAMS,
    WHEN_PARAM,
    { "kernel", PARAM_PATH, .help = "the newest that is installed when not given" },
    { "initrd", PARAM_PATH, .help = "what the kernel starts with; found for a kernel in /boot" },
    { "command_line", PARAM_STRING, .help = "as it is now when not given" },
    { 0 },
};

static const ParamSpec poweroff_params[] = {
    LEAVE_PARAMS,
    { "continue", PARAM_BOOL, .fallback = "false",
      .help = "go on with the run when the machine is turned on again" },
    { 0 },
};

static const Action actions[] = {
    { "reboot", "Restart the machine and continue.", reboot_params, reboot_check, reboot_apply,
      .claims = machine_claims, .repeats = true, .cost_ms = 60000,
      .text =
          "Never without 'allow: true'. Without a trigger (onchanges) or 'when: needed' it starts\n"
          "the machine again in every run.\n"
          "\n"
          "No further step starts then; those that run come to their end, the rest waits. When "
          "all\n"
          "is written down the machine goes down, and once it is up the same run goes on by\n"
          "itself (the unit eden-resume.service, which is gone afterwards). The step has changed\n"
          "then, and the steps behind it run. It asks only once until the run is over, so that a\n"
          "machine cannot start over and over; when eden is killed before the machine goes down,\n"
          "the next run asks again. Needs systemd; below another root (--root) it is refused.\n"
          "So it is when the site, the program or what else the run was given lies where other\n"
          "users may write, such as /tmp: they could put something else there for root to run.\n"
          "\n"
          "Needed means: there is /run/reboot-required, or a newer kernel of the same kind is in\n"
          "/lib/modules and /boot than the one that runs.\n",
      .example = "- name: into the new kernel\n"
                 "  machine.reboot:\n"
                 "    - allow: true\n"
                 "    - when: needed\n"
                 "    - message: new kernel\n" },
    { "kexec", "Start another kernel without the firmware and go on.", kexec_params, kexec_check,
      kexec_apply, .claims = machine_claims, .repeats = true, .cost_ms = 30000,
      .text =
          "As machine.reboot, but quicker: the kernel is loaded by kexec (package kexec-tools)\n"
          "and started by systemd after the machine went down. Refused in containers and where\n"
          "the kernel does not allow it.\n",
      .example = "- name: into the new kernel, quickly\n"
                 "  machine.kexec:\n"
                 "    - allow: true\n"
                 "    - when: needed\n" },
    { "poweroff", "Turn the machine off.", poweroff_params, poweroff_check, poweroff_apply,
      .claims = machine_claims, .repeats = true, .cost_ms = 60000,
      .text =
          "Never without 'allow: true'. No further step starts, and when all is written down the\n"
          "machine is powered off and stays off; with 'continue: true' the run continues once\n"
          "it is on again. Otherwise the next apply finds the step done and continues after it.\n",
      .example = "- name: good night\n"
                 "  machine.poweroff:\n"
                 "    - allow: true\n"
                 "    - delay: 1m\n" },
    { 0 },
};

const Module modules_machine = {
    .name = "machine",
    .help = "Restart the machine, or power it off.",
    .id_param = "name",
    .actions = actions,
};
