/* Archives of the audit log (audit/audit_archive.h) as files: one, and several one behind the
 * other. */
#pragma once

#include "audit/audit_archive.h"
#include "cli/invocation.h"

/* What an archive says of itself: its first line alone. */
MUST_CHECK bool audit_file_head(const char *path, AuditArchive *out, Error *err);
/* All of it, by a reader that is fresh, perhaps with marks. Fails as that does, or as
 * file_reader_open(); the text begins with the path. */
MUST_CHECK bool audit_file_check(const char *path, AuditArchiveReader *reader, Error *err);

/* `eden audit verify FILE...`: whether each is complete, they follow each other, and the log of a server
 * that responds continues them. The exit code. */
int audit_files_verify(Invocation *invocation);
