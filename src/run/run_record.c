/* Writes the record of a run, directly as text: a thousand unchanged steps take well under a
 * millisecond. */
#include "base/json_out.h"
#include "base/utc.h"
#include "lang/json.h"
#include "run/recorded.h"
#include "run/run_inner.h"
#include "sys/clock.h"

enum {
    VALUE_SHOWN = 200,    /* bytes of a constant that are kept */
    TEMPLATE_SHOWN = 4096 /* bytes of a text with templates that are kept */
};

typedef struct Writer {
    RunRecord *record;
    Buf *out;
    Run *run;
    const Graph *graph;
    SourceLines *lines; /* indexed by source, created on demand */
    bool *has_lines;
} Writer;

static void put_name(Buf *out, const char *key)
{
    bool first = out->len > 0 && out->data[out->len - 1] == '{';
    buf_put(out, first ? STR("\"") : STR(",\""));
    buf_put_c(out, key);
    buf_put(out, STR("\":"));
}

static void put_text(Buf *out, const char *key, Str text)
{
    put_name(out, key);
    json_text_put(out, text);
}

static void put_word(Buf *out, const char *key, const char *word)
{
    put_name(out, key);
    buf_put_char(out, '"');
    buf_put_c(out, word);
    buf_put_char(out, '"');
}

static void put_given(Buf *out, const char *key, Str text)
{
    if (text.len > 0) {
        put_text(out, key, text);
    }
}

static void put_number(Buf *out, const char *key, int64_t number)
{
    put_name(out, key);
    (void)buf_put_i64(out, number);
}

static void put_true(Buf *out, const char *key, bool is)
{
    if (is) {
        put_name(out, key);
        buf_put(out, STR("true"));
    }
}

/* The first part of a text without secrets. They are searched for in all of it: a truncated secret
 * would not be found. */
static Str shown(Run *run, Str text, size_t max)
{
    return str_slice(secrets_scrub(run->secrets, text, run->arena), 0, max);
}

/* --- Locations ------------------------------------------------------------------------------- */

/* The line of a value, and its file unless that is `known`. */
static void put_place(Writer *writer, Value place, Str known)
{
    Run *run = writer->run;
    const Source *source = sources_get(run->sources, place.source);
    if (source == NULL) {
        return;
    }
    if (!writer->has_lines[place.source]) {
        writer->has_lines[place.source] = true;
        writer->lines[place.source] = source_lines(run->arena, source);
    }
    put_number(writer->out, "line", source_lines_at(&writer->lines[place.source], place.start));
    if (!str_eq(source->name, known)) {
        put_text(writer->out, "file", source->name);
    }
}

static Str file_of(const Writer *writer, const StepSpec *spec)
{
    const Source *source = sources_get(writer->run->sources, spec->location.source);
    return source == NULL ? STR_EMPTY : source->name;
}

/* --- Steps ----------------------------------------------------------------------------------- */

static void put_kinds(Buf *out, const char *key, uint16_t kinds)
{
    if (kinds == 0) {
        return;
    }
    put_name(out, key);
    char before = '[';
    for (int kind = 0; kind < REQUISITE_KINDS; kind++) {
        if ((kinds >> kind & 1) != 0) {
            buf_put_char(out, before);
            json_text_put(out, str_from_c(requisite_kind_name((RequisiteKind)kind)));
            before = ',';
        }
    }
    buf_put_char(out, ']');
}

static void put_edges(Writer *writer, const Step *step, Str file)
{
    Edges edges = graph_edges(writer->graph, step->index);
    Buf *out = writer->out;
    if (edges.count == 0) {
        return;
    }
    put_name(out, "edges");
    for (uint32_t i = 0; i < edges.count; i++) {
        const Edge *edge = &edges.items[i];
        buf_put(out, i == 0 ? STR("[{\"kind\":\"") : STR(",{\"kind\":\""));
        buf_put_c(out, requisite_kind_name((RequisiteKind)edge->kind));
        buf_put_char(out, '"');
        put_number(out, "to", (int64_t)edge->to + 1);
        put_true(out, "any", edge->any);
        put_true(out, "all", edge->all);
        if (edge->origin != EDGE_EXPLICIT) {
            put_word(out, "origin", edge_origin_name((EdgeOrigin)edge->origin));
        }
        put_given(out, "detail", edge->detail);
        if (edge->location != NULL) {
            put_place(writer, *edge->location, file);
        }
        buf_put_char(out, '}');
    }
    buf_put_char(out, ']');
}

static void put_param(Writer *writer, const Dynamic *param)
{
    bool constant = dynamic_is_constant(param);
    Value value = param->value;
    if (value_is_string(value) && !value_is_secret(value)) {
        Str text = value_str(value);
        if (constant && text.len > VALUE_SHOWN) {
            put_number(writer->out, "bytes", (int64_t)text.len);
            return;
        }
        put_text(writer->out, constant ? "value" : "template",
                 shown(writer->run, text, constant ? VALUE_SHOWN : TEMPLATE_SHOWN));
        return;
    }
    put_name(writer->out, constant ? "value" : "template");
    run_record_put(writer->record, value);
}

static void put_params(Writer *writer, const StepSpec *spec, Str file)
{
    Buf *out = writer->out;
    bool first = true;
    uint32_t count = action_param_count(spec->action);
    for (uint32_t i = 0; i < count; i++) {
        if ((spec->params_set >> i & 1) == 0) {
            continue;
        }
        buf_put(out, first ? STR(",\"params\":{\"") : STR("},\""));
        first = false;
        buf_put_c(out, spec->action->params[i].name);
        buf_put(out, STR("\":{"));
        put_place(writer, spec->params[i]->value, file);
        put_param(writer, spec->params[i]);
    }
    if (!first) {
        buf_put(out, STR("}}"));
    }
}

static void put_error(Buf *out, const Problem *error)
{
    buf_put(out, STR(",\"error\":{\"code\":"));
    json_text_put(out, error->code);
    put_text(out, "message", error->message);
    put_given(out, "file", error->file);
    if (error->line > 0) {
        put_number(out, "line", error->line);
        put_number(out, "column", error->column);
    }
    put_given(out, "hint", error->hint);
    buf_put_char(out, '}');
}

static void put_report(Writer *writer, const StepReport *report)
{
    Buf *out = writer->out;
    put_word(out, "result", step_result_name(report->status.result));
    put_true(out, "changed", report->status.changed);
    put_true(out, "reacted", report->status.reacted);
    put_true(out, "declined", report->declined);
    put_true(out, "left", report->left);
    if (cause_name(report->cause) != NULL) {
        put_word(out, "cause", cause_name(report->cause));
    }
    put_given(out, "reason", report->reason);
    put_given(out, "comment", report->comment);
    put_given(out, "state", report->state);
    if (report->changes != NULL && report->changes->len > 0) {
        put_name(out, "changes");
        run_record_put(writer->record, value_map(report->changes));
    }
    put_given(out, "diff", report->diff);
    put_given(out, "stdout", report->shown_out);
    put_given(out, "stderr", report->shown_error_out);
    if (report->has_exit_code) {
        put_number(out, "exit_code", report->exit_code);
    }
    if (report->run_order > 0) {
        put_number(out, "run_order", report->run_order);
    }
    if (report->attempts > 1) {
        put_number(out, "tries", report->attempts);
    }
    if (report->duration_us >= 1000) {
        put_number(out, "duration_ms", report->duration_us / 1000);
    }
    if (report->error != NULL) {
        put_error(out, report->error);
    }
}

/* What the schedule needs to know about a step and its action. */
static void put_order(Buf *out, const StepSpec *spec)
{
    const Action *action = spec->action;
    switch (spec->order) {
    case ORDER_FIRST: put_word(out, "order", "first"); break;
    case ORDER_LAST: put_word(out, "order", "last"); break;
    case ORDER_NUMBER: put_number(out, "order", spec->order_number); break;
    case ORDER_NONE: break;
    }
    put_true(out, "waits", action->may_sleep);
    put_true(out, "reacts", action->react != NULL);
    put_true(out, "merges", action->merge != NULL);
    if (action->stage != STAGE_ANY) {
        put_number(out, "stage", action->stage);
    }
    if (action->cost_ms > 0) {
        put_number(out, "cost_ms", action->cost_ms);
    }
    if (spec->run->retry.is_set) {
        put_number(out, "retry", spec->run->retry.limit);
    }
}

static void put_step(Writer *writer, const Step *step, const StepReport *report)
{
    const StepSpec *spec = step->spec;
    Buf *out = writer->out;
    Str file = file_of(writer, spec);
    buf_put(out, STR("{\"id\":"));
    json_text_put(out, step->id);
    put_text(out, "name", step->name);
    put_text(out, "job", spec->job->name);
    put_name(out, "action");
    buf_put_char(out, '"');
    buf_put_c(out, spec->module->name);
    buf_put_char(out, '.');
    buf_put_c(out, spec->action->name);
    buf_put_char(out, '"');
    put_given(out, "file", file);
    put_place(writer, spec->location, file);
    if (!value_is_missing(step->item)) {
        put_name(out, "item");
        run_record_put(writer->record, step->item);
    }
    put_order(out, spec);
    put_kinds(out, "owed", report->status.owed);
    put_kinds(out, "untargeted", step->kinds_without_targets);
    put_edges(writer, step, file);
    put_params(writer, spec, file);
    Str values = writer->run->now.values == NULL ? STR_EMPTY : writer->run->now.values[step->index];
    if (values.len > 0) {
        put_name(out, "values");
        buf_put(out, values);
    }
    put_report(writer, report);
    buf_put_char(out, '}');
}

/* The results of templates in the parameters, as a JSON object; empty if there are none. Called
 * while the parameters exist. */
Str run_record_values(Run *run, const Step *step, const Value *params)
{
    const StepSpec *spec = step->spec;
    uint32_t count = action_param_count(spec->action);
    RunRecord record = { .text = buf_make_in(run->arena, BUF_UNLIMITED), .secrets = run->secrets };
    for (uint32_t i = 0; i < count; i++) {
        if ((spec->params_set >> i & 1) == 0 || dynamic_is_constant(spec->params[i]) ||
            value_is_missing(params[i])) {
            continue;
        }
        buf_put(&record.text, record.text.len == 0 ? STR("{\"") : STR(",\""));
        buf_put_c(&record.text, spec->action->params[i].name);
        buf_put(&record.text, STR("\":"));
        if (value_is_string(params[i]) && !value_is_secret(params[i])) {
            json_text_put(&record.text, shown(run, value_str(params[i]), VALUE_SHOWN));
        } else {
            run_record_put(&record, params[i]);
        }
    }
    if (record.text.len > 0) {
        buf_put_char(&record.text, '}');
    }
    return record.failed ? STR_EMPTY : buf_str(&record.text);
}

/* --- Graph and turns ------------------------------------------------------------------------- */

static void put_numbers(Buf *out, const uint32_t *numbers, uint32_t count)
{
    buf_put_char(out, '[');
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) {
            buf_put_char(out, ',');
        }
        (void)buf_put_i64(out, numbers[i]);
    }
    buf_put_char(out, ']');
}

static void put_graph(Writer *writer)
{
    const Graph *graph = writer->graph;
    Buf *out = run_record_begin(writer->record, "graph");
    buf_put(out, STR("{\"order\":"));
    put_numbers(out, graph->order, graph->vertex_count);
    buf_put(out, STR(",\"next\":["));
    for (uint32_t i = 0; i < graph->vertex_count; i++) {
        IndexSlice next = graph_next(graph, i);
        buf_put(out, i == 0 ? STR_EMPTY : STR(","));
        put_numbers(out, next.items, next.count);
    }
    buf_put(out, STR("]}"));
}

static void put_asked(Writer *writer, const ConditionEvaluation *asked, uint32_t count)
{
    Buf *out = writer->out;
    if (count == 0) {
        return;
    }
    put_name(out, "asked");
    for (uint32_t i = 0; i < count; i++) {
        buf_put(out, i == 0 ? STR("[{\"condition\":\"") : STR(",{\"condition\":\""));
        buf_put_c(out, condition_name(asked[i].condition));
        buf_put_char(out, '"');
        put_word(out, "answer", answer_name(asked[i].answer));
        put_given(out, "text", shown(writer->run, asked[i].text, TEMPLATE_SHOWN));
        if (asked[i].retries) {
            put_number(out, "limit", asked[i].limit);
        }
        buf_put_char(out, '}');
    }
    buf_put_char(out, ']');
}

static void put_decision(Writer *writer, const Decision *decision)
{
    Buf *out = writer->out;
    put_word(out, "decision", decision_kind_name(decision->kind));
    put_true(out, "react", decision->react);
    put_given(out, "reason", decision->reason);
    if (decision->decisive_edge != NULL) {
        put_number(out, "because", decision->decisive_edge - writer->graph->edges + 1);
    }
}

static void put_seen(Buf *out, Observation seen)
{
    buf_put(out, STR(",\"saw\":["));
    const char *words[] = { seen.changed ? "changed" : NULL, seen.unknown ? "unknown" : NULL,
                            seen.failed ? "failed" : NULL, seen.reacted ? "reacted" : NULL,
                            seen.requests_reboot ? "leaves" : NULL };
    bool first = true;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (words[i] != NULL) {
            buf_put(out, first ? STR("\"") : STR(",\""));
            buf_put_c(out, words[i]);
            buf_put_char(out, '"');
            first = false;
        }
    }
    buf_put_char(out, ']');
}

static void put_turn(Writer *writer, const Turn *turn, const ConditionEvaluation *asked)
{
    Buf *out = writer->out;
    buf_put(out, STR("{\"step\":"));
    (void)buf_put_i64(out, (int64_t)turn->work.step + 1);
    if (turn->kind != TURN_START) {
        put_word(out, "do", turn_kind_name(turn->kind));
    }
    if (turn->work.phase != PHASE_RUN) {
        put_word(out, "phase", work_phase_name(turn->work.phase));
    }
    if (turn->override != OVERRIDE_NONE) {
        put_word(out, "bar", turn_override_name(turn->override));
    }
    if (turn->decided) {
        put_decision(writer, &turn->decision);
    }
    put_asked(writer, asked, turn->evaluation_count);
    if (turn->params != PARAMS_OK) {
        put_word(out, "params", turn_params_name(turn->params));
    }
    if (turn->has_observation) {
        put_seen(out, turn->observation);
    }
    if (turn->end != TURN_ENDED) {
        put_word(out, "end", turn_end_name(turn->end));
    } else {
        put_word(out, "result", step_result_name(turn->status.result));
        if (turn->status.pending != RESULT_PENDING) {
            put_word(out, "pending", step_result_name(turn->status.pending));
        }
        put_true(out, "changed", turn->status.changed);
        put_true(out, "reacted", turn->status.reacted);
    }
    buf_put_char(out, '}');
}

/* --- Entire record --------------------------------------------------------------------------- */

static void put_run(Writer *writer)
{
    Run *run = writer->run;
    const RunReport *report = &run->now.report;
    RunRecord *record = writer->record;
    run_record_set_text(record, "at", utc_text(run->arena, clock_now_ms()));
    run_record_set_text(record, "command", run->config.command);
    run_record_set_text(record, "node", run->node.name);
    run_record_set_text(record, "version", STR(EDEN_VERSION));
    Buf *out = run_record_begin(record, "site");
    buf_put(out, STR("{\"path\":"));
    json_text_put(out, str_from_c(run->config.path));
    put_text(out, "digest", run_site_digest(run));
    buf_put_char(out, '}');
    run_record_set_text(record, "root", str_from_c(run->config.root));
    run_record_set_text(record, "order", str_from_c(order_mode_name(report->order)));
    run_record_set(record, "workers", value_int(run->config.workers));
    run_record_set(record, "planning", value_bool(report->planning));
    run_record_set_text(record, "result", str_from_c(step_result_name(run_report_result(report))));
    run_record_set(record, "interrupted", value_bool(report->interrupted));
    run_record_set(record, "timed_out", value_bool(report->timed_out));
    run_record_set(record, "duration_ms", value_int(report->duration_us / 1000));
    run_record_set(record, "facts", run->facts);
    Value variables;
    run->checking = true; /* the machine is not queried only for the record */
    if (variables_all(scope_variables(run->scope), &variables)) {
        run_record_set(record, "variables", variables);
    }
    run->checking = false;
}

void run_record_fill(RunRecord *record, Run *run)
{
    Writer writer = {
        .record = record,
        .out = &record->text,
        .run = run,
        .graph = run->graph,
        .lines = ARENA_ARRAY(run->arena, SourceLines, run->sources->count + 1),
        .has_lines = arena_alloc_zero(run->arena, run->sources->count + 1),
    };
    put_run(&writer);
    put_graph(&writer);
    Buf *out = run_record_begin(record, "steps");
    buf_put_char(out, '[');
    for (uint32_t i = 0; i < run->graph->steps.count; i++) {
        buf_put(out, i == 0 ? STR("\n") : STR(",\n"));
        put_step(&writer, graph_step(run->graph, i), &run->now.report.items[i]);
    }
    buf_put(out, STR("]"));
    const Turns *turns = run_core_turns(executor_core(run->now.executor));
    (void)run_record_begin(record, "turns");
    buf_put_char(out, '[');
    for (uint32_t i = 0; i < turns->list.len; i++) {
        const Turn *turn = &turns->list.items[i];
        buf_put(out, i == 0 ? STR("\n") : STR(",\n"));
        put_turn(&writer, turn, &turns->evaluations.items[turn->first_evaluation]);
    }
    buf_put(out, STR("]"));
    if (run->now.report.owed != NULL) {
        run_record_set(record, "owed", value_list(run->now.report.owed));
    }
}
