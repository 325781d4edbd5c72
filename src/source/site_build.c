#include "source/site_build.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "lang/json.h"

struct SiteBuild {
    WorkItem item;
    SiteBuildSpec spec;
    bool is_abandoned;
    Arena arena;
    BlobStore *blobs;
    PartFiles *files;
    char manifest[BLOB_ID_TEXT + 1];
    bool has_failed;
    Error err;
    SiteBuildResult result;
};

static void end(SiteBuild *build, const Error *err)
{
    if (!build->is_abandoned) {
        build->spec.done(build->spec.context, err == NULL ? &build->result : NULL, err);
    }
    for (uint32_t i = 0; i < build->spec.parts.count; i++) {
        git_tree_unref(build->spec.trees[i]);
    }
    arena_clear(&build->arena);
    free(build);
}

/* Whether the content of the site is the reason, as opposed to failures that may not occur at the
 * next attempt. */
static bool is_rejection(const Error *err)
{
    return err->kind == ERROR_INVALID || err->kind == ERROR_LIMIT;
}

static void reject(SiteBuild *build, Str why)
{
    build->result.rejection = arena_copy(&build->arena, why);
    end(build, NULL);
}

static void fail(SiteBuild *build, const Error *err)
{
    if (err != NULL && is_rejection(err)) {
        reject(build, str_from_c(err->text));
    } else {
        end(build, err);
    }
}

/* --- Manifest, on a thread -------------------------------------------------------------------- */

static bool read_valid(SiteBuild *build, Manifest *out, Error *err)
{
    Str text;
    if (blob_store_read(build->blobs, &build->arena, build->spec.valid.manifest, &text, err) &&
        manifest_read(&build->arena, text, out, err)) {
        return true;
    }
    /* The failure is not the fault of a commit. */
    return error_set(err, ERROR_UNAVAILABLE, "the last valid version cannot be read: %s",
                     err->text);
}

static bool find_files(SiteBuild *build, Error *err)
{
    const SiteParts *parts = &build->spec.parts;
    Manifest valid = { 0 };
    bool is_read = false;
    build->files = ARENA_ARRAY(&build->arena, PartFiles, parts->count);
    for (uint32_t i = 0; i < parts->count; i++) {
        const GitTree *tree = build->spec.trees[i];
        build->files[i] = (PartFiles){ parts->items[i].source, parts->items[i].directory, NULL };
        if (tree != NULL) {
            build->files[i].files = &tree->files;
            continue;
        }
        if (!is_read && !read_valid(build, &valid, err)) {
            return false;
        }
        is_read = true;
        Manifest *part = ARENA_NEW(&build->arena, Manifest);
        site_parts_split(&build->arena, &valid, &build->spec.valid, parts->items[i].source, part);
        build->files[i].files = part;
    }
    return true;
}

static bool make_manifest(SiteBuild *build, Error *err)
{
    Buf text = buf_make_in(&build->arena, BLOB_MANIFEST_MAX);
    Manifest site;
    if (!find_files(build, err) ||
        !site_parts_combine(&build->arena, build->files, build->spec.parts.count, &site, err)) {
        return false;
    }
    manifest_print(&site, &text);
    if (text.overflow) {
        return error_set(err, ERROR_LIMIT, "the list of the files is larger than %d MiB",
                         BLOB_MANIFEST_MAX >> 20);
    }
    blob_id_of(buf_str(&text), build->manifest);
    return blob_store_put(build->blobs, str_from_c(build->manifest), buf_str(&text), err);
}

static void run(WorkItem *item)
{
    SiteBuild *build = (SiteBuild *)item;
    build->has_failed = build->has_failed || !make_manifest(build, &build->err);
}

/* --- Version ---------------------------------------------------------------------------------- */

/* The first problem, in the format of compilers, and how to show the others. */
static Str problem_text(Arena *arena, const SiteBuild *build, const List *problems)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Value first = problems->len > 0 ? problems->items[0] : value_missing();
    Str file = value_get_text(first, "file");
    int64_t line = value_get_int(first, "line"), column = value_get_int(first, "column");
    if (file.len > 0) {
        buf_put(&text, file);
        buf_put_format(&text, line > 0 ? ":%lld:%lld: " : ": ", (long long)line, (long long)column);
    }
    Str message = str_slice(value_get_text(first, "message"), 0, GIT_TEXT_MAX);
    buf_put(&text, str_slice(message, 0, utf8_valid_prefix(message)));
    if (problems->len > 1) {
        buf_put_format(&text, " (1 of %u problems: 'eden versions show %" STR_FMT "')",
                       problems->len, STR_ARG(build->result.version));
    }
    return buf_str(&text);
}

static void on_problems(void *context, Str data, const Error *err)
{
    SiteBuild *build = context;
    Value problems;
    Error why;
    if (err != NULL || build->is_abandoned) {
        end(build, err);
    } else if (!json_parse_text(&build->arena, data, NULL, &problems, &why)) {
        end(build, &why);
    } else {
        reject(build, problem_text(&build->arena, build, value_get_list(problems, "problems")));
    }
}

/* A pinned version stays current: the new one exists, and can be activated manually. */
static void on_activated(void *context, const Error *err)
{
    SiteBuild *build = context;
    CurrentVersion current;
    const ClusterStore *cluster_store = &build->spec.cluster_store;
    bool is_held =
        err != NULL && !build->is_abandoned && err->kind == ERROR_CONFLICT &&
        versions_current(&build->arena, cluster_store->state, cluster_store->prefix, &current) &&
        current.is_pinned;
    if (is_held) {
        build->result.held = arena_copy(&build->arena, str_from_c(err->text));
    }
    end(build, is_held ? NULL : err);
}

static void on_created(void *context, Str name, bool is_new, const Error *err)
{
    SiteBuild *build = context;
    const ClusterStore *cluster_store = &build->spec.cluster_store;
    VersionEntry entry;
    Error why;
    if (err != NULL || build->is_abandoned) {
        fail(build, err);
        return;
    }
    build->result.version = arena_copy(&build->arena, name);
    build->result.manifest = str_from_c(build->manifest);
    if (!versions_find(&build->arena, cluster_store->state, cluster_store->prefix, name, &entry,
                       &why)) {
        end(build, &why);
    } else if (entry.version.state == VERSION_VALID && build->spec.is_proposal) {
        end(build, NULL);
    } else if (entry.version.state == VERSION_VALID) {
        versions_activate(build->spec.versions,
                          &(VersionActivation){ .version = build->result.version,
                                                .run = true,
                                                .requested_by = build->spec.requested_by,
                                                .reason = build->spec.reason,
                                                .fence = build->spec.fence },
                          on_activated, build);
    } else if (entry.version.problems[0] != '\0') {
        versions_get(build->spec.versions, 0, str_from_c(entry.version.problems), on_problems,
                     build);
    } else {
        reject(build, entry.error);
    }
}

static void combined(WorkItem *item)
{
    SiteBuild *build = (SiteBuild *)item;
    if (item->is_canceled || build->is_abandoned) {
        error_set(&build->err, ERROR_UNAVAILABLE, "the server is stopping");
        end(build, &build->err);
    } else if (build->has_failed) {
        fail(build, &build->err);
    } else {
        versions_create(build->spec.versions,
                        &(VersionDraft){ .manifest = str_from_c(build->manifest),
                                         .origin = VERSION_FROM_GIT,
                                         .source = build->spec.source,
                                         .requested_by = build->spec.requested_by,
                                         .fence = build->spec.fence },
                        on_created, build);
    }
}

/* --- Life cycle ------------------------------------------------------------------------------- */

static SiteParts copy_parts(Arena *arena, const SiteParts *from)
{
    SiteParts to = { .items = ARENA_ARRAY(arena, SitePart, from->count),
                     .count = from->count,
                     .version = arena_copy(arena, from->version),
                     .manifest = arena_copy(arena, from->manifest) };
    for (uint32_t i = 0; i < from->count; i++) {
        to.items[i] = (SitePart){ arena_copy(arena, from->items[i].source),
                                  arena_copy(arena, from->items[i].directory),
                                  arena_copy(arena, from->items[i].commit) };
    }
    return to;
}

SiteBuild *site_build_start(const SiteBuildSpec *spec)
{
    SiteBuild *build = memory_new(sizeof *build);
    Arena *arena = &build->arena;
    arena_init(arena, ARENA_UNLIMITED);
    build->item = (WorkItem){ .run = run, .done = combined };
    build->spec = *spec;
    build->spec.cluster_store.prefix = arena_copy(arena, spec->cluster_store.prefix);
    build->spec.parts = copy_parts(arena, &spec->parts);
    build->spec.valid = copy_parts(arena, &spec->valid);
    build->spec.requested_by = arena_copy(arena, spec->requested_by);
    build->spec.reason = arena_copy(arena, spec->reason);
    build->spec.source = (VersionSource){ .source = arena_copy(arena, spec->source.source),
                                          .commit = arena_copy(arena, spec->source.commit),
                                          .branch = arena_copy(arena, spec->source.branch),
                                          .author = arena_copy(arena, spec->source.author),
                                          .subject = arena_copy(arena, spec->source.subject) };
    GitTree **trees = ARENA_ARRAY(arena, GitTree *, spec->parts.count);
    for (uint32_t i = 0; i < spec->parts.count; i++) {
        trees[i] = spec->trees[i] == NULL ? NULL : git_tree_ref(spec->trees[i]);
    }
    build->spec.trees = trees;
    build->has_failed = !versions_blob_store(spec->versions, &build->blobs, &build->err);
    work_queue_add(spec->queue, &build->item);
    return build;
}

void site_build_abandon(SiteBuild *build)
{
    if (build != NULL) {
        build->is_abandoned = true;
    }
}
