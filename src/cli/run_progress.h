/* Shows the progress of a run on standard error: which steps are running, for how long, and what
 * steps are waiting for. */
#pragma once

#include "run/run.h"
#include "sys/stream.h"

typedef enum ProgressMode {
    PROGRESS_TTY,   /* a status line, and a line for every failure */
    PROGRESS_PLAIN, /* a line for every change, failure and wait, and keepalive lines */
    PROGRESS_JSON,  /* the same as JSON objects, one per line */
    PROGRESS_NONE,
} ProgressMode;

typedef struct RunProgress RunProgress;

/* "auto" is PROGRESS_TTY if the terminal can overwrite a line, otherwise plain. Returns false for
 * an unknown name. */
bool progress_mode_from_name(Str name, bool can_redraw, ProgressMode *out);

RunProgress *run_progress_new(Arena *arena, Stream *stream, ProgressMode mode, const Run *run);
RunView run_progress_view(RunProgress *progress);
void run_progress_end(RunProgress *progress); /* erases the status line */
