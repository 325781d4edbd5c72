/* Prints the result of a plan or apply as text: what changed or failed, and a summary. */
#pragma once

#include "base/buf.h"
#include "run/report.h"

typedef enum DiffMode {
    DIFF_FULL,
    DIFF_CONCISE, /* only the first lines */
    DIFF_NONE,
} DiffMode;

typedef struct RunPrintStyle {
    bool color;
    bool all;      /* also show steps that are ok or were skipped */
    bool recorded; /* the run was recorded, so 'eden why' can explain it */
    DiffMode diff;
} RunPrintStyle;

/* Prints the steps that the style selects, in file order, then a summary: errors shared by several
 * steps, counts, and owed reactions. */
void run_print(const RunReport *report, const RunPrintStyle *style, Buf *out);
