/* Zsh: _arguments does the work; every option becomes one specification. */
#include "cli/command.h"
#include "cli/completion.h"
#include "cli/subject.h"

/* Inside single quotes and inside of a specification: quotes end the word, a backslash takes away
 * the meaning that colons and brackets have. */
static void put_text(const char *text, Buf *out)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            buf_put_c(out, "'\\''");
        } else {
            buf_put_c(out, strchr(":[]\\", *text) != NULL ? "\\" : "");
            buf_put_char(out, *text);
        }
    }
}

/* ":MESSAGE:ACTION" */
static void put_action(const char *message, WordKind word, const char *choices, Buf *out)
{
    buf_put_char(out, ':');
    put_text(message, out);
    buf_put_char(out, ':');
    if (choices != NULL) {
        buf_put_char(out, '(');
        completion_put_choices(choices, out);
        buf_put_char(out, ')');
        return;
    }
    switch (word) {
    case WORD_TEXT: buf_put_char(out, ' '); return;
    case WORD_FILE: buf_put_c(out, "_files"); return;
    case WORD_DIRECTORY: buf_put_c(out, "_files -/"); return;
    case WORD_COMMAND: buf_put_c(out, "_eden_commands"); return;
    case WORD_TOPIC: buf_put_c(out, "_eden_topics"); return;
    case WORD_SUBJECT: buf_put_c(out, "_eden_subjects"); return;
    case WORD_NODE: buf_put_c(out, "_eden_nodes"); return;
    case WORD_TOKEN: buf_put_c(out, "_eden_tokens"); return;
    case WORD_ROLE: buf_put_c(out, "_eden_roles"); return;
    case WORD_CONTEXT: buf_put_c(out, "_eden_contexts"); return;
    case WORD_FACT:
    case WORD_KIND:
    case WORD_SETTING:
        buf_put_char(out, '(');
        completion_put_words(word, out);
        buf_put_char(out, ')');
        return;
    }
}

/* '(-o --output)'{-o+,--output=}', or with a star instead when it may be repeated. */
static void put_option_name(const Option *option, Buf *out)
{
    const char *short_value = option->argument == NULL ? "" : "+";
    const char *long_value = option->argument == NULL ? "" : "=";
    buf_put_c(out, option->repeats ? "'*" : "'");
    if (option->letter == 0) {
        buf_put_format(out, "--%s%s", option->name, long_value);
        return;
    }
    if (!option->repeats) {
        buf_put_format(out, "(-%c --%s)", option->letter, option->name);
    }
    buf_put_format(out, "'{-%c%s,--%s%s}'", option->letter, short_value, option->name, long_value);
}

static void put_options(const Option *options, Buf *out)
{
    for (; options != NULL && options->name != NULL; options++) {
        buf_put_c(out, "            ");
        put_option_name(options, out);
        buf_put_char(out, '[');
        AUTO_CLEAR(Buf) help = buf_make(BUF_UNLIMITED);
        option_put_help(options, &help);
        put_text(buf_c(&help), out);
        buf_put_char(out, ']');
        if (options->argument != NULL) {
            put_action(options->argument, options->word, options->choices, out);
        }
        buf_put_c(out, "' \\\n");
    }
}

static void put_command(const Command *command, Buf *out)
{
    buf_put_format(out, "        (%s%s%s)\n            _arguments -s -S \\\n", command->name,
                   command->alias != NULL ? "|" : "", command->alias != NULL ? command->alias : "");
    put_options(command->options, out);
    put_options(common_options, out);
    buf_put_c(out, "            ");
    if (command->args_max > 0) {
        bool more = command->choices != NULL && command->args_max > 1;
        if (more) { /* the choices are for the first argument only */
            buf_put_c(out, "'1");
            put_action(command->args, command->word, command->choices, out);
            buf_put_c(out, "' ");
        }
        buf_put_c(out, command->args_max == 1 ? "'1" : "'*");
        put_action(command->args, command->word, more ? NULL : command->choices, out);
        buf_put_char(out, '\'');
    } else {
        buf_put_c(out, "&& return");
    }
    buf_put_c(out, "\n            ;;\n");
}

static void put_described(const char *name, const char *help, Buf *out)
{
    buf_put_c(out, "        '");
    put_text(name, out);
    buf_put_char(out, ':');
    put_text(help, out);
    buf_put_c(out, "'\n");
}

static void put_live(const char *name, WordKind word, Buf *out)
{
    buf_put_format(out,
                   "_eden_%s() {\n"
                   "    local -a names=(${(f)\"$(command eden complete %s -- \"${words[@]}\" "
                   "2>/dev/null)\"})\n"
                   "    compadd -a names\n}\n\n",
                   name, completion_live(word));
}

void completion_write_zsh(Buf *out)
{
    buf_put_c(out,
              "#compdef eden\n"
              "# Completion of eden for zsh, made by `eden completion zsh`. To use it, save it as\n"
              "# _eden in a directory of $fpath, or: source <(eden completion zsh)\n\n"
              "_eden_commands() {\n"
              "    local -a described=(\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        put_described(commands[i]->name, commands[i]->help, out);
    }
    buf_put_c(out, "    )\n    _describe -t commands command described\n}\n\n"
                   "_eden_topics() {\n    _eden_commands\n    local -a described=(\n");
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        put_described(topic->name, topic->help, out);
    }
    buf_put_c(out, "    )\n    _describe -t topics topic described\n}\n\n"
                   "_eden_subjects() {\n"
                   "    local -a names=(${(f)\"$(command eden explain -o name 2>/dev/null)\"})\n"
                   "    _describe -t subjects name names\n}\n\n");
    put_live("nodes", WORD_NODE, out);
    put_live("tokens", WORD_TOKEN, out);
    put_live("roles", WORD_ROLE, out);
    put_live("contexts", WORD_CONTEXT, out);
    buf_put_c(out,
              "_eden() {\n"
              "    local curcontext=$curcontext state line\n"
              "    typeset -A opt_args\n"
              "    _arguments -C '1:command:_eden_commands' '*::argument:->arguments' && return\n"
              "    [[ $state == arguments ]] || return\n"
              "    case $words[1] in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        put_command(commands[i], out);
    }
    buf_put_c(out, "    esac\n}\n\n"
                   "# Called by the completion system, or sourced?\n"
                   "if [[ $funcstack[1] == _eden ]]; then\n    _eden \"$@\"\nelse\n"
                   "    compdef _eden eden\nfi\n");
}
