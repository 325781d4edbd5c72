/* Incremental reader for tar archives: v7, ustar, pax and GNU tar, without sparse files and
 * devices. */
#pragma once

#include "base/buf.h"
#include "modules/archive/member.h"

enum {
    TAR_BLOCK = 512,
    /* maximum length of a long name or of the pax records of a member, in bytes */
    TAR_EXTRA_MAX = 1 << 20,
};

typedef enum TarState {
    TAR_HEADER,
    TAR_DATA,  /* content of a file */
    TAR_EXTRA, /* extended header, applies to the next header */
    TAR_SKIP,  /* ignored data */
    TAR_PADDING,
    TAR_END, /* after the end of the archive; everything is ignored */
} TarState;

/* A name from an extended header. */
typedef struct TarName {
    bool is_set;
    size_t len;
    char text[MEMBER_NAME_MAX];
} TarName;

typedef struct Tar {
    const MemberSink *sink;
    TarState state;
    char block[TAR_BLOCK]; /* the part of the header read so far */
    size_t filled;
    uint64_t left;    /* bytes remaining in this state */
    uint64_t padding; /* bytes of padding that follow, up to a full block */
    char kind;        /* type in the header */
    bool started;     /* at least one header was read */
    Buf extra;        /* content of an extended header read so far */
    /* From extended headers, for the next member. */
    TarName name, target;
    bool has_size;
    uint64_t size;
} Tar;

void tar_init(Tar *tar, const MemberSink *sink);
void tar_clear(Tar *tar);
DEFINE_AUTO_CLEAR(Tar, tar_clear)
/* Fails with ERROR_INVALID if it is not a tar archive or contains unsupported members, or with the
 * sink's error. */
MUST_CHECK bool tar_feed(Tar *tar, Str piece, Error *err);
/* Fails if the archive is truncated. */
MUST_CHECK bool tar_finish(Tar *tar, Error *err);

/* Returns true if the data starts with a valid header. */
bool tar_is_header(Str text);
