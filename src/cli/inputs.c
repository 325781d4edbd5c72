#include "cli/inputs.h"

#include "cli/hide.h"
#include "lang/json.h"
#include "lang/yaml.h"
#include "sys/file.h"

void inputs_init(Inputs *inputs, Arena *arena)
{
    *inputs = (Inputs){ .arena = arena };
    sources_init(&inputs->sources, arena);
    problems_init(&inputs->problems, arena);
}

/* The message is "PATH: REASON", and no reason contains a colon. */
void inputs_add_file_error(Inputs *inputs, const Error *err)
{
    Str text = str_from_c(err->text);
    size_t colon = str_find_last(text, STR(": "));
    Str reason = colon == STR_NOT_FOUND ? text : str_from_offset(text, colon + 2);
    Problem *problem = problems_add(&inputs->problems, err->kind == ERROR_LIMIT ? "E0002" : "E0001",
                                    NULL, 0, 0, "cannot read the file: %" STR_FMT, STR_ARG(reason));
    problem->file =
        arena_copy(inputs->arena, colon == STR_NOT_FOUND ? STR_EMPTY : str_slice(text, 0, colon));
}

uint16_t inputs_read(Inputs *inputs, const char *path, size_t max)
{
    bool from_stdin = strcmp(path, "-") == 0;
    Str text;
    Error err;
    if (from_stdin && inputs->stdin_used) {
        Problem *problem = problems_add(&inputs->problems, "E0001", NULL, 0, 0,
                                        "standard input ('-') can be read only once");
        problem->file = STR("<stdin>");
        return SOURCE_NONE;
    }
    inputs->stdin_used |= from_stdin;
    if (!file_read(inputs->arena, path, max, &text, &err)) {
        inputs_add_file_error(inputs, &err);
        return SOURCE_NONE;
    }
    uint16_t id =
        sources_add(&inputs->sources, from_stdin ? STR("<stdin>") : str_from_c(path), text);
    if (id == SOURCE_NONE) {
        Problem *problem = problems_add(&inputs->problems, "E0002", NULL, 0, 0, "too many files");
        problem->file = str_from_c(path);
    }
    return id;
}

static bool is_json(const char *path)
{
    return str_ends(str_from_c(path), STR(".json"));
}

/* Reads a file of values, up to the limit of its parser. */
static uint16_t read_document(Inputs *inputs, const char *path)
{
    return inputs_read(inputs, path,
                       is_json(path) ? json_options_default.limits.size
                                     : yaml_options_default.limits.size);
}

/* Parses consecutive JSON values. Returns false if the text is not JSON, is empty or has more than
 * `max` values. */
static bool json_values(Inputs *inputs, uint16_t id, uint32_t max, List **out)
{
    Str text = sources_get(&inputs->sources, id)->text;
    Problems ignored;
    problems_init(&ignored, inputs->arena);
    *out = list_new(inputs->arena, 1);
    for (size_t at = 0; (at = json_skip_space(text, at)) < text.len;) {
        Value value;
        if ((*out)->len == max ||
            !json_parse_next(inputs->arena, &inputs->sources, id, &at, NULL, &value, &ignored)) {
            return false;
        }
        list_push(inputs->arena, *out, value);
    }
    return (*out)->len > 0;
}

/* Data from pipes may be JSON that is not valid YAML: text that starts like JSON and parses as such
 * is accepted, whatever the name. If it does not parse, problems come from the parser that the name
 * selects. */
static bool json_by_content(Inputs *inputs, uint16_t id, uint32_t max, List **out)
{
    Str text = str_trim(sources_get(&inputs->sources, id)->text);
    return text.len > 0 && (text.data[0] == '{' || text.data[0] == '[') &&
           json_values(inputs, id, max, out);
}

bool inputs_load_all(Inputs *inputs, const char *path, InputMode rules, List **out)
{
    uint32_t max = rules == INPUT_STRICT ? 1 : UINT32_MAX;
    uint16_t id = read_document(inputs, path);
    if (id == SOURCE_NONE) {
        return false;
    }
    if (is_json(path)) {
        Str text = sources_get(&inputs->sources, id)->text;
        Value ignored;
        return json_values(inputs, id, max, out) ||
               (rules == INPUT_LENIENT && json_skip_space(text, 0) == text.len) ||
               json_parse(inputs->arena, &inputs->sources, id, NULL, &ignored, &inputs->problems);
    }
    if (json_by_content(inputs, id, max, out)) {
        return true;
    }
    YamlOptions options = yaml_options_default;
    options.lint = options.strict_tags = rules == INPUT_STRICT;
    return yaml_load_all(inputs->arena, &inputs->sources, id, &options, out, &inputs->problems);
}

static void merge(Arena *arena, Map *into, const Map *from)
{
    for (uint32_t i = 0; i < from->len; i++) {
        const MapEntry *entry = &from->entries[i];
        MapEntry *known = map_find(into, entry->key);
        if (known != NULL && known->value.kind == VALUE_MAP && entry->value.kind == VALUE_MAP) {
            /* Copy, because the map may be shared through an alias. */
            Map *merged = map_new(arena, known->value.map->len);
            merge(arena, merged, known->value.map);
            merge(arena, merged, entry->value.map);
            known->value.map = merged;
            known->value.flags |= entry->value.flags & VALUE_SECRET;
        } else {
            map_set(arena, into, entry->key, entry->value);
        }
    }
}

/* Splits KEY=TEXT or KEY:=JSON. Returns false if it is neither, or KEY is not a valid name. */
static bool split_define(const char *word, Str *key, Str *value, bool *typed)
{
    Str text = str_from_c(word);
    size_t equals = str_find(text, STR("="), 0);
    if (equals == STR_NOT_FOUND) {
        return false;
    }
    *typed = equals > 0 && text.data[equals - 1] == ':';
    *key = str_slice(text, 0, equals - *typed);
    *value = str_from_offset(text, equals + 1);
    for (size_t i = 0; i < key->len; i++) {
        char c = key->data[i];
        if (!ascii_is_name(c) && (unsigned char)c < 0x80) {
            return false;
        }
    }
    return key->len > 0 && !ascii_is_digit(key->data[0]);
}

/* Suggests -D 'limits:={"conns": ...}' for "limits.conns". Empty for other keys. */
static Str nested_define(Arena *arena, Str path)
{
    Str rest = path, part;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    uint32_t depth = 0;
    while (str_split_next(&rest, '.', &part)) {
        for (size_t i = 0; i < part.len; i++) {
            if (!ascii_is_name(part.data[i])) {
                return STR_EMPTY;
            }
        }
        buf_put_format(&text,
                       depth == 0 ? "-D '%" STR_FMT ":=" : "{\"%" STR_FMT "\": ", STR_ARG(part));
        depth += part.len > 0;
    }
    if (depth < 2) {
        return STR_EMPTY;
    }
    buf_put(&text, STR("..."));
    buf_put_repeat(&text, '}', depth - 1);
    buf_put_char(&text, '\'');
    return buf_str(&text);
}

bool inputs_check_define(const Invocation *invocation, const char *define)
{
    Str key, value;
    bool typed;
    if (split_define(define, &key, &value, &typed)) {
        return true;
    }
    /* The value may be a secret, so it is not shown. */
    Str shown = str_from_c(define);
    shown = str_slice(shown, 0, str_find(shown, STR("="), 0));
    Str path = str_ends(shown, STR(":")) ? str_slice(shown, 0, shown.len - 1) : shown;
    Str instead = nested_define(invocation->arena, path);
    usage_error(
        invocation,
        "-D must be KEY=VALUE or KEY:=JSON, where KEY is a name, not '%" STR_FMT "'%s%" STR_FMT,
        STR_ARG(path), instead.len > 0 ? "; maps are merged, so use " : "", STR_ARG(instead));
    return false;
}

bool inputs_check_defines(const Invocation *invocation)
{
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        if (strcmp(invocation->given[i].option->name, "define") == 0 &&
            !inputs_check_define(invocation, invocation->given[i].value)) {
            return false;
        }
    }
    return true;
}

static bool define(Inputs *inputs, const char *word, Map *into)
{
    Str key, text;
    bool typed;
    if (!split_define(word, &key, &text, &typed)) {
        return false; /* inputs_check_defines() reports this */
    }
    Value value = value_string(text);
    if (typed) {
        Str name = arena_format(inputs->arena, "-D %" STR_FMT, STR_ARG(key));
        uint16_t id = sources_add(&inputs->sources, name, text);
        if (!json_parse(inputs->arena, &inputs->sources, id, NULL, &value, &inputs->problems)) {
            return false;
        }
    }
    Map *one = map_new(inputs->arena, 1);
    map_set_str(inputs->arena, one, key, value);
    merge(inputs->arena, into, one);
    return true;
}

/* `no` is a string and true in a condition, and 0644 prints as 644. Authors of files for other
 * tools should be warned about this, but only once per file. */
static void move_problems(Inputs *inputs, const Problems *found, const char *path)
{
    Problem hint = { 0 };
    uint32_t hints = 0;
    for (uint32_t i = 0; i < found->count; i++) {
        const Problem *problem = &found->items[i];
        if (problem->severity != SEVERITY_HINT) {
            problems_add_copy(&inputs->problems, problem);
        } else if (str_eq_c(problem->code, "E0131") || str_eq_c(problem->code, "E0132")) {
            hint = hints++ == 0 ? *problem : hint;
        }
    }
    if (hints > 1) {
        Str more =
            arena_format(inputs->arena, "%u more like this: eden validate %s", hints - 1, path);
        problem_add_note(inputs->arena, &hint, more, STR_EMPTY, 0);
    }
    if (hints > 0) {
        problems_add_copy(&inputs->problems, &hint);
    }
}

/* A file of variables has one document. */
static bool load_variables(Inputs *inputs, const char *path, Value *out)
{
    uint16_t id = read_document(inputs, path);
    if (id == SOURCE_NONE) {
        return false;
    }
    if (is_json(path)) {
        return json_parse(inputs->arena, &inputs->sources, id, NULL, out, &inputs->problems);
    }
    List *values;
    if (json_by_content(inputs, id, 1, &values)) {
        *out = values->items[0];
        return true;
    }
    YamlOptions options = yaml_options_default;
    options.strict_tags = true;
    options.lint = true;
    Problems found;
    problems_init(&found, inputs->arena);
    bool ok = yaml_load(inputs->arena, &inputs->sources, id, &options, out, &found);
    move_problems(inputs, &found, path);
    return ok;
}

static bool merge_file(Inputs *inputs, const char *path, Map *into)
{
    Value document;
    if (!load_variables(inputs, path, &document)) {
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
                 document.start, 1, "variables must be a map of names, not a %s",
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

int inputs_report(Inputs *inputs, const Invocation *invocation)
{
    Problems *problems = &inputs->problems;
    if (problems->count == 0) {
        return EXIT_OK;
    }
    problems_sort(problems);
    hide_secrets(problems, &inputs->sources);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    /* If there is also a result, hints go to standard error, because standard output must be a
     * single JSON text. */
    if (invocation_wants_json(invocation) && problems->errors > 0) {
        problems_print_json(problems, &text);
        stream_put(invocation->out, buf_str(&text));
    } else {
        problems_print(problems, (ProblemStyle){ .color = invocation->color_err }, &text);
        stream_put(invocation->err, buf_str(&text));
    }
    return problems->errors > 0 ? EXIT_FAILED : EXIT_OK;
}
