/* Reports of a run across nodes, from its API object and its matrix, as documents for people and
 * programs. Pure. */
#pragma once

#include "cli/run_matrix.h"

typedef struct FleetReport {
    Value run;         /* the run, as an API object */
    const List *nodes; /* of GET /v1/runs/<id>/nodes */
    const RunMatrix *matrix;
} FleetReport;

/* A single self-contained page, without scripts, files or network access. */
void fleet_report_html(const FleetReport *report, Buf *out);
/* "eden.run-report/1":
 *     {"format":..,"run":{..},"nodes":[as of /v1/runs/<id>/nodes],
 *      "steps":[{"id","job","action","nodes":N,"counts":{..}}],    in the order of the site
 *      "groups":[{"outcome","nodes":[NAME..],"results":{STEP:RESULT..}}],
 *      "details":[{"step","result","nodes":[NAME..],"cause","reason","error":{"code","message"},
 *                  "diff","changes":{..},"stdout","stderr","exit_code","cut"}],
 *      "complete":true}                                           false: texts were omitted */
void fleet_report_json(const FleetReport *report, Buf *out);
/* JUnit XML: a test suite for each node, with a test case for each of its steps. A node without
 * results has one test case, with an error. */
void fleet_report_junit(const FleetReport *report, Buf *out);
