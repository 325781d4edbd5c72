/* A mirror of the newest commit of a repository, in a separate directory: runs `git` and reads the
 * files of the commit into blobs. Blocks; any thread, one at a time per directory.
 *
 * git gets a fixed environment and configuration file: it does not prompt, runs no hooks, follows
 * no submodules, and uses no transport but https, ssh and local paths. Nothing is checked out:
 * contents are read as they are stored. Time, memory and files are bounded. Only the newest commit
 * is fetched, so rewritten history is no different from any other change. */
#pragma once

#include <stdatomic.h>

#include "source/git_secrets.h"
#include "source/git_tree.h"

enum {
    GIT_FETCH_MS = 120 * 1000,
    GIT_READ_MS = 60 * 1000,
};
#define GIT_FILE_MAX   ((size_t)1 << 30) /* maximum size of a pack */
#define GIT_MEMORY_MAX ((size_t)4 << 30) /* maximum address space in bytes; packs are mapped */
/* Maximum memory in bytes, without packs: a server may send an endless list of branches. */
#define GIT_DATA_MAX ((size_t)3 << 29)
#define GIT_LIST_MAX ((size_t)256 << 20) /* the same for determining the default branch */

typedef struct GitMirror {
    const char *directory; /* created if it does not exist */
    BlobStore *blobs;
    const GitCredentials *credentials;
    const atomic_bool *canceled; /* may be NULL */
} GitMirror;

/* Fetches the newest commit and reads its files. `before` is the previous result, whose contents
 * are not read again; may be NULL. A commit that cannot be part of a site is a success, with a
 * rejection. Fails with git's reason if the repository cannot be fetched. */
MUST_CHECK bool git_mirror_update(const GitMirror *mirror, const GitSource *source,
                                  const GitTree *before, GitTree **out, Error *err);
