/* What archives are made of, and the rules for what may come out of one.
 *
 * Readers (tar.h, zip.h) tell a MemberSink of each member in order: begin, pieces of data for a
 * file, end. They are pure: bytes in, members out. */
#pragma once

#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

typedef enum MemberKind {
    MEMBER_FILE,
    MEMBER_DIRECTORY,
    MEMBER_LINK,
    MEMBER_HARD_LINK, /* `target` is the name of another member */
} MemberKind;

typedef struct Member {
    MemberKind kind;
    Str name;   /* as the archive has it; valid for the call */
    Str target; /* of links */
    mode_t mode;
    uint64_t size; /* of a file */
    int64_t mtime_s;
} Member;

/* False ends the reading with that error. */
typedef struct MemberSink {
    void *context;
    bool (*begin)(void *context, const Member *member, Error *err);
    bool (*data)(void *context, Str piece, Error *err);
    bool (*end)(void *context, Error *err);
} MemberSink;

enum {
    MEMBER_NAME_MAX = 4000,
    MEMBER_DEPTH_MAX = 64,
};

/* The name as a path from the top, "a/b", less its first `strip` parts; empty when nothing is left.
 * Fails with ERROR_INVALID for what must not come out: absolute names, "..", names that are too
 * long, too deep or no UTF-8. */
MUST_CHECK bool member_path(Arena *arena, Str name, uint32_t strip, Str *out, Error *err);
/* Whether a link at `path` stays in the archive wherever other links lead: not absolute, ".." only
 * at its start and no more than the directories that `path` is in. */
bool member_link_is_safe(Str path, Str target);
