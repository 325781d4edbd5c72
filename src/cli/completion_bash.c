/* Bash: one function that looks at the word before the cursor and the command.
 *
 * Names of files are left to readline, which knows how to quote them: the script offers nothing
 * and the default takes over. Where no file makes sense the script turns that default off. */
#include "cli/command.h"
#include "cli/completion.h"

static const char *const script_start =
    "# Completion of eden for bash, made by `eden completion bash`. To use it:\n"
    "#     source <(eden completion bash)\n"
    "\n"
    "_eden_words()\n"
    "{\n"
    "    compopt +o default 2>/dev/null\n"
    "    COMPREPLY=($(compgen -W \"$1\" -- \"$2\"))\n"
    "}\n"
    "\n"
    "# The words so far say which server knows the names.\n"
    "_eden_live()\n"
    "{\n"
    "    _eden_words \"$(command eden complete \"$1\" -- \"${COMP_WORDS[@]}\" 2>/dev/null)\" "
    "\"$2\"\n"
    "}\n"
    "\n"
    "_eden()\n"
    "{\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    COMPREPLY=()\n"
    "    # --name=value arrives as three words.\n"
    "    if [[ $word == = ]]; then\n"
    "        word=\n"
    "    elif [[ $before == = ]]; then\n"
    "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n";

/* What completes a word of this kind, as a command of the shell. */
static void put_action(WordKind word, const char *choices, Buf *out)
{
    if (choices != NULL) {
        buf_put_c(out, "_eden_words '");
        completion_put_choices(choices, out);
        buf_put_c(out, "' \"$word\"");
        return;
    }
    switch (word) {
    case WORD_TEXT: buf_put_c(out, "_eden_words '' \"$word\""); return;
    case WORD_FILE: buf_put_c(out, ":"); return;
    case WORD_DIRECTORY: buf_put_c(out, "compopt +o default -o dirnames 2>/dev/null"); return;
    case WORD_COMMAND:
    case WORD_TOPIC:
    case WORD_FACT:
    case WORD_KIND:
    case WORD_SETTING:
        buf_put_c(out, "_eden_words '");
        completion_put_words(word, out);
        buf_put_c(out, "' \"$word\"");
        return;
    case WORD_SUBJECT:
        buf_put_c(out, "_eden_words \"$(command eden explain -o name 2>/dev/null)\" \"$word\"");
        return;
    case WORD_NODE:
    case WORD_TOKEN:
    case WORD_ROLE:
    case WORD_CONTEXT:
        buf_put_format(out, "_eden_live %s \"$word\"", completion_live(word));
        return;
    }
}

static void put_option_values(const Option *options, Buf *out)
{
    for (; options != NULL && options->name != NULL; options++) {
        if (options->argument == NULL) {
            continue;
        }
        buf_put_c(out, "        ");
        if (options->letter != 0) {
            buf_put_format(out, "-%c | ", options->letter);
        }
        buf_put_format(out, "--%s) ", options->name);
        put_action(options->word, options->choices, out);
        buf_put_c(out, "; return ;;\n");
    }
}

static void put_option_names(const Option *options, Buf *out)
{
    for (; options != NULL && options->name != NULL; options++) {
        buf_put_format(out, "--%s ", options->name);
        if (options->letter != 0) {
            buf_put_format(out, "-%c ", options->letter);
        }
    }
}

static void put_command(const Command *command, Buf *out)
{
    buf_put_format(out, "    %s%s%s)\n        case $before in\n", command->name,
                   command->alias != NULL ? " | " : "",
                   command->alias != NULL ? command->alias : "");
    put_option_values(command->options, out);
    put_option_values(common_options, out);
    buf_put_c(out, "        esac\n        if [[ $word == -* ]]; then\n            _eden_words '");
    put_option_names(command->options, out);
    put_option_names(common_options, out);
    out->len--; /* the last space */
    buf_put_c(out, "' \"$word\"\n            return\n        fi\n        ");
    bool more = command->choices != NULL && command->args_max > 1;
    if (more) { /* the choices are for the first argument only */
        buf_put_c(out, "if ((COMP_CWORD == 2)); then\n            ");
        put_action(command->word, command->choices, out);
        buf_put_c(out, "\n            return\n        fi\n        ");
    }
    put_action(command->args_max == 0 ? WORD_TEXT : command->word, more ? NULL : command->choices,
               out);
    buf_put_c(out, "\n        ;;\n");
}

void completion_write_bash(Buf *out)
{
    buf_put_c(out, script_start);
    buf_put_c(out, "    if ((COMP_CWORD == 1)); then\n        _eden_words '");
    completion_put_commands(out);
    buf_put_c(out, "' \"$word\"\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        put_command(commands[i], out);
    }
    buf_put_c(out, "    *) _eden_words '' \"$word\" ;;\n    esac\n}\n\n"
                   "complete -o default -F _eden eden\n");
}
