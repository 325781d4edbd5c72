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

/* The text with blanks and the like as fstab has them. */
Str fstab_escape(Arena *arena, Str text);
/* Puts the line in, in place of those with the same key, or takes these away (`line` NULL). */
void fstab_edit(Edit *edit, FstabKey key, Str wanted, const FstabLine *line);
