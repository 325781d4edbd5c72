/* machine.*: rebooting the machine, or powering it off.
 *
 * A step only sets Outcome.shutdown: the runner saves everything first, and continues the run after
 * the reboot. The step is then complete, because it finds that the machine has rebooted. */
#include "sys/machine.h"
#include "base/utc.h"
#include "modules/tool.h"

enum {
    KERNELS_MAX = 1000,
    SETTING_MAX = 64
};

/* --- Preconditions --------------------------------------------------------------------------- */

static bool check_allowed(Call *call, const char *what, Error *err)
{
    FileInfo info;
    if (!call_bool(call, "allow")) {
        return error_set(err, ERROR_DENIED, "'allow: true' is required to %s the machine", what);
    }
    if (!host_is_live(call->host)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "only the running system can %s, not the root '%s'", what,
                         host_root(call->host));
    }
    if (!host_stat(call->host, STR("/run/systemd/system"), &info, err)) {
        return false;
    }
    return info.kind == FILE_DIRECTORY ||
           error_set(err, ERROR_UNAVAILABLE,
                     "not booted with systemd, which is required to %s the machine and continue",
                     what);
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

/* --- Detecting whether a reboot is needed ---------------------------------------------------- */

/* "cloud-amd64" for "6.1.0-25-cloud-amd64": a kernel of another flavor is not an update. */
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

/* The newest installed kernel of the running flavor; empty if it is already running or none is
 * installed. */
static bool find_newer_kernel(Call *call, Str running, Str *out, Error *err)
{
    Str *names;
    uint32_t count = 0;
    bool found;
    *out = STR_EMPTY;
    if (!exists(call, STR("/lib/modules"), &found, err)) {
        return false;
    }
    if (found && !host_list(call->host, call->arena, STR("/lib/modules"), KERNELS_MAX, &names,
                            &count, err)) {
        return false;
    }
    const char *newest = arena_copy_c(call->arena, running);
    for (uint32_t i = 0; i < count; i++) {
        const char *name = arena_copy_c(call->arena, names[i]);
        if (!str_eq(flavor(names[i]), flavor(running)) || strverscmp(name, newest) <= 0) {
            continue;
        }
        if (!has_kernel(call, names[i], &found, err)) {
            return false;
        }
        if (found) {
            newest = name;
            *out = names[i];
        }
    }
    return true;
}

/* Finds out why a reboot is needed; `*why` is empty if none is. */
static bool find_reboot_reason(Call *call, Str *why, Error *err)
{
    static const char *const marks[] = { "/run/reboot-required", "/var/run/reboot-required" };
    bool found, contained;
    *why = STR_EMPTY;
    for (size_t i = 0; i < COUNT_OF(marks); i++) {
        if (!exists(call, str_from_c(marks[i]), &found, err)) {
            return false;
        }
        if (found) {
            *why = arena_format(call->arena, "%s exists", marks[i]);
            return true;
        }
    }
    /* A container does not control its kernel. */
    if (!in_container(call, &contained, err)) {
        return false;
    }
    Str newer = STR_EMPTY, running = machine_kernel(call->arena);
    if (!contained && !find_newer_kernel(call, running, &newer, err)) {
        return false;
    }
    if (newer.len > 0) {
        *why = arena_format(call->arena,
                            "kernel %" STR_FMT " is running, but %" STR_FMT " is installed",
                            STR_ARG(running), STR_ARG(newer));
    }
    return true;
}

/* --- Actions --------------------------------------------------------------------------------- */

static bool has_rebooted(Call *call, Str *when)
{
    int64_t requested_ms;
    if (!call_has_rebooted(call, &requested_ms)) {
        return false;
    }
    Str request_time = utc_text(call->arena, requested_ms);
    *when = arena_format(call->arena, "rebooted since it was requested at %" STR_FMT,
                         STR_ARG(request_time));
    return true;
}

static bool request_shutdown(Call *call, Outcome *outcome, const char *what, bool only_if_needed,
                             Error *err)
{
    Str why = STR_EMPTY, when;
    if (!check_allowed(call, what, err)) {
        return false;
    }
    if (has_rebooted(call, &when)) {
        outcome->changed = !call->planning; /* apply reports the change to dependent steps */
        outcome->comment = when;
        outcome->state = STR("running");
        return true;
    }
    if (only_if_needed) {
        if (!find_reboot_reason(call, &why, err)) {
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

static bool only_when_needed(const Call *call)
{
    return str_eq_c(call_str(call, "when"), "needed");
}

static bool set_shutdown(Call *call, Outcome *outcome, ShutdownRequest request)
{
    Str when;
    if (has_rebooted(call, &when)) {
        outcome->changed = true;
        outcome->comment = when;
        return true;
    }
    request.delay_ms = call_int(call, "delay", 0);
    request.message = call_str(call, "message");
    ShutdownRequest *copy = ARENA_NEW(call->arena, ShutdownRequest);
    *copy = request;
    outcome->shutdown = copy;
    return true;
}

static bool reboot_check(Call *call, Outcome *outcome, Error *err)
{
    return request_shutdown(call, outcome, "reboot", only_when_needed(call), err);
}

static bool reboot_apply(Call *call, Outcome *outcome, Error *err)
{
    return set_shutdown(call, outcome,
                        (ShutdownRequest){ .kind = SHUTDOWN_REBOOT, .resumes = true });
}

static bool poweroff_check(Call *call, Outcome *outcome, Error *err)
{
    return request_shutdown(call, outcome, "power off", false, err);
}

static bool poweroff_apply(Call *call, Outcome *outcome, Error *err)
{
    return set_shutdown(
        call, outcome,
        (ShutdownRequest){ .kind = SHUTDOWN_POWEROFF, .resumes = call_bool(call, "continue") });
}

/* --- kexec ----------------------------------------------------------------------------------- */

/* Fails if this kernel does not support kexec. */
static bool can_kexec(Call *call, Error *err)
{
    bool contained, found;
    Str disabled;
    Error missing;
    if (!in_container(call, &contained, err) ||
        !exists(call, STR("/sys/kernel/kexec_loaded"), &found, err)) {
        return false;
    }
    if (contained) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "a container cannot kexec: it shares the kernel of its host");
    }
    if (!found) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "this kernel does not support kexec (CONFIG_KEXEC)");
    }
    if (host_read(call->host, call->arena, STR("/proc/sys/kernel/kexec_load_disabled"), SETTING_MAX,
                  &disabled, &missing) &&
        str_starts(disabled, STR("1"))) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "kexec is disabled until the next boot (kernel.kexec_load_disabled)");
    }
    return tool_exists(call, "kexec") || call_report_missing_program(call, "kexec") ||
           error_set(err, ERROR_NOT_FOUND, "program 'kexec' not found (package kexec-tools)");
}

/* Finds the initrd of that kernel release; empty if there is none. */
static bool find_initrd(Call *call, Str release, Str *out, Error *err)
{
    static const char *const names[][2] = { { "initrd.img-", "" },
                                            { "initramfs-", ".img" },
                                            { "initrd-", "" } };
    bool found = false;
    for (size_t i = 0; i < COUNT_OF(names) && !found; i++) {
        *out = arena_format(call->arena, "/boot/%s%" STR_FMT "%s", names[i][0], STR_ARG(release),
                            names[i][1]);
        if (!exists(call, *out, &found, err)) {
            return false;
        }
    }
    *out = found ? *out : STR_EMPTY;
    return true;
}

/* Finds the requested kernel, or the newest one, with its initrd. */
static bool find_kernel(Call *call, ShutdownRequest *out, Error *err)
{
    Str newer, release = machine_kernel(call->arena);
    bool found;
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
    if (!exists(call, out->kernel, &found, err)) {
        return false;
    }
    return found || call_report_missing(call, "kernel", "path", out->kernel) ||
           error_set(err, ERROR_NOT_FOUND, "kernel '%" STR_FMT "' not found", STR_ARG(out->kernel));
}

static bool kexec_check(Call *call, Outcome *outcome, Error *err)
{
    ShutdownRequest request = { .kind = SHUTDOWN_KEXEC };
    return check_allowed(call, "kexec", err) && can_kexec(call, err) &&
           find_kernel(call, &request, err) &&
           request_shutdown(call, outcome, "kexec", only_when_needed(call), err);
}

static bool kexec_apply(Call *call, Outcome *outcome, Error *err)
{
    ShutdownRequest request = { .kind = SHUTDOWN_KEXEC, .resumes = true };
    return find_kernel(call, &request, err) && set_shutdown(call, outcome, request);
}

/* --- Module table ---------------------------------------------------------------------------- */

static void machine_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("machine:power")));
    list_push(arena, claims, value_string(STR("provides:*")));
}

#define SHUTDOWN_PARAMS                                                                 \
    { "name", PARAM_STRING, .help = "identifier for requisites; has no other effect" }, \
        { "allow", PARAM_BOOL, .required = true, .help = "must be true" },              \
        { "delay", PARAM_DURATION, .fallback = "0s",                                    \
          .help = "how long to wait after everything else is done" },                   \
    {                                                                                   \
        "message", PARAM_STRING, .help = "message for logged-in users"                  \
    }

#define WHEN_PARAM                                                                        \
    {                                                                                     \
        "when", PARAM_STRING,                                                             \
            .fallback = "always", .choices = "always|needed",                             \
            .help = "needed: only if packages request it, or a newer kernel is installed" \
    }

static const ParamSpec reboot_params[] = { SHUTDOWN_PARAMS, WHEN_PARAM, { 0 } };

static const ParamSpec kexec_params[] = {
    SHUTDOWN_PARAMS,
    WHEN_PARAM,
    { "kernel", PARAM_PATH, .help = "path of the kernel; default: the newest installed one" },
    { "initrd", PARAM_PATH, .help = "path of the initrd; default: the kernel's initrd in /boot" },
    { "command_line", PARAM_STRING, .help = "kernel command line; default: the current one" },
    { 0 },
};

static const ParamSpec poweroff_params[] = {
    SHUTDOWN_PARAMS,
    { "continue", PARAM_BOOL, .fallback = "false",
      .help = "continue the run when the machine is powered on again" },
    { 0 },
};

static const Action actions[] = {
    { "reboot", "Reboot the machine and continue the run.", reboot_params, reboot_check,
      reboot_apply, .claims = machine_claims, .always_changes = true, .cost_ms = 60000,
      .text = "Requires 'allow: true'. Without a trigger (onchanges) or 'when: needed' it\n"
              "reboots the machine in every run.\n"
              "\n"
              "No further steps are started; running steps finish, and all others wait. Once\n"
              "everything is saved, the machine reboots, and the same run then continues\n"
              "automatically (through eden-resume.service, which is then removed). The step\n"
              "counts as changed, and the steps after it run. A step requests only one reboot\n"
              "per run, so that a machine cannot reboot in a loop; if eden is killed before the\n"
              "machine shuts down, the next run requests it again. Requires systemd; not\n"
              "supported in another root (--root). The step also fails if the site, the program\n"
              "or other inputs of the run are in a location that other users can write to, such\n"
              "as /tmp: they could replace what root will run.\n"
              "\n"
              "A reboot is needed if /run/reboot-required exists, or if /lib/modules and /boot\n"
              "contain a kernel of the same flavor that is newer than the running one.\n",
      .example = "- name: boot the new kernel\n"
                 "  machine.reboot:\n"
                 "    - allow: true\n"
                 "    - when: needed\n"
                 "    - message: new kernel\n" },
    { "kexec", "Boot another kernel with kexec and continue the run.", kexec_params, kexec_check,
      kexec_apply, .claims = machine_claims, .always_changes = true, .cost_ms = 30000,
      .text = "Like machine.reboot, but faster: the kernel is loaded by kexec (package\n"
              "kexec-tools) and started by systemd after the shutdown. Fails in containers and\n"
              "if the kernel does not allow it.\n",
      .example = "- name: boot the new kernel quickly\n"
                 "  machine.kexec:\n"
                 "    - allow: true\n"
                 "    - when: needed\n" },
    { "poweroff", "Power off the machine.", poweroff_params, poweroff_check, poweroff_apply,
      .claims = machine_claims, .always_changes = true, .cost_ms = 60000,
      .text = "Requires 'allow: true'. No further steps are started, and once everything is saved\n"
              "the machine is powered off; with 'continue: true' the run continues when it is\n"
              "powered on again. Otherwise the next apply finds the step complete and continues\n"
              "after it.\n",
      .example = "- name: power off after the run\n"
                 "  machine.poweroff:\n"
                 "    - allow: true\n"
                 "    - delay: 1m\n" },
    { 0 },
};

const Module modules_machine = {
    .name = "machine",
    .help = "Reboot the machine, or power it off.",
    .id_param = "name",
    .actions = actions,
};
