/* Reads and prints the records of versions, and lists versions from the state. */
#include "source/version.h"

#include <stdlib.h>

#include "base/hex.h"
#include "cluster/cluster_keys.h"
#include "lang/record.h"

/* --- Records ---------------------------------------------------------------------------------- */

DEFINE_ENUM_NAMES(VersionOrigin,
                  version_origin, [VERSION_PUSHED] = "push", [VERSION_FROM_GIT] = "git")
DEFINE_ENUM_NAMES(VersionState,
                  version_state, [VERSION_VALID] = "valid", [VERSION_REJECTED] = "rejected")

static bool check_blob(Str id, Error *err)
{
    return id.len == 0 || blob_id_is_valid(id) || error_set(err, ERROR_INVALID, "not a SHA-256");
}

bool version_name_check(Str name, Error *err)
{
    return (name.len == VERSION_NAME_LEN && hex_is_valid(name)) ||
           error_set(err, ERROR_INVALID,
                     "the name of a version has %d hexadecimal digits in lowercase",
                     VERSION_NAME_LEN);
}

static bool check_previous(Str name, Error *err)
{
    return name.len == 0 || version_name_check(name, err);
}

static const RecordField version_fields[] = {
    { "manifest", RECORD_TEXT, RECORD_CHARS_AT(Version, manifest), .is_required = true,
      .check_text = check_blob, .help = "SHA-256 of the list of its files" },
    { "origin", RECORD_CHOICE, RECORD_ENUM_AT(Version, origin, version_origin), .is_required = true,
      .choices = "push|git", .help = "how it was created" },
    { "source", RECORD_TEXT, RECORD_STR_AT(Version, source.source), .max = VERSION_TEXT_MAX,
      .help = "directory or repository it was created from" },
    { "commit", RECORD_TEXT, RECORD_STR_AT(Version, source.commit), .max = VERSION_TEXT_MAX,
      .help = "git commit" },
    { "branch", RECORD_TEXT, RECORD_STR_AT(Version, source.branch), .max = VERSION_TEXT_MAX,
      .help = "git branch" },
    { "author", RECORD_TEXT, RECORD_STR_AT(Version, source.author), .max = VERSION_TEXT_MAX,
      .help = "author of the commit" },
    { "subject", RECORD_TEXT, RECORD_STR_AT(Version, source.subject), .max = VERSION_TEXT_MAX,
      .help = "first line of the commit message" },
    { "state", RECORD_CHOICE, RECORD_ENUM_AT(Version, state, version_state), .is_required = true,
      .choices = "valid|rejected", .help = "result of the check" },
    { "problem_count", RECORD_INT, RECORD_INT_AT(Version, problem_count), .max = UINT32_MAX,
      .help = "number of problems" },
    { "problems", RECORD_TEXT, RECORD_CHARS_AT(Version, problems), .check_text = check_blob,
      .help = "SHA-256 of the problems" },
    { "files", RECORD_INT, RECORD_INT_AT(Version, files), .max = UINT32_MAX,
      .help = "number of files" },
    { "bytes", RECORD_INT, RECORD_INT_AT(Version, bytes), .max = INT64_MAX,
      .help = "size of all files" },
    { "created_ms", RECORD_INT, RECORD_INT_AT(Version, created_ms), .is_required = true,
      .help = "when it was created" },
    { "by", RECORD_TEXT, RECORD_STR_AT(Version, requested_by), .help = "who created it" },
    { RECORD_UNKNOWN_AT(Version, unknown) },
    { 0 },
};

static const RecordFormat version_format = {
    .format = "eden.version/1",
    .what = "the record of a version",
    .fields = version_fields,
    .size = sizeof(Version),
    .text_max = VERSION_RECORD_MAX,
};

static const RecordField current_fields[] = {
    { "version", RECORD_TEXT, RECORD_CHARS_AT(CurrentVersion, version), .is_required = true,
      .check_text = version_name_check, .help = "name of the version" },
    { "manifest", RECORD_TEXT, RECORD_CHARS_AT(CurrentVersion, manifest), .is_required = true,
      .check_text = check_blob, .help = "SHA-256 of the list of its files" },
    { "pinned", RECORD_BOOL, RECORD_BOOL_AT(CurrentVersion, is_pinned),
      .help = "whether only an explicit request replaces it" },
    { "run", RECORD_BOOL, RECORD_BOOL_AT(CurrentVersion, is_applied), .is_printed = true,
      .help = "whether a run applies it on all nodes" },
    { "since_ms", RECORD_INT, RECORD_INT_AT(CurrentVersion, since_ms), .is_required = true,
      .help = "when it became current" },
    { "by", RECORD_TEXT, RECORD_STR_AT(CurrentVersion, requested_by), .help = "who activated it" },
    { "reason", RECORD_TEXT, RECORD_STR_AT(CurrentVersion, reason), .max = VERSION_TEXT_MAX,
      .help = "why" },
    { "previous", RECORD_TEXT, RECORD_CHARS_AT(CurrentVersion, previous),
      .check_text = check_previous, .help = "the version before it" },
    { RECORD_UNKNOWN_AT(CurrentVersion, unknown) },
    { 0 },
};

static const RecordFormat current_format = {
    .format = "eden.current/1",
    .what = "the record of the current version",
    .fields = current_fields,
    .size = sizeof(CurrentVersion),
    .text_max = VERSION_RECORD_MAX,
};

void version_print(const Version *version, Buf *out)
{
    record_print(&version_format, version, out);
}

bool version_read(Arena *arena, Str text, Version *out, Error *err)
{
    return record_read(&version_format, arena, text, RECORD_STORED, out, err);
}

void version_name_of(const char *manifest, char out[VERSION_NAME_LEN + 1])
{
    memcpy(out, manifest, VERSION_NAME_LEN);
    out[VERSION_NAME_LEN] = '\0';
}

void current_version_print(const CurrentVersion *current, Buf *out)
{
    record_print(&current_format, current, out);
}

bool current_version_read(Arena *arena, Str text, CurrentVersion *out, Error *err)
{
    return record_read(&current_format, arena, text, RECORD_STORED, out, err);
}

/* --- State ------------------------------------------------------------------------------------ */

static VersionEntry read_entry(Arena *arena, const StateEntry *entry)
{
    VersionEntry out = { .name = arena_copy(arena, entry->parts[1]),
                         .revision = entry->mod_revision };
    Error err;
    if (!version_read(arena, arena_copy(arena, entry->value), &out.version, &err)) {
        out.version = (Version){ .state = VERSION_REJECTED };
        out.error = arena_copy(arena, str_from_c(err.text));
    }
    return out;
}

/* Newest first; then by name. */
static int compare_entries(const void *a, const void *b)
{
    const VersionEntry *first = a, *second = b;
    int64_t ahead = second->version.created_ms - first->version.created_ms;
    return ahead != 0 ? (ahead > 0 ? 1 : -1) : str_compare(first->name, second->name);
}

uint32_t versions_list(Arena *arena, const State *state, Str prefix, VersionEntry **out)
{
    StateRange range = state_range(state, cluster_key_version_all(arena, prefix), STR_EMPTY);
    VersionEntry *items = ARENA_ARRAY(arena, VersionEntry, VERSIONS_MAX);
    uint32_t count = 0;
    for (const StateEntry *entry; count < VERSIONS_MAX && (entry = state_next(&range)) != NULL;) {
        Error err;
        if (version_name_check(entry->parts[1], &err)) {
            items[count++] = read_entry(arena, entry);
        }
    }
    if (count > 1) {
        qsort(items, count, sizeof *items, compare_entries);
    }
    *out = items;
    return count;
}

bool versions_find(Arena *arena, const State *state, Str prefix, Str name, VersionEntry *out,
                   Error *err)
{
    Error invalid;
    const StateEntry *entry = version_name_check(name, &invalid)
                                  ? state_find(state, cluster_key_version(arena, prefix, name))
                                  : NULL;
    if (entry == NULL) {
        return error_set(err, ERROR_NOT_FOUND, "version '%" STR_FMT "' not found", STR_ARG(name));
    }
    *out = read_entry(arena, entry);
    return true;
}

bool versions_current(Arena *arena, const State *state, Str prefix, CurrentVersion *out)
{
    return state_record(state, cluster_key_current_version(arena, prefix), &current_format, arena,
                        out) > 0;
}
