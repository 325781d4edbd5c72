/* Parsing by the rows: options anywhere behind the command, `--` before what only looks like one. */
#include "cli/invocation.h"

#include "base/bug.h"
#include "base/problems.h"
#include "base/suggest.h"
#include "base/visible.h"
#include "cli/command_guess.h"
#include "cli/synonyms.h"
#include "model/foreign.h"

bool invocation_flag(const Invocation *invocation, const char *name)
{
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        if (strcmp(invocation->given[i].option->name, name) == 0) {
            return true;
        }
    }
    return false;
}

const char *invocation_text(const Invocation *invocation, const char *name)
{
    for (uint32_t i = invocation->given_count; i-- > 0;) {
        if (strcmp(invocation->given[i].option->name, name) == 0) {
            return invocation->given[i].value;
        }
    }
    const Option *option = option_find(invocation->command, str_from_c(name));
    BUG_IF(option == NULL);
    return option->fallback;
}

const char **invocation_texts(const Invocation *invocation, const char *name, uint32_t *count)
{
    const char **texts = ARENA_ARRAY(invocation->arena, const char *, invocation->given_count + 1);
    *count = 0;
    for (uint32_t i = 0; i < invocation->given_count; i++) {
        if (strcmp(invocation->given[i].option->name, name) == 0) {
            texts[(*count)++] = invocation->given[i].value;
        }
    }
    return texts;
}

bool invocation_prints(const Invocation *invocation, const char *format)
{
    return strcmp(invocation_text(invocation, "output"), format) == 0;
}

bool invocation_wants_json(const Invocation *invocation)
{
    return invocation->json;
}

/* The last one counts, as when they are parsed. */
bool words_ask_for_json(int argc, char **argv)
{
    bool json = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        Str word = str_from_c(argv[i]);
        bool next = str_eq(word, STR("-o")) || str_eq(word, STR("--output"));
        if (next && i + 1 < argc) {
            json = strcmp(argv[++i], "json") == 0;
        } else if (str_starts(word, STR("--output="))) {
            json = str_ends(word, STR("=json"));
        } else if (str_starts(word, STR("-o"))) {
            json = str_eq(word, STR("-ojson"));
        }
    }
    return json;
}

static void tell_json(const Invocation *invocation, const UsageFault *faults, uint32_t count)
{
    Str name = invocation->command == NULL ? STR_EMPTY : str_from_c(invocation->command->name);
    Problems problems;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    problems_init(&problems, invocation->arena);
    for (uint32_t i = 0; i < count; i++) {
        Str near = faults[i].near;
        Problem *problem =
            problems_add(&problems, "E0801", NULL, 0, 0, "%" STR_FMT, STR_ARG(faults[i].text));
        problem->hint =
            near.len > 0
                ? arena_format(invocation->arena, "did you mean '%" STR_FMT "'?", STR_ARG(near))
                : str_trim(
                      arena_format(invocation->arena, "see: eden help %" STR_FMT, STR_ARG(name)));
    }
    problems_print_json(&problems, &out);
    stream_put(invocation->out, buf_str(&out));
}

int usage_errors(const Invocation *invocation, const UsageFault *faults, uint32_t count)
{
    bool named = invocation->command != NULL;
    const char *between = named ? " " : "";
    const char *name = named ? invocation->command->name : "";
    if (invocation_wants_json(invocation)) {
        tell_json(invocation, faults, count);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < count; i++) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED), shown = buf_make(BUF_UNLIMITED);
        buf_put(&text, faults[i].text);
        if (faults[i].near.len > 0) {
            buf_put_format(&text, "; did you mean '%" STR_FMT "'?", STR_ARG(faults[i].near));
        }
        visible_put(&shown, buf_str(&text));
        stream_put_format(invocation->err, "eden%s%s: ", between, name);
        stream_put(invocation->err, buf_str(&shown));
        stream_put(invocation->err, STR("\n"));
    }
    stream_put_format(invocation->err, "  see: eden help%s%s\n", between, name);
    return EXIT_USAGE;
}

PRINTF_LIKE(3, 0)
static int tell(const Invocation *invocation, Str near, const char *format, va_list args)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format_v(&text, format, args);
    return usage_errors(invocation, &(UsageFault){ buf_str(&text), near }, 1);
}

int usage_error(const Invocation *invocation, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = tell(invocation, STR_EMPTY, format, args);
    va_end(args);
    return code;
}

int usage_error_near(const Invocation *invocation, Str near, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = tell(invocation, near, format, args);
    va_end(args);
    return code;
}

/* Where an operation stands that several commands have: "roles create, tokens create". */
static Str operations_text(Arena *arena, const char *name)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; commands[i] != NULL; i++) {
        Str rest = str_from_c(commands[i]->choices == NULL ? "" : commands[i]->choices), one;
        while (str_split_next(&rest, '|', &one)) {
            if (str_eq_c(one, name)) {
                buf_put_format(&text, "%s%s %s", text.len > 0 ? ", " : "", commands[i]->name, name);
            }
        }
    }
    return buf_str(&text);
}

int usage_error_command(const Invocation *invocation, const char *name)
{
    Str near = command_guess(invocation->arena, str_from_c(name));
    Str several = near.len > 0 ? STR_EMPTY : operations_text(invocation->arena, name);
    return usage_error_near(invocation, near, "there is no command '%s'%s%" STR_FMT, name,
                            several.len > 0 ? "; there is " : "", STR_ARG(several));
}

/* "jsonpath=EXPR" stands for whatever begins with "jsonpath=". */
static bool fits_choice(Str choice, Str value)
{
    size_t equals = str_find(choice, STR("="), 0);
    return equals == STR_NOT_FOUND ? str_eq(choice, value)
                                   : str_starts(value, str_slice(choice, 0, equals + 1));
}

/* Whether `value` is one of "a|b|c"; if not, the nearest of them goes to `near`. */
static bool is_choice(const char *choices, const char *value, Str *near)
{
    Suggest suggest = suggest_make(str_from_c(value));
    Str rest = str_from_c(choices), part;
    while (str_split_next(&rest, '|', &part)) {
        if (fits_choice(part, str_from_c(value))) {
            return true;
        }
        suggest_offer(&suggest, part);
    }
    *near = STR_EMPTY;
    (void)suggest_found(&suggest, near);
    return false;
}

/* Two values for an option that takes one. Of those with a default the last one wins, which suits an
 * alias in the shell; of others, as a directory, neither is silently ignored. */
static bool contradicts(const Invocation *invocation, const Option *option, const char *value)
{
    bool takes_one = value != NULL && !option->repeats && option->fallback == NULL;
    for (uint32_t i = 0; takes_one && i < invocation->given_count; i++) {
        if (invocation->given[i].option == option &&
            strcmp(invocation->given[i].value, value) != 0) {
            return true;
        }
    }
    return false;
}

static bool add_given(Invocation *invocation, const Option *option, const char *value)
{
    Str near;
    if (value != NULL && option->choices != NULL && !is_choice(option->choices, value, &near)) {
        usage_error_near(invocation, near, "--%s takes %s, not '%s'", option->name, option->choices,
                         value);
        return false;
    }
    if (contradicts(invocation, option, value)) {
        usage_error(invocation, "--%s is given twice, and takes one %s", option->name,
                    option->argument);
        return false;
    }
    invocation->given[invocation->given_count++] = (Given){ option, value };
    return true;
}

/* By others. */
static bool is_called(const Option *option, Str name)
{
    Str rest = str_from_c(option->also), word;
    while (rest.len > 0 && str_split_next(&rest, '|', &word)) {
        if (str_eq(word, name)) {
            return true;
        }
    }
    return false;
}

static bool unknown_option(const Invocation *invocation, Str name)
{
    bool is_of_sites =
        invocation->command->group == GROUP_AUTHOR || invocation->command->group == GROUP_OPERATE;
    Str instead = is_of_sites ? foreign_word(NULL, FOREIGN_OPTION, STR_EMPTY, name) : STR_EMPTY;
    if (instead.len > 0) {
        usage_error(invocation, "unknown option '--%" STR_FMT "'; %" STR_FMT, STR_ARG(name),
                    STR_ARG(instead));
        return false;
    }
    Suggest suggest = suggest_make(name);
    Str near = STR_EMPTY;
    const Option *lists[] = { invocation->command->options, common_options };
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const Option *option = lists[i]; option != NULL && option->name != NULL; option++) {
            suggest_offer(&suggest, str_from_c(option->name));
            if (is_called(option, name)) {
                near = str_from_c(option->name);
            }
        }
    }
    if (near.len > 0 || suggest_found(&suggest, &near)) {
        near = arena_format(invocation->arena, "--%" STR_FMT, STR_ARG(near));
    }
    usage_error_near(invocation, near, "unknown option '--%" STR_FMT "'", STR_ARG(name));
    return false;
}

static const char *article(const char *word)
{
    return strchr("AEIOU", word[0]) != NULL ? "an" : "a";
}

/* --name, --name value, --name=value */
static bool take_long(Invocation *invocation, char **argv, int argc, int *at)
{
    Str word = str_from_c(argv[*at] + 2);
    size_t equals = str_find(word, STR("="), 0);
    Str name = str_slice(word, 0, equals);
    const Option *option = option_find(invocation->command, name);
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
            usage_error(invocation, "--%s needs %s %s", option->name, article(option->argument),
                        option->argument);
            return false;
        }
        value = argv[++*at];
    }
    return add_given(invocation, option, value);
}

/* "-" is standard input and -1 a number: no option is a digit. */
static bool looks_like_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !ascii_is_digit(word[1]) && word[1] != '.';
}

/* The only option with a value that begins with the letter, as "--label" for -l; else empty. */
static Str long_form(const Invocation *invocation, char letter)
{
    const Option *lists[] = { invocation->command->options, common_options };
    Str found = STR_EMPTY;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        for (const Option *option = lists[i]; option != NULL && option->name != NULL; option++) {
            if (option->name[0] == letter && option->argument != NULL) {
                if (found.len > 0) {
                    return STR_EMPTY;
                }
                found = arena_format(invocation->arena, "--%s", option->name);
            }
        }
    }
    return found;
}

/* -a, -ab, -ovalue, -o value */
static bool take_short(Invocation *invocation, char **argv, int argc, int *at)
{
    for (const char *letter = argv[*at] + 1; *letter != '\0'; letter++) {
        const Option *option = option_find_letter(invocation->command, *letter);
        if (option == NULL) {
            Str near = long_form(invocation, *letter);
            usage_error_near(invocation, near, "unknown option '-%c' in '%s'%s", *letter, argv[*at],
                             near.len == 0 && invocation->command->args_max > 0
                                 ? "; put '--' before an argument that starts with '-'"
                                 : "");
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
        bool alone = *at + 1 >= argc || looks_like_option(argv[*at + 1]);
        if (alone && option->alone != NULL) {
            option = option_find(invocation->command, str_from_c(option->alone));
            return add_given(invocation, option, NULL);
        }
        if (*at + 1 >= argc) {
            usage_error(invocation, "-%c needs %s %s", *letter, article(option->argument),
                        option->argument);
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
        if (only_args || !looks_like_option(word)) {
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

/* `test=True` is how Salt is asked for a plan. */
static bool too_many(const Invocation *invocation, const char *arg)
{
    Str name = str_slice(str_from_c(arg), 0, str_find(str_from_c(arg), STR("="), 0));
    Str instead =
        name.len == strlen(arg) ? STR_EMPTY : foreign_word(NULL, FOREIGN_OPTION, STR_EMPTY, name);
    usage_error(invocation, "'%s' is one argument too many%s%" STR_FMT, arg,
                instead.len > 0 ? "; " : "", STR_ARG(instead));
    return false;
}

bool invocation_parse(Invocation *invocation, int argc, char **argv)
{
    size_t letters = 1; /* each could be an option of its own */
    for (int i = 0; i < argc; i++) {
        letters += strlen(argv[i]);
    }
    invocation->args = ARENA_ARRAY(invocation->arena, const char *, (size_t)argc + 1);
    invocation->given = ARENA_ARRAY(invocation->arena, Given, letters);
    const Command *command = invocation->command;
    if (!parse_words(invocation, argc, argv)) {
        return false;
    }
    if (invocation_flag(invocation, "help")) {
        return true; /* whatever else is missing */
    }
    Str near;
    if (invocation->arg_count < command->args_min) {
        if (invocation->arg_count == 0 && command->choices != NULL) {
            usage_error(invocation, "one of %s is missing", command->choices);
        } else if (invocation->arg_count == 0) {
            usage_error(invocation, "%s is missing", command->args);
        } else {
            usage_error(invocation, "takes %s; something is missing", command->args);
        }
        return false;
    }
    if (invocation->arg_count > command->args_max) {
        return too_many(invocation, invocation->args[command->args_max]);
    }
    if (command->choices != NULL && invocation->arg_count > 0 &&
        !is_choice(command->choices, invocation->args[0], &near)) {
        near = synonym_or_near(str_from_c(invocation->args[0]), command->choices);
        near = near.len == 0 ? near
                             : arena_format(invocation->arena, "eden %s %" STR_FMT, command->name,
                                            STR_ARG(near));
        usage_error_near(invocation, near, "takes %s, not '%s'", command->choices,
                         invocation->args[0]);
        return false;
    }
    return true;
}
