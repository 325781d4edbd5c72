/* The files of a site on disk.
 *
 * Paths are relative to the site's directory; no link and no ".." can escape it. Content is cached:
 * reading a path again returns the same text, so a run sees one version of every file, and its
 * digest covers what was used. */
#pragma once

#include "model/site.h"

typedef struct SiteFiles SiteFiles;

enum {
    SITE_FILE_MAX = 16 << 20,        /* bytes of one file */
    SITE_TOTAL_MAX = 1 << 30,        /* bytes of all files that were read */
    SITE_FILES_MAX = UINT16_MAX - 64 /* so that each can be a source */
};

/* `path` is the directory of a site, or a file of steps: `*file` is then its name, and its
 * directory is used as the site's. `*file` is empty for a directory. Fails with ERROR_NOT_FOUND.
 * Everything is allocated in `arena`. */
MUST_CHECK bool site_files_open(Arena *arena, const char *path, SiteFiles **out, Str *file,
                                Error *err);

SiteReader site_files_reader(SiteFiles *files);

/* Any file of the site, not only documents, such as "files/motd". */
MUST_CHECK bool site_files_read(SiteFiles *files, Str path, Str *out, Error *err);
/* For TemplateSettings.load: `name` in templates/. `context` is a SiteFiles. */
bool site_files_load_template(void *context, Str name, Arena *arena, Str *text);

/* The files read so far, in order, for digests and records. Includes missing files that were
 * requested, because their absence matters as much. */
typedef struct SiteFile {
    Str path;
    Str text;
    bool missing;
} SiteFile;
const SiteFile *site_files_seen(const SiteFiles *files, uint32_t *count);
