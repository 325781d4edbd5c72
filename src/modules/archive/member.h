/* Members of archives, and the rules for what may be extracted.
 *
 * Readers (tar.h, zip.h) call a MemberSink for each member in order: begin, pieces of data for a
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
    MEMBER_HARD_LINK, /* `target` is the name of an earlier member */
} MemberKind;

typedef struct Member {
    MemberKind kind;
    Str name;   /* as in the archive; valid only during the call */
    Str target; /* of links */
    mode_t mode;
    uint64_t size; /* of a file */
    int64_t mtime_s;
} Member;

/* A function that returns false stops the reader, which fails with the same error. */
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

/* Converts the name to a path relative to the top, "a/b", without its first `strip` components;
 * empty if nothing remains. Fails with ERROR_INVALID for names that must not be extracted:
 * absolute, containing "..", too long, too deep or not UTF-8. */
MUST_CHECK bool member_path(Arena *arena, Str name, uint32_t strip, Str *out, Error *err);
/* Returns true if a link at `path` stays within the archive regardless of other links: not
 * absolute, ".." only at the start and no more often than `path` has parent directories. */
bool member_link_is_safe(Str path, Str target);
