/* swap.*: swap space. */
#include <sys/statvfs.h>
#include <unistd.h>

#include "modules/fstab.h"
#include "modules/tool.h"
#include "sys/host_stream.h"

#define FSTAB STR("/etc/fstab")

enum {
    SWAPS_MAX = 1 << 20
};

typedef struct SwapChange {
    Target *fstab;
    bool create; /* the file must be created */
    bool enable; /* the swap space must be enabled */
} SwapChange;

static bool is_used(Call *call, Str name, bool *out, Error *err)
{
    Str text, line, words[2];
    Str wanted = fstab_escape(call->arena, fstab_kernel_name(call, name));
    *out = false;
    if (!host_read(call->host, call->arena, STR("/proc/swaps"), SWAPS_MAX, &text, err)) {
        return err->kind == ERROR_NOT_FOUND; /* a kernel without swap support */
    }
    while (!*out && str_split_next(&text, '\n', &line)) {
        *out = edit_words(line, words, 2) == 2 && str_eq(words[0], wanted);
    }
    return true;
}

static bool verify_params(Call *call, Error *err)
{
    int64_t size = call_int(call, "size", 0);
    return (!call_has(call, "size") || (size >= 1 && size <= 1 << 20) ||
            error_set(err, ERROR_INVALID, "'size' must be between 1 and %d MiB", 1 << 20)) &&
           fstab_check_word(call_str(call, "options"), "options", err);
}
CALL_VERIFY(on_verify, verify_params)

/* The kernel accepts only what mkswap has formatted. */
static bool check_format(Call *call, Str name, Error *err)
{
    enum {
        SIGNATURE = 10 /* at the end of the first page */
    };
    char found[SIGNATURE];
    size_t got;
    AUTO(HostReader) *reader = NULL;
    return !host_reader_open(call->host, name, &reader, err) ||
           !host_reader_get(reader, (uint64_t)sysconf(_SC_PAGESIZE) - SIGNATURE, found,
                            sizeof found, &got, err) ||
           (got == sizeof found && (memcmp(found, "SWAPSPACE2", SIGNATURE) == 0 ||
                                    memcmp(found, "SWAP-SPACE", SIGNATURE) == 0)) ||
           call_report_missing(call, "name", "path", name) ||
           error_set(err, ERROR_CONFLICT, "%" STR_FMT " is not formatted as swap space (mkswap)",
                     STR_ARG(name));
}

/* If an earlier step will create the directory, its file system is unknown. */
static bool check_space(Call *call, Str name, int64_t mib, Error *err)
{
    struct statvfs system;
    int directory;
    FileInfo info;
    Error ignored;
    size_t slash = str_find_last(name, STR("/"));
    Str above = slash == 0 ? STR("/") : str_slice(name, 0, slash);
    if (!host_stat(call->host, above, &info, err)) {
        return call_blame(call, "name");
    }
    if (info.kind == FILE_ABSENT) {
        return call_report_missing(call, "name", "path", above) ||
               error_set(err, ERROR_NOT_FOUND, "directory '%" STR_FMT "' does not exist",
                         STR_ARG(above));
    }
    if (!host_open_directory(call->host, above, &directory, &ignored)) {
        return true;
    }
    bool known = fstatvfs(directory, &system) == 0 && system.f_frsize > 0;
    close(directory);
    uint64_t free_mib = known ? ((uint64_t)system.f_bfree * system.f_frsize) >> 20 : UINT64_MAX;
    return (uint64_t)mib <= free_mib || call_report_missing(call, "size", "path", above) ||
           error_set(err, ERROR_LIMIT,
                     "'size' is %lld MiB, but only %llu MiB are free in %" STR_FMT, (long long)mib,
                     (unsigned long long)free_mib, STR_ARG(above));
}

static bool check_size(Call *call, SwapChange *change, Outcome *outcome, Error *err)
{
    FileInfo info;
    int64_t size = call_int(call, "size", 0);
    if (!host_stat(call->host, call_str(call, "name"), &info, err)) {
        return false;
    }
    if (size == 0) {
        return info.kind != FILE_ABSENT ||
               call_report_missing(call, "name",
                                   str_starts(call_str(call, "name"), STR("/dev/")) ? "device"
                                                                                    : "path",
                                   call_str(call, "name")) ||
               error_set(err, ERROR_NOT_FOUND,
                         "%" STR_FMT " does not exist; set 'size' to create a file",
                         STR_ARG(call_str(call, "name")));
    }
    if (info.kind != FILE_ABSENT && info.kind != FILE_REGULAR) {
        return error_set(err, ERROR_CONFLICT, "'size' is for files, but this is not a file");
    }
    if (!verify_params(call, err)) {
        return false;
    }
    change->create = info.kind == FILE_ABSENT;
    if (change->create) {
        outcome->changed = true;
        outcome_change(call, outcome, "size", value_missing(), value_int(size));
    }
    return true;
}

static bool on_check(Call *call, Outcome *outcome, Error *err)
{
    Edit edit;
    Str name = call_str(call, "name"), ignored;
    bool used = true;
    SwapChange *change = ARENA_NEW(call->arena, SwapChange);
    Str device = fstab_escape(call->arena, name);
    FstabLine line = { device, STR("none"), STR("swap"), call_str(call, "options"), 0, 0 };
    if (!fstab_check_word(line.options, "options", err) ||
        !fstab_guarded_path(call, name, &ignored, err) ||
        !edit_begin_system(call, FSTAB, &edit, err)) {
        return false;
    }
    fstab_edit(&edit, FSTAB_BY_DEVICE, device, &line);
    if (!edit_end(&edit, false, outcome, err) || !check_size(call, change, outcome, err) ||
        (host_is_live(call->host) && !is_used(call, name, &used, err))) {
        return false;
    }
    change->fstab = edit.target;
    change->enable = !used;
    if (call->planning && change->create &&
        !check_space(call, name, call_int(call, "size", 0), err)) {
        return false;
    }
    if (call->planning && !used && !change->create && !check_format(call, name, err)) {
        return false;
    }
    if (!used) {
        outcome->changed = true;
        outcome_change(call, outcome, "swap", value_missing(), value_string(name));
    }
    outcome->comment = outcome->changed ? STR("on") : STR("already on");
    outcome->state = STR("on");
    outcome->check_data = change;
    return true;
}

/* The file is renamed to its final name when it is complete: a file without a header, left by a
 * killed process, would be mistaken for swap space. It is written in full, because the kernel does
 * not swap to a file with holes. */
static bool make_file(Call *call, Error *err)
{
    Str path = host_draft_path(call->arena, call_str(call, "name"));
    const char *staging_path = arena_copy_c(call->arena, path);
    Str size = arena_format(call->arena, "%lldM", (long long)call_int(call, "size", 0));
    Error ignored;
    if (host_remove(call->host, path, err) &&
        TOOL_RUN(call, NULL, err, "fallocate", "-l", arena_copy_c(call->arena, size), "--",
                 staging_path) &&
        host_set_mode(call->host, path, 0600, err) &&
        TOOL_RUN(call, NULL, err, "mkswap", "--", staging_path) && host_sync(call->host, err) &&
        host_move(call->host, path, call->host, call_str(call, "name"), err)) {
        return true;
    }
    (void)!host_remove(call->host, path, &ignored);
    return false;
}

static bool on_apply(Call *call, Outcome *outcome, Error *err)
{
    SwapChange *change = outcome->check_data;
    if (change->create) {
        if (!make_file(call, err)) {
            return false;
        }
        outcome->changed = true;
    }
    if (change->enable) {
        if (!TOOL_RUN(call, NULL, err, "swapon", "-o",
                      arena_copy_c(call->arena, call_str(call, "options")), "--",
                      arena_copy_c(call->arena, call_str(call, "name")))) {
            return false;
        }
        outcome->changed = true;
    }
    return !change->fstab->write || target_apply(call, change->fstab, outcome, err);
}

static void on_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/fstab")));
}

static const ParamSpec on_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of a device or file", .claims = "path" },
    { "size", PARAM_INT, .help = "size of a file to create if it does not exist, in MiB" },
    { "options", PARAM_STRING, .fallback = "sw", .help = "options, as in fstab: sw,pri=5" },
    { 0 },
};

static const Action actions[] = {
    { "on", "Ensure that swap space is in use.", on_params, on_check, on_apply,
      .verify_all = on_verify, .claims = on_claims, .cost_ms = 200, .resource = "path name",
      .desired_state = "kind=file",
      .text = "The swap space is enabled and added to /etc/fstab; with --root, the file is only\n"
              "created and added to the fstab under that root.\n",
      .example = "- name: swap file\n"
                 "  swap.on:\n"
                 "    - name: /swapfile\n"
                 "    - size: 1\n" },
    { 0 },
};

const Module modules_swap = {
    .name = "swap",
    .help = "Swap space.",
    .id_param = "name",
    .actions = actions,
};
