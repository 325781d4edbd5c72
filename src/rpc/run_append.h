/* The messages of Runs/Append: a node uploads the events of a run and learns which one the server
 * expects next. Pure. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

enum {
    RUN_LINES_MAX = 256 << 10, /* bytes of lines in one request */
};

typedef struct RunAppend {
    Str node; /* node that the events are from; empty: the caller */
    Str run;
    uint64_t from; /* number of the first event in `lines` */
    Str lines;     /* complete lines, including their newlines */
} RunAppend;

void run_append_encode(const RunAppend *request, Buf *out);
/* Strings are allocated in the arena. Fails with ERROR_INVALID or ERROR_LIMIT. */
MUST_CHECK bool run_append_decode(Arena *arena, Str bytes, RunAppend *out, Error *err);

/* All events before `next` are stored. */
void run_append_reply_encode(uint64_t next, Buf *out);
MUST_CHECK bool run_append_reply_decode(Str bytes, uint64_t *next, Error *err);
