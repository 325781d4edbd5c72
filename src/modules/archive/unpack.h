/* From the bytes of an archive, packed or not, to its members. */
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

/* A file of the machine, or bytes. */
typedef struct ArchiveSource {
    HostReader *reader; /* NULL: `bytes` */
    Str bytes;
} ArchiveSource;

/* By its first bytes, whatever it is called. */
MUST_CHECK bool archive_detect(const ArchiveSource *source, ArchiveFormat *out, Error *err);
/* Tells the sink of all members. More than `max` bytes in all, headers of a tar archive included,
 * are ERROR_LIMIT. xz, zstd and bzip2 are done by the programs of that name. */
MUST_CHECK bool archive_unpack(Call *call, const ArchiveSource *source, ArchiveFormat format,
                               uint64_t max, const MemberSink *sink, Error *err);
