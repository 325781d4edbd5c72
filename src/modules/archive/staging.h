/* The members of an archive as files in a private directory, before they are moved into place. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "modules/archive/member.h"
#include "modules/call.h"
#include "sys/host_stream.h"

/* An extracted member. */
typedef struct Staged {
    Str path;        /* "a/b", without stripped components */
    MemberKind kind; /* after staging_finish a hard link is a file */
    Str target;      /* of a link */
    int64_t size;    /* of a file */
    int64_t mtime_s; /* of a file */
    mode_t mode;
} Staged;

typedef struct Staging {
    /* Set by the caller. */
    Call *call;
    Host *inside; /* the private directory */
    uint32_t strip;
    uint64_t max_size;
    uint32_t max_count;
    uid_t uid; /* HOST_KEEP_ID: the process's */
    gid_t gid;
    /* Filled while staging. */
    StrMap members; /* path to Staged; a directory precedes its content */
    uint32_t count; /* number of members, including replaced and stripped ones */
    uint64_t size;
    uint64_t names; /* total length of names, in bytes */
    HostWriter *writer;
    const Staged *current;
} Staging;

/* The path of a member under the directory: "/a/b". */
Str member_place(Arena *arena, Str path);

/* The caller must have set the first part. */
void staging_init(Staging *staging);
MemberSink staging_sink(Staging *staging);
/* After the last member: sets modes and owners of directories and links. */
MUST_CHECK bool staging_finish(Staging *staging, Error *err);
void staging_clear(Staging *staging); /* closes an unfinished file */
DEFINE_AUTO_CLEAR(Staging, staging_clear)
