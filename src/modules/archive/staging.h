/* The members of an archive as files in a private directory, before they are moved into place. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "modules/archive/member.h"
#include "modules/call.h"
#include "sys/host_stream.h"

/* An extracted member. */
typedef struct StagedMember {
    Str path;        /* "a/b", without stripped components */
    MemberKind kind; /* staging_finish() turns hard links into files */
    Str target;      /* of a link */
    int64_t size;    /* of a file */
    int64_t mtime_s; /* of a file */
    mode_t mode;
} StagedMember;

typedef struct Staging {
    /* Must be set by the caller. */
    Call *call;
    Host *inside; /* the private directory */
    uint32_t strip;
    uint64_t max_size;
    uint32_t max_count;
    uid_t uid; /* HOST_KEEP_ID: those of the process */
    gid_t gid;
    /* Filled while staging. */
    StrMap members; /* path to StagedMember; a directory precedes its content */
    uint32_t count; /* number of members, including replaced and stripped ones */
    uint64_t size;
    uint64_t names; /* total length of names, in bytes */
    HostWriter *writer;
    const StagedMember *current;
} Staging;

/* The path of a member under the directory: "/a/b". */
Str staged_path(Arena *arena, Str path);

/* The caller must have set the first group of fields. */
void staging_init(Staging *staging);
MemberSink staging_sink(Staging *staging);
/* After the last member: sets modes and owners of directories and links. */
MUST_CHECK bool staging_finish(Staging *staging, Error *err);
void staging_clear(Staging *staging); /* closes an unfinished file */
DEFINE_AUTO_CLEAR(Staging, staging_clear)
