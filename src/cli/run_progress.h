/* What runs now, how long, and what waits for what; on standard error while a run goes on. */
#pragma once

#include "run/run.h"
#include "sys/stream.h"

typedef enum ProgressMode {
    PROGRESS_TTY,   /* one line that changes, and a line for every failure */
    PROGRESS_PLAIN, /* a line for every change, failure and wait; a sign of life now and then */
    PROGRESS_JSON,  /* the same as objects, one per line */
    PROGRESS_NONE,
} ProgressMode;

typedef struct RunProgress RunProgress;

/* "auto" is for terminals where a line can be written over, and plain elsewhere. False for an unknown
 * name. */
bool progress_mode_from_name(Str name, bool moving, ProgressMode *out);

RunProgress *run_progress_new(Arena *arena, Stream *stream, ProgressMode mode, const Run *run);
RunView run_progress_view(RunProgress *progress);
void run_progress_end(RunProgress *progress); /* takes the changing line away */
