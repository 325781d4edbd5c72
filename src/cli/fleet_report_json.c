#include "base/json_out.h"
#include "cli/fleet_report.h"
#include "lang/json.h"

static void put_value(Buf *out, const char *name, Value value)
{
    Error ignored;
    json_out_name(out, name);
    (void)!json_print(out, value, NULL,
                      &ignored); /* cannot fail, because the value was parsed from JSON */
}

static void put_nodes(Buf *out, const RunMatrix *matrix, const MatrixNodes *nodes)
{
    json_out_open(out, "nodes", '[');
    for (uint32_t i = 0; i < nodes->len; i++) {
        json_out_item(out, matrix->nodes.items[nodes->items[i]].name);
    }
    json_out_close(out, ']');
}

static void put_steps(Buf *out, const RunMatrix *matrix)
{
    json_out_open(out, "steps", '[');
    for (uint32_t i = 0; i < matrix->steps.len; i++) {
        const MatrixStep *step = &matrix->steps.items[matrix->order[i]];
        json_out_open(out, NULL, '{');
        json_out_text(out, "id", step->id);
        json_out_text(out, "job", step->job);
        json_out_text(out, "action", step->action);
        json_out_int(out, "nodes", step->nodes);
        json_out_open(out, "counts", '{');
        for (uint32_t j = 0; j < MATRIX_RESULTS; j++) {
            if (step->counts[j] > 0) {
                json_out_int(out, step_result_name((StepResult)j), step->counts[j]);
            }
        }
        json_out_close(out, '}');
        json_out_close(out, '}');
    }
    json_out_close(out, ']');
}

static void put_groups(Buf *out, const RunMatrix *matrix)
{
    json_out_open(out, "groups", '[');
    for (uint32_t i = 0; i < matrix->groups.len; i++) {
        const MatrixGroup *group = &matrix->groups.items[i];
        json_out_open(out, NULL, '{');
        json_out_text(out, "outcome", run_matrix_first(matrix, group)->outcome);
        put_nodes(out, matrix, &group->nodes);
        json_out_open(out, "results", '{');
        for (uint32_t j = 0; j < matrix->steps.len; j++) {
            uint32_t step = matrix->order[j];
            StepResult result;
            if (run_matrix_result(matrix, group->nodes.items[0], step, &result)) {
                AUTO_CLEAR(Buf) name = buf_make(BUF_UNLIMITED);
                buf_put(&name, matrix->steps.items[step].id);
                json_out_text(out, buf_c(&name), str_from_c(step_result_name(result)));
            }
        }
        json_out_close(out, '}');
        json_out_close(out, '}');
    }
    json_out_close(out, ']');
}

static void put_if_not_empty(Buf *out, const char *name, Str text)
{
    if (text.len > 0) {
        json_out_text(out, name, text);
    }
}

static void put_detail(Buf *out, const RunMatrix *matrix, const MatrixDetail *detail)
{
    json_out_open(out, NULL, '{');
    json_out_text(out, "step", matrix->steps.items[detail->step].id);
    json_out_text(out, "result", str_from_c(step_result_name(detail->result)));
    put_nodes(out, matrix, &detail->nodes);
    put_if_not_empty(out, "cause", detail->cause);
    put_if_not_empty(out, "reason", detail->reason);
    if (detail->message.len > 0) {
        json_out_open(out, "error", '{');
        json_out_text(out, "code", detail->code);
        json_out_text(out, "message", detail->message);
        json_out_close(out, '}');
    }
    put_if_not_empty(out, "diff", detail->diff);
    if (detail->changes.len > 0) {
        json_out_name(out, "changes");
        buf_put(out, detail->changes);
    }
    put_if_not_empty(out, "stdout", detail->out);
    put_if_not_empty(out, "stderr", detail->error_out);
    if (detail->has_exit_code) {
        json_out_int(out, "exit_code", detail->exit_code);
    }
    json_out_bool(out, "cut", detail->is_truncated);
    json_out_close(out, '}');
}

void fleet_report_json(const FleetReport *report, Buf *out)
{
    const RunMatrix *matrix = report->matrix;
    json_out_start(out, "eden.run-report/1");
    put_value(out, "run", report->run);
    put_value(out, "nodes", value_list((List *)report->nodes));
    put_steps(out, matrix);
    put_groups(out, matrix);
    json_out_open(out, "details", '[');
    for (uint32_t i = 0; i < matrix->details.len; i++) {
        put_detail(out, matrix, &matrix->details.items[i]);
    }
    json_out_close(out, ']');
    json_out_bool(out, "complete", !matrix->is_incomplete && matrix->removed_ms == 0);
    if (matrix->removed_ms > 0) {
        json_out_time(out, "logs_removed", matrix->removed_ms);
    }
    json_out_close(out, '}');
    buf_put_char(out, '\n');
}
