#include "cli/answers.h"

#include "cli/output.h"

void answers_init(Answers *answers, Invocation *invocation, uint32_t count)
{
    *answers = (Answers){ .invocation = invocation,
                          .is_document = count > 1 && output_wants_value(invocation),
                          .items = list_new(invocation->arena, count),
                          .problems = list_new(invocation->arena, 0),
                          .worst = EXIT_OK };
}

bool answers_take(Answers *answers, Str name, Value answer)
{
    const Invocation *invocation = answers->invocation;
    if (!answers->is_document) {
        if (output_wants_value(invocation)) {
            answers->worst = exit_code_worse(answers->worst, output_answer(invocation, answer));
            return true;
        }
        if (invocation_prints(invocation, "name")) {
            output_line(invocation->out, "%" STR_FMT, STR_ARG(name));
            return true;
        }
        return false;
    }
    if (value_get(answer, STR("metadata")) == NULL) {
        map_set_str(invocation->arena, answer.map, STR("name"), value_string(name));
    }
    list_push(invocation->arena, answers->items, answer);
    return true;
}

static Value text_or_null(Str text)
{
    return text.len > 0 ? value_string(text) : value_null();
}

static void push_problem(Answers *answers, Str name, const Problem *problem)
{
    Arena *arena = answers->invocation->arena;
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
    list_push(arena, answers->problems, value_map(map));
}

void answers_refuse(Answers *answers, Str name, Inputs *inputs, int code)
{
    const Problems *problems = &inputs->problems;
    answers->worst = exit_code_worse(answers->worst, code);
    for (uint32_t i = 0; answers->is_document && i < problems->count; i++) {
        push_problem(answers, name, &problems->items[i]);
    }
    /* -o yaml and -o jsonpath have no field for problems, so problems go to stderr instead. */
    if (!answers->is_document || !invocation_wants_json(answers->invocation)) {
        (void)inputs_report(inputs, answers->invocation);
    }
}

int answers_end(Answers *answers)
{
    Arena *arena = answers->invocation->arena;
    if (!answers->is_document) {
        return answers->worst;
    }
    Map *map = map_new(arena, 3);
    map_set_str(arena, map, STR("format"), value_string(STR("eden.answers/1")));
    map_set_str(arena, map, STR("items"), value_list(answers->items));
    map_set_str(arena, map, STR("problems"), value_list(answers->problems));
    return exit_code_worse(answers->worst, output_answer(answers->invocation, value_map(map)));
}

/* --- One request per name -------------------------------------------------------------------- */

static void refuse(Answers *answers, Str name, const ClusterRefusal *refusal, const Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, answers->invocation->arena);
    int code = cluster_add_refusal(answers->invocation, refusal, err, &inputs.problems);
    answers_refuse(answers, name, &inputs, code);
}

/* The server became unreachable midway; trying the remaining names would only waste time. */
static int give_up(Answers *answers, const Str *names, uint32_t count, const Error *err)
{
    ClusterRefusal nobody = { .answer = value_null() };
    for (uint32_t i = 0; i < count && (i == 0 || answers->is_document); i++) {
        refuse(answers, names[i], &nobody, err);
    }
    if (count > 1) {
        output_line(answers->invocation->err, "%u more %s skipped, starting with '%" STR_FMT "'",
                    count - 1, count == 2 ? "is" : "are", STR_ARG(names[1]));
    }
    return answers_end(answers);
}

int answers_ask_each(Invocation *invocation, const EachRequest *request, const Str *names,
                     uint32_t count)
{
    Arena *arena = invocation->arena;
    Answers answers;
    answers_init(&answers, invocation, count);
    for (uint32_t i = 0; i < count; i++) {
        ClusterRequest one = { .method = request->method,
                               .target = cluster_target_with(arena, request->before, names[i],
                                                             request->behind),
                               .body = request->body };
        ClusterRefusal refusal = { .target = one.target };
        Error err;
        if (!cluster_ask(invocation, &one, &refusal.answer, &refusal.asked, &err)) {
            bool is_silence = !refusal.asked && err.kind != ERROR_TIMEOUT;
            if (is_silence && i == 0) {
                return cluster_tell_refusal(invocation, &refusal, &err);
            }
            if (is_silence) {
                return give_up(&answers, names + i, count - i, &err);
            }
            refuse(&answers, names[i], &refusal, &err);
        } else if (!answers_take(&answers, names[i], refusal.answer)) {
            if (request->print != NULL) {
                request->print(invocation, names[i], refusal.answer);
            } else {
                output_line(invocation->out, "%" STR_FMT " %s", STR_ARG(names[i]), request->done);
            }
        }
    }
    return answers_end(&answers);
}
