/* The members of an archive as files in a private directory, not yet where they belong. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "modules/archive/member.h"
#include "modules/call.h"
#include "sys/host_stream.h"

/* What came out of the archive. */
typedef struct Staged {
    Str path;        /* "a/b", without the parts that were stripped */
    MemberKind kind; /* at the end a hard link is a file */
    Str target;      /* of a link */
    int64_t size;    /* of a file */
    int64_t mtime_s; /* of a file */
    mode_t mode;
} Staged;

typedef struct Staging {
    /* Given. */
    Call *call;
    Host *inside; /* the private directory */
    uint32_t strip;
    uint64_t max_size;
    uint32_t max_count;
    uid_t uid; /* HOST_KEEP_ID: the process's */
    gid_t gid;
    /* Made. */
    StrMap members; /* path to Staged; a directory stands before what is in it */
    uint32_t count; /* of members, those included that were replaced or stripped */
    uint64_t size;
    uint64_t names; /* bytes */
    HostWriter *writer;
    const Staged *current;
} Staging;

/* Where a member lies below its directory: "/a/b". */
Str member_place(Arena *arena, Str path);

/* With the first part filled in. */
void staging_init(Staging *staging);
MemberSink staging_sink(Staging *staging);
/* After the last member: modes and owners of directories and links. */
MUST_CHECK bool staging_finish(Staging *staging, Error *err);
void staging_clear(Staging *staging); /* closes a file that was not finished */
DEFINE_AUTO_CLEAR(Staging, staging_clear)
