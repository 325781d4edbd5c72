#include "cli/fleet_report.h"
#include "cli/junit.h"

enum {
    CASES_MAX =
        200 *
        /* beyond this number, steps with nothing to do are omitted, and texts are not repeated */
        1000,
};

/* Build servers show steps as tests and have no notion of nodes, so a node without results needs a
 * test case of its own. */
static void put_node_itself(Buf *out, const MatrixNode *node)
{
    bool has_failed = str_eq_c(node->outcome, "failed");
    Str what = node->error.len > 0    ? node->error
               : node->reason.len > 0 ? node->reason
                                      : node->outcome;
    StepResult result = has_failed                           ? RESULT_FAILED
                        : str_eq_c(node->outcome, "skipped") ? RESULT_SKIPPED
                        : str_eq_c(node->outcome, "ok") || str_eq_c(node->outcome, "changed")
                            ? RESULT_OK
                            : RESULT_BLOCKED;
    JunitSuite suite = { .name = node->name, .hostname = node->name };
    junit_count(&suite, result);
    junit_open_suite(out, &suite);
    junit_put_case(out, &(JunitCase){ .class_name = STR("node"),
                                      .name = node->name,
                                      .result = result,
                                      .message = what,
                                      .text = node->code });
    junit_close_suite(out);
}

static bool is_large(const RunMatrix *matrix)
{
    return (uint64_t)matrix->nodes.len * matrix->steps.len > CASES_MAX;
}

/* Whether the report has a case for this result. */
static bool has_case(const RunMatrix *matrix, uint32_t node, uint32_t step, StepResult *result)
{
    return run_matrix_result(matrix, node, step, result) &&
           (!is_large(matrix) || (*result != RESULT_OK && *result != RESULT_SKIPPED));
}

static JunitCase case_of(const RunMatrix *matrix, uint32_t node, uint32_t step, StepResult result)
{
    const MatrixStep *of = &matrix->steps.items[step];
    const MatrixDetail *detail = run_matrix_detail(matrix, node, step);
    size_t hash = str_find(of->id, STR("#"), 0);
    JunitCase test = { .class_name = of->job.len > 0 ? of->job : str_slice(of->id, 0, hash),
                       .name = hash == STR_NOT_FOUND ? of->id : str_from_offset(of->id, hash + 1),
                       .result = result == RESULT_PENDING ? RESULT_BLOCKED : result };
    if (result == RESULT_PENDING) {
        test.message = STR("not reached");
    } else if (detail != NULL) {
        test.message = detail->message.len > 0 ? detail->message : detail->reason;
        bool is_first = detail->nodes.items[0] == node;
        test.text = is_first || !is_large(matrix) ? detail->error_out : STR_EMPTY;
    }
    return test;
}

static void put_node(Buf *out, const RunMatrix *matrix, uint32_t index)
{
    const MatrixNode *node = &matrix->nodes.items[index];
    JunitSuite suite = { .name = node->name,
                         .hostname = node->name,
                         .duration_us = node->duration_ms > 0 ? node->duration_ms * 1000 : 0 };
    StepResult result;
    for (uint32_t i = 0; i < matrix->steps.len; i++) {
        if (has_case(matrix, index, i, &result)) {
            junit_count(&suite, case_of(matrix, index, i, result).result);
        }
    }
    bool is_covered = suite.failures + suite.errors > 0 ||
                      run_matrix_severity(node->outcome) >= run_matrix_severity(STR("changed"));
    if (suite.tests == 0 || !is_covered) {
        put_node_itself(out, node);
    }
    if (suite.tests == 0) {
        return;
    }
    junit_open_suite(out, &suite);
    for (uint32_t i = 0; i < matrix->steps.len; i++) {
        if (has_case(matrix, index, matrix->order[i], &result)) {
            JunitCase test = case_of(matrix, index, matrix->order[i], result);
            junit_put_case(out, &test);
        }
    }
    junit_close_suite(out);
}

void fleet_report_junit(const FleetReport *report, Buf *out)
{
    junit_open(out);
    for (uint32_t i = 0; i < report->matrix->nodes.len; i++) {
        put_node(out, report->matrix, i);
    }
    junit_close(out);
}
