/* /etc/fstab, for the modules with entries in it: mount and swap. */
#pragma once

#include "modules/file/edit.h"

enum {
    FSTAB_FIELDS = 6
};

/* The fields of a line. Whitespace in paths is escaped as in the file, "\040". */
typedef struct FstabLine {
    Str device, mount_point, type, options; /* `mount_point` is "none" for swap */
    int64_t dump, pass;
} FstabLine;

/* The field that identifies a line: the mount point of a mount, the device of swap. */
typedef enum FstabKey {
    FSTAB_BY_DEVICE = 0,
    FSTAB_BY_MOUNT_POINT = 1,
} FstabKey;

/* Fails unless the string is a single word that can be written verbatim. A line that cannot be
 * parsed may prevent the machine from booting. */
MUST_CHECK bool fstab_check_word(Str text, const char *what, Error *err);
/* Returns the name by which the kernel lists a device, file or mount point, with symlinks resolved
 * on a live host. If it does not exist yet, the name is returned unchanged. */
Str fstab_kernel_name(Call *call, Str path);
/* The same path for a program that runs as root and resolves names itself: see
 * host_protected_path. */
MUST_CHECK bool fstab_guarded_path(Call *call, Str path, Str *out, Error *err);
/* Escapes whitespace as in fstab. */
Str fstab_escape(Arena *arena, Str text);
/* Replaces the lines with the same key by this line, or removes them (`line` NULL). */
void fstab_edit(Edit *edit, FstabKey key, Str wanted, const FstabLine *line);
