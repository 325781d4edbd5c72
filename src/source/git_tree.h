/* The files of a commit: parses the output of `git log`, `git ls-tree` and `git cat-file`. Pure.
 *
 * Anything that cannot be part of a site is rejected here, before any content is read: submodules,
 * paths and links that point outside the tree, too many or too large files. */
#pragma once

#include "base/str_map.h"
#include "source/git_source.h"
#include "source/manifest.h"

enum {
    GIT_ID_MAX = 64, /* number of digits of an object's hash */
};

/* An immutable snapshot, which the loop and a worker may use at the same time. References are
 * counted on the loop only. */
typedef struct GitTree {
    Arena arena;
    uint32_t references;
    Str commit, author, subject;
    Str branch; /* that it was fetched from */
    /* Why the commit cannot be part of a site, in which case it has no files. Empty: it can. */
    Str rejection;
    Manifest files;   /* paths are relative to the repository */
    Str *objects;     /* hash of each file's object in git */
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
/* Parses `git ls-tree -r -z --long`: sets everything except the contents. Fails with ERROR_INVALID
 * or ERROR_LIMIT, which are reasons to reject the commit. */
MUST_CHECK bool git_tree_read_listing(GitTree *tree, Str text, Error *err);

/* Parses `git cat-file --batch`, which prints objects in the order of the requests. Feed it with
 * pieces of any size. */
typedef struct GitContents {
    GitTree *tree;
    uint32_t *requested; /* indexes of the requested files */
    uint32_t requested_count, at;
    bool in_content;
    char head[GIT_ID_MAX + 64];
    size_t head_len;
    int64_t remaining; /* remaining bytes of the object; -1: its newline */
    Buf chunk;         /* incomplete blob of the current file, at most BLOB_MAX bytes */
    Str pointer;       /* a file that is a Git LFS pointer; empty: none */
    /* Whether a blob exists. NULL: assumes that all blobs that `before` refers to exist. */
    bool (*has)(void *context, Str id);
    /* Stores a blob of the file. */
    bool (*put)(void *context, Str id, Str data, Error *err);
    void *context;
} GitContents;

/* Copies the contents that the tree shares with `before`, which may be NULL, and prepares to read
 * all others and those that were lost. The callbacks in `contents` must be set; all other fields
 * are overwritten. Returns git's input; empty if nothing is missing. */
Str git_contents_start(Arena *arena, GitTree *tree, const GitTree *before, GitContents *contents);
/* Whether all blobs of the tree exist. */
bool git_contents_exist(const GitContents *contents, const GitTree *tree);
/* Fails with the error of `put`, or ERROR_INVALID. */
MUST_CHECK bool git_contents_add(GitContents *contents, Str piece, Error *err);
/* Call it after the last piece: checks that everything was read, and that links are valid. Fails
 * with ERROR_INVALID, which is a reason to reject the commit if `*is_complete`. */
MUST_CHECK bool git_contents_end(GitContents *contents, bool *is_complete, Error *err);
void git_contents_clear(GitContents *contents);
