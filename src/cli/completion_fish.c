/* Fish: one `complete` line per command and option, each with the condition when it holds. */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/subject.h"

/* A word in single quotes. */
static void put_quoted(const char *text, Buf *out)
{
    buf_put_char(out, '\'');
    for (; *text != '\0'; text++) {
        buf_put_c(out, *text == '\'' || *text == '\\' ? "\\" : "");
        buf_put_char(out, *text);
    }
    buf_put_char(out, '\'');
}

/* What completes a word of this kind, as options of `complete`. */
static void put_action(WordKind word, const char *choices, Buf *out)
{
    if (choices != NULL) {
        buf_put_c(out, " -f -a '");
        completion_put_choices(choices, out);
        buf_put_char(out, '\'');
        return;
    }
    switch (word) {
    case WORD_TEXT: buf_put_c(out, " -f"); return;
    case WORD_FILE: buf_put_c(out, " -F"); return;
    case WORD_DIRECTORY: buf_put_c(out, " -f -a '(__fish_complete_directories)'"); return;
    case WORD_COMMAND:
    case WORD_TOPIC:
    case WORD_FACT:
    case WORD_KIND:
    case WORD_SETTING:
        buf_put_c(out, " -f -a '");
        completion_put_words(word, out);
        buf_put_c(out, "'");
        return;
    case WORD_SUBJECT: buf_put_c(out, " -f -a '(command eden explain -o name)'"); return;
    case WORD_NODE:
    case WORD_TOKEN:
    case WORD_ROLE:
    case WORD_CONTEXT:
        buf_put_format(out, " -f -a '(command eden complete %s -- (commandline -opc) 2>/dev/null)'",
                       completion_live(word));
        return;
    }
}

/* When the command is this one, by either of its words. */
static void put_condition(const Command *command, const char *more, Buf *out)
{
    buf_put_format(out, "complete -c eden -n '__eden_runs %s%s%s%s'", command->name,
                   command->alias != NULL ? " " : "", command->alias != NULL ? command->alias : "",
                   more);
}

static void put_options(const Command *command, const Option *options, Buf *out)
{
    for (; options != NULL && options->name != NULL; options++) {
        put_condition(command, "", out);
        if (options->letter != 0) {
            buf_put_format(out, " -s %c", options->letter);
        }
        buf_put_format(out, " -l %s", options->name);
        if (options->argument != NULL) {
            buf_put_c(out, " -r");
            put_action(options->word, options->choices, out);
        }
        buf_put_c(out, " -d ");
        AUTO_CLEAR(Buf) help = buf_make(BUF_UNLIMITED);
        option_put_help(options, &help);
        put_quoted(buf_c(&help), out);
        buf_put_char(out, '\n');
    }
}

void completion_write_fish(Buf *out)
{
    buf_put_c(out, "# Completion of eden for fish, made by `eden completion fish`. To use it:\n"
                   "#     eden completion fish >~/.config/fish/completions/eden.fish\n\n"
                   "function __eden_runs\n"
                   "    set -l words (commandline -opc)\n"
                   "    test (count $words) -gt 1; and contains -- $words[2] $argv\n"
                   "end\n\n"
                   "function __eden_first\n"
                   "    test (count (commandline -opc)) -eq 2\n"
                   "end\n\n"
                   "function __eden_runs_nothing\n"
                   "    test (count (commandline -opc)) -eq 1\n"
                   "end\n\n"
                   "complete -c eden -e\n"
                   "complete -c eden -f\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        const Command *command = commands[i];
        buf_put_format(out, "complete -c eden -n __eden_runs_nothing -a %s -d ", command->name);
        put_quoted(command->help, out);
        buf_put_char(out, '\n');
        put_options(command, command->options, out);
        put_options(command, common_options, out);
        if (command->args_max > 0 && (command->word != WORD_TEXT || command->choices != NULL)) {
            bool more = command->choices != NULL && command->args_max > 1;
            put_condition(command, more ? "; and __eden_first" : "", out);
            put_action(command->word, command->choices, out);
            buf_put_char(out, '\n');
            if (more) { /* the choices are for the first argument only */
                put_condition(command, "; and not __eden_first", out);
                put_action(command->word, NULL, out);
                buf_put_char(out, '\n');
            }
        }
    }
}
