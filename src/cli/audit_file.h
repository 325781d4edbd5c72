/* Archives of the audit log (cluster/audit_archive.h) as files: read piece by piece. */
#pragma once

#include "cluster/audit_archive.h"

/* What it says of itself: its first line alone. */
MUST_CHECK bool audit_file_head(const char *path, AuditArchive *out, Error *err);
/* All of it, by a reader that is fresh, perhaps with marks. Fails as that does, or as
 * file_reader_open(); the text begins with the path. */
MUST_CHECK bool audit_file_check(const char *path, AuditArchiveReader *reader, Error *err);
