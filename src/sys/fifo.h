/* A named pipe from a daemon to a process that survives it: the next daemon finds the pipe by its
 * path. Neither end notices that the other one is gone, and nothing blocks. */
#pragma once

#include "base/buf.h"
#include "base/error.h"

enum {
    FIFO_BYTES_MAX = 1 << 20, /* that can wait in it */
};

/* Creates a new pipe at this path, readable only by its owner. Until a reader has opened it, what
 * is written stays only as long as `*descriptor` is open. */
MUST_CHECK bool fifo_make(const char *path, int *descriptor, Error *err);
/* The end for writing of an existing one. Fails with ERROR_NOT_FOUND if nothing reads it. */
MUST_CHECK bool fifo_open(const char *path, int *descriptor, Error *err);
/* All of it or nothing, up to PIPE_BUF; more than that only into a pipe that is empty. */
MUST_CHECK bool fifo_write(int descriptor, Str text, Error *err);
/* Appends what is there. */
void fifo_read(int descriptor, Buf *out);
void fifo_close(int descriptor); /* -1 is allowed */
