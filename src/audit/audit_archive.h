/* A file of archived audit log entries. Pure.
 *
 *     {"format":"eden.audit-archive/1",...}  the header: the line is AUDIT_ARCHIVE_LINE bytes long,
 *                                            so it can be written once the last entry is known
 *     {"address":...}                        an entry (audit/audit_entry.h) on each line
 *
 * The chain runs through all of them, and from one file to the next: nothing can be changed without
 * a trace, as long as the hash of the last entry is known. The log contains it. */
#pragma once

#include "audit/audit_entry.h"
#include "base/identity.h"

#define AUDIT_ARCHIVE_FORMAT "eden.audit-archive/1"

enum {
    AUDIT_ARCHIVE_LINE = 512, /* bytes, including the newline */
    AUDIT_MARKS_MAX = 3,
};

typedef struct AuditArchive {
    char cluster[CLUSTER_NAME_MAX + 1];
    uint64_t first, last;
    char previous[AUDIT_HASH_TEXT + 1]; /* hash of the entry before the first */
    char hash[AUDIT_HASH_TEXT + 1];     /* of the last entry */
} AuditArchive;

/* The first line, including the newline. */
void audit_archive_print(const AuditArchive *archive, Buf *out);

/* Whether `next` continues `archive`. They may overlap, because entries that were archived but not
 * dropped are archived again. Only compares their headers. ERROR_INVALID. */
MUST_CHECK bool audit_archive_follows(const AuditArchive *archive, const AuditArchive *next,
                                      Error *err);

/* --- Reader ---------------------------------------------------------------------------------- */

/* A known position in the chain, from another file or the log. */
typedef struct AuditMark {
    uint64_t sequence;
    char hash[AUDIT_HASH_TEXT + 1];
} AuditMark;

/* Parses a file incrementally. */
typedef struct AuditArchiveReader {
    AuditArchive archive;
    AuditChain chain; /* state of the chain up to the last entry read */
    AuditMark marks[AUDIT_MARKS_MAX];
    uint32_t mark_count;
    uint64_t line; /* the last line that was read; 0: none */
    Buf rest;      /* incomplete last line */
} AuditArchiveReader;

void audit_archive_reader_init(AuditArchiveReader *reader);
void audit_archive_reader_clear(AuditArchiveReader *reader);
DEFINE_AUTO_CLEAR(AuditArchiveReader, audit_archive_reader_clear)

/* If the file contains the entry with this number, or starts right after it, that entry's hash must
 * match `hash`. Call it before the first piece, at most AUDIT_MARKS_MAX times. */
void audit_archive_reader_mark(AuditArchiveReader *reader, uint64_t sequence, const char *hash);
/* Each fails with ERROR_INVALID, or ERROR_LIMIT for a line that is too long, and names the line. No
 * more calls are allowed after a failure. */
MUST_CHECK bool audit_archive_reader_feed(AuditArchiveReader *reader, Str bytes, Error *err);
MUST_CHECK bool audit_archive_reader_finish(AuditArchiveReader *reader, Error *err);
