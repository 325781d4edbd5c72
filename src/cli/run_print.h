/* The result of a plan or an apply for people: what changed or failed, and one summary. */
#pragma once

#include "base/buf.h"
#include "run/report.h"

typedef enum DiffShown {
    DIFF_FULL,
    DIFF_CONCISE, /* the first lines of each */
    DIFF_NONE,
} DiffShown;

typedef struct RunPrintStyle {
    bool color;
    bool all;      /* also steps that are ok or were skipped */
    bool recorded; /* 'eden why' can tell more */
    DiffShown diff;
} RunPrintStyle;

/* All steps that the style wants to be shown, in file order, then the summary: equal errors once,
 * with the steps that have them, the counts, and what is owed. */
void run_print(const RunReport *report, const RunPrintStyle *style, Buf *out);
