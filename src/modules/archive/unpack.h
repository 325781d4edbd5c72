/* Reads the members of an archive, compressed or not. */
#pragma once

#include "modules/archive/member.h"
#include "modules/call.h"
#include "sys/host_stream.h"

typedef enum ArchiveFormat {
    ARCHIVE_TAR,
    ARCHIVE_TAR_GZIP,
    ARCHIVE_TAR_XZ,
    ARCHIVE_TAR_ZSTD,
    ARCHIVE_TAR_BZIP2,
    ARCHIVE_ZIP,
} ArchiveFormat;

/* A file on the machine, or bytes in memory. */
typedef struct ArchiveSource {
    HostReader *reader; /* NULL: use `bytes` */
    Str bytes;
} ArchiveSource;

/* Detects the format from the first bytes, regardless of the name. */
MUST_CHECK bool archive_detect(const ArchiveSource *source, ArchiveFormat *out, Error *err);
/* Calls the sink for all members. Fails with ERROR_LIMIT if they exceed `max` bytes in total,
 * including the headers of a tar archive. xz, zstd and bzip2 are handled by the programs of that
 * name. */
MUST_CHECK bool archive_unpack(Call *call, const ArchiveSource *source, ArchiveFormat format,
                               uint64_t max, const MemberSink *sink, Error *err);
