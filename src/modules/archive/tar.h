/* Tar archives, fed piece by piece: v7, ustar, pax and GNU tar, without sparse files and devices. */
#pragma once

#include "base/buf.h"
#include "modules/archive/member.h"

enum {
    TAR_BLOCK = 512,
    TAR_EXTRA_MAX = 1 << 20, /* bytes of a long name or of pax records for one member */
};

typedef enum TarState {
    TAR_HEADER,
    TAR_DATA,  /* of a file */
    TAR_EXTRA, /* what the next header is to be read with */
    TAR_SKIP,  /* what does not matter */
    TAR_PADDING,
    TAR_END, /* behind the end of the archive everything is ignored */
} TarState;

/* A name that stands in an extra header. */
typedef struct TarName {
    bool given;
    size_t len;
    char text[MEMBER_NAME_MAX];
} TarName;

typedef struct Tar {
    const MemberSink *sink;
    TarState state;
    char block[TAR_BLOCK]; /* the header so far */
    size_t filled;
    uint64_t left;    /* bytes to come in this state */
    uint64_t padding; /* and behind it, to a whole block */
    char kind;        /* of the header */
    bool started;     /* there was a header */
    Buf extra;        /* what came so far of an extra header */
    /* From extra headers, for the next member. */
    TarName name, target;
    bool has_size;
    uint64_t size;
} Tar;

void tar_init(Tar *tar, const MemberSink *sink);
void tar_clear(Tar *tar);
DEFINE_AUTO_CLEAR(Tar, tar_clear)
/* Fails with ERROR_INVALID for what is no tar archive or holds what is not taken, or with the
 * sink's error. */
MUST_CHECK bool tar_feed(Tar *tar, Str piece, Error *err);
/* Fails when the archive is cut off. */
MUST_CHECK bool tar_finish(Tar *tar, Error *err);

/* Whether a text starts with the header of a member. */
bool tar_is_header(Str text);
