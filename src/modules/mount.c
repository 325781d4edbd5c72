/* mount.*: file systems in their places. */
#include "modules/fstab.h"
#include "modules/tool.h"

#define FSTAB STR("/etc/fstab")

enum {
    MOUNTS_MAX = 16 << 20,
    MOUNT_WORDS = 64
};

/* What is mounted there now, the last one on top. */
typedef struct Mounted {
    bool found;
    Str device, type, options;
} Mounted;

typedef struct MountChange {
    Mounted now;
    Str place, device; /* as mount(8) is told */
    Target *fstab;
    bool mount, unmount, make_place;
} MountChange;

/* /proc/self/mountinfo writes blanks as "\040", as fstab does, and has no links in its paths. */
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
                         "everybody may read /etc/fstab and what mount is called with: put the "
                         "secret into a file of mode 0600, as for 'credentials=' of cifs");
    }
    return tool_word(call_str(call, "device"), "device", err) &&
           fstab_check_word(call_str(call, "type"), "type", err) &&
           fstab_check_word(call_str(call, "options"), "options", err);
}

static bool check_fstab(Call *call, MountChange *change, Str place, bool wanted, Outcome *outcome,
                        Error *err)
{
    Edit edit;
    FstabLine line = { .device = fstab_escape(call->arena, call_str(call, "device")),
                       .place = fstab_escape(call->arena, place),
                       .type = call_str(call, "type"),
                       .options = call_str(call, "options"),
                       .dump = call_int(call, "dump", 0),
                       .pass = call_int(call, "pass", 0) };
    if (!edit_begin_system(call, FSTAB, &edit, err)) {
        return false;
    }
    fstab_edit(&edit, FSTAB_BY_PLACE, line.place, wanted ? &line : NULL);
    change->fstab = edit.target;
    return edit_end(&edit, false, outcome, err);
}

/* What is mounted may be listed by another name than it was asked for: a network file system with
 * its version, one of user space with what serves it. */
static bool is_same_type(Str listed, Str asked)
{
    static const struct {
        const char *asked, *listed;
    } others[] = { { "nfs", "nfs4" },    { "smb3", "cifs" },    { "cifs", "smb3" },
                   { "ntfs", "ntfs3" },  { "ntfs", "fuseblk" }, { "ntfs-3g", "fuseblk" },
                   { "fuse", "fuseblk" } };
    bool same = str_eq(listed, asked) || str_eq(asked, STR("auto")) || str_eq(asked, STR("none")) ||
                (str_starts(listed, STR("fuse.")) &&
                 (str_eq(asked, STR("fuse")) || str_eq(str_from_offset(listed, 5), asked)));
    for (size_t i = 0; !same && i < COUNT_OF(others); i++) {
        same = str_eq_c(asked, others[i].asked) && str_eq_c(listed, others[i].listed);
    }
    return same;
}

/* "UUID=..." and its kin, as the links that udev makes for them. */
static Str device_path(Call *call, Str device)
{
    static const struct {
        const char *tag, *folder;
    } tags[] = { { "UUID=", "by-uuid" },
                 { "LABEL=", "by-label" },
                 { "PARTUUID=", "by-partuuid" },
                 { "PARTLABEL=", "by-partlabel" } };
    for (size_t i = 0; i < COUNT_OF(tags); i++) {
        if (str_starts(device, str_from_c(tags[i].tag))) {
            return arena_format(call->arena, "/dev/disk/%s/%" STR_FMT, tags[i].folder,
                                STR_ARG(str_from_offset(device, strlen(tags[i].tag))));
        }
    }
    return device;
}

/* A device has many names, as /dev/vg/lv and /dev/mapper/vg-lv. Where one of them does not lead to
 * a device, they cannot be compared, and the type must do: nothing is unmounted on a guess. */
static bool is_same_device(Call *call, Str listed, Str asked)
{
    Str a, b;
    Error ignored;
    asked = device_path(call, asked);
    if (!str_starts(asked, STR("/dev/")) || !str_starts(listed, STR("/dev/")) ||
        !host_real_path(call->host, call->arena, asked, &a, &ignored) ||
        !host_real_path(call->host, call->arena, listed, &b, &ignored)) {
        return true;
    }
    return str_eq(a, b);
}

static bool is_as_wanted(Call *call, const Mounted *now)
{
    return now->found && is_same_type(now->type, call_str(call, "type")) &&
           is_same_device(call, now->device, call_str(call, "device"));
}

/* File systems of the network and of the kernel alone have no device that could be looked for. */
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
    return info.kind != FILE_ABSENT ||
           call_lacks(call, "device", str_starts(path, STR("/dev/")) ? "device" : "path", path) ||
           error_set(err, ERROR_NOT_FOUND, "there is no device '%" STR_FMT "'", STR_ARG(device));
}

/* mount(8) goes by names, now and whenever the machine starts. */
static bool find_names(Call *call, MountChange *change, Error *err)
{
    Str device = call_str(call, "device"), real = device;
    if (!fstab_guarded_path(call, call_str(call, "name"), &change->place, err)) {
        return call_blame(call, "name");
    }
    if (str_starts(device, STR("/")) && !fstab_guarded_path(call, device, &real, err)) {
        return call_blame(call, "device");
    }
    /* Of the many names of a device the one that was given is listed. */
    change->device = str_starts(device, STR("/dev/")) ? device : real;
    return true;
}

static bool mounted_check(Call *call, Outcome *outcome, Error *err)
{
    Str place = call_str(call, "name");
    FileInfo info;
    MountChange *change = ARENA_NEW(call->arena, MountChange);
    outcome->found = change;
    if (!check_words(call, err) || !find_names(call, change, err) ||
        !host_stat(call->host, place, &info, err) ||
        (call_bool(call, "persist") && !check_fstab(call, change, place, true, outcome, err))) {
        return false;
    }
    outcome->found = change;
    if (info.kind != FILE_ABSENT && info.kind != FILE_DIRECTORY && !call_bool(call, "file")) {
        return error_set(err, ERROR_CONFLICT, "%" STR_FMT " is a %s, not a directory",
                         STR_ARG(place), file_kind_name(info.kind));
    }
    change->make_place = info.kind == FILE_ABSENT;
    if (host_is_live(call->host)) {
        if (!read_mounted(call, place, &change->now, err)) {
            return false;
        }
        change->mount = !is_as_wanted(call, &change->now);
        change->unmount = change->mount && change->now.found;
        if (change->mount && !check_device(call, err)) {
            return false;
        }
    }
    if (change->mount) {
        outcome->changed = true;
        outcome_change(call, outcome, "mount",
                       change->now.found ? value_string(change->now.device) : value_missing(),
                       value_string(call_str(call, "device")));
    }
    outcome->comment = !outcome->changed   ? STR("already mounted")
                       : change->mount     ? STR("mounted")
                       : change->now.found ? STR("kept in /etc/fstab; options that changed hold "
                                                 "when it is mounted again")
                                           : STR("kept in /etc/fstab");
    outcome->state = STR("mounted");
    return true;
}

static const char *text_of(Call *call, const char *param)
{
    return arena_copy_c(call->arena, call_str(call, param));
}

static bool make_place(Call *call, Error *err)
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
    MountChange *change = outcome->found;
    if (change->unmount) {
        if (!TOOL_DO(call, NULL, err, "umount", "--", arena_copy_c(call->arena, change->place))) {
            return false;
        }
        outcome->changed = true;
    }
    if (change->mount) {
        /* Looked for again: what is there now was perhaps not made by us. */
        if ((change->make_place && !make_place(call, err)) || !find_names(call, change, err) ||
            !TOOL_DO(call, NULL, err, "mount", "-t", text_of(call, "type"), "-o",
                     text_of(call, "options"), "--", arena_copy_c(call->arena, change->device),
                     arena_copy_c(call->arena, change->place))) {
            return false;
        }
        outcome->changed = true;
    }
    /* Only what could be mounted: a wrong line would keep the machine from starting. */
    return change->fstab == NULL || target_apply(call, change->fstab, outcome, err);
}

/* A mount remounts, with the options that it has now. */
static bool mounted_react(Call *call, Outcome *outcome, Error *err)
{
    Str options =
        arena_format(call->arena, "remount,%" STR_FMT, STR_ARG(call_str(call, "options")));
    MountChange change = { 0 };
    if (call->ran_since || !host_is_live(call->host)) {
        return true;
    }
    if (!find_names(call, &change, err)) {
        return false;
    }
    outcome->changed = true;
    return TOOL_DO(call, NULL, err, "mount", "-o", arena_copy_c(call->arena, options), "--",
                   arena_copy_c(call->arena, change.place));
}

static bool unmounted_check(Call *call, Outcome *outcome, Error *err)
{
    Str place = call_str(call, "name");
    MountChange *change = ARENA_NEW(call->arena, MountChange);
    if (call_bool(call, "persist")) {
        Edit edit;
        if (!edit_begin_system(call, FSTAB, &edit, err)) {
            return false;
        }
        fstab_edit(&edit, FSTAB_BY_PLACE, fstab_escape(call->arena, place), NULL);
        change->fstab = edit.target;
        if (!edit_end(&edit, false, outcome, err)) {
            return false;
        }
    }
    if (host_is_live(call->host) && !read_mounted(call, place, &change->now, err)) {
        return false;
    }
    change->unmount = change->now.found;
    if (change->unmount) {
        if (!fstab_guarded_path(call, place, &change->place, err)) {
            return call_blame(call, "name");
        }
        outcome->changed = true;
        outcome_change(call, outcome, "mount", value_string(change->now.device), value_missing());
    }
    outcome->comment = outcome->changed ? STR("unmounted") : STR("already unmounted");
    outcome->state = STR("unmounted");
    outcome->found = change;
    return true;
}

static bool unmounted_apply(Call *call, Outcome *outcome, Error *err)
{
    MountChange *change = outcome->found;
    if (change->fstab != NULL && change->fstab->write &&
        !target_apply(call, change->fstab, outcome, err)) {
        return false;
    }
    if (!change->unmount) {
        return true;
    }
    outcome->changed = true;
    return TOOL_DO(call, NULL, err, "umount", "--", arena_copy_c(call->arena, change->place));
}

static void fstab_claims(Arena *arena, const Value *params, List *claims)
{
    list_push(arena, claims, value_string(STR("path:/etc/fstab")));
    if (value_is_string(params[0])) {
        claims_add(arena, claims,
                   "brings:path:", arena_join(arena, value_str(params[0]), STR("/"), STR_EMPTY));
    }
}

static const ParamSpec mounted_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "where: the directory", .claims = "path" },
    { "device", PARAM_STRING, .decides = "device", .required = true,
      .help = "what: a device, UUID=..., a path to bind, tmpfs, host:/path" },
    { "type", PARAM_STRING, .decides = "type", .required = true,
      .help = "the file system: ext4, tmpfs, nfs, none" },
    { "options", PARAM_STRING, .decides = "options", .fallback = "defaults",
      .help = "as in fstab: ro,noatime" },
    { "persist", PARAM_BOOL, .fallback = "true", .help = "keep it in /etc/fstab" },
    { "dump", PARAM_INT, .fallback = "0", .help = "the fifth field of fstab" },
    { "pass", PARAM_INT, .fallback = "0", .help = "the sixth field of fstab" },
    { "file", PARAM_BOOL, .fallback = "false", .help = "the place is a file (for bind)" },
    { 0 },
};

static const ParamSpec unmounted_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "where: the directory", .claims = "path" },
    { "persist", PARAM_BOOL, .fallback = "true", .help = "take it from /etc/fstab too" },
    { 0 },
};

static const char *mounted_reaction(const Action *action, const Value *params)
{
    return "remount";
}

static const Action actions[] = {
    { "mounted", "Ensure that something is mounted.", mounted_params, mounted_check, mounted_apply,
      .react = mounted_react, .reaction = mounted_reaction, .claims = fstab_claims, .cost_ms = 50,
      .thing = "mount name", .wants = "state=mounted",
      .text = "In /etc/fstab and at once; below another root only in its fstab. What cannot be\n"
              "mounted is not kept in fstab. The directory is made when it is missing. Another\n"
              "device or file system in its place is unmounted first. A change of options alone\n"
              "does not remount: as the reaction to a change (watch, listen) it does.\n"
              "\n"
              "A user who owns a directory on the way could put a link there, also before the\n"
              "machine starts, and so have something mounted over /etc: below the home of a user\n"
              "nothing is mounted, and no path there is a device. The home itself can be either.\n",
      .example = "- name: scratch space\n"
                 "  mount.mounted:\n"
                 "    - name: /srv/scratch\n"
                 "    - device: tmpfs\n"
                 "    - type: tmpfs\n"
                 "    - options: size=64m,mode=1777\n" },
    { "unmounted", "Ensure that nothing is mounted.", unmounted_params, unmounted_check,
      unmounted_apply, .claims = fstab_claims, .cost_ms = 50, .thing = "mount name",
      .wants = "state=unmounted",
      .example = "- name: no scratch space\n"
                 "  mount.unmounted:\n"
                 "    - name: /srv/scratch\n" },
    { 0 },
};

const Module modules_mount = {
    .name = "mount",
    .help = "File systems in their places.",
    .id_param = "name",
    .actions = actions,
};
