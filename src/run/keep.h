/* What was there before: contents that a run overwrites or removes, in the folder `keep` of the
 * state directory, each under its SHA-256, so that equal ones are stored once. Bounded: the oldest
 * go when there are too many. May be used by several threads. */
#pragma once

#include <stdatomic.h>

#include "run/journal_record.h"
#include "sys/directory.h"
#include "sys/host.h"

enum {
    KEEP_FILE_MAX = 64 << 20,   /* bytes of one content; a larger one is only told of */
    KEEP_FILES_MAX = 10000,     /* contents kept */
    KEEP_BYTES_MAX = 256 << 20, /* of all contents */
    KEEP_SHARE = 8,             /* of the disk, at most one part in so many */
    KEEP_TREE_MAX = 10000,      /* entries of one directory tree */
};

typedef struct Keep {
    Directory folder;
    bool sync;          /* each content is on the disk before its path changes */
    atomic_bool stored; /* something new came in */
    atomic_llong room;  /* bytes that may still come in; beyond them contents are only told of */
} Keep;

MUST_CHECK bool keep_open(const Directory *state, bool sync, Keep *out, Error *err);
void keep_close(Keep *keep);
DEFINE_AUTO_CLEAR(Keep, keep_close)

/* Stores a content; its name, with a NUL behind it, goes to `name`. */
MUST_CHECK bool keep_content(Keep *keep, Str content, Arena *arena, Str *name, Error *err);

/* What stands at `path` of the host, its content kept. Of a directory, what is in it follows, as
 * long as there are no more than KEEP_TREE_MAX entries. Each is handed to `note`, which journals
 * it. */
typedef bool (*KeepNote)(void *context, const KeptState *state, Error *err);
MUST_CHECK bool keep_path(Keep *keep, Host *host, Str path, KeepNote note, void *context,
                          Error *err);

/* Drops the oldest contents beyond the limits, and what interrupted writes left; does nothing when
 * nothing was stored since it was opened. For the end of a run. */
MUST_CHECK bool keep_prune(const Keep *keep, uint32_t files_max, int64_t bytes_max, Error *err);
