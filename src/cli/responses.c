#include "cli/responses.h"

#include "cli/output.h"

void responses_init(Responses *responses, Invocation *invocation, uint32_t count)
{
    *responses = (Responses){ .invocation = invocation,
                              .is_document = count > 1 && output_wants_value(invocation),
                              .items = list_new(invocation->arena, count),
                              .problems = list_new(invocation->arena, 0),
                              .worst = EXIT_OK };
}

bool responses_add(Responses *responses, Str name, Value response)
{
    const Invocation *invocation = responses->invocation;
    if (!responses->is_document) {
        if (output_wants_value(invocation)) {
            responses->worst =
                exit_code_worse(responses->worst, output_response(invocation, response));
            return true;
        }
        if (invocation_prints(invocation, "name")) {
            output_line(invocation->out, "%" STR_FMT, STR_ARG(name));
            return true;
        }
        return false;
    }
    if (value_get(response, STR("metadata")) == NULL) {
        map_set_str(invocation->arena, response.map, STR("name"), value_string(name));
    }
    list_push(invocation->arena, responses->items, response);
    return true;
}

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static void push_problem(Responses *responses, Str name, const Problem *problem)
{
    Arena *arena = responses->invocation->arena;
    Map *map = map_new(arena, 9);
    map_set_str(arena, map, STR("name"), value_string(name));
    map_set_str(arena, map, STR("code"), value_string(problem->code));
    map_set_str(arena, map, STR("detail"), value_string(problem->message));
    map_set_str(arena, map, STR("hint"), text_or_null(problem->hint));
    if (problem->server_code.len > 0) {
        map_set_str(arena, map, STR("server_code"), value_string(problem->server_code));
        map_set_str(arena, map, STR("pointer"), text_or_null(problem->pointer));
    }
    if (problem->line > 0) {
        map_set_str(arena, map, STR("file"), text_or_null(problem->file));
        map_set_str(arena, map, STR("line"), value_int(problem->line));
        map_set_str(arena, map, STR("column"), value_int(problem->column));
    }
    list_push(arena, responses->problems, value_map(map));
}

void responses_add_problems(Responses *responses, Str name, Inputs *inputs, int code)
{
    const Problems *problems = &inputs->problems;
    responses->worst = exit_code_worse(responses->worst, code);
    for (uint32_t i = 0; responses->is_document && i < problems->count; i++) {
        push_problem(responses, name, &problems->items[i]);
    }
    /* -o yaml and -o jsonpath have no field for problems, so problems go to stderr instead. */
    if (!responses->is_document || !invocation_wants_json(responses->invocation)) {
        (void)inputs_report(inputs, responses->invocation);
    }
}

int responses_end(Responses *responses)
{
    Arena *arena = responses->invocation->arena;
    if (!responses->is_document) {
        return responses->worst;
    }
    Map *map = map_new(arena, 3);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.answers/1")));
    map_set_str(arena, map, STR("items"), value_list(responses->items));
    map_set_str(arena, map, STR("problems"), value_list(responses->problems));
    return exit_code_worse(responses->worst,
                           output_response(responses->invocation, value_map(map)));
}

/* --- One request per name -------------------------------------------------------------------- */

static void add_refused(Responses *responses, Str name, const ClusterRefusal *refusal,
                        const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, responses->invocation->arena);
    int code = cluster_add_refusal(responses->invocation, refusal, err, &inputs.problems);
    responses_add_problems(responses, name, &inputs, code);
}

/* Called when the server becomes unreachable midway, because requests for the remaining names would
 * fail too. */
static int skip_remaining(Responses *responses, const Str *names, uint32_t count, const Error *err)
{
    ClusterRefusal no_response = { .response = value_null() };
    for (uint32_t i = 0; i < count && (i == 0 || responses->is_document); i++) {
        add_refused(responses, names[i], &no_response, err);
    }
    if (count > 1) {
        output_line(responses->invocation->err, "%u more %s skipped, starting with '%" STR_FMT "'",
                    count - 1, count == 2 ? "is" : "are", STR_ARG(names[1]));
    }
    return responses_end(responses);
}

int responses_request_each(Invocation *invocation, const EachRequest *request, const Str *names,
                           uint32_t count)
{
    Arena *arena = invocation->arena;
    Responses responses;
    responses_init(&responses, invocation, count);
    for (uint32_t i = 0; i < count; i++) {
        ClusterRequest one = { .method = request->method,
                               .target = cluster_target_with(arena, request->prefix, names[i],
                                                             request->suffix),
                               .body = request->body };
        ClusterRefusal refusal = { .target = one.target };
        Error err;
        if (!cluster_send(invocation, &one, &refusal.response, &refusal.responded, &err)) {
            bool is_unreachable = !refusal.responded && err.kind != ERROR_TIMEOUT;
            if (is_unreachable && i == 0) {
                return cluster_report_refusal(invocation, &refusal, &err);
            }
            if (is_unreachable) {
                return skip_remaining(&responses, names + i, count - i, &err);
            }
            add_refused(&responses, names[i], &refusal, &err);
        } else if (!responses_add(&responses, names[i], refusal.response)) {
            if (request->print != NULL) {
                request->print(invocation, names[i], refusal.response);
            } else {
                output_line(invocation->out, "%" STR_FMT " %s", STR_ARG(names[i]), request->done);
            }
        }
    }
    return responses_end(&responses);
}
