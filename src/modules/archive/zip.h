/* Reader for zip archives: stored and deflated members, with zip64, not encrypted.
 *
 * The members of an archive are those in the central directory at its end. */
#pragma once

#include "modules/archive/member.h"

/* Reads exactly `size` bytes at `offset`. Returns false and sets `err` if there is less data. */
typedef bool (*ZipRead)(void *context, uint64_t offset, char *buffer, size_t size, Error *err);

typedef struct ZipSource {
    void *context;
    ZipRead read;
    uint64_t size; /* size of the archive */
} ZipSource;

/* Fails with ERROR_INVALID if it is not a zip archive or contains unsupported members, or with the
 * error of the source or of the sink. */
MUST_CHECK bool zip_read(const ZipSource *source, const MemberSink *sink, Error *err);

/* Returns true if the data starts like a zip archive. */
bool zip_is_start(Str text);
