#include "cli/inputs.h"

#include <stdio.h>

#include "lang/json.h"
#include "lang/yaml.h"
#include "sys/clock.h"
#include "sys/file.h"

void inputs_init(Inputs *inputs, Arena *arena)
{
    *inputs = (Inputs){ .arena = arena };
    sources_init(&inputs->sources, arena);
    problems_init(&inputs->problems, arena);
}

uint16_t inputs_read(Inputs *inputs, const char *path)
{
    Str text;
    Error err;
    if (!file_read(inputs->arena, path, INPUT_MAX, &text, &err)) {
        problems_add(&inputs->problems, "E0001", NULL, 0, 0, "%s", err.text);
        return SOURCE_NONE;
    }
    Str name = strcmp(path, "-") == 0 ? STR("<stdin>") : str_from_c(path);
    uint16_t id = sources_add(&inputs->sources, name, text);
    if (id == SOURCE_NONE) {
        problems_add(&inputs->problems, "E0001", NULL, 0, 0, "%s: too many files", path);
    }
    return id;
}

bool inputs_load(Inputs *inputs, const char *path, Value *out)
{
    uint16_t id = inputs_read(inputs, path);
    if (id == SOURCE_NONE) {
        return false;
    }
    if (str_ends(str_from_c(path), STR(".json"))) {
        return json_parse(inputs->arena, &inputs->sources, id, NULL, out, &inputs->problems);
    }
    return yaml_load(inputs->arena, &inputs->sources, id, NULL, out, &inputs->problems);
}

static void merge(Arena *arena, Map *into, const Map *from)
{
    for (uint32_t i = 0; i < from->len; i++) {
        const MapEntry *entry = &from->entries[i];
        MapEntry *known = map_find(into, entry->key);
        if (known != NULL && known->value.kind == VALUE_MAP && entry->value.kind == VALUE_MAP) {
            /* A copy: the map may be shared through an alias. */
            Map *merged = map_new(arena, known->value.map->len);
            merge(arena, merged, known->value.map);
            merge(arena, merged, entry->value.map);
            known->value.map = merged;
        } else {
            map_set(arena, into, entry->key, entry->value);
        }
    }
}

/* KEY=TEXT or KEY:=JSON */
static bool define(Inputs *inputs, const char *word, Map *into)
{
    Str text = str_from_c(word);
    size_t equals = str_find(text, STR("="), 0);
    bool typed = equals != STR_NOT_FOUND && equals > 0 && text.data[equals - 1] == ':';
    Str key = str_slice(text, 0, typed ? equals - 1 : equals);
    if (equals == STR_NOT_FOUND || key.len == 0) {
        problems_add(&inputs->problems, "E0002", NULL, 0, 0,
                     "-D takes KEY=VALUE or KEY:=JSON, not '%s'", word);
        return false;
    }
    Str value = str_from_offset(text, equals + 1);
    if (!typed) {
        map_set_str(inputs->arena, into, key, value_string(value));
        return true;
    }
    Str name = arena_format(inputs->arena, "-D %" STR_FMT, STR_ARG(key));
    uint16_t id = sources_add(&inputs->sources, name, value);
    Value parsed;
    if (!json_parse(inputs->arena, &inputs->sources, id, NULL, &parsed, &inputs->problems)) {
        return false;
    }
    map_set_str(inputs->arena, into, key, parsed);
    return true;
}

static bool merge_file(Inputs *inputs, const char *path, Map *into)
{
    Value document;
    if (!inputs_load(inputs, path, &document)) {
        return false;
    }
    if (document.kind == VALUE_MAP) {
        merge(inputs->arena, into, document.map);
        return true;
    }
    if (document.kind == VALUE_NULL) {
        return true; /* an empty file */
    }
    problems_add(&inputs->problems, "E0003", sources_get(&inputs->sources, document.source),
                 document.start, 1, "variables must be a map of names, this is a %s",
                 value_kind_name((ValueKind)document.kind));
    return false;
}

bool inputs_variables(Inputs *inputs, const Invocation *invocation, Value *out)
{
    Map *variables = map_new(inputs->arena, 8);
    bool ok = true;
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        const char *option = invocation->given[i].option->name;
        const char *value = invocation->given[i].value;
        if (strcmp(option, "vars") == 0) {
            ok = merge_file(inputs, value, variables) && ok;
        } else if (strcmp(option, "define") == 0) {
            ok = define(inputs, value, variables) && ok;
        }
    }
    *out = value_map(variables);
    return ok;
}

/* 4096, 64K, 16M, 1G */
static bool parse_size(const char *word, uint64_t *out)
{
    Str text = str_from_c(word);
    unsigned shift = 0;
    if (text.len > 0) {
        char unit = ascii_upper(text.data[text.len - 1]);
        shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0;
    }
    uint64_t number;
    if (!str_to_u64(str_slice(text, 0, text.len - (shift > 0)), &number) ||
        number > (UINT64_MAX >> 24 >> shift)) {
        return false;
    }
    *out = number << shift;
    return true;
}

static bool limit_option(const Invocation *invocation, const char *name, uint64_t max,
                         uint64_t *out)
{
    const char *word = invocation_text(invocation, name);
    if (parse_size(word, out) && *out > 0 && *out <= max) {
        return true;
    }
    usage_error(invocation, "--%s takes a number from 1 to %llu, with K, M or G, not '%s'", name,
                (unsigned long long)max, word);
    return false;
}

int inputs_settings(const Invocation *invocation, TemplateSettings *out)
{
    TemplateSettings settings = template_settings_default();
    uint64_t output, memory, steps, depth;
    if (!limit_option(invocation, "max-output", INT32_MAX, &output) ||
        !limit_option(invocation, "max-memory", (uint64_t)1 << 40, &memory) ||
        !limit_option(invocation, "max-steps", (uint64_t)1 << 40, &steps) ||
        !limit_option(invocation, "max-depth", 1000, &depth)) {
        return EXIT_USAGE;
    }
    settings.limits.output = output;
    settings.limits.memory = memory;
    settings.limits.steps = steps;
    settings.limits.depth = (uint32_t)depth;
    settings.autoescape = invocation_flag(invocation, "autoescape");
    undefined_mode_from_name(str_from_c(invocation_text(invocation, "undefined")),
                             &settings.undefined);
    settings.now = clock_now_seconds();
    settings.seed = random_seed();
    *out = settings;
    return EXIT_OK;
}

/* Some messages are only a name, as in Jinja2. */
static const char *fault_prefix(FaultClass class)
{
    return class == FAULT_NOT_FOUND ? "template not found: " : "";
}

void inputs_add_fault(Inputs *inputs, const Fault *fault, Str name)
{
    Source source = { .name = fault->template_name.len > 0 ? fault->template_name : name,
                      .text = fault->template_text,
                      .first_line = 1 };
    const char *code = fault_class_code(fault->class);
    Problem *problem = problems_add(&inputs->problems, code, fault->line > 0 ? &source : NULL,
                                    fault->offset, fault->span, "%s%" STR_FMT,
                                    fault_prefix(fault->class), STR_ARG(fault->message));
    problem->hint = arena_copy(inputs->arena, fault->hint);
    for (const FaultOrigin *origin = fault->origin; origin != NULL; origin = origin->next) {
        Str file = origin->template_name.len > 0 ? origin->template_name : name;
        problem_add_origin(inputs->arena, problem, arena_copy(inputs->arena, file), origin->line);
    }
}

int inputs_report(Inputs *inputs, const Invocation *invocation)
{
    const Problems *problems = &inputs->problems;
    if (problems->count == 0) {
        return EXIT_OK;
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    const char *format = invocation_text(invocation, "output");
    if (format != NULL && strcmp(format, "json") == 0) {
        problems_print_json(problems, &text);
        fwrite(text.data, 1, text.len, stdout);
    } else {
        fflush(stdout);
        problems_print(problems, (ProblemStyle){ .color = invocation->color_err }, &text);
        fwrite(text.data, 1, text.len, stderr);
    }
    return problems->errors > 0 ? EXIT_FAILED : EXIT_OK;
}
