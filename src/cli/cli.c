/* From argv to a command's run function. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/help_text.h"

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
      .help = "color the output; auto: on a terminal, unless NO_COLOR is set" },
    { .name = "help", .letter = 'h', .help = "show this help" },
    { 0 },
};

const Command *command_find(Str name)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (str_eq_c(name, commands[i]->name)) {
            return commands[i];
        }
    }
    return NULL;
}

bool invocation_flag(const Invocation *invocation, const char *name)
{
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        if (strcmp(invocation->given[i].option->name, name) == 0) {
            return true;
        }
    }
    return false;
}

static const Option *find_option(const Option *options, Str name)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (str_eq_c(name, options->name)) {
            return options;
        }
    }
    return NULL;
}

static const Option *find_letter(const Option *options, char letter)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (options->letter == letter) {
            return options;
        }
    }
    return NULL;
}

const char *invocation_text(const Invocation *invocation, const char *name)
{
    const char *value = NULL;
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        if (strcmp(invocation->given[i].option->name, name) == 0) {
            value = invocation->given[i].value;
        }
    }
    if (value != NULL) {
        return value;
    }
    const Option *option = find_option(invocation->command->options, str_from_c(name));
    option = option != NULL ? option : find_option(common_options, str_from_c(name));
    BUG_IF(option == NULL);
    return option->fallback;
}

const char *invocation_next(const Invocation *invocation, const char *name, uint32_t *at)
{
    while (*at < invocation->given_count) {
        uint32_t i = (*at)++;
        if (strcmp(invocation->given[i].option->name, name) == 0) {
            return invocation->given[i].value;
        }
    }
    return NULL;
}

int usage_error(const Invocation *invocation, const char *format, ...)
{
    const char *name = invocation->command == NULL ? NULL : invocation->command->name;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "eden%s%s: ", name == NULL ? "" : " ", name == NULL ? "" : name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n  see: eden help%s%s\n", name == NULL ? "" : " ", name == NULL ? "" : name);
    va_end(args);
    return EXIT_USAGE;
}

/* Whether `value` is one of "a|b|c". */
static bool is_choice(const char *choices, const char *value)
{
    Str rest = str_from_c(choices), part;
    while (str_split_next(&rest, '|', &part)) {
        if (str_eq_c(part, value)) {
            return true;
        }
    }
    return false;
}

static bool add_given(Invocation *invocation, const Option *option, const char *value)
{
    invocation->given[invocation->given_count].option = option;
    invocation->given[invocation->given_count++].value = value;
    if (value != NULL && option->choices != NULL && !is_choice(option->choices, value)) {
        usage_error(invocation, "--%s takes %s, not '%s'", option->name, option->choices, value);
        return false;
    }
    return true;
}

static bool unknown_option(Invocation *invocation, Str name)
{
    Suggest best = suggest_make(name);
    const Option *lists[] = { invocation->command->options, common_options };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const Option *option = lists[i]; option != NULL && option->name != NULL; option++) {
            suggest_offer(&best, str_from_c(option->name));
        }
    }
    Str closest;
    if (suggest_found(&best, &closest)) {
        usage_error(invocation, "unknown option '--%" STR_FMT "'; did you mean '--%" STR_FMT "'?",
                    STR_ARG(name), STR_ARG(closest));
    } else {
        usage_error(invocation, "unknown option '--%" STR_FMT "'", STR_ARG(name));
    }
    return false;
}

/* --name, --name value, --name=value */
static bool take_long(Invocation *invocation, char **argv, int argc, int *at)
{
    Str word = str_from_c(argv[*at] + 2);
    size_t equals = str_find(word, STR("="), 0);
    Str name = equals == STR_NOT_FOUND ? word : str_slice(word, 0, equals);
    const Option *option = find_option(invocation->command->options, name);
    option = option != NULL ? option : find_option(common_options, name);
    if (option == NULL) {
        return unknown_option(invocation, name);
    }
    const char *value = equals == STR_NOT_FOUND ? NULL : argv[*at] + 2 + equals + 1;
    if (option->argument == NULL && value != NULL) {
        usage_error(invocation, "--%s takes no value", option->name);
        return false;
    }
    if (option->argument != NULL && value == NULL) {
        if (*at + 1 >= argc) {
            usage_error(invocation, "--%s needs a %s", option->name, option->argument);
            return false;
        }
        value = argv[++*at];
    }
    return add_given(invocation, option, value);
}

/* -a, -ab, -ovalue, -o value */
static bool take_short(Invocation *invocation, char **argv, int argc, int *at)
{
    for (const char *letter = argv[*at] + 1; *letter != '\0'; letter++) {
        const Option *option = find_letter(invocation->command->options, *letter);
        option = option != NULL ? option : find_letter(common_options, *letter);
        if (option == NULL) {
            usage_error(invocation, "unknown option '-%c'", *letter);
            return false;
        }
        if (option->argument == NULL) {
            if (!add_given(invocation, option, NULL)) {
                return false;
            }
            continue;
        }
        if (letter[1] != '\0') {
            return add_given(invocation, option, letter + 1);
        }
        if (*at + 1 >= argc) {
            usage_error(invocation, "-%c needs a %s", *letter, option->argument);
            return false;
        }
        return add_given(invocation, option, argv[++*at]);
    }
    return true;
}

static bool parse_words(Invocation *invocation, int argc, char **argv)
{
    bool only_args = false;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (only_args || word[0] != '-' || word[1] == '\0') {
            invocation->args[invocation->arg_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_args = true;
        } else if (!(word[1] == '-' ? take_long(invocation, argv, argc, &at)
                                    : take_short(invocation, argv, argc, &at))) {
            return false;
        }
    }
    return true;
}

static bool takes_color(const Invocation *invocation, int descriptor)
{
    const char *when = invocation_text(invocation, "color");
    if (strcmp(when, "auto") != 0) {
        return strcmp(when, "always") == 0;
    }
    const char *off = getenv("NO_COLOR");
    if (off != NULL && off[0] != '\0') {
        return false;
    }
    const char *forced[] = { getenv("FORCE_COLOR"), getenv("CLICOLOR_FORCE") };
    for (size_t i = 0; i < COUNT_OF(forced); i++) {
        if (forced[i] != NULL && forced[i][0] != '\0' && strcmp(forced[i], "0") != 0) {
            return true;
        }
    }
    const char *terminal = getenv("TERM");
    return isatty(descriptor) && terminal != NULL && strcmp(terminal, "dumb") != 0;
}

static int run_command(const Command *command, int argc, char **argv)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Invocation invocation = { .command = command, .arena = &arena };
    invocation.args = ARENA_ARRAY(&arena, const char *, (size_t)argc + 1);
    size_t letters = 1; /* each could be an option of its own */
    for (int i = 0; i < argc; i++) {
        letters += strlen(argv[i]);
    }
    invocation.given = arena_alloc(&arena, sizeof *invocation.given * letters);
    if (!parse_words(&invocation, argc, argv)) {
        return EXIT_USAGE;
    }
    invocation.color_out = takes_color(&invocation, STDOUT_FILENO);
    invocation.color_err = takes_color(&invocation, STDERR_FILENO);
    if (invocation_flag(&invocation, "help")) {
        return help_print_command(command);
    }
    if (invocation.arg_count < command->args_min) {
        return usage_error(&invocation, "%s is missing",
                           invocation.arg_count == 0 ? command->args : "an argument");
    }
    if (invocation.arg_count > command->args_max) {
        return usage_error(&invocation, "'%s' is one argument too many",
                           invocation.args[command->args_max]);
    }
    if (command->choices != NULL && invocation.arg_count > 0 &&
        !is_choice(command->choices, invocation.args[0])) {
        return usage_error(&invocation, "takes %s, not '%s'", command->choices, invocation.args[0]);
    }
    return command->run(&invocation);
}

static int unknown_command(const char *word)
{
    Suggest best = suggest_make(str_from_c(word));
    for (size_t i = 0; commands[i] != NULL; i++) {
        suggest_offer(&best, str_from_c(commands[i]->name));
    }
    Invocation nobody = { 0 };
    Str closest;
    if (suggest_found(&best, &closest)) {
        return usage_error(&nobody, "there is no command '%s'; did you mean '%" STR_FMT "'?", word,
                           STR_ARG(closest));
    }
    return usage_error(&nobody, "there is no command '%s'", word);
}

int cli_main(int argc, char **argv)
{
    if (argc < 2) {
        help_print_overview(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
        word = "help";
    } else if (strcmp(word, "-V") == 0 || strcmp(word, "--version") == 0) {
        word = "version";
    }
    const Command *command = command_find(str_from_c(word));
    if (command == NULL) {
        return unknown_command(word);
    }
    int code = run_command(command, argc - 2, argv + 2);
    /* What could not be written is a failure too: a full disk must not look like success. */
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "eden: cannot write to standard output\n");
        return code == EXIT_OK ? EXIT_FAILED : code;
    }
    return code;
}
