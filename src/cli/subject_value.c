#include "cli/subject_value.h"
#include "cli/subject_action.h"
#include "cli/subject_kind.h"

static void set(Arena *arena, Map *map, const char *key, Value value)
{
    map_set_str(arena, map, str_from_c(key), value);
}

/* A string, or null. */
static void set_text(Arena *arena, Map *map, const char *key, const char *text)
{
    set(arena, map, key, text == NULL ? value_null() : value_string(str_from_c(text)));
}

/* A list of the words in "a|b|c", or null. */
static void set_words(Arena *arena, Map *map, const char *key, const char *words)
{
    if (words == NULL) {
        set(arena, map, key, value_null());
        return;
    }
    List *list = list_new(arena, 4);
    Str rest = str_from_c(words), part;
    while (str_split_next(&rest, '|', &part)) {
        list_push(arena, list, value_string(part));
    }
    set(arena, map, key, value_list(list));
}

static Value option_value(Arena *arena, const Option *option)
{
    Map *map = map_new(arena, 8);
    set_text(arena, map, "name", option->name);
    char *letter = arena_copy_c(arena, str_from(&option->letter, 1));
    set_text(arena, map, "letter", option->letter == 0 ? NULL : letter);
    set_text(arena, map, "argument", option->argument);
    set(arena, map, "repeats", value_bool(option->repeats));
    set_text(arena, map, "word", option->argument == NULL ? NULL : word_kind_name(option->word));
    set_words(arena, map, "choices", option->choices);
    set_words(arena, map, "verbs", option->verbs);
    set_text(arena, map, "default", option->fallback);
    set_text(arena, map, "help", option->help);
    return value_map(map);
}

static Value options_value(Arena *arena, const Option *options)
{
    List *list = list_new(arena, 8);
    for (; options != NULL && options->name != NULL; options++) {
        list_push(arena, list, option_value(arena, options));
    }
    return value_list(list);
}

static void describe_command(Arena *arena, Map *map, const Command *command)
{
    set_text(arena, map, "group", command_group_titles[command->group]);
    set_text(arena, map, "arguments", command->args);
    set(arena, map, "arguments_min", value_int(command->args_min));
    set(arena, map, "arguments_max",
        command->args_max == UINT32_MAX ? value_null() : value_int(command->args_max));
    set_text(arena, map, "word", command->args_max == 0 ? NULL : word_kind_name(command->word));
    set_words(arena, map, "choices", command->choices);
    set_text(arena, map, "help", command->help);
    set_text(arena, map, "text", command->text);
    set(arena, map, "options", options_value(arena, command->options));
    List *examples = list_new(arena, 4);
    for (const Example *row = command->examples; row != NULL && row->command != NULL; row++) {
        Map *example = map_new(arena, 2);
        set_text(arena, example, "command", row->command);
        set_text(arena, example, "help", row->help);
        list_push(arena, examples, value_map(example));
    }
    set(arena, map, "examples", value_list(examples));
}

static void describe_native(Arena *arena, Map *map, const Subject *subject)
{
    const Native *native = subject->native;
    Buf signature = buf_make_in(arena, BUF_UNLIMITED);
    subject_put_signature(subject, &signature);
    set(arena, map, "signature", value_string(buf_str(&signature)));
    List *params = list_new(arena, 4);
    /* The first one is the value itself, and not written as an argument. */
    for (uint32_t i = subject->kind == SUBJECT_GLOBAL ? 0 : 1; i < native_param_count(native);
         i++) {
        Map *param = map_new(arena, 2);
        set_text(arena, param, "name", native->params[i].name);
        set_text(arena, param, "default", native->params[i].fallback);
        list_push(arena, params, value_map(param));
    }
    set(arena, map, "parameters", value_list(params));
    set(arena, map, "more_arguments", value_bool((native->flags & NATIVE_VARIADIC) != 0));
    set(arena, map, "more_keywords", value_bool((native->flags & NATIVE_KEYWORDS) != 0));
    set(arena, map, "jinja2",
        value_bool(subject->kind == SUBJECT_METHOD || (native->flags & NATIVE_JINJA) != 0));
    set_text(arena, map, "help", native->help);
    set_text(arena, map, "example", native->example);
    set_text(arena, map, "shows", native->shows);
}

Value subject_value(Arena *arena, const Subject *subject)
{
    Map *map = map_new(arena, 12);
    set_text(arena, map, "kind", subject_topic_of(subject->kind)->one);
    set(arena, map, "name", value_string(subject->name));
    switch (subject->kind) {
    case SUBJECT_COMMAND: describe_command(arena, map, subject->command); break;
    case SUBJECT_ACTION: subject_action_describe(arena, subject, map); break;
    case SUBJECT_STEP_KEY:
        set_text(arena, map, "help", subject->step_key.help);
        set_text(arena, map, "text", subject->step_key.text);
        set_text(arena, map, "example", subject->step_key.example);
        break;
    case SUBJECT_FILTER:
    case SUBJECT_TEST:
    case SUBJECT_GLOBAL:
    case SUBJECT_METHOD: describe_native(arena, map, subject); break;
    case SUBJECT_SELECTOR:
        set_text(arena, map, "help", subject->form->help);
        set(arena, map, "expression", value_bool(subject->form->is_expression));
        break;
    case SUBJECT_SECRET: set_text(arena, map, "help", subject->secret->help); break;
    case SUBJECT_OBJECT_KIND: subject_kind_describe(arena, subject, map); break;
    case SUBJECT_CODE:
        set_text(arena, map, "help", subject->code->title);
        set_text(arena, map, "text", subject->code->text);
        break;
    case SUBJECT_EXIT_CODE:
        set_text(arena, map, "help", subject->exit->title);
        set_text(arena, map, "text", subject->exit->text);
        break;
    }
    return value_map(map);
}

Value subjects_value(Arena *arena, const Subjects *subjects)
{
    List *list = list_new(arena, subjects->len);
    for (uint32_t i = 0; i < subjects->len; i++) {
        list_push(arena, list, subject_value(arena, &subjects->items[i]));
    }
    return value_list(list);
}

static Value kind_value(Arena *arena, SubjectKind kind)
{
    Subjects all = { 0 };
    subjects_add_kind(arena, kind, &all);
    return subjects_value(arena, &all);
}

Value program_value(Arena *arena)
{
    Map *map = map_new(arena, 8);
    set_text(arena, map, "format", "eden.help/1");
    set_text(arena, map, "version", EDEN_VERSION);
    set(arena, map, "commands", kind_value(arena, SUBJECT_COMMAND));
    set(arena, map, "common_options", options_value(arena, common_options));
    List *topics = list_new(arena, 8);
    for (const SubjectTopic *row = subject_topics; row->name != NULL; row++) {
        Map *topic = map_new(arena, 3);
        set_text(arena, topic, "name", row->name);
        set_text(arena, topic, "help", row->help);
        set_text(arena, topic, "text", row->text);
        list_push(arena, topics, value_map(topic));
    }
    set(arena, map, "topics", value_list(topics));
    set(arena, map, "exit_codes", kind_value(arena, SUBJECT_EXIT_CODE));
    return value_map(map);
}
