/* Trees of files under a directory: listing one, reading its files and creating one. Symbolic links
 * are listed and created, never followed. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef enum FileTreeKind {
    FILE_TREE_FILE,
    FILE_TREE_LINK,
    FILE_TREE_SPECIAL, /* a device, pipe or socket */
} FileTreeKind;

typedef struct FileTreeEntry {
    Str path; /* relative to the root; NUL-terminated */
    FileTreeKind kind;
    bool is_executable; /* by its owner */
    int64_t size;       /* of a file */
    Str target;         /* of a link */
} FileTreeEntry;

typedef struct FileTree {
    FileTreeEntry *items; /* sorted by path, in byte order */
    uint32_t count, cap;
} FileTree;

typedef struct FileTreeLimits {
    uint32_t entries_max;
    uint32_t depth_max;
    /* Whether to leave out a name and everything below it; NULL: nothing is left out. */
    bool (*is_ignored)(Str name);
    /* Only files and links whose names end in one of these, up to a NULL; NULL: all. */
    const char *const *suffixes;
} FileTreeLimits;

/* Everything under `root` except directories. Fails with ERROR_NOT_FOUND, ERROR_DENIED, ERROR_OS or
 * ERROR_LIMIT. */
MUST_CHECK bool file_tree_list(Arena *arena, const char *root, const FileTreeLimits *limits,
                               FileTree *out, Error *err);

/* --- Reading --------------------------------------------------------------------------------- */

/* A file of a tree; -1: not open. */
typedef struct FileTreeFile {
    int descriptor;
} FileTreeFile;

/* Fails with ERROR_INVALID for anything but a regular file, or if it is reached through a link. */
MUST_CHECK bool file_tree_open(const char *root, Str path, FileTreeFile *out, Error *err);
void file_tree_close(FileTreeFile *file);
DEFINE_AUTO_CLEAR(FileTreeFile, file_tree_close)
/* Reads up to `size` bytes at `offset`; fewer only at the end of the file. */
MUST_CHECK bool file_tree_read(const FileTreeFile *file, int64_t offset, char *buffer, size_t size,
                               size_t *got, Error *err);
/* Stats `path`, without its target; false if there is nothing. */
bool file_tree_stat(const char *root, Str path, FileTreeEntry *out);
/* The target of the link at `path`; false if it is not a link. */
bool file_tree_link(Arena *arena, const char *root, Str path, Str *out);

/* --- Creating -------------------------------------------------------------------------------- */

typedef struct FileTreeWriter FileTreeWriter;

/* Creates the directory `root` with mode 0700. Fails with ERROR_CONFLICT if it exists. */
MUST_CHECK bool file_tree_create(const char *root, FileTreeWriter **out, Error *err);
/* Closes it; what was written remains. NULL is allowed. */
void file_tree_free(FileTreeWriter *writer);
DEFINE_AUTO(FileTreeWriter, file_tree_free)

/* Starts a file with mode 0644 or 0755; directories on its path are created with mode 0755. */
MUST_CHECK bool file_tree_add_file(FileTreeWriter *writer, Str path, bool is_executable,
                                   Error *err);
/* Appends to the file that was started last. */
MUST_CHECK bool file_tree_append(FileTreeWriter *writer, Str data, Error *err);
MUST_CHECK bool file_tree_add_link(FileTreeWriter *writer, Str path, Str target, Error *err);
/* Makes everything durable. */
MUST_CHECK bool file_tree_sync(FileTreeWriter *writer, Error *err);
/* Renames the directory `from` to `to` and makes that durable. Fails with ERROR_CONFLICT if there
 * is a directory that is not empty. */
MUST_CHECK bool file_tree_rename(const char *from, const char *to, Error *err);
/* Removes the directory and everything in it, as far as possible. */
void file_tree_remove(const char *root);
