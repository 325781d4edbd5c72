/* Records of the versions of the site. Pure.
 *
 * A version is a manifest (source/manifest.h), whose SHA-256 starts with the name of the version.
 * It is recorded once its files are complete and validated, whether they are valid or not. At most
 * one version is the current one: the one that nodes apply. */
#pragma once

#include "base/buf.h"
#include "base/enum_names.h"
#include "cluster/state.h"
#include "lang/value.h"
#include "source/blob_store.h"

enum {
    VERSION_NAME_LEN = 12,  /* digits */
    VERSION_TEXT_MAX = 500, /* maximum size of a subject, a reason and similar texts */
    VERSION_RECORD_MAX = 16 << 10,
    VERSIONS_MAX = 1000,
};

typedef enum VersionOrigin {
    VERSION_PUSHED,   /* uploaded by a client */
    VERSION_FROM_GIT, /* created by the server, from a repository */
} VersionOrigin;
DECLARE_ENUM_NAMES(VersionOrigin, version_origin)

typedef enum VersionState {
    VERSION_VALID,
    VERSION_REJECTED, /* cannot become the current version */
} VersionState;
DECLARE_ENUM_NAMES(VersionState, version_state)

/* The origin of the files, as reported by the client that sent them. All fields may be empty. */
typedef struct VersionSource {
    Str source; /* a directory or URL */
    Str commit, branch, author, subject;
} VersionSource;

/* "eden.version/1" under objects/version/<name>. */
typedef struct Version {
    char manifest[BLOB_ID_TEXT + 1];
    VersionOrigin origin;
    VersionSource source;
    VersionState state;
    uint32_t problem_count;          /* errors and warnings */
    char problems[BLOB_ID_TEXT + 1]; /* blob with "eden.problems/1"; empty: none */
    uint32_t files;
    int64_t bytes;
    int64_t created_ms;
    Str requested_by; /* the user who created it */
    Value unknown;    /* fields that a newer server wrote */
} Version;

void version_print(const Version *version, Buf *out);
/* Strings are in the arena, or point into the text. Fails with ERROR_INVALID. */
MUST_CHECK bool version_read(Arena *arena, Str text, Version *out, Error *err);
void version_name_of(const char *manifest, char out[VERSION_NAME_LEN + 1]);
MUST_CHECK bool version_name_check(Str name, Error *err);

/* "eden.current/1" under current_version. */
typedef struct CurrentVersion {
    char version[VERSION_NAME_LEN + 1];
    char manifest[BLOB_ID_TEXT + 1];
    bool is_pinned;  /* only an explicit request replaces it */
    bool is_applied; /* a run applies it on all nodes */
    int64_t since_ms;
    Str requested_by, reason;
    char previous[VERSION_NAME_LEN + 1]; /* the version before it; empty: none */
    Value unknown;
} CurrentVersion;

void current_version_print(const CurrentVersion *current, Buf *out);
MUST_CHECK bool current_version_read(Arena *arena, Str text, CurrentVersion *out, Error *err);

/* --- As of the state -------------------------------------------------------------------------- */

/* A version and its name; if `error` is set, the record is unreadable. */
typedef struct VersionEntry {
    Str name;
    Version version;
    Str error;
    int64_t revision;
} VersionEntry;

/* Returns all versions, newest first. Results are allocated in the arena. */
uint32_t versions_list(Arena *arena, const State *state, Str prefix, VersionEntry **out);
/* Fails with ERROR_NOT_FOUND. */
MUST_CHECK bool versions_find(Arena *arena, const State *state, Str prefix, Str name,
                              VersionEntry *out, Error *err);
/* Returns false if there is no current version, or its record cannot be read. */
bool versions_current(Arena *arena, const State *state, Str prefix, CurrentVersion *out);
