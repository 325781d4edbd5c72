#include "cli/subject_value.h"
#include "cli/subject_action.h"
#include "cli/subject_kind.h"

static void set(Arena *arena, Map *map, const char *key, Value value)
{
    map_set_str(arena, map, str_from_c(key), value);
}

/* Sets a string, or null. */
static void set_text(Arena *arena, Map *map, const char *key, const char *text)
{
    set(arena, map, key, text == NULL ? value_null() : value_string(str_from_c(text)));
}

/* Sets a list of the words in "a|b|c", or null. */
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

/* Sets the verbs that have an option; null if all have it. */
static void set_verbs(Arena *arena, Map *map, const Command *command, uint32_t verbs)
{
    List *list = list_new(arena, 4);
    for (uint32_t i = 0; verbs >> i != 0; i++) {
        if ((verbs >> i & 1) != 0) {
            list_push(arena, list, value_string(str_from_c(command->verbs[i].name)));
        }
    }
    set(arena, map, "verbs", verbs == 0 ? value_null() : value_list(list));
}

static Value option_value(Arena *arena, const Command *command, const OptionCursor *at)
{
    const Option *option = at->option;
    Map *map = map_new(arena, 8);
    set_text(arena, map, "name", option->name);
    char *letter = arena_copy_c(arena, str_from(&option->letter, 1));
    set_text(arena, map, "letter", option->letter == 0 ? NULL : letter);
    set_text(arena, map, "argument", option->argument);
    set(arena, map, "repeats", value_bool(option->repeats));
    set_text(arena, map, "word", option->argument == NULL ? NULL : word_kind_name(option->word));
    set_words(arena, map, "choices", option->choices);
    set_verbs(arena, map, command, at->verbs);
    set_text(arena, map, "default", option->fallback);
    set_text(arena, map, "help", option->help);
    return value_map(map);
}

/* Returns either the common options or all others. */
static Value options_value(Arena *arena, const Command *command, bool common)
{
    List *list = list_new(arena, 8);
    for (OptionCursor at = { 0 }; option_next(command, NULL, &at);) {
        if (at.is_common == common) {
            list_push(arena, list, option_value(arena, command, &at));
        }
    }
    return value_list(list);
}

static void set_examples(Arena *arena, Map *map, const Command *command, const Verb *verb)
{
    List *examples = list_new(arena, 4);
    for (ExampleCursor at = { 0 }; example_next(command, verb, &at);) {
        Map *example = map_new(arena, 2);
        set_text(arena, example, "command", at.example->command);
        set_text(arena, example, "help", at.example->help);
        list_push(arena, examples, value_map(example));
    }
    set(arena, map, "examples", value_list(examples));
}

static void set_count(Arena *arena, Map *map, const char *key, uint32_t count)
{
    set(arena, map, key, count == UINT32_MAX ? value_null() : value_int(count));
}

static void set_positions(Arena *arena, Map *map, const Argument *args)
{
    List *list = list_new(arena, ARGUMENTS_MAX);
    for (; args->usage != NULL; args++) {
        Map *position = map_new(arena, 5);
        set(arena, position, "name", value_string(argument_name(args)));
        set(arena, position, "required", value_bool(!argument_is_optional(args)));
        set(arena, position, "repeats", value_bool(argument_repeats(args)));
        set_text(arena, position, "word", word_kind_name(args->word));
        set_words(arena, position, "choices", args->choices);
        list_push(arena, list, value_map(position));
    }
    set(arena, map, "positions", value_list(list));
}

/* Arguments of a command or verb. */
static void set_arguments(Arena *arena, Map *map, const Argument *args)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    arguments_put(args, &text);
    set(arena, map, "arguments", value_string(str_trim(buf_str(&text))));
    set_count(arena, map, "arguments_min", arguments_min(args));
    set_count(arena, map, "arguments_max", arguments_max(args));
    set_positions(arena, map, args);
}

/* For consumers that do not support verbs, describes the verb as the first argument of its
 * command. */
static void set_verb_arguments(Arena *arena, Map *map, const Command *command)
{
    bool has_default = verb_default(command) != NULL;
    WordKind word = WORD_TEXT;
    uint32_t max = 0;
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    verbs_put(command, &names);
    for (const Verb *verb = command->verbs; verb->name != NULL; verb++) {
        uint32_t takes = arguments_max(verb->args);
        max = takes > max ? takes : max;
        for (const Argument *at = verb->args; word == WORD_TEXT && at->usage != NULL; at++) {
            word = at->word;
        }
    }
    set(arena, map, "arguments",
        value_string(arena_format(arena, "%s%s%s [ARGUMENT...]", has_default ? "[" : "",
                                  buf_c(&names), has_default ? "]" : "")));
    set_count(arena, map, "arguments_min", !has_default);
    set_count(arena, map, "arguments_max", max == UINT32_MAX ? max : max + 1);
    set_positions(arena, map, command->args);
    set_text(arena, map, "word", word_kind_name(word));
    set_words(arena, map, "choices", buf_c(&names));
}

static Value verb_value(Arena *arena, const Command *command, const Verb *verb)
{
    Map *map = map_new(arena, 12);
    List *options = list_new(arena, 4);
    set_text(arena, map, "name", verb->name);
    set_text(arena, map, "alias", verb->alias);
    set(arena, map, "default", value_bool(verb->is_default));
    set_arguments(arena, map, verb->args);
    set_text(arena, map, "help", verb->help);
    set_text(arena, map, "text", verb->text);
    for (const Option *option = verb->options; option != NULL && option->name != NULL; option++) {
        list_push(arena, options, value_string(str_from_c(option->name)));
    }
    set(arena, map, "options", value_list(options));
    set_examples(arena, map, command, verb);
    return value_map(map);
}

static void describe_command(Arena *arena, Map *map, const Command *command)
{
    const Argument *args = command->args;
    List *verbs = list_new(arena, 4);
    set_text(arena, map, "alias", command->alias);
    set_text(arena, map, "group", command_group_titles[command->group]);
    if (command->verbs != NULL) {
        set_verb_arguments(arena, map, command);
    } else {
        set_arguments(arena, map, args);
        set_text(arena, map, "word", args->usage == NULL ? NULL : word_kind_name(args->word));
        set_words(arena, map, "choices", args->choices);
    }
    set_text(arena, map, "help", command->help);
    set_text(arena, map, "text", command->text);
    for (const Verb *verb = command->verbs; verb != NULL && verb->name != NULL; verb++) {
        list_push(arena, verbs, verb_value(arena, command, verb));
    }
    set(arena, map, "verbs", value_list(verbs));
    set(arena, map, "options", options_value(arena, command, false));
    set_examples(arena, map, command, NULL);
}

static void describe_native(Arena *arena, Map *map, const Subject *subject)
{
    const Native *native = subject->native;
    Buf signature = buf_make_in(arena, BUF_UNLIMITED);
    subject_put_signature(subject, &signature);
    set(arena, map, "signature", value_string(buf_str(&signature)));
    List *params = list_new(arena, 4);
    /* The first parameter is the value that the filter or method is applied to, not an argument. */
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
    set_text(arena, map, "shows", native->output);
}

Value subject_value(Arena *arena, const Subject *subject)
{
    Map *map = map_new(arena, 12);
    set_text(arena, map, "kind", subject_topic_of(subject->kind)->singular);
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
    set(arena, map, "common_options", options_value(arena, commands[0], true));
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
