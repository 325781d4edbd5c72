/* A site that is combined from several sources: which commits to try next, and the manifest of a
 * combination. Pure.
 *
 * The newest commits of all sources are tried first. If the site is not valid with them, each
 * commit that differs from the last valid site is tried on its own, with the other sources
 * unchanged, so that a bad commit in one source does not block the others. A source that cannot be
 * fetched keeps the files that it had in the last valid site. */
#pragma once

#include "source/git_source.h"
#include "source/manifest.h"

typedef struct SitePart {
    Str source, directory, commit;
} SitePart;

/* "eden.source-parts/1" under internal/source-parts/current: the newest valid version that was
 * created from sources. */
typedef struct SiteParts {
    SitePart *items; /* sorted by source */
    uint32_t count;
    Str version, manifest; /* empty: there is none yet */
    Value unknown;
} SiteParts;

void site_parts_print(const SiteParts *parts, Buf *out);
MUST_CHECK bool site_parts_read(Arena *arena, Str text, SiteParts *out, Error *err);
/* Reads the parts from the state; empty if there are none. */
SiteParts site_parts_find(Arena *arena, const State *state, Str prefix);

bool site_parts_equal(const SiteParts *a, const SiteParts *b);
/* NULL if the source has no part */
const SitePart *site_parts_get(const SiteParts *parts, Str source);
/* Whether the source has a different commit or directory in `b`, or is only in one of them. */
bool site_parts_differ(const SiteParts *a, const SiteParts *b, Str source);
/* A string that is the same for equal parts. */
Str site_parts_key(Arena *arena, const SiteParts *parts);

/* --- What to try ------------------------------------------------------------------------------ */

typedef struct SiteCandidates {
    /* all configured sources, sorted, and the directory of each */
    const Str *sources, *directories;
    uint32_t count;
    /* the usable commits; one that could not be fetched, or cannot be part of a site, is missing */
    const SiteParts *newest;
    const SiteParts *valid; /* the last valid site */
    const StrMap *tried;    /* keys of combinations that are known not to be valid */
} SiteCandidates;

/* Returns false if there is nothing to try. */
bool site_parts_next(Arena *arena, const SiteCandidates *candidates, SiteParts *out);

/* --- Manifests -------------------------------------------------------------------------------- */

/* The files of one part, with paths relative to its directory. */
typedef struct PartFiles {
    Str source, directory;
    const Manifest *files;
} PartFiles;

/* Fails with ERROR_INVALID, naming the file and its sources, if a path is in two of them or a file
 * is where another source has its directory, or ERROR_LIMIT. */
MUST_CHECK bool site_parts_combine(Arena *arena, const PartFiles *parts, uint32_t count,
                                   Manifest *out, Error *err);
/* The files of a part in a combined site: those under its directory that are not under that of
 * another part. */
void site_parts_split(Arena *arena, const Manifest *site, const SiteParts *parts, Str source,
                      Manifest *out);
