/* /etc/fstab, for the modules that keep something in it: mount and swap. */
#pragma once

#include "modules/file/edit.h"

enum {
    FSTAB_FIELDS = 6
};

/* What a line says. Blanks in paths are written as in the file, "\040". */
typedef struct FstabLine {
    Str device, place, type, options; /* `place` is "none" for swap */
    int64_t dump, pass;
} FstabLine;

/* Which field tells one line from another: the place of a mount, the device of swap. */
typedef enum FstabKey {
    FSTAB_BY_DEVICE = 0,
    FSTAB_BY_PLACE = 1,
} FstabKey;

/* Fails unless `text` can stand in a line as it is: one word. A line that its readers do not
 * understand may keep a machine from starting. */
MUST_CHECK bool fstab_check_word(Str text, const char *what, Error *err);
/* The name by which the kernel lists a device, a file or the place of a mount, where a link may
 * lead to it; on a live host only. What is not there yet has the name that it is given. */
Str fstab_kernel_name(Call *call, Str path);
/* The path of the same for a program of root, which goes by names: see host_guarded_path. */
MUST_CHECK bool fstab_guarded_path(Call *call, Str path, Str *out, Error *err);
/* The text with blanks and the like as fstab has them. */
Str fstab_escape(Arena *arena, Str text);
/* Puts the line in, in place of those with the same key, or takes these away (`line` NULL). */
void fstab_edit(Edit *edit, FstabKey key, Str wanted, const FstabLine *line);
