/* Tells when something in a directory changes: a file of it is written, made, replaced or removed.
 * Loop thread. */
#pragma once

#include "base/error.h"
#include "base/own.h"
#include "sys/loop.h"

typedef struct PathWatch PathWatch;

/* `name` is that of the file, or NULL when it cannot be told. Several changes may be told as one. */
typedef void PathChanged(void *context, const char *name);

/* Fails with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS. A directory that is replaced as a whole is
 * not followed. */
MUST_CHECK bool path_watch_new(Loop *loop, const char *directory, PathChanged *changed,
                               void *context, PathWatch **out, Error *err);
void path_watch_free(PathWatch *watch); /* NULL is fine */
DEFINE_AUTO(PathWatch, path_watch_free)
