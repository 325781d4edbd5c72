/* What Puppet writes about a run (last_run_report.yaml), as changes. Pure. */
#pragma once

#include "base/problems.h"
#include "modules/call.h"

typedef struct PuppetReport {
    uint32_t changed; /* resources that were changed or, with --noop, would be */
    uint32_t failed;
    uint32_t skipped; /* because of those that failed */
    Str failures;     /* "Exec[/bin/false]: ... (site.pp:4); ..." */
} PuppetReport;

/* Puts changes and diffs of the report into `outcome`, and counts into `out`. Messages (Notify)
 * change nothing and do not count. Fails with ERROR_INVALID for a text that is no report. */
MUST_CHECK bool puppet_report_read(Call *call, Str text, Outcome *outcome, PuppetReport *out,
                                   Error *err);
