/* The files of a site on disk.
 *
 * Paths are relative to the site's folder; no link and no ".." leads out of it. What was read
 * stays as it was: the second read of a path gives the same text, so a run sees one version of
 * every file, and its digest is that of what was used. */
#pragma once

#include "model/site.h"

typedef struct SiteFiles SiteFiles;

enum {
    SITE_FILE_MAX = 16 << 20,        /* bytes of one file */
    SITE_TOTAL_MAX = 1 << 30,        /* bytes of all that were read */
    SITE_FILES_MAX = UINT16_MAX - 64 /* so that every one can be a source */
};

/* `path` is a site's folder, or a file of steps: `*file` is then its name, and the folder that it
 * lies in takes the place of the site's. `*file` is empty for a folder. Fails with
 * ERROR_NOT_FOUND. Everything lives in `arena`. */
MUST_CHECK bool site_files_open(Arena *arena, const char *path, SiteFiles **out, Str *file,
                                Error *err);

SiteReader site_files_reader(SiteFiles *files);

/* Any file of the site, also one that is no document, such as "files/motd". */
MUST_CHECK bool site_files_read(SiteFiles *files, Str path, Str *out, Error *err);
/* For TemplateSettings.load: `name` below templates/. `context` is a SiteFiles. */
bool site_files_load_template(void *context, Str name, Arena *arena, Str *text);

/* What was read so far, in order, for digests and records. A missing file that was asked for is
 * among them too: whether it is there matters as much. */
typedef struct SiteFile {
    Str path;
    Str text;
    bool missing;
} SiteFile;
const SiteFile *site_files_seen(const SiteFiles *files, uint32_t *count);
