/* Stores contents that a run overwrites or removes, in the subdirectory `keep` of the state
 * directory, each named by its SHA-256, so that equal ones are stored once. Bounded: the oldest are
 * removed if there are too many. Thread-safe. */
#pragma once

#include <stdatomic.h>

#include "run/journal_record.h"
#include "sys/directory.h"
#include "sys/host.h"

enum {
    KEEP_FILE_MAX = 64 << 20,   /* bytes of one content; larger ones are only recorded */
    KEEP_FILES_MAX = 10000,     /* number of contents */
    KEEP_BYTES_MAX = 256 << 20, /* bytes of all contents */
    KEEP_SHARE = 8,             /* the contents use at most 1/8 of the disk */
    KEEP_TREE_MAX = 10000,      /* entries of one directory tree */
};

typedef struct Keep {
    Directory directory;
    bool sync;          /* each content is synced before its path changes */
    atomic_bool stored; /* something new was stored */
    atomic_llong room;  /* remaining bytes; beyond that, contents are only recorded */
} Keep;

MUST_CHECK bool keep_open(const Directory *state, bool sync, Keep *out, Error *err);
void keep_close(Keep *keep);
DEFINE_AUTO_CLEAR(Keep, keep_close)

/* Stores a content; `name` receives its name, NUL-terminated. */
MUST_CHECK bool keep_content(Keep *keep, Str content, Arena *arena, Str *name, Error *err);

/* Keeps the content at `path` of the host, and of a directory everything in it, up to KEEP_TREE_MAX
 * entries. Each state is passed to `note`, which journals it. */
typedef bool (*KeepNote)(void *context, const KeptState *state, Error *err);
MUST_CHECK bool keep_path(Keep *keep, Host *host, Str path, KeepNote note, void *context,
                          Error *err);

/* Removes the oldest contents beyond the limits, and leftovers of interrupted writes; does nothing
 * if nothing was stored since opening. Call this at the end of a run. */
MUST_CHECK bool keep_prune(const Keep *keep, uint32_t files_max, int64_t bytes_max, Error *err);
