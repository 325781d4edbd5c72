/* Prints the result of a plan or apply as text: what changed or failed, and a summary. */
#pragma once

#include "base/buf.h"
#include "run/report.h"

typedef enum DiffShown {
    DIFF_FULL,
    DIFF_CONCISE, /* only the first lines */
    DIFF_NONE,
} DiffShown;

typedef struct RunPrintStyle {
    bool color;
    bool all;      /* also steps that are ok or were skipped */
    bool recorded; /* there is a record for 'eden why' */
    DiffShown diff;
} RunPrintStyle;

/* Prints the steps that the style selects, in file order, then the summary: errors shared by
 * several steps, counts, and owed reactions. */
void run_print(const RunReport *report, const RunPrintStyle *style, Buf *out);
