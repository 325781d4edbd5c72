/* Zip archives, stored and deflated members, with zip64; nothing encrypted.
 *
 * What is in the archive is what its directory, at the end, says. */
#pragma once

#include "modules/archive/member.h"

/* Reads exactly `size` bytes at `offset`; false with an error when they are not there. */
typedef bool (*ZipRead)(void *context, uint64_t offset, char *buffer, size_t size, Error *err);

typedef struct ZipSource {
    void *context;
    ZipRead read;
    uint64_t size; /* of the archive */
} ZipSource;

/* Fails with ERROR_INVALID for what is no zip archive or holds what is not taken, with the error of
 * the source or with the sink's. */
MUST_CHECK bool zip_read(const ZipSource *source, const MemberSink *sink, Error *err);

/* Whether a text starts as a zip archive does. */
bool zip_is_start(Str text);
