/* kmod.*: kernel modules. */
#include "modules/kmod.h"

#include "modules/file/target.h"
#include "modules/tool.h"

enum {
    MODULES_MAX = 4 << 20, /* maximum size of the list of built-in modules, in bytes */
    LISTS_MAX = 32 << 20   /* maximum size of the lists of all modules, in bytes */
};

typedef struct KmodChange {
    bool load;
    Target file;
} KmodChange;

static bool check_name(Str name, Error *err)
{
    bool ok = name.len > 0 && name.len < 64;
    for (size_t i = 0; ok && i < name.len; i++) {
        ok = ascii_is_name(name.data[i]) || (i > 0 && name.data[i] == '-');
    }
    return ok || error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a valid kernel module name",
                           STR_ARG(name));
}

static bool verify_name(Call *call, Error *err)
{
    return check_name(call_str(call, "name"), err) || call_blame(call, "name");
}
CALL_VERIFY(kmod_verify, verify_name)

/* The kernel uses '_' where the file name may have '-'. */
static Str kernel_name(Arena *arena, Str name)
{
    char *text = (char *)arena_copy_c(arena, name);
    for (size_t i = 0; i < name.len; i++) {
        text[i] = text[i] == '-' ? '_' : text[i];
    }
    return str_from(text, name.len);
}

/* Returns true if it is loaded, or built into the kernel. Only some of the built-in modules are in
 * /sys/module. */
static bool is_loaded(Call *call, Str name, bool *out, Error *err)
{
    FileInfo info;
    Str release, builtin;
    Str path = arena_format(call->arena, "/sys/module/%" STR_FMT, STR_ARG(name));
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    *out = info.kind == FILE_DIRECTORY;
    if (*out || !host_read(call->host, call->arena, STR("/proc/sys/kernel/osrelease"), 256,
                           &release, err)) {
        return true;
    }
    path = arena_format(call->arena, "/lib/modules/%" STR_FMT "/modules.builtin",
                        STR_ARG(str_trim(release)));
    if (host_read(call->host, call->arena, path, MODULES_MAX, &builtin, err)) {
        Str line;
        Str file = arena_format(call->arena, "/%" STR_FMT ".ko", STR_ARG(name));
        while (!*out && str_split_next(&builtin, '\n', &line)) {
            *out = str_ends(kernel_name(call->arena, line), file);
        }
    }
    return true;
}

bool kmod_can_be_loaded(Call *call, Str given, bool *out, Error *err)
{
    Str release, text, line, name = kernel_name(call->arena, given);
    *out = true;
    if (!host_read(call->host, call->arena, STR("/proc/sys/kernel/osrelease"), 256, &release,
                   err)) {
        return false;
    }
    static const char *const lists[] = { "modules.dep", "modules.alias" };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        Error missing;
        Str path = arena_format(call->arena, "/lib/modules/%" STR_FMT "/%s",
                                STR_ARG(str_trim(release)), lists[i]);
        if (!host_read(call->host, call->arena, path, LISTS_MAX, &text, &missing)) {
            *out = missing.kind != ERROR_NOT_FOUND;
            return true;
        }
        Str wanted = i == 0 ? arena_format(call->arena, "/%" STR_FMT ".ko", STR_ARG(name))
                            : arena_format(call->arena, "alias %" STR_FMT " ", STR_ARG(name));
        while (str_split_next(&text, '\n', &line)) {
            Str key = i == 0 ? str_slice(line, 0, str_find(line, STR(":"), 0)) : line;
            if (str_find(kernel_name(call->arena, key), wanted, 0) != STR_NOT_FOUND) {
                return true;
            }
        }
    }
    *out = false;
    return true;
}

static bool check_loadable(Call *call, Str name, Error *err)
{
    bool loadable;
    return kmod_can_be_loaded(call, name, &loadable, err) &&
           (loadable || call_report_missing(call, "name", "kmod", name) ||
            error_set(err, ERROR_NOT_FOUND, "this kernel has no module '%" STR_FMT "'",
                      STR_ARG(call_str(call, "name"))));
}

static bool loaded_check(Call *call, Outcome *outcome, Error *err)
{
    Str given = call_str(call, "name");
    bool loaded = true;
    KmodChange *change = ARENA_NEW(call->arena, KmodChange);
    if (!check_name(given, err)) {
        return false;
    }
    Str name = kernel_name(call->arena, given);
    if (host_is_live(call->host) && !is_loaded(call, name, &loaded, err)) {
        return false;
    }
    if (!loaded && !check_loadable(call, name, err)) {
        return false;
    }
    if (call_bool(call, "persist")) {
        change->file = target_for_system_file(
            arena_format(call->arena, "/etc/modules-load.d/%" STR_FMT ".conf", STR_ARG(name)));
        target_set_line(call, &change->file, name);
        if (!target_check_one(call, &change->file, outcome, err)) {
            return false;
        }
    }
    change->load = !loaded;
    if (!loaded) {
        outcome->changed = true;
        outcome_change(call, outcome, "module", value_missing(), value_string(name));
    }
    outcome->comment = outcome->changed ? STR("loaded") : STR("already loaded");
    outcome->state = loaded ? STR("loaded") : STR("absent");
    outcome->check_data = change;
    return true;
}

static bool loaded_apply(Call *call, Outcome *outcome, Error *err)
{
    KmodChange *change = outcome->check_data;
    if (change->load) {
        const char *name = arena_copy_c(call->arena, call_str(call, "name"));
        if (!TOOL_RUN(call, NULL, err, "modprobe", "--", name)) {
            return false;
        }
        outcome->changed = true;
        outcome->state = STR("loaded");
    }
    return !change->file.write || target_apply(call, &change->file, outcome, err);
}

static void loaded_claims(Arena *arena, const Value *params, List *claims)
{
    if (value_is_string(params[0])) {
        Str name = kernel_name(arena, value_str(params[0]));
        list_push(arena, claims,
                  value_string(arena_format(arena, "path:/etc/modules-load.d/%" STR_FMT ".conf",
                                            STR_ARG(name))));
        list_push(arena, claims, value_string(STR("provides:sysctl")));
        list_push(arena, claims, value_string(STR("provides:device")));
        list_push(arena, claims, value_string(STR("provides:filesystem")));
    }
}

static const ParamSpec loaded_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the module" },
    { "persist", PARAM_BOOL, .fallback = "true", .help = "load it at every boot too" },
    { 0 },
};

static const Action actions[] = {
    { "loaded", "Ensure that a kernel module is loaded.", loaded_params, loaded_check, loaded_apply,
      .verify_all = kmod_verify, .claims = loaded_claims, .cost_ms = 50,
      .text = "A module that is built into the kernel counts as loaded. In another root, only the\n"
              "file in /etc/modules-load.d is written.\n",
      .example = "- name: filter packets on bridges\n"
                 "  kmod.loaded:\n"
                 "    - name: br_netfilter\n" },
    { 0 },
};

const Module modules_kmod = {
    .name = "kmod",
    .help = "Kernel modules.",
    .id_param = "name",
    .actions = actions,
};
