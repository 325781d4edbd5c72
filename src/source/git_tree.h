/* The files of a commit: reads what `git log`, `git ls-tree` and `git cat-file` print. Pure.
 *
 * What cannot be part of a site is found here, before any content is read: submodules, paths and
 * links that lead out of the tree, too many or too large files. */
#pragma once

#include "base/str_map.h"
#include "source/git_source.h"
#include "source/manifest.h"

enum {
    GIT_ID_MAX = 64, /* digits of the hash of an object */
};

/* An immutable snapshot: the loop and a worker may use it at the same time. References are counted
 * on the loop only. */
typedef struct GitTree {
    Arena arena;
    uint32_t references;
    Str commit, author, subject;
    Str branch; /* that it was fetched from */
    /* Why the commit cannot be part of a site; then it has no files. Empty: it can. */
    Str rejection;
    Manifest files;   /* paths are relative to the repository */
    Str *objects;     /* of each file, its hash in git */
    StrMap by_object; /* hash to one of the files with this content */
} GitTree;

GitTree *git_tree_new(void);
GitTree *git_tree_ref(GitTree *tree);
void git_tree_unref(GitTree *tree); /* NULL is allowed */
DEFINE_AUTO(GitTree, git_tree_unref)

/* The format of `git log` that git_tree_read_commit() reads. */
#define GIT_TREE_LOG_FORMAT "%H%x00%an <%ae>%x00%s"
/* Control characters and invalid UTF-8 are replaced. Fails with ERROR_INVALID. */
MUST_CHECK bool git_tree_read_commit(GitTree *tree, Str text, Error *err);
/* `git ls-tree -r -z --long`: fills in everything but contents. Fails with ERROR_INVALID or
 * ERROR_LIMIT, which are the reason to reject the commit. */
MUST_CHECK bool git_tree_read_listing(GitTree *tree, Str text, Error *err);

/* `git cat-file --batch` prints objects in the order in which they were requested. Feed it with
 * pieces of any size. */
typedef struct GitContents {
    GitTree *tree;
    uint32_t *wanted; /* indexes of the files that were requested */
    uint32_t wanted_count, at;
    bool in_content;
    char head[GIT_ID_MAX + 64];
    size_t head_len;
    int64_t left; /* bytes of the object; -1: its line end */
    Buf chunk;    /* of the file that is read, at most BLOB_MAX */
    Str pointer;  /* a file that is only a pointer of Git LFS; empty: none */
    /* Whether a blob exists. NULL: all that `before` refers to do. */
    bool (*has)(void *context, Str id);
    /* Stores a blob; the file of the tree refers to it. */
    bool (*put)(void *context, Str id, Str data, Error *err);
    void *context;
} GitContents;

/* Copies the contents that `before`, which may be NULL, has in common with the tree, and prepares
 * reading all others, and those that have been lost. `contents` has the functions; the
 * rest is overwritten. Returns the request for the program; empty: nothing is missing. */
Str git_contents_start(Arena *arena, GitTree *tree, const GitTree *before, GitContents *contents);
/* Whether all blobs of the tree exist. */
bool git_contents_exist(const GitContents *contents, const GitTree *tree);
/* Fails with the error of `put`, or ERROR_INVALID. */
MUST_CHECK bool git_contents_add(GitContents *contents, Str piece, Error *err);
/* After the last piece: checks that everything was read, and links. Fails with ERROR_INVALID, which
 * is the reason to reject the commit if `*is_complete`. */
MUST_CHECK bool git_contents_end(GitContents *contents, bool *is_complete, Error *err);
void git_contents_clear(GitContents *contents);
