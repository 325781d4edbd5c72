/* Results of a run as JUnit XML, for build servers. */
#pragma once

#include "base/error.h"
#include "run/report.h"

MUST_CHECK bool run_junit_write(const RunReport *report, const char *path, Error *err);
