/* eden complete: prints the candidates for an incomplete command line, from the command table, for
 * the scripts of `eden completion`. */
#include "api/kind.h"
#include "base/bug.h"
#include "cli/cluster_client.h"
#include "cli/completion_names.h"
#include "cli/subject.h"
#include "facts/facts.h"

/* --- Parsing the line ------------------------------------------------------------------------ */

typedef struct Line {
    const Command *command;
    const Verb *verb;      /* NULL: not given yet */
    const char **args;     /* without the verb */
    uint32_t arg_count;    /* number of arguments before the last word */
    const Option *pending; /* option whose value the last word is */
    bool options_ended;    /* "--" was given */
    const char *last;
} Line;

static bool is_word_break(const char *word)
{
    return word[0] != '\0' && word[strspn(word, "=:")] == '\0';
}

/* Joins words that bash has split at "=" and ":". */
static const char **join_words(Arena *arena, const char **words, uint32_t *count)
{
    const char **joined = ARENA_ARRAY(arena, const char *, *count + 1);
    uint32_t end = 0;
    for (uint32_t i = 0; i < *count; i++) {
        bool continues = i > 1 && (is_word_break(words[i]) || is_word_break(words[i - 1]));
        if (continues) {
            Str word = arena_format(arena, "%s%s", joined[end - 1], words[i]);
            joined[end - 1] = arena_copy_c(arena, word);
        } else {
            joined[end++] = words[i];
        }
    }
    *count = end;
    return joined;
}

/* The option that takes the next word as its value; NULL if it does not take one. */
static const Option *pending_option(const Command *command, const char *word)
{
    if (word[1] == '-') {
        Str name = str_from_c(word + 2);
        const Option *option =
            str_find(name, STR("="), 0) == STR_NOT_FOUND ? option_find(command, NULL, name) : NULL;
        return option != NULL && option->argument != NULL ? option : NULL;
    }
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const Option *option = option_find_letter(command, NULL, *letter);
        if (option == NULL || option->argument != NULL) {
            return option != NULL && letter[1] == '\0' ? option : NULL;
        }
    }
    return NULL;
}

/* Parses everything between the command and the last word. */
static Line read_line(Arena *arena, const char **words, uint32_t count)
{
    Line line = { .command = command_find(str_from_c(words[1])),
                  .args = ARENA_ARRAY(arena, const char *, count),
                  .last = words[count - 1] };
    for (uint32_t i = 2; line.command != NULL && i + 1 < count; i++) {
        if (line.pending != NULL) {
            line.pending = NULL;
        } else if (!line.options_ended && strcmp(words[i], "--") == 0) {
            line.options_ended = true;
        } else if (!line.options_ended && word_is_option(words[i])) {
            line.pending = pending_option(line.command, words[i]);
        } else {
            line.args[line.arg_count++] = words[i];
        }
    }
    if (line.command != NULL && line.arg_count > 0) {
        line.verb = verb_find(line.command, str_from_c(*line.args));
    }
    if (line.verb != NULL) {
        line.args++;
        line.arg_count--;
    }
    return line;
}

/* --- Candidates ------------------------------------------------------------------------------ */

/* `prefix` is a prefix of the candidate, such as "--output=". */
static void put(Str prefix, const char *word, const char *suffix, const char *help, Buf *out)
{
    buf_put_format(out, "%" STR_FMT "%s%s%s%s\n", STR_ARG(prefix), word, suffix,
                   help == NULL ? "" : "\t", help == NULL ? "" : help);
}

static void put_commands(Buf *out)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        put(STR_EMPTY, commands[i]->name, "", commands[i]->help, out);
    }
}

static void put_topics(Buf *out)
{
    put_commands(out);
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        put(STR_EMPTY, topic->name, "", topic->help, out);
    }
}

static void put_verbs(const Command *command, Buf *out)
{
    const Verb *verb = command == NULL ? NULL : command->verbs;
    for (; verb != NULL && verb->name != NULL; verb++) {
        put(STR_EMPTY, verb->name, "", verb->help, out);
    }
}

static void put_subjects(Arena *arena, Buf *out)
{
    Subjects all = { 0 };
    subjects_add_all(arena, &all);
    for (uint32_t i = 0; i < all.len; i++) {
        put(all.items[i].name, "", "", subject_help(&all.items[i]), out);
    }
}

static void put_facts(Buf *out)
{
    for (size_t i = 0; facts[i] != NULL; i++) {
        put(STR_EMPTY, facts[i]->name, "", facts[i]->help, out);
    }
}

static void put_kinds(Buf *out)
{
    put(STR_EMPTY, "openapi", "", "the entire API", out);
    for (size_t i = 0; kinds[i] != NULL; i++) {
        put(STR_EMPTY, kinds[i]->name, "", kinds[i]->help, out);
    }
}

static void put_settings(Buf *out)
{
    for (const RecordField *field = kind_find(STR("Config"))->spec; field->name != NULL; field++) {
        put(STR_EMPTY, field->name, "=", field->help, out);
    }
}

static void put_contexts(Arena *arena, Buf *out)
{
    Contexts contexts;
    Error err;
    if (contexts_load(arena, contexts_directory(arena), &contexts, &err)) {
        for (uint32_t i = 0; i < contexts.count; i++) {
            buf_put_format(out, "%" STR_FMT "\n", STR_ARG(contexts.items[i].name));
        }
    }
    buf_put_c(out, CONTEXT_LOCAL "\n");
}

static void put_names(const Invocation *invocation, WordKind word, Buf *out)
{
    if (word == WORD_CONTEXT) {
        put_contexts(invocation->arena, out);
    } else {
        buf_put(out, completion_names_show(invocation, word));
    }
}

/* In a choice, everything after "=" is a placeholder. */
static void put_choices(Str prefix, const char *choices, Buf *out)
{
    Str rest = str_from_c(choices), choice;
    while (str_split_next(&rest, '|', &choice)) {
        size_t equals = str_find(choice, STR("="), 0);
        buf_put(out, prefix);
        buf_put(out, equals == STR_NOT_FOUND ? choice : str_slice(choice, 0, equals + 1));
        buf_put_char(out, '\n');
    }
}

static void put_words(const Invocation *invocation, const Line *line, WordKind word, Buf *out)
{
    switch (word) {
    case WORD_TEXT:
    case WORD_FILE:
    case WORD_DIRECTORY: return;
    case WORD_COMMAND: put_commands(out); return;
    case WORD_TOPIC: put_topics(out); return;
    case WORD_VERB: put_verbs(command_find(str_from_c(*line->args)), out); return;
    case WORD_SUBJECT: put_subjects(invocation->arena, out); return;
    case WORD_FACT: put_facts(out); return;
    case WORD_KIND: put_kinds(out); return;
    case WORD_SETTING: put_settings(out); return;
    case WORD_NODE:
    case WORD_TOKEN:
    case WORD_ROLE:
    case WORD_RUN:
    case WORD_VERSION:
    case WORD_SOURCE:
    case WORD_CONTEXT: put_names(invocation, word, out); return;
    }
}

/* Adds candidates for an argument or the value of an option, prefixed with `prefix`. */
static void put_value(const Invocation *invocation, const Line *line, WordKind word,
                      const char *choices, Str prefix, Buf *out)
{
    if (choices != NULL) {
        buf_put_c(out, "words\n");
        put_choices(prefix, choices, out);
        return;
    }
    buf_put_c(out, word == WORD_FILE        ? "files\n"
                   : word == WORD_DIRECTORY ? "directories\n"
                                            : "words\n");
    Buf words = buf_make_in(invocation->arena, BUF_UNLIMITED);
    put_words(invocation, line, word, &words);
    Str rest = buf_str(&words), one;
    while (str_split_next(&rest, '\n', &one)) {
        if (one.len > 0) {
            buf_put_format(out, "%" STR_FMT "%" STR_FMT "\n", STR_ARG(prefix), STR_ARG(one));
        }
    }
}

static void put_options(const Line *line, Buf *out)
{
    buf_put_c(out, "words\n");
    for (OptionCursor at = { 0 }; option_next(line->command, line->verb, &at);) {
        char letter[] = { at.option->letter, '\0' };
        put(STR("--"), at.option->name, "", at.option->help, out);
        if (at.option->letter != 0) {
            put(STR("-"), letter, "", at.option->help, out);
        }
    }
}

static void put_argument(const Invocation *invocation, const Line *line, Buf *out)
{
    bool is_unknown = line->command->verbs != NULL && line->verb == NULL;
    const Argument *args = line->verb != NULL ? line->verb->args : line->command->args;
    const Argument *argument = is_unknown ? NULL : arguments_at(args, line->arg_count);
    if (argument == NULL) {
        buf_put_c(out, "words\n");
    } else {
        put_value(invocation, line, argument->word, argument->choices, STR_EMPTY, out);
    }
}

/* The first line of output is the type of the last word: "words", "files" or "directories". After
 * "words", each candidate is one line: the word, a tab, and its help. Candidates are not filtered
 * by what was already typed. `invocation` selects the server to query for names. */
static void put_candidates(const Invocation *invocation, const char **words, uint32_t count,
                           Buf *out)
{
    words = join_words(invocation->arena, words, &count);
    Line line = { 0 };
    if (count > 2) {
        line = read_line(invocation->arena, words, count);
    }
    if (line.command == NULL) {
        buf_put_c(out, "words\n");
        if (count == 2) {
            put_commands(out);
        }
        return;
    }
    Str last = str_from_c(line.last);
    size_t equals = str_find(last, STR("="), 0);
    bool is_option =
        !line.options_ended && (word_is_option(line.last) || strcmp(line.last, "-") == 0);
    if (line.pending != NULL) {
        put_value(invocation, &line, line.pending->word, line.pending->choices, STR_EMPTY, out);
    } else if (is_option && equals != STR_NOT_FOUND) {
        const Option *option = option_find(line.command, NULL, str_slice(last, 2, equals));
        put_value(invocation, &line, option == NULL ? WORD_TEXT : option->word,
                  option == NULL ? NULL : option->choices, str_slice(last, 0, equals + 1), out);
    } else if (is_option) {
        put_options(&line, out);
    } else if (line.command->verbs != NULL && line.verb == NULL && line.arg_count == 0) {
        buf_put_c(out, "words\n");
        put_verbs(line.command, out);
    } else {
        put_argument(invocation, &line, out);
    }
}

/* --- Command --------------------------------------------------------------------------------- */

/* Maps "node", "token" ... to the kind. */
static WordKind kind_of(const char *name)
{
    static const WordKind live[] = { WORD_NODE, WORD_TOKEN,   WORD_ROLE,  WORD_CONTEXT,
                                     WORD_RUN,  WORD_VERSION, WORD_SOURCE };
    for (size_t i = 0; i < COUNT_OF(live); i++) {
        if (strcmp(word_kind_name(live[i]), name) == 0) {
            return live[i];
        }
    }
    BUG("not one of the argument's choices");
}

/* Returns the value of --NAME in an incomplete line, given as "--NAME VALUE", "--NAME=VALUE", or as
 * bash splits it: "--NAME", "=", "VALUE". NULL if not given. */
static const char *find_option_value(const Invocation *invocation, const char *name)
{
    const char *found = NULL;
    size_t len = strlen(name);
    for (uint32_t i = 1; i < invocation->arg_count; i++) {
        const char *word = invocation->args[i];
        if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, name, len) != 0) {
            continue;
        }
        if (word[2 + len] == '=') {
            found = word + 2 + len + 1;
        } else if (word[2 + len] == '\0' && i + 1 < invocation->arg_count) {
            bool is_separate = strcmp(invocation->args[i + 1], "=") == 0;
            found = !is_separate                    ? invocation->args[i + 1]
                    : i + 2 < invocation->arg_count ? invocation->args[i + 2]
                                                    : found;
        }
    }
    return found != NULL && found[0] != '\0' ? found : NULL;
}

/* Copies the server options of the incomplete line to this invocation. */
static Invocation with_server_options(const Invocation *invocation)
{
    static const char *const names[] = { "context", "run-dir" };
    Invocation query = *invocation;
    query.stale_warned = NULL; /* a warning would corrupt the line being edited */
    query.given =
        ARENA_ARRAY(invocation->arena, GivenOption, invocation->given_count + COUNT_OF(names));
    memcpy(query.given, invocation->given, invocation->given_count * sizeof(GivenOption));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = find_option_value(invocation, names[i]);
        if (value != NULL) {
            const Option *option = option_find(invocation->command, NULL, str_from_c(names[i]));
            query.given[query.given_count++] = (GivenOption){ option, value };
        }
    }
    return query;
}

static int complete_run(Invocation *invocation)
{
    const char *kind = invocation->args[0];
    Invocation query = with_server_options(invocation);
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    if (strcmp(kind, "line") == 0) {
        put_candidates(&query, invocation->args + 1, invocation->arg_count - 1, &text);
    } else if (invocation_flag(invocation, "refresh") && kind_of(kind) != WORD_CONTEXT) {
        completion_names_refresh(&query, kind_of(kind));
    } else {
        put_names(&query, kind_of(kind), &text);
    }
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static const Option options[] = {
    { .name = "refresh", .help = "refresh the cached names and print nothing" },
    CLUSTER_OPTIONS,
    { 0 },
};

static const Example examples[] = {
    { "eden complete line -- eden nodes ''", "print the words that can follow 'eden nodes'" },
    { "eden complete node -- eden nodes show we", "print the names of nodes" },
    { "eden complete context", "print the names of contexts" },
    { 0 },
};

const Command command_complete = {
    .name = "complete",
    .group = GROUP_SYSTEM,
    .args = { { "KIND", .choices = "line|node|token|role|context|run|version|source" },
              { "[WORD...]" } },
    .help = "Print completions for a command line.",
    .text = "Called by the scripts that 'eden completion' prints. With 'line', WORD... is the\n"
            "line up to the cursor; its last word is incomplete. The first line of the output\n"
            "is 'files' or 'directories' if that word is a path, otherwise 'words', followed\n"
            "by one candidate per line: the word, a tab, and its help.\n"
            "\n"
            "The other kinds print names: of contexts, or of objects on the server. --context\n"
            "and --run-dir among the words select the server. Names are cached in eden/ in\n"
            "XDG_CACHE_HOME or ~/.cache. Names older than 30 seconds are still printed, and\n"
            "refreshed in the background. If no server responds quickly, the cached names\n"
            "are printed.",
    .options = options,
    .examples = examples,
    .run = complete_run,
};
