/* The git repositories of the site: the configuration by an administrator, and the status that the
 * leader reports about each. Pure.
 *
 * The files of a repository are a directory of the site, or the entire site. A source is an object
 * of the API (api/kind_source.c); servers only read it. */
#pragma once

#include "cluster/state.h"
#include "lang/record.h"
#include "source/git_url.h"

enum {
    GIT_SOURCES_MAX = 32,
    GIT_SOURCE_NAME_MAX = 63,
    GIT_URL_MAX = 500,
    GIT_BRANCH_MAX = 200,
    GIT_COMMIT_MAX = 64, /* digits */
    GIT_TEXT_MAX = 500,  /* maximum size of a subject, an error and similar texts */
    GIT_HOST_KEYS_MAX = 8,
    GIT_SIGNERS_MAX = 16 << 10, /* maximum size of a file of signers */
    GIT_CA_MAX = 32 << 10,
    GIT_TOKEN_MAX = 4 << 10,
    GIT_INTERVAL_MS = 60 * 1000,
    GIT_INTERVAL_MIN_MS = 5 * 1000,
    GIT_INTERVAL_MAX_MS = 24 * 3600 * 1000,
    GIT_BACKOFF_MAX_MS = 10 * 60 * 1000,
};

typedef struct GitSource {
    Str name; /* not part of the record */
    Str url;
    Str branch;     /* empty: the default branch of the repository when it was first fetched */
    Str directory;  /* directory of the site; empty: the entire site */
    Str interval;   /* polling interval; empty: GIT_INTERVAL_MS */
    Str *host_keys; /* host keys of the SSH server: "ssh-ed25519 AAAA..." */
    uint32_t host_key_count;
    Str ca; /* CA of the HTTPS server, in PEM; empty: those of the system */
    /* accepted signers of commits, as in ssh-keygen(1) ALLOWED SIGNERS; empty: no signature is
     * required */
    Str signers;
    Str token;     /* only in requests: it is stored separately (source/git_secrets.h) */
    Value unknown; /* fields that a newer server wrote */
    /* Not part of the record: */
    Str commit;             /* proposed commit, fetched instead of a branch */
    bool is_default_branch; /* the branch was not configured: git_source_branch() */
} GitSource;

/* 1 to 63 lowercase letters and digits, with '-' between them, because the name is also that of a
 * directory. */
MUST_CHECK bool git_source_name_check(Str name, Error *err);

/* The fields of the spec. */
extern const RecordField git_source_fields[];

/* Strings are copied to the arena. Fails with ERROR_INVALID. */
MUST_CHECK bool git_source_read(Arena *arena, Str name, Value spec, GitSource *out, Error *err);
/* In the arena. */
GitSource git_source_copy(Arena *arena, const GitSource *source);
/* Checks that all fields that the transport of the URL requires are set. Fails with ERROR_INVALID,
 * and the name of the field. */
MUST_CHECK bool git_source_check(const GitSource *source, const char **field, Error *err);
/* The delay before the next poll, after this number of consecutive failures: the interval, or
 * longer for a repository that cannot be fetched, up to GIT_BACKOFF_MAX_MS. `random` varies it by a
 * tenth, so that servers of many clusters do not poll at the same moment. */
int64_t git_source_delay_ms(const GitSource *source, uint32_t failures, uint64_t random);

/* --- As of the state -------------------------------------------------------------------------- */

/* A source in the state; if `error` is set, its record is unreadable. */
typedef struct GitSourceEntry {
    GitSource source;
    Str error;
    int64_t revision;
} GitSourceEntry;

/* Returns all sources, sorted by name, at most GIT_SOURCES_MAX. Results are allocated in the
 * arena. */
uint32_t git_sources_list(Arena *arena, const State *state, Str prefix, GitSourceEntry **out);

/* --- Status ----------------------------------------------------------------------------------- */

/* "eden.source-status/1" under internal/source-status/<name>, written by the leader when something
 * changes. */
typedef struct GitSourceStatus {
    Str commit; /* newest fetched commit; empty: none yet */
    Str author, subject;
    Str rejection; /* why this commit is not part of the site; empty: it is */
    Str error;     /* why the repository cannot be fetched; empty: it can */
    Str held;   /* why its version is not the current one; empty if it is or was the current one */
    Str pinned; /* the pinned version that is the reason; empty if no pin is the reason */
    Str branch, url; /* the default branch when this repository was first fetched; empty: unknown */
    int64_t since_ms; /* time of the last change of the state */
    int64_t handled;  /* revision of the last synchronization request that was executed */
    Value unknown;
} GitSourceStatus;

/* Returns the branch to follow: the configured branch, or the recorded default branch. Later
 * changes of the default branch, or of the checked-out branch of a local repository, have no
 * effect. Empty if unknown. */
Str git_source_branch(const GitSource *source, const GitSourceStatus *status);
/* The state: "new", "ok", "held", "rejected" or "unreachable". */
const char *git_source_status_name(const GitSourceStatus *status);
void git_source_status_print(const GitSourceStatus *status, Buf *out);
MUST_CHECK bool git_source_status_read(Arena *arena, Str text, GitSourceStatus *out, Error *err);
/* Empty if there is none. */
GitSourceStatus git_source_status_find(Arena *arena, const State *state, Str prefix, Str name);

/* --- Requests --------------------------------------------------------------------------------- */

/* "eden.source-request/1" under internal/source-request/<name>: a request to synchronize now. */
typedef struct GitSourceRequest {
    int64_t time_ms;
    Str requested_by;
    Value unknown;
} GitSourceRequest;

void git_source_request_print(const GitSourceRequest *request, Buf *out);
/* The revision of the last request; 0: none. */
int64_t git_source_request_find(Arena *arena, const State *state, Str prefix, Str name,
                                GitSourceRequest *out);
