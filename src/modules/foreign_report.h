/* Parses reports from other configuration managers as changes of a step. Pure. */
#pragma once

#include "modules/call.h"

typedef struct ForeignReport {
    uint32_t changed; /* tasks or resources that changed something or, in a dry run, would */
    uint32_t failed;
    uint32_t skipped; /* Puppet only: skipped because of failures */
    Str failures;     /* the first failures: "Exec[/bin/false]: ... (line 4); ..." */
} ForeignReport;

/* Both add changes and diffs to `outcome`, set the counts in `out`, and fail with ERROR_INVALID if
 * the input is not a report. */

/* Parses the lines of our callback plugin (ansible.c), a JSON object for each result of a task. A
 * last line without a newline was truncated by a crash and is ignored. With --check, commands that
 * Ansible did not run count as changed. */
MUST_CHECK bool ansible_report_read(Call *call, Str text, Outcome *outcome, ForeignReport *out,
                                    Error *err);
/* Parses Puppet's last_run_report.yaml. Messages (Notify) do not count as changes. */
MUST_CHECK bool puppet_report_read(Call *call, Str text, Outcome *outcome, ForeignReport *out,
                                   Error *err);
