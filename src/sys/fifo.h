/* A named pipe from a daemon to a process that survives it: the next daemon finds the pipe by its
 * path. Neither end notices that the other one is gone, and nothing blocks. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum {
    FIFO_BYTES_MAX = 1 << 20, /* capacity of the pipe */
};

/* Creates a new pipe at this path, readable only by its owner. Until a reader has opened it,
 * written data is lost when `*descriptor` is closed. */
MUST_CHECK bool fifo_make(const char *path, int *descriptor, Error *err);
/* Opens an existing pipe for writing. Fails with ERROR_NOT_FOUND if nothing reads it. */
MUST_CHECK bool fifo_open(const char *path, int *descriptor, Error *err);
/* Writes all of the text or nothing. More than PIPE_BUF bytes can be written only to an empty
 * pipe. */
MUST_CHECK bool fifo_write(int descriptor, Str text, Error *err);
/* Appends the available data. */
void fifo_read(int descriptor, Buf *out);
void fifo_close(int descriptor); /* -1 is allowed */
