/* What the files of sys/ share that open, read, write and list files; private. Functions without an
 * Error use the conventions of libc: -1, NULL or false, and errno. */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* "PATH: reason" with the kind that matches the errno. Always false. */
bool file_error(Error *err, int number, const char *path);
/* The same after read_to_end, which reports EFBIG if there are more than `max` bytes. */
bool file_read_error(Error *err, int number, const char *path, size_t max);

typedef struct Directory Directory;
/* The same for a name in an open directory: "DIRECTORY/NAME: reason". */
bool directory_error(Error *err, int number, const Directory *directory, const char *name);

/* Wrapper of openat2. `flags` as for open (O_CLOEXEC is implied), `resolve` is a set of RESOLVE_*.
 * Retries on EAGAIN, which the kernel returns if a concurrent rename or mount may have changed the
 * path. */
int open_within(int directory, const char *path, uint64_t flags, uint64_t resolve);

/* --- Reading --------------------------------------------------------------------------------- */

/* Reads everything up to the end. `size` is the expected size; 0 if unknown, as for pipes and for
 * files in /proc. EFBIG if there are more than `max` bytes. */
bool read_to_end(int descriptor, Arena *arena, int64_t size, size_t max, Str *out);
/* Reads up to `size` bytes at `offset`; fewer only at the end of the file. */
bool read_at(int descriptor, int64_t offset, char *buffer, size_t size, size_t *got);

/* --- Replacing ------------------------------------------------------------------------------- */

/* A file that is written under a temporary name, NAME.RANDOM.new, in the directory in which it will
 * appear. */
typedef struct NewFile {
    int directory;    /* borrowed */
    const char *name; /* borrowed */
    int descriptor;   /* -1: closed */
    char temporary[NAME_MAX + 1];
} NewFile;

/* Creates the temporary file, with the mode of an ordinary new file, unlike mkstemp. */
bool new_file_open(int directory, const char *name, mode_t mode, NewFile *out);
typedef enum NewFileFlags {
    /* Durable on return. The content is on disk before the name, so that a crash cannot leave the
     * name with an empty file. */
    NEW_FILE_SYNC = 1 << 0,
    NEW_FILE_EXCLUSIVE = 1 << 1 /* EEXIST if the name exists */
} NewFileFlags;
bool new_file_publish(NewFile *file, unsigned flags);
/* Removes the temporary file; does nothing after publishing. */
void new_file_discard(NewFile *file);

/* A random temporary name for `name`; false with ENAMETOOLONG. */
bool new_file_name(const char *name, char out[NAME_MAX + 1]);

/* Makes the entries of a directory durable. Best effort: some file systems cannot sync one. */
void sync_directory(int directory);
/* Renames and syncs the directory of `to`. */
bool rename_durably(const char *from, const char *to);

/* --- Listing --------------------------------------------------------------------------------- */

/* Opens the stream of an open directory and takes over its descriptor, even on failure; -1 fails
 * with the errno of the call that returned it. A stream from opendir works too. */
DIR *entries_open(int descriptor);
/* With a descriptor of its own, for a directory that remains open. */
DIR *entries_open_at(int directory);
/* The next name except "." and ".."; NULL at the end. */
const char *entries_next(DIR *entries);
void entries_close(DIR *entries); /* NULL is allowed */
/* All names, sorted; EOVERFLOW if there are more than `max`. Takes over the descriptor. */
bool entries_names(int descriptor, Arena *arena, uint32_t max, Str **names, uint32_t *count);
