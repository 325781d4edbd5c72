/* The results of a playbook's tasks, as changes. Pure. */
#pragma once

#include "modules/call.h"

typedef struct AnsibleReport {
    uint32_t changed; /* results with a change; with --check, that would be one */
    uint32_t unasked; /* of these, commands that do not run with --check */
    uint32_t failed;
    Str failures; /* "task 'restart': ... (play.yaml:4); ..." */
} AnsibleReport;

/* Puts changes and diffs into `outcome`, and counts into `out`. `text` is a line of JSON for each
 * result; a last line that was not written to its end is left out. Fails with ERROR_INVALID for
 * anything else. */
MUST_CHECK bool ansible_report_read(Call *call, Str text, Outcome *outcome, AnsibleReport *out,
                                    Error *err);
