/* This does not use lang/record.h: a saved plan is compared value by value with a new one, and both
 * are created by plan_file_value(). */
#include "run/plan_file.h"

#include "lang/json.h"
#include "run/last_applied.h"
#include "sys/clock.h"
#include "sys/file.h"
#include "sys/sha256.h"

#define PLAN_FORMAT "eden.plan/1"

static void put(Arena *arena, Map *map, const char *key, Value value)
{
    map_append(arena, map, value_string(str_from_c(key)), value);
}

static void put_path(Arena *arena, Map *map, const char *key, const char *path)
{
    put(arena, map, key, value_string(file_absolute(arena, path)));
}

/* Variables files by path, each with its SHA-256. */
static Value var_files(Arena *arena, const RunConfig *config)
{
    Map *map = map_new(arena, config->var_file_count);
    for (uint32_t i = 0; i < config->var_file_count; i++) {
        Error err;
        Str text;
        char hex[SHA256_HEX + 1] = "missing";
        if (file_read(arena, config->var_files[i], SITE_FILE_MAX, &text, &err)) {
            sha256_hex(text, hex);
        }
        map_set_str(arena, map, file_absolute(arena, config->var_files[i]),
                    value_string(arena_copy(arena, str_from_c(hex))));
    }
    return value_map(map);
}

static Value texts(Arena *arena, const char *const *items, uint32_t count)
{
    List *list = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        list_push(arena, list, value_string(str_from_c(items[i])));
    }
    return value_list(list);
}

/* A short digest of what the check found. */
static Value observed(Arena *arena, const StepReport *report)
{
    Value parts[] = {
        report->changes != NULL ? value_map(report->changes) : value_null(),
        value_string(report->diff),
        value_string(report->comment),
        value_string(report->observed),
    };
    Digest digest = digest_values(parts, COUNT_OF(parts));
    return value_string(arena_format(arena, "%016llx%016llx", (unsigned long long)digest.high,
                                     (unsigned long long)digest.low));
}

static Value step_values(Arena *arena, const RunReport *report)
{
    List *steps = list_new(arena, report->steps->count);
    for (uint32_t i = 0; i < report->steps->count; i++) {
        const StepReport *item = &report->items[i];
        Map *map = map_new(arena, 3);
        put(arena, map, "id", value_string(report->steps->items[i].id));
        put(arena, map, "result", value_string(str_from_c(step_result_name(item->status.result))));
        put(arena, map, "observed", observed(arena, item));
        list_push(arena, steps, value_map(map));
    }
    return value_list(steps);
}

/* For secrets, only the names. */
static void put_defines(Arena *arena, Map *map, Run *run)
{
    const RunConfig *config = run_config(run);
    List *defines = list_new(arena, config->define_count), *withheld = list_new(arena, 0);
    for (uint32_t i = 0; i < config->define_count; i++) {
        Str define = str_from_c(config->defines[i]), name = define_name(define);
        bool secret = run_variable_is_secret(run, name);
        list_push(arena, secret ? withheld : defines, value_string(secret ? name : define));
    }
    put(arena, map, "defines", value_list(defines));
    put(arena, map, "withheld", value_list(withheld));
}

Value plan_file_value(Run *run, Str shown, Arena *arena)
{
    const RunConfig *config = run_config(run);
    const RunReport *report = run_report(run);
    Map *map = map_new(arena, 22);
    put(arena, map, "format", value_string(STR(PLAN_FORMAT)));
    put(arena, map, "at", value_int(clock_now_seconds()));
    put(arena, map, "node", value_string(report->node));
    put(arena, map, "node_given", value_bool(config->node != NULL));
    put(arena, map, "site", value_string(run_site_digest(run)));
    put_path(arena, map, "path", config->path);
    put_path(arena, map, "root", config->root);
    put_path(arena, map, "state_dir", config->state);
    put_path(arena, map, "config_dir", config->etc);
    put(arena, map, "order", value_string(str_from_c(order_mode_name(config->order))));
    put(arena, map, "workers", value_int(config->workers));
    put(arena, map, "max_wait_ms",
        value_int(config->max_wait_us < 0 ? -1 : config->max_wait_us / 1000));
    List *jobs = list_new(arena, config->job_count);
    for (uint32_t i = 0; i < config->job_count; i++) {
        list_push(arena, jobs, value_string(config->jobs[i]));
    }
    put(arena, map, "jobs", value_list(jobs));
    put(arena, map, "labels", texts(arena, config->labels, config->label_count));
    List *vars = list_new(arena, config->var_file_count);
    for (uint32_t i = 0; i < config->var_file_count; i++) {
        list_push(arena, vars, value_string(file_absolute(arena, config->var_files[i])));
    }
    put(arena, map, "vars", value_list(vars));
    put_defines(arena, map, run);
    put(arena, map, "files", run_site_files(run, arena));
    put(arena, map, "var_files", var_files(arena, config));
    put(arena, map, "steps", step_values(arena, report));
    put(arena, map, "shown", value_string(shown));
    return value_map(map);
}

bool plan_file_is(Str head)
{
    head = str_slice(head, 0, head.len < PLAN_FILE_HEAD ? head.len : PLAN_FILE_HEAD);
    return str_starts(head, STR("{")) && str_find(head, STR(PLAN_FORMAT), 0) != STR_NOT_FOUND;
}

static bool get_text(Arena *arena, Value plan, const char *key, const char **out)
{
    const Value *value = value_get(plan, str_from_c(key));
    if (value == NULL || !value_is_string(*value)) {
        return false;
    }
    *out = arena_copy_c(arena, value_str(*value));
    return true;
}

static bool get_texts(Arena *arena, Value plan, const char *key, const char *const **out,
                      uint32_t *count)
{
    const Value *value = value_get(plan, str_from_c(key));
    if (value == NULL || value->kind != VALUE_LIST) {
        return false;
    }
    const char **items = ARENA_ARRAY(arena, const char *, value->list->len + 1);
    for (uint32_t i = 0; i < value->list->len; i++) {
        if (!value_is_string(value->list->items[i])) {
            return false;
        }
        items[i] = arena_copy_c(arena, value_str(value->list->items[i]));
    }
    *out = items;
    *count = value->list->len;
    return true;
}

bool plan_file_config(Arena *arena, Str text, Value *plan, RunConfig *config, Error *err)
{
    const char *order = NULL, *const *jobs = NULL, *const *withheld = NULL;
    uint32_t withheld_count;
    if (!json_parse_text(arena, text, NULL, plan, err)) {
        return error_wrap(err, "the saved plan is damaged");
    }
    if (!get_text(arena, *plan, "path", &config->path) ||
        !get_text(arena, *plan, "root", &config->root) ||
        !get_text(arena, *plan, "state_dir", &config->state) ||
        !get_text(arena, *plan, "config_dir", &config->etc) ||
        !get_text(arena, *plan, "node", &config->node) ||
        !get_text(arena, *plan, "order", &order) ||
        !order_mode_from_name(str_from_c(order), &config->order) ||
        !get_texts(arena, *plan, "jobs", &jobs, &config->job_count) ||
        !get_texts(arena, *plan, "labels", &config->labels, &config->label_count) ||
        !get_texts(arena, *plan, "vars", &config->var_files, &config->var_file_count) ||
        !get_texts(arena, *plan, "defines", &config->defines, &config->define_count) ||
        (value_get(*plan, STR("withheld")) != NULL &&
         !get_texts(arena, *plan, "withheld", &withheld, &withheld_count))) {
        return error_set(err, ERROR_INVALID, "the saved plan is damaged");
    }
    Str *names = ARENA_ARRAY(arena, Str, config->job_count + 1);
    for (uint32_t i = 0; i < config->job_count; i++) {
        names[i] = str_from_c(jobs[i]);
    }
    config->jobs = names;
    return true;
}

/* Plans of earlier versions do not have it. */
static int64_t get_int(Value plan, const char *key, int64_t fallback)
{
    const Value *value = value_get(plan, str_from_c(key));
    return value != NULL && value->kind == VALUE_INT ? value->integer : fallback;
}

/* As when the plan was created, not as it is applied. Order 'ansible' always has one worker. */
static void put_limits(Arena *arena, Value plan, OrderMode order, CommandWords *out)
{
    int64_t workers = get_int(plan, "workers", 0), wait_ms = get_int(plan, "max_wait_ms", -1);
    if (workers > 0 && order != MODE_ANSIBLE) {
        VEC_PUSH(arena, out,
                 (CommandWord){ "workers", arena_format(arena, "%lld", (long long)workers) });
    }
    if (wait_ms >= 0) {
        VEC_PUSH(arena, out,
                 (CommandWord){ "max-wait", arena_format(arena, "%lldms", (long long)wait_ms) });
    }
}

static const char *const shown_options[] = { "verbose", "diff",   "progress", "detailed-exitcode",
                                             "junit",   "output", "color",    NULL };

bool plan_file_is_shown_option(Str name)
{
    for (const char *const *at = shown_options; *at != NULL; at++) {
        if (str_eq_c(name, *at)) {
            return true;
        }
    }
    return false;
}

static void put_shown_options(Arena *arena, Value plan, CommandWords *out)
{
    const List *options = value_get_list(plan, "options");
    for (uint32_t i = 0; i < options->len; i++) {
        Value pair = options->items[i];
        uint32_t count = pair.kind == VALUE_LIST ? pair.list->len : 0;
        if (count == 0 || count > 2 || !value_is_string(pair.list->items[0]) ||
            !plan_file_is_shown_option(value_str(pair.list->items[0])) ||
            (count == 2 && !value_is_string(pair.list->items[1]))) {
            continue;
        }
        CommandWord word = { .option = arena_copy_c(arena, value_str(pair.list->items[0])) };
        if (count == 2) {
            word.value = value_str(pair.list->items[1]);
        }
        VEC_PUSH(arena, out, word);
    }
}

void plan_file_command(Arena *arena, Value plan, const RunConfig *config, CommandWords *out)
{
    RunConfig given = *config;
    put_shown_options(arena, plan, out);
    put_limits(arena, plan, config->order, out);
    if (!value_get_bool(plan, "node_given")) {
        given.node = NULL; /* the machine's own name */
    }
    command_line_put(arena, &given, out);
}

static bool same(Value a, const char *key, Value b)
{
    const Value *first = value_get(a, str_from_c(key));
    const Value *second = value_get(b, str_from_c(key));
    return first != NULL && second != NULL && value_is_string(*first) && value_is_string(*second) &&
           str_eq(value_str(*first), value_str(*second));
}

/* Finds the first file that has changed, and returns the number of changed files. */
static uint32_t find_moved_files(Value plan, Value now, const char *key, Str *first)
{
    const Value *before = value_get(plan, str_from_c(key));
    const Value *after = value_get(now, str_from_c(key));
    if (before == NULL || before->kind != VALUE_MAP) {
        return 0;
    }
    uint32_t moved = 0;
    for (int side = 0; side < 2; side++) {
        Value from = side == 0 ? *after : *before, to = side == 0 ? *before : *after;
        for (uint32_t i = 0; i < from.map->len; i++) {
            const MapEntry *entry = &from.map->entries[i];
            const MapEntry *other = map_find(to.map, entry->key);
            bool equal = other != NULL && value_is_string(other->value) &&
                         value_is_string(entry->value) &&
                         str_eq(value_str(other->value), value_str(entry->value));
            bool counted = side == 1 && other != NULL;
            if (!equal && !counted && value_is_string(entry->key)) {
                *first = moved++ == 0 ? value_str(entry->key) : *first;
            }
        }
    }
    return moved;
}

static bool inputs_match(Value plan, Value now, Error *err)
{
    Str file = STR_EMPTY;
    uint32_t count = find_moved_files(plan, now, "var_files", &file);
    if (count > 0) {
        return error_set(err, ERROR_CONFLICT,
                         "the variables have changed since the plan was created: %" STR_FMT "%s",
                         STR_ARG(file), count == 1 ? "" : " and others");
    }
    if (same(plan, "site", now)) {
        return true;
    }
    count = find_moved_files(plan, now, "files", &file);
    return error_set(err, ERROR_CONFLICT,
                     "the site has changed since the plan was created%s%" STR_FMT "%s",
                     count > 0 ? ": " : "", STR_ARG(file), count <= 1 ? "" : " and others");
}

static bool steps_match(Value plan, Value now, Error *err)
{
    const Value *before = value_get(plan, STR("steps"));
    const Value *after = value_get(now, STR("steps"));
    if (before == NULL || before->kind != VALUE_LIST || before->list->len != after->list->len) {
        return error_set(err, ERROR_CONFLICT,
                         "the steps of the plan differ from those of the site");
    }
    uint32_t moved = 0;
    Str first = STR_EMPTY;
    for (uint32_t i = 0; i < after->list->len; i++) {
        Value a = before->list->items[i], b = after->list->items[i];
        if (!same(a, "id", b) || !same(a, "result", b) || !same(a, "observed", b)) {
            first = moved++ == 0 ? value_str(*value_get(b, STR("id"))) : first;
        }
    }
    return moved == 0 ||
           error_set(err, ERROR_CONFLICT,
                     "the machine has changed since the plan was created: step '%" STR_FMT
                     "'%s would not do what was planned",
                     STR_ARG(first), moved == 1 ? "" : " and others");
}

bool plan_file_matches(Value plan, Run *run, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value now = plan_file_value(run, STR_EMPTY, &arena);
    if (!same(plan, "node", now)) {
        return error_set(err, ERROR_CONFLICT, "the plan was created for another node");
    }
    return inputs_match(plan, now, err) && steps_match(plan, now, err);
}
