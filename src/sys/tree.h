/* A directory that stands for "/", for looking only: what lies below it is read as a process would
 * read it whose root it is. Links are followed, absolute ones too, and none leads out. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"

typedef struct Tree {
    int descriptor;
    const char *root; /* as given, for messages; borrowed */
    bool live;        /* it is our own "/" */
} Tree;

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS; the tree is then closed. */
MUST_CHECK bool tree_open(const char *root, Tree *out, Error *err);
void tree_close(Tree *tree); /* a closed one is fine */
DEFINE_AUTO_CLEAR(Tree, tree_close)

/* Paths start with "/". */
MUST_CHECK bool tree_read(const Tree *tree, Arena *arena, const char *path, size_t max, Str *out,
                          Error *err);
/* Where the link points, as written. */
MUST_CHECK bool tree_read_link(const Tree *tree, Arena *arena, const char *path, Str *out,
                               Error *err);
/* Names in a directory, sorted, without "." and "..", at most `max` (more: ERROR_LIMIT). */
MUST_CHECK bool tree_list(const Tree *tree, Arena *arena, const char *path, uint32_t max,
                          Str **names, uint32_t *count, Error *err);
/* Where `path` lies as seen from outside. What is not there yet stays as it is written; a link on the
 * way that leads nowhere within the tree is ERROR_CONFLICT: outside it might lead somewhere. */
MUST_CHECK bool tree_locate(const Tree *tree, Arena *arena, const char *path, const char **out,
                            Error *err);
/* Whether there is anything; a link counts when what it points to is there. */
bool tree_has(const Tree *tree, const char *path);
