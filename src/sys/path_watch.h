/* Reports changes in a directory: a file in it was written, created, replaced or removed. Loop
 * thread. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct PathWatch PathWatch;

/* `name` is the name of the file, or NULL if it is unknown. Several changes may be reported as
 * one. */
typedef void PathChanged(void *context, const char *name);

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS. If the directory itself is replaced, the
 * new one is not watched. */
MUST_CHECK bool path_watch_new(Loop *loop, const char *directory, PathChanged *changed,
                               void *context, PathWatch **out, Error *err);
void path_watch_free(PathWatch *watch); /* NULL is allowed */
DEFINE_AUTO(PathWatch, path_watch_free)
