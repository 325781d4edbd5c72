#include "source/version_check.h"

#include <stdio.h>

#include "base/log.h"
#include "base/problems.h"
#include "lang/json.h"
#include "sys/child.h"
#include "sys/clock.h"
#include "sys/directory.h"
#include "sys/file_tree.h"
#include "sys/process.h"

#define CODE_UNCHECKED "E0880"

enum {
    ERROR_OUTPUT_MAX = 64 << 10,
    EXIT_VALID = 0,
    EXIT_PROBLEMS = 1,
};

/* --- Manifest --------------------------------------------------------------------------------- */

static bool read_manifest(const VersionCheck *check, Arena *arena, Str id, Manifest *out,
                          Error *err)
{
    Str text, *missing;
    /* must come first: unused blobs may be removed in the meantime */
    (void)blob_store_touch(check->blobs, id);
    if (!blob_store_read(check->blobs, arena, id, &text, err)) {
        return err->kind != ERROR_NOT_FOUND
                   ? false
                   : error_set(err, ERROR_CONFLICT,
                               "the manifest %" STR_FMT " is missing; send it first", STR_ARG(id));
    }
    if (!manifest_read(arena, text, out, err)) {
        return false;
    }
    uint32_t count = site_tree_missing(arena, out, check->blobs, &missing);
    if (count > 0) {
        return error_set(err, ERROR_CONFLICT,
                         "%u %s missing, the first is %" STR_FMT "; send them first", count,
                         count == 1 ? "blob is" : "blobs are", STR_ARG(missing[0]));
    }
    return manifest_find(out, STR("jobs/base.yaml")) != NULL ||
           error_set(err, ERROR_INVALID, "not a site: it has no jobs/base.yaml");
}

/* --- Problems --------------------------------------------------------------------------------- */

static bool put_problems(const VersionCheck *check, Version *version, Str text, uint32_t count,
                         Error *err)
{
    version->problem_count = count;
    version->problems[0] = '\0';
    if (count == 0) {
        return true;
    }
    blob_id_of(text, version->problems);
    return blob_store_put(check->blobs, str_from_c(version->problems), text, err);
}

/* Rejects a version whose validation could not be completed. */
static bool reject(const VersionCheck *check, Arena *arena, Version *version, const char *why,
                   Error *err)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Problems problems;
    problems_init(&problems, arena);
    problems_add(&problems, CODE_UNCHECKED, NULL, 0, 0, "the site could not be checked: %s", why);
    problems_print_json(&problems, &text);
    version->state = VERSION_REJECTED;
    return put_problems(check, version, buf_str(&text), 1, err);
}

static bool read_problems(const VersionCheck *check, Arena *arena, Version *version,
                          const ProcessResult *result, Error *err)
{
    Value problems;
    bool has_ended = result->ending == PROCESS_EXITED &&
                     (result->exit_code == EXIT_VALID || result->exit_code == EXIT_PROBLEMS);
    if (!has_ended) {
        Error why;
        process_failure(arena, result, VERSION_CHECK_MS, &why);
        return reject(check, arena, version, why.text, err);
    }
    if (result->out_truncated || !json_parse_text(arena, result->out, NULL, &problems, err)) {
        return reject(check, arena, version,
                      result->out_truncated ? "it has too many problems" : err->text, err);
    }
    const List *list = value_get_list(problems, "problems");
    version->state = result->exit_code == EXIT_VALID ? VERSION_VALID : VERSION_REJECTED;
    return put_problems(check, version, result->out, list->len, err);
}

/* --- Check ------------------------------------------------------------------------------------ */

/* No modules of the site are executed, because that directory contains no trusted keys. */
static bool run_check(const VersionCheck *check, Arena *arena, const char *tree, Version *version,
                      Error *err)
{
    const char *program = check->program == NULL ? CHILD_SAME_PROGRAM : check->program;
    const char *const argv[] = { program,        "validate",     ".", "-o", "json",
                                 "--config-dir", "/nonexistent", NULL };
    const char *const env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", NULL };
    ProcessSpec spec = { .argv = argv,
                         .env = env,
                         .directory = tree,
                         .timeout_ms = VERSION_CHECK_MS,
                         .memory_max = VERSION_CHECK_MEMORY,
                         .output_max = VERSION_PROBLEMS_MAX };
    ProcessResult result;
    return process_run(arena, &spec, &result, err) &&
           read_problems(check, arena, version, &result, err);
}

bool version_check(const VersionCheck *check, Version *version, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Directory) scratch = { .descriptor = -1 };
    Manifest manifest;
    if (!read_manifest(check, &arena, str_from_c(version->manifest), &manifest, err) ||
        !directory_make(check->scratch, &scratch, err)) {
        return false;
    }
    const char *tree =
        arena_format(&arena, "%s/%016llx", check->scratch, (unsigned long long)random_seed()).data;
    version->files = manifest.file_count;
    version->bytes = manifest_bytes(&manifest);
    if (!site_tree_create(&manifest, check->blobs, tree, false, err)) {
        /* The blob was damaged and has been removed. */
        return err->kind == ERROR_NOT_FOUND ? error_set(err, ERROR_CONFLICT, "%s", err->text)
                                            : false;
    }
    bool ok = run_check(check, &arena, tree, version, err);
    file_tree_remove(tree);
    return ok;
}

void version_check_clean(const char *scratch)
{
    file_tree_remove(scratch);
}
