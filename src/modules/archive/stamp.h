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
/* One that is absent or that cannot be read is not found. */
MUST_CHECK bool stamp_read(Host *directory, Arena *arena, Str path, Stamp *out, Error *err);
MUST_CHECK bool stamp_write(Host *directory, Arena *arena, Str path, const Stamp *stamp,
                            Error *err);

/* Other archives that were unpacked into the same directory, as their stamps tell. */
typedef struct Formers {
    Str *paths; /* of the stamps */
    Stamp *stamps;
    uint32_t count;
} Formers;

/* Whether a member is left alone once it is there. */
typedef bool (*MemberKeeps)(Call *call, Str path);

/* All but the one whose stamp is at `own`. */
MUST_CHECK bool formers_read(Host *directory, Arena *arena, Str own, Formers *out, Error *err);
/* Notes in their stamps which members are about to be replaced by those of another archive, so that
 * nobody takes these for theirs. What the call keeps is not replaced. */
MUST_CHECK bool formers_overwrite(Formers *formers, Host *directory, Call *call,
                                  const StrMap *members, MemberKeeps keeps, Error *err);
/* Takes their stamps away. */
MUST_CHECK bool formers_forget(const Formers *formers, Host *directory, Error *err);

/* Removing what an earlier archive had and the current one has not. */
typedef struct Cleaning {
    Call *call;
    Str path;              /* of the directory, for the journal */
    Host *directory;       /* it itself */
    const StrMap *members; /* of the archive that is unpacked now */
    MemberKeeps keeps;
} Cleaning;

/* The members of `stamps`, those that are still what the archive brought: files, links, and
 * directories that are empty then. */
MUST_CHECK bool clean_members(Cleaning *cleaning, const Stamp *stamps, uint32_t count, Error *err);
