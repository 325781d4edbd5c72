/* Archive files of the audit log (audit/audit_archive.h): verifies each file, and that the files
 * form an unbroken sequence. */
#pragma once

#include "audit/audit_archive.h"
#include "cli/invocation.h"

/* Reads only the first line of an archive. */
MUST_CHECK bool audit_file_header(const char *path, AuditArchive *out, Error *err);
/* Reads and verifies an entire file. `reader` must be newly initialized; marks may already be set.
 * Fails like the reader or file_reader_open(); the message starts with the path. */
MUST_CHECK bool audit_file_check(const char *path, AuditArchiveReader *reader, Error *err);

/* `eden audit verify FILE...`: checks that each archive is complete, that they follow each other,
 * and, if a server responds, that its log continues them. Returns the exit code. */
int audit_files_verify(Invocation *invocation);
