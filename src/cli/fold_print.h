/* The folded changes of a run or a plan as text, and as Markdown for a merge request. Pure. */
#pragma once

#include "cli/run_fold.h"

/* Prints each section: its changes, their diffs, and the names of its nodes. */
void fold_print_text(const RunFold *fold, bool color, Buf *out);
/* `run` is the run's API object; `nodes` is as in GET /v1/runs/<id>/nodes. What does not fit in a
 * comment on GitHub (65,536 characters) is omitted; the last line says so. The buffer must be
 * empty. */
void fold_print_markdown(const RunFold *fold, Value run, const List *nodes, Buf *out);
