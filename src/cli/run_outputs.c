/* Groups nodes by exit code and output of their command. Equal outputs are stored once and found by
 * hash. */
#include "cli/run_outputs.h"

#include <stdlib.h>

#include "cli/output.h"
#include "cli/run_stream.h"
#include "lang/json.h"
#include "sys/sha256.h"

#define COMMAND_STEP "exec#command" /* the name of the step, as set by the agent */

enum {
    NAMES_SHOWN = 8,
};

void run_outputs_init(RunOutputs *outputs, Arena *arena)
{
    *outputs = (RunOutputs){ .arena = arena };
    str_map_init(&outputs->indexes, arena);
    str_map_init(&outputs->nodes, arena);
}

/* --- Grouping -------------------------------------------------------------------------------- */

/* If there is an exit code, the error message is not needed; it may also repeat the output. */
static RunOutput read_result(Value event)
{
    const Value *code = value_get(event, STR("exit_code"));
    bool has_exit_code = code != NULL && code->kind == VALUE_INT;
    bool is_failed = str_eq_c(value_get_text(event, "result"), "failed");
    bool is_explained = has_exit_code && (code->integer != 0 || !is_failed);
    return (RunOutput){
        .has_exit_code = has_exit_code,
        .exit_code = has_exit_code ? code->integer : 0,
        .error =
            is_explained ? STR_EMPTY : value_get_text(value_get_map(event, "error"), "message"),
        .out = value_get_text(event, "stdout"),
        .err = value_get_text(event, "stderr"),
        .is_truncated = value_get_bool(event, "cut"),
    };
}

static Str key_of(Arena *arena, const RunOutput *result)
{
    char digits[SHA256_HEX + 1];
    Sha256 sha;
    Str numbers = arena_format(arena, "%d %lld %d %zu %zu %zu ", result->has_exit_code,
                               (long long)result->exit_code, result->is_truncated,
                               result->error.len, result->out.len, result->err.len);
    sha256_start(&sha);
    sha256_add(&sha, numbers);
    sha256_add(&sha, result->error);
    sha256_add(&sha, result->out);
    sha256_add(&sha, result->err);
    sha256_finish(&sha, digits);
    return arena_copy(arena, str_from_c(digits));
}

static void drop_texts(RunOutput *result)
{
    result->out = result->err = STR_EMPTY;
    result->is_truncated = true;
}

static RunOutput *group_of(RunOutputs *outputs, Arena *scratch, RunOutput *result)
{
    Str key = key_of(scratch, result);
    uintptr_t index = (uintptr_t)str_map_find(&outputs->indexes, key);
    uint64_t bytes = result->out.len + result->err.len;
    if (index == 0 && outputs->bytes + bytes > RUN_OUTPUTS_MAX) {
        drop_texts(result);
        key = key_of(scratch, result);
        index = (uintptr_t)str_map_find(&outputs->indexes, key);
        bytes = 0;
    }
    if (index == 0) {
        RunOutput group = *result;
        group.error = arena_copy(outputs->arena, result->error);
        group.out = arena_copy(outputs->arena, result->out);
        group.err = arena_copy(outputs->arena, result->err);
        VEC_PUSH(outputs->arena, &outputs->groups, group);
        outputs->bytes += bytes;
        index = outputs->groups.len;
        str_map_put(&outputs->indexes, arena_copy(outputs->arena, key), (void *)index);
    }
    return &outputs->groups.items[index - 1];
}

/* A command is executed only once. If a node reports a second result, it is ignored. */
void run_outputs_add(RunOutputs *outputs, Str line)
{
    AUTO_CLEAR(Arena) scratch;
    Value event;
    Error err;
    arena_init(&scratch, ARENA_UNLIMITED);
    if (!json_parse_text(&scratch, line, &json_options_default, &event, &err) ||
        !str_eq_c(value_get_text(event, "event"), "step") ||
        !str_eq_c(value_get_text(event, "step"), COMMAND_STEP)) {
        return;
    }
    Str node = value_get_text(event, "node");
    if (str_map_has(&outputs->nodes, node)) {
        return;
    }
    RunOutput result = read_result(event);
    RunOutput *group = group_of(outputs, &scratch, &result);
    node = arena_copy(outputs->arena, node);
    str_map_put(&outputs->nodes, node, NULL);
    VEC_PUSH(outputs->arena, &group->nodes, node);
}

static int compare_names(const void *a, const void *b)
{
    return str_compare(*(const Str *)a, *(const Str *)b);
}

static bool has_failed(const RunOutput *output)
{
    return output->error.len > 0 || output->exit_code != 0;
}

/* Failures are printed last, next to the summary. */
static int compare_groups(const void *a, const void *b)
{
    const RunOutput *left = a, *right = b;
    if (has_failed(left) != has_failed(right)) {
        return has_failed(left) ? 1 : -1;
    }
    if (left->nodes.len != right->nodes.len) {
        return left->nodes.len > right->nodes.len ? -1 : 1;
    }
    return str_compare(left->nodes.items[0], right->nodes.items[0]);
}

void run_outputs_sort(RunOutputs *outputs)
{
    for (uint32_t i = 0; i < outputs->groups.len; i++) {
        const RunOutput *group = &outputs->groups.items[i];
        qsort(group->nodes.items, group->nodes.len, sizeof group->nodes.items[0], compare_names);
    }
    if (outputs->groups.len > 0) {
        qsort(outputs->groups.items, outputs->groups.len, sizeof outputs->groups.items[0],
              compare_groups);
    }
}

/* --- Printing -------------------------------------------------------------------------------- */

Value run_outputs_value(const RunOutputs *outputs)
{
    Arena *arena = outputs->arena;
    List *list = list_new(arena, outputs->groups.len);
    for (uint32_t i = 0; i < outputs->groups.len; i++) {
        const RunOutput *group = &outputs->groups.items[i];
        Map *map = map_new(arena, 6);
        List *nodes = list_new(arena, group->nodes.len);
        for (uint32_t k = 0; k < group->nodes.len; k++) {
            list_push(arena, nodes, value_string(group->nodes.items[k]));
        }
        map_set_str(arena, map, STR("exit_code"),
                    group->has_exit_code ? value_int(group->exit_code) : value_null());
        map_set_str(arena, map, STR("error"),
                    group->error.len > 0 ? value_string(group->error) : value_null());
        map_set_str(arena, map, STR("stdout"), value_string(group->out));
        map_set_str(arena, map, STR("stderr"), value_string(group->err));
        map_set_str(arena, map, STR("cut"), value_bool(group->is_truncated));
        map_set_str(arena, map, STR("nodes"), value_list(nodes));
        list_push(arena, list, value_map(map));
    }
    return value_list(list);
}

static void put_text(Stream *out, const char *indent, Str text)
{
    Str rest = str_ends(text, STR("\n")) ? str_slice(text, 0, text.len - 1) : text, line;
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        output_line(out, "%s%" STR_FMT, indent, STR_ARG(line));
    }
}

static void put_names(const RunOutput *group, Stream *out)
{
    AUTO_CLEAR(Buf) names = buf_make(BUF_UNLIMITED);
    for (uint32_t i = 0; i < group->nodes.len && i < NAMES_SHOWN; i++) {
        buf_put_format(&names, "%s%" STR_FMT, i > 0 ? ", " : "", STR_ARG(group->nodes.items[i]));
    }
    if (group->nodes.len > NAMES_SHOWN) {
        buf_put_format(&names, " and %u more", group->nodes.len - NAMES_SHOWN);
    }
    output_line(out, "  %" STR_FMT, STR_ARG(buf_str(&names)));
}

void run_outputs_print(const RunOutputs *outputs, Stream *out)
{
    for (uint32_t i = 0; i < outputs->groups.len; i++) {
        const RunOutput *group = &outputs->groups.items[i];
        const char *nodes = group->nodes.len == 1 ? "node" : "nodes";
        if (group->error.len > 0) {
            output_line(out, "%u %s: %" STR_FMT, group->nodes.len, nodes, STR_ARG(group->error));
        } else {
            output_line(out, "%u %s: exited with %lld", group->nodes.len, nodes,
                        (long long)group->exit_code);
        }
        put_names(group, out);
        put_text(out, "    ", group->out);
        put_text(out, "    stderr: ", group->err);
        if (group->is_truncated) {
            output_line(out, "    (the output is truncated)");
        }
    }
}

/* --- Fetching -------------------------------------------------------------------------------- */

static void on_line(void *context, Str line)
{
    run_outputs_add(context, line);
}

static bool on_batch(void *context)
{
    return true;
}

int run_outputs_fetch(Invocation *invocation, Str run, RunOutputs *outputs)
{
    int code = run_stream(invocation, &(RunStream){ .what = "the log",
                                                    .run = run,
                                                    .step = STR(COMMAND_STEP),
                                                    .on_line = on_line,
                                                    .on_batch = on_batch,
                                                    .context = outputs });
    run_outputs_sort(outputs);
    return code;
}
