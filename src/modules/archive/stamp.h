/* A record of what was extracted into a directory, in a hidden file there, so that a check does not
 * have to unpack the archive again. */
#pragma once

#include "modules/archive/staging.h"

enum {
    STAMP_SIZE_REPLACED = -1 /* size of a member that another archive has replaced */
};

typedef struct Stamp {
    bool found;
    Str digest; /* digest of the archive: "sha256:..." */
    uint32_t strip;
    /* State of the archive when its digest was computed. While the state is the same, the digest is
     * still valid. */
    int64_t source_size, source_mtime_ns;
    uint64_t source_inode;
    StagedMember *members;
    uint32_t count;
} Stamp;

/* "/.eden-archive-0123456789abcdef", unique for each archive. Archives are identified by path or,
 * for files in the site, by content. */
Str stamp_path(Arena *arena, Str archive);
/* If the stamp is missing or unreadable, sets `found` to false. */
MUST_CHECK bool stamp_read(Host *directory, Arena *arena, Str path, Stamp *out, Error *err);
MUST_CHECK bool stamp_write(Host *directory, Arena *arena, Str path, const Stamp *stamp,
                            Error *err);

/* Other archives that were unpacked into the same directory, according to their stamps. */
typedef struct OtherStamps {
    Str *paths; /* of the stamps */
    Stamp *stamps;
    uint32_t count;
} OtherStamps;

/* Returns true if a member must not be changed once it exists. */
typedef bool (*MemberFilter)(Call *call, Str path);

/* Reads all stamps except the one at `own`. */
MUST_CHECK bool other_stamps_read(Host *directory, Arena *arena, Str own, OtherStamps *out,
                                  Error *err);
/* Records in these stamps which members are about to be replaced by another archive, so that they
 * are no longer attributed to their archives. Members for which `keeps` returns true are not
 * replaced. */
MUST_CHECK bool other_stamps_overwrite(OtherStamps *others, Host *directory, Call *call,
                                       const StrMap *members, MemberFilter keeps, Error *err);
/* Removes their stamps. */
MUST_CHECK bool other_stamps_remove(const OtherStamps *others, Host *directory, Error *err);

/* Removes members of earlier archives that the current one does not have. */
typedef struct StampCleanup {
    Call *call;
    Str path;              /* path of the directory, for the journal */
    Host *directory;       /* handle to the directory */
    const StrMap *members; /* members of the archive that is being unpacked */
    MemberFilter keeps;
} StampCleanup;

/* Removes the members of `stamps` that have not changed since they were extracted: files and links,
 * then empty directories. */
MUST_CHECK bool clean_members(StampCleanup *cleaning, const Stamp *stamps, uint32_t count,
                              Error *err);
