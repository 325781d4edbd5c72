/* Entries of the audit log that were taken out of it, as a file. Pure.
 *
 *     {"format":"eden.audit-archive/1",...}  which ones: the line has AUDIT_ARCHIVE_LINE bytes, so that
 *                                            it can be written when the last one is known
 *     {"address":...}                        an entry (audit/audit_entry.h) on each line
 *
 * The chain goes through all of them, and from one file to the next: nothing in them can be changed
 * without a trace, as long as somebody knows the hash of the last one. The log knows it. */
#pragma once

#include "audit/audit_entry.h"
#include "base/identity.h"

#define AUDIT_ARCHIVE_FORMAT "eden.audit-archive/1"

enum {
    AUDIT_ARCHIVE_LINE = 512, /* bytes, with the end of the line */
    AUDIT_MARKS_MAX = 3,
};

typedef struct AuditArchive {
    char cluster[CLUSTER_NAME_MAX + 1];
    uint64_t first, last;
    char previous[AUDIT_HASH_TEXT + 1]; /* of the one before the first */
    char hash[AUDIT_HASH_TEXT + 1];     /* of the last */
} AuditArchive;

/* The first line, with its end. */
void audit_archive_print(const AuditArchive *archive, Buf *out);

/* Whether `next` goes on where `archive` ends. They may overlap: what was archived and not dropped is
 * archived again. Only what they say of themselves is looked at. ERROR_INVALID. */
MUST_CHECK bool audit_archive_follows(const AuditArchive *archive, const AuditArchive *next,
                                      Error *err);

/* --- Reading --------------------------------------------------------------------------------- */

/* A place of the chain that somebody else knows: another file, or the log. */
typedef struct AuditMark {
    uint64_t sequence;
    char hash[AUDIT_HASH_TEXT + 1];
} AuditMark;

/* Takes a file piece by piece, however it is cut. */
typedef struct AuditArchiveReader {
    AuditArchive archive;
    AuditChain chain; /* as far as it was read */
    AuditMark marks[AUDIT_MARKS_MAX];
    uint32_t mark_count;
    uint64_t line; /* of the one that was read last; 0: none was */
    Buf rest;      /* the beginning of the next one */
} AuditArchiveReader;

void audit_archive_reader_init(AuditArchiveReader *reader);
void audit_archive_reader_clear(AuditArchiveReader *reader);
DEFINE_AUTO_CLEAR(AuditArchiveReader, audit_archive_reader_clear)

/* The entry of this number, should it be in the file or be the one before the first, must have this
 * hash. Before the first piece; AUDIT_MARKS_MAX of them at most. */
void audit_archive_reader_mark(AuditArchiveReader *reader, uint64_t sequence, const char *hash);
/* Each fails with ERROR_INVALID, or ERROR_LIMIT for a line that is too long, and names the line; with
 * the one before it is over. */
MUST_CHECK bool audit_archive_reader_take(AuditArchiveReader *reader, Str bytes, Error *err);
MUST_CHECK bool audit_archive_reader_finish(AuditArchiveReader *reader, Error *err);
