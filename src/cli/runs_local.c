#include "cli/runs_verbs.h"

#include "cli/cluster_client.h"
#include "cli/output.h"
#include "cli/record_input.h"
#include "cli/table.h"
#include "server/create_cluster.h"
#include "sys/file.h"

/* --- Choosing -------------------------------------------------------------------------------- */

/* Whether this machine is a server, running or not. */
static bool is_server(const Invocation *invocation, const ClusterEndpoint *endpoint)
{
    Str settings = arena_format(invocation->arena, "%s/" SERVER_DIRECTORY "/%s",
                                invocation_text(invocation, "state-dir"), SERVER_SETTINGS_FILE);
    return file_exists(endpoint->socket.host) || file_exists(settings.data);
}

bool runs_are_local(const Invocation *invocation)
{
    ClusterEndpoint endpoint;
    Error err;
    if (invocation_flag(invocation, "local") || invocation_flag(invocation, "root")) {
        return true;
    }
    if (invocation_flag(invocation, "run-dir") || invocation_flag(invocation, "context")) {
        return false;
    }
    if (invocation_flag(invocation, "state-dir")) {
        return true;
    }
    /* An invalid selection is reported by the following request. */
    return cluster_endpoint_select(invocation, &endpoint, &err) && endpoint.is_local &&
           strcmp(endpoint.run_dir, invocation_text(invocation, "run-dir")) == 0 &&
           !is_server(invocation, &endpoint);
}

/* --- Printing -------------------------------------------------------------------------------- */

static void count_results(Value record, uint32_t counts[RESULT_COUNT])
{
    const Value *steps = value_get(record, STR("steps"));
    memset(counts, 0, RESULT_COUNT * sizeof *counts);
    for (uint32_t i = 0; steps != NULL && steps->kind == VALUE_LIST && i < steps->list->len; i++) {
        Str result = value_get_text(steps->list->items[i], "result");
        for (uint32_t j = 0; j < RESULT_COUNT; j++) {
            counts[j] += str_eq_c(result, step_result_name((StepResult)j));
        }
    }
}

/* "2 failed, 1 blocked, 3 changed, 7 ok" */
static Str count_steps(Arena *arena, Value record)
{
    static const StepResult order[] = { RESULT_FAILED,  RESULT_BLOCKED, RESULT_WAITING,
                                        RESULT_CHANGED, RESULT_OK,      RESULT_SKIPPED };
    uint32_t counts[RESULT_COUNT];
    count_results(record, counts);
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        if (counts[order[i]] > 0) {
            buf_put_format(&text, "%s%u %s", text.len == 0 ? "" : ", ", counts[order[i]],
                           step_result_name(order[i]));
        }
    }
    return buf_str(&text);
}

static Value row_value(Arena *arena, Value record)
{
    static const char *const keys[] = { "run",    "at",          "command",     "node", "site",
                                        "result", "interrupted", "duration_ms", "error" };
    Map *map = map_new(arena, COUNT_OF(keys) + 1), *results = map_new(arena, RESULT_COUNT);
    uint32_t counts[RESULT_COUNT];
    count_results(record, counts);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        const Value *value = value_get(record, str_from_c(keys[i]));
        if (value != NULL) {
            map_set_str(arena, map, str_from_c(keys[i]), *value);
        }
    }
    for (uint32_t i = RESULT_OK; i < RESULT_COUNT; i++) {
        map_set_str(arena, results, str_from_c(step_result_name((StepResult)i)),
                    value_int(counts[i]));
    }
    map_set_str(arena, map, STR("counts"), value_map(results));
    return value_map(map);
}

static int print_value(const Invocation *invocation, const Value *records, uint32_t count)
{
    Arena *arena = invocation->arena;
    List *runs = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        list_push(arena, runs, row_value(arena, records[i]));
    }
    Map *map = map_new(arena, 2);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.runs/1")));
    map_set_str(arena, map, STR("runs"), value_list(runs));
    return output_response(invocation, value_map(map));
}

static int print_table(const Invocation *invocation, const Value *records, uint32_t count)
{
    static const char *const headings[] = { "RUN", "AT", "NODE", "SITE", "RESULT", "STEPS", NULL };
    Arena *arena = invocation->arena;
    Table table;
    table_init(&table, arena, headings);
    for (uint32_t i = 0; i < count; i++) {
        const Value *site = value_get(records[i], STR("site"));
        const Value *interrupted = value_get(records[i], STR("interrupted"));
        bool is_interrupted = interrupted != NULL && value_is_true(*interrupted);
        Str error = value_get_text(records[i], "error");
        table_add(&table, value_get_text(records[i], "run"));
        table_add(&table, value_get_text(records[i], "at"));
        table_add(&table, value_get_text(records[i], "node"));
        table_add(&table, site == NULL ? STR_EMPTY : value_get_text(*site, "path"));
        table_add(&table, error.len > 0    ? STR("unreadable")
                          : is_interrupted ? STR("interrupted")
                                           : value_get_text(records[i], "result"));
        table_add(&table, error.len > 0 ? error : count_steps(arena, records[i]));
    }
    table_print(&table, invocation->out);
    if (count == 0) {
        stream_put_format(invocation->err, "no runs recorded\n");
    }
    return EXIT_OK;
}

int runs_local_list(Invocation *invocation)
{
    Value *records;
    uint32_t count;
    int code;
    if (!record_input_all(invocation, &records, &count, &code)) {
        return code;
    }
    if (output_wants_value(invocation)) {
        return print_value(invocation, records, count);
    }
    if (!invocation_prints(invocation, "name")) {
        return print_table(invocation, records, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        output_line(invocation->out, "%" STR_FMT, STR_ARG(value_get_text(records[i], "run")));
    }
    return EXIT_OK;
}
