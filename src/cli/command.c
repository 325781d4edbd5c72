/* The table of commands, and lookups in it. */
#include "cli/command.h"

#define COMMAND(name) extern const Command command_##name;
#include "cli/commands.def"
#undef COMMAND

const Command *const commands[] = {
#define COMMAND(name) &command_##name,
#include "cli/commands.def"
#undef COMMAND
    NULL,
};

static const Option common_options[] = {
    { .name = "color",
      .argument = "WHEN",
      .choices = "auto|always|never",
      .fallback = "auto",
      .help = "color messages; auto: on a terminal, unless NO_COLOR is set" },
    { .name = "help", .letter = 'h', .help = "show this help" },
    { 0 },
};

const char *const command_group_titles[GROUP_COUNT] = {
    [GROUP_AUTHOR] = "write and check",
    [GROUP_OPERATE] = "apply and observe",
    [GROUP_CLUSTER] = "run a cluster",
    [GROUP_SYSTEM] = "get help and set up",
};

const char *word_kind_name(WordKind kind)
{
    static const char *const names[] = {
        [WORD_TEXT] = "text",       [WORD_FILE] = "file",       [WORD_DIRECTORY] = "directory",
        [WORD_COMMAND] = "command", [WORD_TOPIC] = "topic",     [WORD_SUBJECT] = "subject",
        [WORD_FACT] = "fact",       [WORD_NODE] = "node",       [WORD_TOKEN] = "token",
        [WORD_ROLE] = "role",       [WORD_CONTEXT] = "context", [WORD_KIND] = "kind",
        [WORD_SETTING] = "setting", [WORD_VERB] = "verb",       [WORD_RUN] = "run",
        [WORD_VERSION] = "version", [WORD_SOURCE] = "source",
    };
    return names[kind];
}

const Command *command_find(Str name)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        const char *alias = commands[i]->alias;
        if (str_eq_c(name, commands[i]->name) || (alias != NULL && str_eq_c(name, alias))) {
            return commands[i];
        }
    }
    return NULL;
}

const Verb *verb_find(const Command *command, Str name)
{
    for (const Verb *verb = command->verbs; verb != NULL && verb->name != NULL; verb++) {
        if (str_eq_c(name, verb->name) || (verb->alias != NULL && str_eq_c(name, verb->alias))) {
            return verb;
        }
    }
    return NULL;
}

const Verb *verb_default(const Command *command)
{
    return command->verbs != NULL && command->verbs->is_default ? command->verbs : NULL;
}

void verbs_put(const Command *command, Buf *out)
{
    for (const Verb *verb = command->verbs; verb->name != NULL; verb++) {
        buf_put_format(out, "%s%s", verb == command->verbs ? "" : "|", verb->name);
    }
}

/* --- Arguments ------------------------------------------------------------------------------- */

bool argument_is_optional(const Argument *argument)
{
    return argument->usage[0] == '[';
}

bool argument_repeats(const Argument *argument)
{
    return strstr(argument->usage, "...") != NULL;
}

Str argument_name(const Argument *argument)
{
    Str name = str_from_c(argument->usage);
    name = str_slice(name, argument_is_optional(argument), str_find(name, STR("]"), 0));
    return str_slice(name, 0, str_find(name, STR("..."), 0));
}

uint32_t arguments_min(const Argument *args)
{
    uint32_t min = 0;
    for (; args->usage != NULL; args++) {
        min += !argument_is_optional(args);
    }
    return min;
}

uint32_t arguments_max(const Argument *args)
{
    uint32_t max = 0;
    for (; args->usage != NULL; args++) {
        if (argument_repeats(args)) {
            return UINT32_MAX;
        }
        max++;
    }
    return max;
}

const Argument *arguments_at(const Argument *args, uint32_t position)
{
    for (; args->usage != NULL; args++) {
        if (position-- == 0 || argument_repeats(args)) {
            return args;
        }
    }
    return NULL;
}

void arguments_put(const Argument *args, Buf *out)
{
    for (; args->usage != NULL; args++) {
        buf_put_format(out, " %s", args->usage);
    }
}

void usage_put(const Command *command, const Verb *verb, const char *separator, Buf *out)
{
    if (verb == NULL && command->verbs != NULL) {
        for (verb = command->verbs; verb->name != NULL; verb++) {
            buf_put_c(out, verb == command->verbs ? "" : separator);
            usage_put(command, verb, separator, out);
        }
        return;
    }
    buf_put_format(out, "eden %s", command->name);
    if (verb != NULL) {
        buf_put_format(out, verb->is_default ? " [%s]" : " %s", verb->name);
    }
    buf_put_c(out, " [OPTION]...");
    arguments_put(verb == NULL ? command->args : verb->args, out);
}

/* --- Options --------------------------------------------------------------------------------- */

static uint32_t verb_count(const Command *command)
{
    uint32_t count = 0;
    while (command->verbs != NULL && command->verbs[count].name != NULL) {
        count++;
    }
    return count;
}

/* Bit i is set if the i-th verb has an option of this name. */
static uint32_t verbs_with(const Command *command, const char *name)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < verb_count(command); i++) {
        const Option *option = command->verbs[i].options;
        while (option != NULL && option->name != NULL && strcmp(option->name, name) != 0) {
            option++;
        }
        found |= (uint32_t)(option != NULL && option->name != NULL) << i;
    }
    return found;
}

/* Iterates over the options of the verbs, of the command, and the common ones, in this order. */
bool option_next(const Command *command, const Verb *verb, OptionCursor *cursor)
{
    uint32_t count = verb_count(command);
    for (; cursor->list < count + 2; cursor->list++, cursor->next = 0) {
        bool is_verb = cursor->list < count;
        const Verb *owner = is_verb ? &command->verbs[cursor->list] : NULL;
        const Option *list = is_verb                 ? owner->options
                             : cursor->list == count ? command->options
                                                     : common_options;
        if (list == NULL || (is_verb && verb != NULL && verb != owner)) {
            continue;
        }
        while (list[cursor->next].name != NULL) {
            const Option *option = &list[cursor->next++];
            uint32_t verbs = is_verb ? verbs_with(command, option->name) : 0;
            bool is_first = (verbs & ((1U << cursor->list) - 1)) == 0;
            if (verb != NULL || !is_verb || is_first) {
                cursor->option = option;
                cursor->verbs = verbs;
                cursor->is_common = cursor->list > count;
                return true;
            }
        }
    }
    return false;
}

bool option_next_group(const Command *command, OptionCursor *cursor)
{
    while (option_next(command, NULL, cursor)) {
        OptionCursor first = { 0 };
        while (option_next(command, NULL, &first) && first.verbs != cursor->verbs) {
        }
        if (first.option == cursor->option) {
            return true;
        }
    }
    return false;
}

const Option *option_find(const Command *command, const Verb *verb, Str name)
{
    for (OptionCursor at = { 0 }; option_next(command, verb, &at);) {
        if (str_eq_c(name, at.option->name)) {
            return at.option;
        }
    }
    for (const Option *option = command->internal_options; option != NULL && option->name != NULL;
         option++) {
        if (str_eq_c(name, option->name)) {
            return option;
        }
    }
    return NULL;
}

const Option *option_find_letter(const Command *command, const Verb *verb, char letter)
{
    for (OptionCursor at = { 0 }; option_next(command, verb, &at);) {
        if (at.option->letter == letter) {
            return at.option;
        }
    }
    return NULL;
}

void option_put_verbs(const Command *command, uint32_t verbs, const char *quote, Buf *out)
{
    const char *separator = "";
    for (uint32_t i = 0; verbs >> i != 0; i++) {
        if ((verbs >> i & 1) != 0) {
            buf_put_format(out, "%s%s%s%s", separator, quote, command->verbs[i].name, quote);
            uint32_t rest = verbs >> (i + 1);
            separator = (rest & (rest - 1)) == 0 ? " and " : ", ";
        }
    }
}

bool example_next(const Command *command, const Verb *verb, ExampleCursor *cursor)
{
    uint32_t count = verb_count(command);
    for (; cursor->list <= count; cursor->list++, cursor->next = 0) {
        const Verb *owner = cursor->list < count ? &command->verbs[cursor->list] : NULL;
        const Example *list = owner != NULL ? owner->examples : command->examples;
        bool is_selected = list != NULL && (verb == NULL || verb == owner);
        if (is_selected && list[cursor->next].command != NULL) {
            cursor->is_first = cursor->example == NULL;
            cursor->example = &list[cursor->next++];
            return true;
        }
    }
    return false;
}
