/* mount.*: mounted file systems. */
#include "modules/fstab.h"
#include "modules/kmod.h"
#include "modules/tool.h"

#define FSTAB STR("/etc/fstab")

enum {
    MOUNTS_MAX = 16 << 20,
    MOUNT_WORDS = 64
};

/* What is currently mounted there; the topmost mount if there are several. */
typedef struct Mounted {
    bool found;
    Str device, type, options;
} Mounted;

typedef struct MountChange {
    Mounted current;
    Str mount_point, device; /* as passed to mount(8) */
    Target *fstab;
    bool mount, unmount, needs_mount_point;
} MountChange;

/* /proc/self/mountinfo escapes whitespace as "\040", like fstab, and its paths contain no
 * symlinks. */
static bool read_mounted(Call *call, Str place, Mounted *out, Error *err)
{
    Str text, line;
    Str wanted = fstab_escape(call->arena, fstab_kernel_name(call, place));
    *out = (Mounted){ 0 };
    if (!host_read(call->host, call->arena, STR("/proc/self/mountinfo"), MOUNTS_MAX, &text, err)) {
        return false;
    }
    while (str_split_next(&text, '\n', &line)) {
        Str words[MOUNT_WORDS];
        uint32_t count = edit_words(line, words, MOUNT_WORDS), dash = 6;
        while (dash < count && !str_eq(words[dash], STR("-"))) {
            dash++;
        }
        if (dash + 2 < count && str_eq(words[4], wanted)) {
            *out = (Mounted){ true, words[dash + 2], words[dash + 1], words[5] };
        }
    }
    return true;
}

static bool check_words(Call *call, Error *err)
{
    if (value_is_secret(call_param(call, "options")) ||
        value_is_secret(call_param(call, "device"))) {
        return error_set(err, ERROR_INVALID,
                         "/etc/fstab and the arguments of mount are world-readable; put the secret "
                         "in a file with mode 0600, as with the cifs option 'credentials='");
    }
    return tool_check_word(call_str(call, "device"), "device", err) &&
           fstab_check_word(call_str(call, "type"), "type", err) &&
           fstab_check_word(call_str(call, "options"), "options", err);
}

CALL_VERIFY(mounted_verify, check_words)

static bool check_fstab(Call *call, MountChange *change, Str place, bool wanted, Outcome *outcome,
                        Error *err)
{
    Edit edit;
    FstabLine line = { .device = fstab_escape(call->arena, call_str(call, "device")),
                       .mount_point = fstab_escape(call->arena, place),
                       .type = call_str(call, "type"),
                       .options = call_str(call, "options"),
                       .dump = call_int(call, "dump", 0),
                       .pass = call_int(call, "pass", 0) };
    if (!edit_begin_system(call, FSTAB, &edit, err)) {
        return false;
    }
    fstab_edit(&edit, FSTAB_BY_MOUNT_POINT, line.mount_point, wanted ? &line : NULL);
    change->fstab = edit.target;
    return edit_end(&edit, false, outcome, err);
}

/* A mount may be listed with a different type than requested: a network file system with its
 * version, FUSE with the name of its server. */
static bool is_same_type(Str listed, Str requested)
{
    static const struct {
        const char *requested, *listed;
    } others[] = { { "nfs", "nfs4" },    { "smb3", "cifs" },    { "cifs", "smb3" },
                   { "ntfs", "ntfs3" },  { "ntfs", "fuseblk" }, { "ntfs-3g", "fuseblk" },
                   { "fuse", "fuseblk" } };
    bool same = str_eq(listed, requested) || str_eq(requested, STR("auto")) ||
                str_eq(requested, STR("none")) ||
                (str_starts(listed, STR("fuse.")) &&
                 (str_eq(requested, STR("fuse")) || str_eq(str_from_offset(listed, 5), requested)));
    for (size_t i = 0; !same && i < COUNT_OF(others); i++) {
        same = str_eq_c(requested, others[i].requested) && str_eq_c(listed, others[i].listed);
    }
    return same;
}

/* Converts "UUID=..." and the like to the symlinks that udev creates for them. */
static Str device_path(Call *call, Str device)
{
    static const struct {
        const char *tag, *directory;
    } tags[] = { { "UUID=", "by-uuid" },
                 { "LABEL=", "by-label" },
                 { "PARTUUID=", "by-partuuid" },
                 { "PARTLABEL=", "by-partlabel" } };
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        if (str_starts(device, str_from_c(tags[i].tag))) {
            return arena_format(call->arena, "/dev/disk/%s/%" STR_FMT, tags[i].directory,
                                STR_ARG(str_from_offset(device, strlen(tags[i].tag))));
        }
    }
    return device;
}

/* A device has several names, such as /dev/vg/lv and /dev/mapper/vg-lv. If a name does not resolve
 * to a device, they cannot be compared, and a matching type is sufficient: nothing is unmounted on
 * a guess. */
static bool is_same_device(Call *call, Str listed, Str requested)
{
    Str a, b;
    Error ignored;
    requested = device_path(call, requested);
    if (!str_starts(requested, STR("/dev/")) || !str_starts(listed, STR("/dev/")) ||
        !host_real_path(call->host, call->arena, requested, &a, &ignored) ||
        !host_real_path(call->host, call->arena, listed, &b, &ignored)) {
        return true;
    }
    return str_eq(a, b);
}

static bool is_requested_mount(Call *call, const Mounted *now)
{
    return now->found && is_same_type(now->type, call_str(call, "type")) &&
           is_same_device(call, now->device, call_str(call, "device"));
}

static bool has_option(Str options, Str wanted)
{
    Str option;
    while (str_split_next(&options, ',', &option)) {
        if (str_eq(option, wanted)) {
            return true;
        }
    }
    return false;
}

/* /proc/filesystems: "nodev\ttmpfs" or "\text4". */
static bool kernel_lists_type(Call *call, Str type, bool *out, Error *err)
{
    Str text, line;
    *out = false;
    if (!host_read(call->host, call->arena, STR("/proc/filesystems"), MOUNTS_MAX, &text, err)) {
        return false;
    }
    while (!*out && str_split_next(&text, '\n', &line)) {
        size_t tab = str_find(line, STR("\t"), 0);
        *out = tab != STR_NOT_FOUND && str_eq(str_from_offset(line, tab + 1), type);
    }
    return true;
}

/* Whether the file system is on a block device, or in a file for which mount(8) sets up a loop
 * device. */
static bool needs_block_device(Call *call)
{
    static const char types[] =
        " btrfs exfat ext2 ext3 ext4 f2fs iso9660 ntfs3 squashfs udf vfat xfs ";
    Str options = call_str(call, "options");
    Str type = arena_format(call->arena, " %" STR_FMT " ", STR_ARG(call_str(call, "type")));
    return str_find(str_from_c(types), type, 0) != STR_NOT_FOUND &&
           !has_option(options, STR("bind")) && !has_option(options, STR("rbind")) &&
           !has_option(options, STR("move")) && !has_option(options, STR("remount"));
}

/* Network and virtual file systems have no device to check. */
static bool check_device(Call *call, Error *err)
{
    FileInfo info;
    Str device = call_str(call, "device"), path = device_path(call, device);
    if (!str_starts(path, STR("/"))) {
        return true;
    }
    if (!host_stat(call->host, path, &info, err)) {
        return call_blame(call, "device");
    }
    const char *class = str_starts(path, STR("/dev/")) ? "device" : "path";
    if (info.kind == FILE_DIRECTORY && needs_block_device(call)) {
        return call_report_missing(call, "device", class, path) ||
               error_set(err, ERROR_CONFLICT,
                         "'%" STR_FMT "' is a directory, not a device; set 'options: bind' to "
                         "mount a directory",
                         STR_ARG(device));
    }
    return info.kind != FILE_ABSENT || call_report_missing(call, "device", class, path) ||
           error_set(err, ERROR_NOT_FOUND, "device '%" STR_FMT "' not found", STR_ARG(device));
}

/* mount(8) runs a helper program for some types: mount.nfs, mount.fuse. */
static bool has_mount_program(Call *call, Str type)
{
    return tool_exists(
        call, arena_copy_c(call->arena, arena_join(call->arena, STR("mount."), type, STR_EMPTY)));
}

/* The kernel must support the type or have a module for it, or mount(8) must have a helper program.
 * "fuse.sshfs" has type fuse. There is nothing to check if nothing new is mounted, or if mount(8)
 * detects the type. */
static bool check_type(Call *call, Error *err)
{
    Str type = call_str(call, "type"), options = call_str(call, "options");
    bool known, loadable;
    if (str_eq(type, STR("auto")) || str_find(type, STR(","), 0) != STR_NOT_FOUND ||
        has_option(options, STR("bind")) || has_option(options, STR("rbind")) ||
        has_option(options, STR("move")) || has_option(options, STR("remount"))) {
        return true;
    }
    Str base = str_slice(type, 0, str_find(type, STR("."), 0));
    Str alias = arena_join(call->arena, STR("fs-"), base, STR_EMPTY);
    if (!kernel_lists_type(call, base, &known, err) ||
        (!known && !kmod_can_be_loaded(call, alias, &loadable, err))) {
        return call_blame(call, "type");
    }
    Str program = arena_join(call->arena, STR("mount."), base, STR_EMPTY);
    return known || loadable || has_mount_program(call, base) || has_mount_program(call, type) ||
           call_report_missing(call, "type", "filesystem", base) ||
           error_set(err, ERROR_NOT_FOUND,
                     "this kernel has no file system type '%" STR_FMT
                     "', and there is no program '%" STR_FMT "'",
                     STR_ARG(base), STR_ARG(program));
}

/* mount(8) resolves names, now and at every boot, so they must be guarded. */
static bool find_names(Call *call, MountChange *change, Error *err)
{
    Str device = call_str(call, "device"), real = device;
    if (!fstab_guarded_path(call, call_str(call, "name"), &change->mount_point, err)) {
        return call_blame(call, "name");
    }
    if (str_starts(device, STR("/")) && !fstab_guarded_path(call, device, &real, err)) {
        return call_blame(call, "device");
    }
    /* The kernel lists a device under the name that was used to mount it. */
    change->device = str_starts(device, STR("/dev/")) ? device : real;
    return true;
}

static bool mounted_check(Call *call, Outcome *outcome, Error *err)
{
    Str place = call_str(call, "name");
    FileInfo info;
    MountChange *change = ARENA_NEW(call->arena, MountChange);
    outcome->check_data = change;
    if (!check_words(call, err) || !find_names(call, change, err) ||
        !host_stat(call->host, place, &info, err) ||
        (call_bool(call, "persist") && !check_fstab(call, change, place, true, outcome, err))) {
        return false;
    }
    outcome->check_data = change;
    if (info.kind != FILE_ABSENT && info.kind != FILE_DIRECTORY && !call_bool(call, "file")) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                         STR_ARG(place), file_kind_name(info.kind));
    }
    change->needs_mount_point = info.kind == FILE_ABSENT;
    if (call->planning && change->needs_mount_point &&
        !target_check_parents(call, place, true, err)) {
        return false;
    }
    if (host_is_live(call->host)) {
        if (!read_mounted(call, place, &change->current, err)) {
            return false;
        }
        change->mount = !is_requested_mount(call, &change->current);
        change->unmount = change->mount && change->current.found;
        if (change->mount && (!check_device(call, err) || !check_type(call, err))) {
            return false;
        }
    }
    if (change->mount) {
        outcome->changed = true;
        outcome_change(call, outcome, "mount",
                       change->current.found ? value_string(change->current.device)
                                             : value_missing(),
                       value_string(call_str(call, "device")));
    }
    outcome->comment =
        !outcome->changed ? STR("already mounted")
        : change->mount   ? STR("mounted")
        : change->current.found
            ? STR("saved in /etc/fstab; changed options take effect at the next mount")
            : STR("saved in /etc/fstab");
    outcome->state = STR("mounted");
    return true;
}

static const char *string_param(Call *call, const char *param)
{
    return arena_copy_c(call->arena, call_str(call, param));
}

static bool create_mount_point(Call *call, Error *err)
{
    FileWrite empty = {
        .content = STR_EMPTY, .mode = FILE_MODE_NEW, .uid = HOST_KEEP_ID, .gid = HOST_KEEP_ID
    };
    Str place = call_str(call, "name");
    return call_bool(call, "file") ? host_write(call->host, place, &empty, err)
                                   : host_make_directory(call->host, place, 0755, true, err);
}

static bool mounted_apply(Call *call, Outcome *outcome, Error *err)
{
    MountChange *change = outcome->check_data;
    if (change->unmount) {
        if (!TOOL_RUN(call, NULL, err, "umount", "--",
                      arena_copy_c(call->arena, change->mount_point))) {
            return false;
        }
        outcome->changed = true;
    }
    if (change->mount) {
        /* Resolve again: someone else may have created the mount point. */
        if ((change->needs_mount_point && !create_mount_point(call, err)) ||
            !find_names(call, change, err) ||
            !TOOL_RUN(call, NULL, err, "mount", "-t", string_param(call, "type"), "-o",
                      string_param(call, "options"), "--",
                      arena_copy_c(call->arena, change->device),
                      arena_copy_c(call->arena, change->mount_point))) {
            return false;
        }
        outcome->changed = true;
    }
    /* Save it only after a successful mount: a wrong line could prevent the machine from
     * booting. */
    return change->fstab == NULL || target_apply(call, change->fstab, outcome, err);
}

/* Remounts with the current options. */
static bool mounted_react(Call *call, Outcome *outcome, Error *err)
{
    Str options =
        arena_format(call->arena, "remount,%" STR_FMT, STR_ARG(call_str(call, "options")));
    MountChange change = { 0 };
    if (call->ran_after_change || !host_is_live(call->host)) {
        return true;
    }
    if (!find_names(call, &change, err)) {
        return false;
    }
    outcome->changed = true;
    return TOOL_RUN(call, NULL, err, "mount", "-o", arena_copy_c(call->arena, options), "--",
                    arena_copy_c(call->arena, change.mount_point));
}

static bool verify_unmount_path(Call *call, Error *err)
{
    return !str_eq(call_str(call, "name"), STR("/")) ||
           error_set(err, ERROR_INVALID, "the root file system cannot be unmounted") ||
           call_blame(call, "name");
}
CALL_VERIFY(unmounted_verify, verify_unmount_path)

static bool unmounted_check(Call *call, Outcome *outcome, Error *err)
{
    Str place = call_str(call, "name");
    MountChange *change = ARENA_NEW(call->arena, MountChange);
    if (!verify_unmount_path(call, err)) {
        return false;
    }
    if (call_bool(call, "persist")) {
        Edit edit;
        if (!edit_begin_system(call, FSTAB, &edit, err)) {
            return false;
        }
        fstab_edit(&edit, FSTAB_BY_MOUNT_POINT, fstab_escape(call->arena, place), NULL);
        change->fstab = edit.target;
        if (!edit_end(&edit, false, outcome, err)) {
            return false;
        }
    }
    if (host_is_live(call->host) && !read_mounted(call, place, &change->current, err)) {
        return false;
    }
    change->unmount = change->current.found;
    if (change->unmount) {
        if (!fstab_guarded_path(call, place, &change->mount_point, err)) {
            return call_blame(call, "name");
        }
        outcome->changed = true;
        outcome_change(call, outcome, "mount", value_string(change->current.device),
                       value_missing());
    }
    outcome->comment = outcome->changed ? STR("unmounted") : STR("already unmounted");
    outcome->state = STR("unmounted");
    outcome->check_data = change;
    return true;
}

static bool unmounted_apply(Call *call, Outcome *outcome, Error *err)
{
    MountChange *change = outcome->check_data;
    if (change->fstab != NULL && change->fstab->write &&
        !target_apply(call, change->fstab, outcome, err)) {
        return false;
    }
    if (!change->unmount) {
        return true;
    }
    outcome->changed = true;
    return TOOL_RUN(call, NULL, err, "umount", "--",
                    arena_copy_c(call->arena, change->mount_point));
}

static void fstab_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/fstab")));
    if (value_is_string(params[0])) {
        claims_add(arena, claims,
                   "provides:path:", arena_join(arena, value_str(params[0]), STR("/"), STR_EMPTY));
    }
}

static const ParamSpec mounted_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of the mount point", .claims = "path" },
    { "device", PARAM_STRING, .aspect = "device", .required = true,
      .help = "device, UUID=..., path to bind-mount, tmpfs, or host:/path" },
    { "type", PARAM_STRING, .aspect = "type", .required = true,
      .help = "file system type: ext4, tmpfs, nfs, none" },
    { "options", PARAM_STRING, .aspect = "options", .fallback = "defaults",
      .help = "options, as in fstab: ro,noatime" },
    { "persist", PARAM_BOOL, .fallback = "true", .help = "save it in /etc/fstab" },
    { "dump", PARAM_INT, .fallback = "0", .help = "fifth field of fstab" },
    { "pass", PARAM_INT, .fallback = "0", .help = "sixth field of fstab" },
    { "file", PARAM_BOOL, .fallback = "false", .help = "the mount point is a file (for bind)" },
    { 0 },
};

static const ParamSpec unmounted_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path of the mount point", .claims = "path" },
    { "persist", PARAM_BOOL, .fallback = "true", .help = "remove it from /etc/fstab too" },
    { 0 },
};

static const char *mounted_reaction(const Action *action, const Value *params)
{
    return "remount";
}

static const Action actions[] = {
    { "mounted", "Ensure that a file system is mounted.", mounted_params, mounted_check,
      mounted_apply, .react = mounted_react, .reaction = mounted_reaction,
      .verify_all = mounted_verify, .claims = fstab_claims, .cost_ms = 50, .resource = "mount name",
      .desired_state = "state=mounted",
      .text =
          "The file system is mounted and added to /etc/fstab; with --root, it is only\n"
          "added to the fstab under that root. If mounting fails, fstab is not changed. A\n"
          "missing mount point is created. A different device or file system at the mount point\n"
          "is unmounted first. If only the options change, it is not remounted; in reaction\n"
          "to a change (watch, listen), it is remounted.\n"
          "\n"
          "A user who owns a directory along the path could replace it with a symlink, even\n"
          "before the next boot, and have something mounted over /etc. Therefore, nothing\n"
          "can be mounted under a user's home directory, and a path under it cannot be used\n"
          "as a device. The home directory itself can be used as either.\n",
      .example = "- name: scratch space\n"
                 "  mount.mounted:\n"
                 "    - name: /srv/scratch\n"
                 "    - device: tmpfs\n"
                 "    - type: tmpfs\n"
                 "    - options: size=64m,mode=1777\n" },
    { "unmounted", "Ensure that a file system is not mounted.", unmounted_params, unmounted_check,
      unmounted_apply, .verify_all = unmounted_verify, .claims = fstab_claims, .cost_ms = 50,
      .resource = "mount name", .desired_state = "state=unmounted",
      .example = "- name: no scratch space\n"
                 "  mount.unmounted:\n"
                 "    - name: /srv/scratch\n" },
    { 0 },
};

const Module modules_mount = {
    .name = "mount",
    .help = "Mounted file systems.",
    .id_param = "name",
    .actions = actions,
};
