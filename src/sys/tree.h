/* A directory used as the root directory, read-only: paths below it resolve as for a process whose
 * root it is. Links are followed, including absolute ones, but cannot escape. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Tree {
    int descriptor;
    const char *root; /* for messages; borrowed */
    bool live;        /* it is our own "/" */
} Tree;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS; the tree is closed then. */
MUST_CHECK bool tree_open(const char *root, Tree *out, Error *err);
void tree_close(Tree *tree); /* may be closed already */
DEFINE_AUTO_CLEAR(Tree, tree_close)

/* Paths start with "/". */
MUST_CHECK bool tree_read(const Tree *tree, Arena *arena, const char *path, size_t max, Str *out,
                          Error *err);
/* The target of the link, verbatim. */
MUST_CHECK bool tree_read_link(const Tree *tree, Arena *arena, const char *path, Str *out,
                               Error *err);
/* Names in a directory, sorted, without "." and "..", at most `max` (more: ERROR_LIMIT). */
MUST_CHECK bool tree_list(const Tree *tree, Arena *arena, const char *path, uint32_t max,
                          Str **names, uint32_t *count, Error *err);
/* The path of `path` as seen from outside. Components that do not exist are appended unchanged; a
 * dangling link is ERROR_CONFLICT, because from outside it might point elsewhere. */
MUST_CHECK bool tree_locate(const Tree *tree, Arena *arena, const char *path, const char **out,
                            Error *err);
/* Whether the path exists, following links. */
bool tree_has(const Tree *tree, const char *path);
