/* What was extracted into a directory, noted in a hidden file there: so that a check knows without
 * unpacking the archive again. */
#pragma once

#include "modules/archive/staging.h"

enum {
    STAMP_LOST = -1 /* the size of a member in whose place another archive has put its own */
};

typedef struct Stamp {
    bool found;
    Str digest; /* of the archive: "sha256:..." */
    uint32_t strip;
    /* The archive when its digest was taken; while it is the same, so is the digest. */
    int64_t source_size, source_mtime_ns;
    uint64_t source_inode;
    Staged *members;
    uint32_t count;
} Stamp;

/* "/.eden-archive-0123456789abcdef", other for each archive, which is its path, or its content
 * where it has none. */
Str stamp_path(Arena *arena, Str archive);
bool stamp_is_path(Str path);
/* One that is absent or that cannot be read is not found. */
MUST_CHECK bool stamp_read(Host *directory, Arena *arena, Str path, Stamp *out, Error *err);
MUST_CHECK bool stamp_write(Host *directory, Arena *arena, Str path, const Stamp *stamp,
                            Error *err);
