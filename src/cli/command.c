/* The table of commands and what they share. */
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

const Option common_options[] = {
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
    [GROUP_SYSTEM] = "learn and set up",
};

const char *word_kind_name(WordKind kind)
{
    static const char *const names[] = {
        [WORD_TEXT] = "text",       [WORD_FILE] = "file",       [WORD_DIRECTORY] = "directory",
        [WORD_COMMAND] = "command", [WORD_TOPIC] = "topic",     [WORD_SUBJECT] = "subject",
        [WORD_FACT] = "fact",       [WORD_NODE] = "node",       [WORD_TOKEN] = "token",
        [WORD_ROLE] = "role",       [WORD_CONTEXT] = "context", [WORD_KIND] = "kind",
        [WORD_SETTING] = "setting",
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

const Option *option_find(const Command *command, Str name)
{
    const Option *lists[] = { command->options, common_options };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const Option *option = lists[i]; option != NULL && option->name != NULL; option++) {
            if (str_eq_c(name, option->name)) {
                return option;
            }
        }
    }
    return NULL;
}

const Option *option_find_letter(const Command *command, char letter)
{
    const Option *lists[] = { command->options, common_options };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const Option *option = lists[i]; option != NULL && option->name != NULL; option++) {
            if (option->letter == letter) {
                return option;
            }
        }
    }
    return NULL;
}

void option_put_help(const Option *option, Buf *out)
{
    Str rest = option->verbs == NULL ? STR_EMPTY : str_from_c(option->verbs), verb;
    while (option->verbs != NULL && str_split_next(&rest, '|', &verb)) {
        buf_put_format(out, "%" STR_FMT "%s", STR_ARG(verb), rest.len > 0 ? ", " : ": ");
    }
    buf_put_c(out, option->help);
}
