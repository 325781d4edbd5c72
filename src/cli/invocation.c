/* Parses a command line according to the rows of commands. Options may be anywhere after the
 * command; `--` ends them. Since they may also precede the verb, they are validated once the verb
 * is known. */
#include "cli/invocation.h"

#include "base/bug.h"
#include "base/problems.h"
#include "base/suggest.h"
#include "base/visible.h"
#include "cli/command_guess.h"
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
    const Option *option = option_find(invocation->command, invocation->verb, str_from_c(name));
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

/* The last -o wins, as in the real parser. */
bool args_request_json(int argc, char **argv)
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

/* Returns "", " nodes" or " nodes show". */
static Str command_text(const Invocation *invocation)
{
    Buf name = buf_make_in(invocation->arena, BUF_UNLIMITED);
    if (invocation->command != NULL) {
        buf_put_format(&name, " %s", invocation->command->name);
    }
    if (invocation->verb != NULL) {
        buf_put_format(&name, " %s", invocation->verb->name);
    }
    return buf_str(&name);
}

static void report_json(const Invocation *invocation, const UsageFault *faults, uint32_t count)
{
    Problems problems;
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    problems_init(&problems, invocation->arena);
    for (uint32_t i = 0; i < count; i++) {
        Str suggestion = faults[i].suggestion;
        Problem *problem =
            problems_add(&problems, "E0801", NULL, 0, 0, "%" STR_FMT, STR_ARG(faults[i].text));
        problem->hint = suggestion.len > 0
                            ? arena_format(invocation->arena, "did you mean '%" STR_FMT "'?",
                                           STR_ARG(suggestion))
                            : arena_format(invocation->arena, "see: eden help%" STR_FMT,
                                           STR_ARG(command_text(invocation)));
    }
    problems_print_json(&problems, &out);
    stream_put(invocation->out, buf_str(&out));
}

int usage_errors(const Invocation *invocation, const UsageFault *faults, uint32_t count)
{
    Str name = command_text(invocation);
    if (invocation_wants_json(invocation)) {
        report_json(invocation, faults, count);
        return EXIT_USAGE;
    }
    for (uint32_t i = 0; i < count; i++) {
        AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED), shown = buf_make(BUF_UNLIMITED);
        buf_put(&text, faults[i].text);
        if (faults[i].suggestion.len > 0) {
            buf_put_format(&text, "; did you mean '%" STR_FMT "'?", STR_ARG(faults[i].suggestion));
        }
        visible_put(&shown, buf_str(&text));
        stream_put_format(invocation->err, "eden%" STR_FMT ": ", STR_ARG(name));
        stream_put(invocation->err, buf_str(&shown));
        stream_put(invocation->err, STR("\n"));
    }
    stream_put_format(invocation->err, "  see: eden help%" STR_FMT "\n", STR_ARG(name));
    return EXIT_USAGE;
}

PRINTF_LIKE(3, 0)
static int report_usage(const Invocation *invocation, Str suggestion, const char *format,
                        va_list args)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format_v(&text, format, args);
    return usage_errors(invocation, &(UsageFault){ buf_str(&text), suggestion }, 1);
}

int usage_error(const Invocation *invocation, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = report_usage(invocation, STR_EMPTY, format, args);
    va_end(args);
    return code;
}

int usage_error_suggest(const Invocation *invocation, Str suggestion, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int code = report_usage(invocation, suggestion, format, args);
    va_end(args);
    return code;
}

/* Commands that have such a verb: "roles create, tokens create". */
static Str verbs_named(Arena *arena, const char *name)
{
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (verb_find(commands[i], str_from_c(name)) != NULL) {
            buf_put_format(&text, "%s%s %s", text.len > 0 ? ", " : "", commands[i]->name, name);
        }
    }
    return buf_str(&text);
}

int usage_error_command(const Invocation *invocation, const char *name)
{
    Str suggestion = command_guess(invocation->arena, str_from_c(name));
    Str several = suggestion.len > 0 ? STR_EMPTY : verbs_named(invocation->arena, name);
    return usage_error_suggest(invocation, suggestion, "unknown command '%s'%s%" STR_FMT, name,
                               several.len > 0 ? "; there is " : "", STR_ARG(several));
}

/* "jsonpath=EXPR" matches everything that starts with "jsonpath=". */
static bool fits_choice(Str choice, Str value)
{
    size_t equals = str_find(choice, STR("="), 0);
    return equals == STR_NOT_FOUND ? str_eq(choice, value)
                                   : str_starts(value, str_slice(choice, 0, equals + 1));
}

/* Whether `value` is one of "a|b|c"; if not, sets `suggestion` to the most similar one. */
static bool is_choice(const char *choices, const char *value, Str *suggestion)
{
    Suggest suggest = suggest_make(str_from_c(value));
    Str rest = str_from_c(choices), part;
    while (str_split_next(&rest, '|', &part)) {
        if (fits_choice(part, str_from_c(value))) {
            return true;
        }
        suggest_offer(&suggest, part);
    }
    *suggestion = STR_EMPTY;
    (void)suggest_found(&suggest, suggestion);
    return false;
}

/* Whether a different value was already given for an option that takes only one. If the option has
 * a default, the last value wins, which is useful with shell aliases; otherwise, as for a
 * directory, silently ignoring one of them would be wrong. */
static bool conflicts_with_given(const Invocation *invocation, const Option *option,
                                 const char *value)
{
    bool accepts_one = value != NULL && !option->repeats && option->fallback == NULL;
    for (uint32_t i = 0; accepts_one && i < invocation->given_count; i++) {
        if (invocation->given[i].option == option &&
            strcmp(invocation->given[i].value, value) != 0) {
            return true;
        }
    }
    return false;
}

/* The option is validated later, once the verb is known. */
static void add_given(Invocation *invocation, const Option *option, const char *value)
{
    invocation->given[invocation->given_count++] = (GivenOption){ option, value };
}

/* Whether `name` is a synonym of the option. */
static bool is_synonym(const Option *option, Str name)
{
    Str rest = str_from_c(option->synonyms), word;
    while (rest.len > 0 && str_split_next(&rest, '|', &word)) {
        if (str_eq(word, name)) {
            return true;
        }
    }
    return false;
}

static bool unknown_option(const Invocation *invocation, Str name)
{
    bool is_site_command =
        invocation->command->group == GROUP_AUTHOR || invocation->command->group == GROUP_OPERATE;
    Str instead = is_site_command ? foreign_word(NULL, FOREIGN_OPTION, STR_EMPTY, name) : STR_EMPTY;
    if (instead.len > 0) {
        usage_error(invocation, "unknown option '--%" STR_FMT "'; %" STR_FMT, STR_ARG(name),
                    STR_ARG(instead));
        return false;
    }
    Suggest suggest = suggest_make(name);
    Str suggestion = STR_EMPTY;
    for (OptionCursor at = { 0 }; option_next(invocation->command, NULL, &at);) {
        suggest_offer(&suggest, str_from_c(at.option->name));
        if (is_synonym(at.option, name)) {
            suggestion = str_from_c(at.option->name);
        }
    }
    if (suggestion.len > 0 || suggest_found(&suggest, &suggestion)) {
        suggestion = arena_format(invocation->arena, "--%" STR_FMT, STR_ARG(suggestion));
    }
    usage_error_suggest(invocation, suggestion, "unknown option '--%" STR_FMT "'", STR_ARG(name));
    return false;
}

static const char *indefinite_article(const char *word)
{
    return strchr("AEIOU", word[0]) != NULL ? "an" : "a";
}

/* --name, --name value, --name=value */
static bool parse_long(Invocation *invocation, char **argv, int argc, int *at)
{
    Str word = str_from_c(argv[*at] + 2);
    size_t equals = str_find(word, STR("="), 0);
    Str name = str_slice(word, 0, equals);
    const Option *option = option_find(invocation->command, NULL, name);
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
            usage_error(invocation, "--%s needs %s %s", option->name,
                        indefinite_article(option->argument), option->argument);
            return false;
        }
        value = argv[++*at];
    }
    add_given(invocation, option, value);
    return true;
}

/* "-" is standard input and "-1" is a number: no option starts with a digit. */
bool word_is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !ascii_is_digit(word[1]) && word[1] != '.';
}

/* The only option with a value that starts with the letter, such as "--label" for -l; otherwise
 * empty. */
static Str long_form(const Invocation *invocation, char letter)
{
    Str found = STR_EMPTY;
    for (OptionCursor at = { 0 }; option_next(invocation->command, NULL, &at);) {
        if (at.option->name[0] == letter && at.option->argument != NULL) {
            if (found.len > 0) {
                return STR_EMPTY;
            }
            found = arena_format(invocation->arena, "--%s", at.option->name);
        }
    }
    return found;
}

static bool unknown_letter(const Invocation *invocation, char letter, const char *word)
{
    const Command *command = invocation->command;
    bool accepts_args = command->verbs != NULL || command->args[0].usage != NULL;
    Str suggestion = long_form(invocation, letter);
    usage_error_suggest(invocation, suggestion, "unknown option '-%c' in '%s'%s", letter, word,
                        suggestion.len == 0 && accepts_args
                            ? "; put '--' before an argument that starts with '-'"
                            : "");
    return false;
}

/* -a, -ab, -ovalue, -o value */
static bool parse_short(Invocation *invocation, char **argv, int argc, int *at)
{
    for (const char *letter = argv[*at] + 1; *letter != '\0'; letter++) {
        const Option *option = option_find_letter(invocation->command, NULL, *letter);
        if (option == NULL) {
            return unknown_letter(invocation, *letter, argv[*at]);
        }
        if (option->argument == NULL) {
            add_given(invocation, option, NULL);
            continue;
        }
        bool is_last = *at + 1 >= argc;
        if (letter[1] != '\0') {
            add_given(invocation, option, letter + 1);
        } else if (option->flag_without_value != NULL &&
                   (is_last || word_is_option(argv[*at + 1]))) {
            option = option_find(invocation->command, NULL, str_from_c(option->flag_without_value));
            add_given(invocation, option, NULL);
        } else if (!is_last) {
            add_given(invocation, option, argv[++*at]);
        } else {
            usage_error(invocation, "-%c needs %s %s", *letter,
                        indefinite_article(option->argument), option->argument);
            return false;
        }
        return true;
    }
    return true;
}

static bool parse_words(Invocation *invocation, int argc, char **argv)
{
    bool only_args = false;
    for (int at = 0; at < argc; at++) {
        const char *word = argv[at];
        if (only_args || !word_is_option(word)) {
            invocation->args[invocation->arg_count++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_args = true;
        } else if (!(word[1] == '-' ? parse_long(invocation, argv, argc, &at)
                                    : parse_short(invocation, argv, argc, &at))) {
            return false;
        }
    }
    invocation->args[invocation->arg_count] = NULL;
    return true;
}

/* `test=True` is how Salt requests a plan. */
static bool too_many(const Invocation *invocation, const char *arg)
{
    Str name = str_slice(str_from_c(arg), 0, str_find(str_from_c(arg), STR("="), 0));
    Str instead =
        name.len == strlen(arg) ? STR_EMPTY : foreign_word(NULL, FOREIGN_OPTION, STR_EMPTY, name);
    usage_error(invocation, "unexpected argument '%s'%s%" STR_FMT, arg, instead.len > 0 ? "; " : "",
                STR_ARG(instead));
    return false;
}

/* The first argument is the verb; the others are arguments of the verb. */
static bool parse_verb(Invocation *invocation)
{
    const Command *command = invocation->command;
    Arena *arena = invocation->arena;
    Buf names = buf_make_in(arena, BUF_UNLIMITED);
    verbs_put(command, &names);
    if (invocation->arg_count == 0) {
        invocation->verb = verb_default(command);
        if (invocation->verb == NULL) {
            usage_error(invocation, "a verb is required: %s", buf_c(&names));
        }
        return invocation->verb != NULL;
    }
    const char *word = *invocation->args;
    invocation->verb = verb_find(command, str_from_c(word));
    if (invocation->verb == NULL) {
        Str suggestion = verb_guess(command, str_from_c(word));
        suggestion = suggestion.len == 0 ? suggestion
                                         : arena_format(arena, "eden %s %" STR_FMT, command->name,
                                                        STR_ARG(suggestion));
        usage_error_suggest(invocation, suggestion, "takes %s, not '%s'", buf_c(&names), word);
        return false;
    }
    invocation->args++;
    invocation->arg_count--;
    return true;
}

static void refuse_option(const Invocation *invocation, const char *name)
{
    Buf verbs = buf_make_in(invocation->arena, BUF_UNLIMITED);
    for (OptionCursor at = { 0 }; option_next(invocation->command, NULL, &at);) {
        if (strcmp(at.option->name, name) == 0) {
            option_put_verbs(invocation->command, at.verbs, "'", &verbs);
        }
    }
    usage_error(invocation, "option '--%s' applies to %s", name, buf_c(&verbs));
}

/* Resolves each option to the verb's own and checks it. */
static bool check_given(Invocation *invocation)
{
    uint32_t count = invocation->given_count;
    Str suggestion;
    for (invocation->given_count = 0; invocation->given_count < count; invocation->given_count++) {
        GivenOption *given = &invocation->given[invocation->given_count];
        const char *name = given->option->name, *value = given->value;
        const Option *option = option_find(invocation->command, invocation->verb, str_from_c(name));
        if (option == NULL) {
            refuse_option(invocation, name);
            return false;
        }
        if (value != NULL && option->choices != NULL &&
            !is_choice(option->choices, value, &suggestion)) {
            usage_error_suggest(invocation, suggestion, "--%s takes %s, not '%s'", name,
                                option->choices, value);
            return false;
        }
        if (conflicts_with_given(invocation, option, value)) {
            usage_error(invocation, "--%s takes one %s, but was given twice", name,
                        option->argument);
            return false;
        }
        given->option = option;
    }
    return true;
}

static bool check_args(const Invocation *invocation)
{
    const Argument *args =
        invocation->verb != NULL ? invocation->verb->args : invocation->command->args;
    uint32_t count = invocation->arg_count;
    Str suggestion;
    if (count > arguments_max(args)) {
        return too_many(invocation, invocation->args[arguments_max(args)]);
    }
    if (count < arguments_min(args)) {
        for (uint32_t left = count; argument_is_optional(args) || left-- > 0;) {
            args++;
        }
        bool is_repeated = count > 0 && str_eq(argument_name(args - 1), argument_name(args));
        usage_error(invocation, "%s%" STR_FMT " is required", is_repeated ? "another " : "",
                    STR_ARG(argument_name(args)));
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const char *choices = arguments_at(args, i)->choices;
        if (choices != NULL && !is_choice(choices, invocation->args[i], &suggestion)) {
            usage_error_suggest(invocation, suggestion, "takes %s, not '%s'", choices,
                                invocation->args[i]);
            return false;
        }
    }
    return true;
}

bool invocation_parse(Invocation *invocation, int argc, char **argv)
{
    const Command *command = invocation->command;
    size_t letters = 1; /* every letter of an argument could be an option */
    for (int i = 0; i < argc; i++) {
        letters += strlen(argv[i]);
    }
    invocation->args = ARENA_ARRAY(invocation->arena, const char *, (size_t)argc + 1);
    invocation->given = ARENA_ARRAY(invocation->arena, GivenOption, letters);
    if (!parse_words(invocation, argc, argv)) {
        return false;
    }
    if (invocation_flag(invocation, "help")) { /* --help takes precedence over all errors */
        invocation->verb =
            invocation->arg_count > 0 ? verb_find(command, str_from_c(*invocation->args)) : NULL;
        return true;
    }
    return (command->verbs == NULL || parse_verb(invocation)) && check_given(invocation) &&
           check_args(invocation);
}
