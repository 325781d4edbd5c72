#include "source/site_parts.h"

#include <stdlib.h>

#include "base/vec.h"
#include "cluster/cluster_keys.h"

/* --- Record ----------------------------------------------------------------------------------- */

static const RecordField part_fields[] = {
    { "source", RECORD_TEXT, RECORD_STR_AT(SitePart, source), .is_required = true,
      .help = "name of the source" },
    { "directory", RECORD_TEXT, RECORD_STR_AT(SitePart, directory), .help = "of the site" },
    { "commit", RECORD_TEXT, RECORD_STR_AT(SitePart, commit), .is_required = true,
      .max = GIT_COMMIT_MAX, .help = "commit" },
    { 0 },
};

static const RecordField parts_fields[] = {
    { "parts", RECORD_OBJECT,
      RECORD_POINTER_AT(SiteParts, items, count, GIT_SOURCES_MAX, SitePart, part_fields),
      .help = "its sources" },
    { "version", RECORD_TEXT, RECORD_STR_AT(SiteParts, version), .help = "name of the version" },
    { "manifest", RECORD_TEXT, RECORD_STR_AT(SiteParts, manifest),
      .help = "SHA-256 of the list of its files" },
    { RECORD_UNKNOWN_AT(SiteParts, unknown) },
    { 0 },
};

static const RecordFormat parts_format = {
    .format = "eden.source-parts/1",
    .what = "the record of the sources of the site",
    .fields = parts_fields,
    .size = sizeof(SiteParts),
    .text_max = 64 << 10,
};

void site_parts_print(const SiteParts *parts, Buf *out)
{
    record_print(&parts_format, parts, out);
}

bool site_parts_read(Arena *arena, Str text, SiteParts *out, Error *err)
{
    return record_read(&parts_format, arena, text, RECORD_STORED, out, err);
}

SiteParts site_parts_find(Arena *arena, const State *state, Str prefix)
{
    SiteParts parts;
    (void)state_record(state, cluster_key_source_parts(arena, prefix), &parts_format, arena,
                       &parts);
    return parts;
}

/* --- Comparing -------------------------------------------------------------------------------- */

const SitePart *site_parts_get(const SiteParts *parts, Str source)
{
    for (uint32_t i = 0; i < parts->count; i++) {
        if (str_eq(parts->items[i].source, source)) {
            return &parts->items[i];
        }
    }
    return NULL;
}

static bool part_equal(const SitePart *a, const SitePart *b)
{
    return a == NULL || b == NULL
               ? a == b
               : str_eq(a->directory, b->directory) && str_eq(a->commit, b->commit);
}

bool site_parts_differ(const SiteParts *a, const SiteParts *b, Str source)
{
    return !part_equal(site_parts_get(a, source), site_parts_get(b, source));
}

bool site_parts_equal(const SiteParts *a, const SiteParts *b)
{
    for (uint32_t i = 0; i < a->count; i++) {
        if (site_parts_differ(a, b, a->items[i].source)) {
            return false;
        }
    }
    return a->count == b->count;
}

Str site_parts_key(Arena *arena, const SiteParts *parts)
{
    Buf key = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < parts->count; i++) {
        const SitePart *part = &parts->items[i];
        buf_put_format(&key, "%" STR_FMT "\n%" STR_FMT "\n%" STR_FMT "\n", STR_ARG(part->source),
                       STR_ARG(part->directory), STR_ARG(part->commit));
    }
    return buf_str(&key);
}

/* --- What to try ------------------------------------------------------------------------------ */

/* A combination with the newest commit of `only`, or of all sources if it is NULL. Sources without
 * a usable commit are omitted. */
static SiteParts combine(Arena *arena, const SiteCandidates *candidates, const Str *only)
{
    SiteParts out = { .items = ARENA_ARRAY(arena, SitePart, candidates->count) };
    for (uint32_t i = 0; i < candidates->count; i++) {
        Str source = candidates->sources[i];
        const SitePart *untried = site_parts_get(candidates->newest, source);
        const SitePart *before = site_parts_get(candidates->valid, source);
        bool is_untried = untried != NULL && (only == NULL || str_eq(*only, source));
        const SitePart *part = is_untried ? untried : before;
        if (part != NULL) {
            out.items[out.count++] = (SitePart){ source, candidates->directories[i], part->commit };
        }
    }
    return out;
}

static bool is_open(Arena *arena, const SiteCandidates *candidates, const SiteParts *parts)
{
    return parts->count > 0 && !site_parts_equal(parts, candidates->valid) &&
           !str_map_has(candidates->tried, site_parts_key(arena, parts));
}

bool site_parts_next(Arena *arena, const SiteCandidates *candidates, SiteParts *out)
{
    *out = combine(arena, candidates, NULL);
    if (is_open(arena, candidates, out)) {
        return true;
    }
    if (site_parts_equal(out, candidates->valid)) {
        return false;
    }
    for (uint32_t i = 0; i < candidates->count; i++) {
        *out = combine(arena, candidates, &candidates->sources[i]);
        if (is_open(arena, candidates, out)) {
            return true;
        }
    }
    return false;
}

/* --- Manifests -------------------------------------------------------------------------------- */

static Str join_path(Arena *arena, Str directory, Str path)
{
    return directory.len == 0 ? path : arena_join(arena, directory, STR("/"), path);
}

/* Whether the path is in the directory; an empty directory contains everything. */
static bool is_below(Str path, Str directory)
{
    return directory.len == 0 || (path.len > directory.len && str_starts(path, directory) &&
                                  path.data[directory.len] == '/');
}

/* The part that owns a path: the one with the longest directory that contains it. */
static const PartFiles *owner_of(const PartFiles *parts, uint32_t count, Str path)
{
    const PartFiles *owner = NULL;
    for (uint32_t i = 0; i < count; i++) {
        bool is_inner = owner == NULL || parts[i].directory.len > owner->directory.len;
        owner = is_below(path, parts[i].directory) && is_inner ? &parts[i] : owner;
    }
    return owner;
}

static int compare_files(const void *a, const void *b)
{
    const ManifestFile *first = a, *second = b;
    return str_compare(first->path, second->path);
}

static bool add_part(Arena *arena, const PartFiles *parts, uint32_t count, uint32_t which,
                     Manifest *out, Error *err)
{
    const PartFiles *part = &parts[which];
    for (uint32_t i = 0; i < part->files->file_count; i++) {
        ManifestFile file = part->files->files[i];
        file.path = join_path(arena, part->directory, file.path);
        const PartFiles *owner = owner_of(parts, count, file.path);
        if (owner != part) {
            return error_set(err, ERROR_INVALID,
                             "%" STR_FMT " is in source '%" STR_FMT
                             "', but its directory belongs to source '%" STR_FMT "'",
                             STR_ARG(str_slice(file.path, 0, 200)), STR_ARG(part->source),
                             STR_ARG(owner->source));
        }
        out->files[out->file_count++] = file;
    }
    return true;
}

static bool check_directories(const PartFiles *parts, uint32_t count, Error *err)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (str_eq(parts[i].directory, parts[j].directory)) {
                return error_set(err, ERROR_INVALID,
                                 "sources '%" STR_FMT "' and '%" STR_FMT
                                 "' provide the same directory of the site",
                                 STR_ARG(parts[j].source), STR_ARG(parts[i].source));
            }
        }
    }
    return true;
}

bool site_parts_combine(Arena *arena, const PartFiles *parts, uint32_t count, Manifest *out,
                        Error *err)
{
    Manifest site = { 0 };
    uint64_t files = 0;
    if (!check_directories(parts, count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        files += parts[i].files->file_count;
    }
    if (files > MANIFEST_FILES_MAX) {
        return error_set(err, ERROR_LIMIT, "the sources have more than %d files in total",
                         MANIFEST_FILES_MAX);
    }
    site.files = ARENA_ARRAY(arena, ManifestFile, (size_t)files);
    for (uint32_t i = 0; i < count; i++) {
        if (!add_part(arena, parts, count, i, &site, err)) {
            return false;
        }
    }
    if (site.file_count > 1) {
        qsort(site.files, site.file_count, sizeof *site.files, compare_files);
    }
    if (!manifest_check(&site, err)) {
        return false;
    }
    *out = site;
    return true;
}

void site_parts_split(Arena *arena, const Manifest *site, const SiteParts *parts, Str source,
                      Manifest *out)
{
    PartFiles *all = ARENA_ARRAY(arena, PartFiles, parts->count);
    VEC(ManifestFile) files = { 0 };
    for (uint32_t i = 0; i < parts->count; i++) {
        all[i] = (PartFiles){ parts->items[i].source, parts->items[i].directory, NULL };
    }
    for (uint32_t i = 0; i < site->file_count; i++) {
        const PartFiles *owner = owner_of(all, parts->count, site->files[i].path);
        if (owner != NULL && str_eq(owner->source, source)) {
            ManifestFile file = site->files[i];
            size_t skip = owner->directory.len == 0 ? 0 : owner->directory.len + 1;
            file.path = str_from_offset(file.path, skip);
            VEC_PUSH(arena, &files, file);
        }
    }
    *out = (Manifest){ .files = files.items, .file_count = files.len };
}
