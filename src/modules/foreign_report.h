/* Reports of other configuration managers, read as changes of a step. Pure. */
#pragma once

#include "modules/call.h"

typedef struct ForeignReport {
    uint32_t changed; /* tasks or resources that changed something or, in a dry run, would */
    uint32_t failed;
    uint32_t skipped; /* of Puppet: because of those that failed */
    Str failures;     /* "Exec[/bin/false]: ... (line 4); ...", the first few */
} ForeignReport;

/* Both put changes and diffs into `outcome` and counts into `out`, and fail with ERROR_INVALID for a text
 * that is not a report. */

/* The lines that our callback plugin writes (ansible.c), a JSON object for each result of a task. A last
 * line without a newline was cut off by a crash and is ignored. With --check, commands that Ansible did
 * not run count as changed. */
MUST_CHECK bool ansible_report_read(Call *call, Str text, Outcome *outcome, ForeignReport *out,
                                    Error *err);
/* Puppet's last_run_report.yaml. Messages (Notify) do not count as changes. */
MUST_CHECK bool puppet_report_read(Call *call, Str text, Outcome *outcome, ForeignReport *out,
                                   Error *err);
