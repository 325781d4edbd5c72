/* eden runs report: a run across nodes as a document. */
#pragma once

#include "cli/command.h"

extern const Option runs_report_options[];
/* The argument is the ID of the run, or the start of one. */
int runs_report_run(Invocation *invocation);
