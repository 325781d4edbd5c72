/* eden man: the manual, from the rows: pages in mdoc(7), which man(1) shows. */
#include "cli/exit_codes.h"
#include "cli/help_text.h"
#include "cli/invocation.h"
#include "cli/subject.h"
#include "sys/file.h"

enum {
    LINE_WIDTH = 78
};

/* Text that means itself: a backslash would start an escape. */
static void put_plain(Str text, Buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\\') {
            buf_put_c(out, "\\e");
        } else {
            buf_put_char(out, text.data[i]);
        }
    }
}

/* One line that is shown as it is; a dot or quote at its start would begin a macro. */
static void put_line(Str line, Buf *out)
{
    if (line.len > 0 && (line.data[0] == '.' || line.data[0] == '\'')) {
        buf_put_c(out, "\\&");
    }
    put_plain(line, out);
    buf_put_char(out, '\n');
}

/* The length of the line of running text that `text` starts with: as many words as fit, and never
 * more than a sentence, because roff wants each sentence to begin a line. */
static size_t line_length(Str text)
{
    size_t end = 0;
    for (size_t at = 0; at < text.len && at < LINE_WIDTH; at++) {
        char next = at + 1 < text.len ? text.data[at + 1] : ' ';
        if (next == ' ') {
            end = at + 1;
            if (text.data[at] == '.' || text.data[at] == '?' || text.data[at] == '!') {
                break;
            }
        }
    }
    return end == 0 ? text.len : end;
}

static void put_running(Str text, Buf *out)
{
    while (text.len > 0) {
        size_t length = line_length(text);
        put_line(str_slice(text, 0, length), out);
        text = str_trim(str_from_offset(text, length));
    }
}

/* Help of a row that starts small and has no full stop, as a sentence. */
static void put_sentence(const char *help, Buf *out)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%c%s.", ascii_upper(help[0]), help + 1);
    put_running(buf_str(&text), out);
}

/* The lines of `text` up to an empty one, cut off it, as one line or, if they are indented, as
 * they are. */
static void put_paragraph(Str *text, Buf *out)
{
    AUTO_CLEAR(Buf) words = buf_make(BUF_UNLIMITED);
    Str line;
    bool code = str_starts(*text, STR("    "));
    buf_put_c(out, code ? ".Bd -literal -offset indent\n" : "");
    while (str_split_next(text, '\n', &line) && line.len > 0) {
        if (code) {
            put_line(str_from_offset(line, 4), out);
        } else {
            buf_put_format(&words, "%" STR_FMT " ", STR_ARG(line));
        }
    }
    put_running(str_trim(buf_str(&words)), out);
    buf_put_c(out, code ? ".Ed\n" : "");
}

static void put_text(const char *text, Buf *out)
{
    Str rest = str_from_c(text);
    for (bool first = true; rest.len > 0; first = false) {
        buf_put_c(out, first || str_starts(rest, STR("    ")) ? "" : ".Pp\n");
        put_paragraph(&rest, out);
    }
}

/* "eden.1", "eden-render.1"; NULL is the overview. */
static void put_page_name(const Command *command, Buf *out)
{
    buf_put_format(out, "eden%s%s.1", command == NULL ? "" : "-",
                   command == NULL ? "" : command->name);
}

static void put_head(const char *command, const char *help, Buf *out)
{
    buf_put_c(out, ".\\\" Made by `eden man`.\n.Dd " EDEN_DATE "\n.Dt EDEN");
    for (const char *c = command; *c != '\0'; c++) {
        buf_put_char(out, ascii_upper(*c));
    }
    /* In NAME a page is described without capital letter and full stop. */
    Str text = str_from_c(help);
    buf_put_format(out, " 1\n.Os\n.Sh NAME\n.Nm eden%s\n.Nd %c", command,
                   ascii_lower(text.data[0]));
    put_plain(str_slice(text, 1, text.len - str_ends(text, STR("."))), out);
    buf_put_char(out, '\n');
}

static void put_exit_status(Buf *out)
{
    buf_put_c(out, ".Sh EXIT STATUS\n.Bl -tag -width Ds\n");
    for (const ExitRow *row = exit_rows; row->code != NULL; row++) {
        buf_put_format(out, ".It %s\n", row->code);
        put_sentence(row->title, out);
        put_text(row->text, out);
    }
    buf_put_c(out, ".El\n");
}

static void put_environment(Buf *out)
{
    buf_put_c(out, ".Sh ENVIRONMENT\n"
                   ".Bl -tag -width Ds\n"
                   ".It Ev NO_COLOR\n"
                   "If set and not empty, messages are not colored.\n"
                   ".It Ev FORCE_COLOR , CLICOLOR_FORCE\n"
                   "If set, not empty and not 0, messages are colored even when output is not to\n"
                   "watch.\n"
                   ".It Ev TERM\n"
                   "A dumb terminal gets no colors.\n"
                   ".El\n");
}

static void put_overview(Buf *out)
{
    put_head("", "Configure servers and keep them in the desired state.", out);
    buf_put_c(out, ".Sh SYNOPSIS\n"
                   ".Nm eden\n"
                   ".Ar command\n"
                   ".Op Ar option ...\n"
                   ".Op Ar argument ...\n"
                   ".Sh DESCRIPTION\n"
                   "Options stand behind the command, before or behind its arguments.\n"
                   "What follows\n"
                   ".Fl -\n"
                   "is never an option.\n"
                   "Data goes to standard output, everything else to standard error.\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        buf_put_format(out, ".Pp\nCommands to %s:\n.Bl -tag -width Ds\n",
                       command_group_titles[group]);
        for (size_t i = 0; commands[i] != NULL; i++) {
            if ((int)commands[i]->group == group) {
                buf_put_format(out, ".It Xr eden-%s 1\n", commands[i]->name);
                put_text(commands[i]->help, out);
            }
        }
        buf_put_c(out, ".El\n");
    }
    buf_put_c(out, ".Pp\nTopics of\n.Cm eden help :\n.Bl -tag -width Ds\n");
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        buf_put_format(out, ".It Cm %s\n", topic->name);
        put_sentence(topic->help, out);
    }
    buf_put_c(out, ".El\n");
    put_environment(out);
    put_exit_status(out);
}

static void put_option(const Option *option, Buf *out)
{
    buf_put_c(out, ".It ");
    if (option->letter != 0) {
        buf_put_format(out, "Fl %c , ", option->letter);
    }
    buf_put_format(out, "Fl -%s", option->name);
    if (option->argument != NULL) {
        buf_put_format(out, " Ar %s", option->argument);
    }
    buf_put_char(out, '\n');
    put_sentence(option->help, out);
    if (option->choices != NULL) {
        buf_put_c(out, "One of");
        Str rest = str_from_c(option->choices), part;
        while (str_split_next(&rest, '|', &part)) {
            buf_put_format(out, "\n.Cm %" STR_FMT "%s", STR_ARG(part),
                           rest.len > 0 ? " ," : " .\n");
        }
    }
    if (option->fallback != NULL) {
        buf_put_format(out, "The default is\n.Cm %s .\n", option->fallback);
    }
    if (option->repeats) {
        buf_put_c(out, "May be repeated.\n");
    }
}

static void put_options(const Command *command, Buf *out)
{
    for (OptionCursor group = { 0 }; option_next_group(command, &group);) {
        AUTO_CLEAR(Buf) title = buf_make(BUF_UNLIMITED);
        help_write_group(command, group.verbs, &title);
        buf_put_format(out, ".Pp\nO%s:\n.Bl -tag -width Ds\n", buf_c(&title) + 1);
        for (OptionCursor at = { 0 }; option_next(command, NULL, &at);) {
            if (at.verbs == group.verbs) {
                put_option(at.option, out);
            }
        }
        buf_put_c(out, ".El\n");
    }
}

static void put_examples(const Command *command, Buf *out)
{
    for (ExampleCursor at = { 0 }; example_next(command, NULL, &at);) {
        buf_put_c(out, at.is_first ? ".Sh EXAMPLES\n" : ".Pp\n");
        put_sentence(at.example->help, out);
        buf_put_c(out, ".Bd -literal -offset indent\n");
        put_line(str_from_c(at.example->command), out);
        buf_put_c(out, ".Ed\n");
    }
}

static void put_synopsis(const Command *command, const Verb *verb, Buf *out)
{
    const Argument *args = verb != NULL ? verb->args : command->args;
    buf_put_format(out, ".Nm eden Cm %s\n", command->name);
    if (verb != NULL) {
        buf_put_format(out, ".%sCm %s\n", verb->is_default ? "Op " : "", verb->name);
    }
    buf_put_c(out, ".Op Ar option ...\n");
    for (; args->usage != NULL; args++) {
        buf_put_format(out, ".%sAr %" STR_FMT "%s\n", argument_is_optional(args) ? "Op " : "",
                       STR_ARG(argument_name(args)), argument_repeats(args) ? " ..." : "");
    }
}

static void put_verbs(const Command *command, Buf *out)
{
    buf_put_c(out, ".Pp\nVerbs:\n.Bl -tag -width Ds\n");
    for (const Verb *verb = command->verbs; verb->name != NULL; verb++) {
        buf_put_format(out, ".It Cm %s\n", verb->name);
        put_text(verb->help, out);
        if (verb->text != NULL) {
            buf_put_c(out, ".Pp\n");
            put_text(verb->text, out);
        }
    }
    buf_put_c(out, ".El\n");
}

static void put_command(const Command *command, Buf *out)
{
    AUTO_CLEAR(Buf) name = buf_make(BUF_UNLIMITED);
    buf_put_format(&name, "-%s", command->name);
    put_head(buf_c(&name), command->help, out);
    buf_put_c(out, ".Sh SYNOPSIS\n");
    if (command->verbs == NULL) {
        put_synopsis(command, NULL, out);
    }
    for (const Verb *verb = command->verbs; verb != NULL && verb->name != NULL; verb++) {
        put_synopsis(command, verb, out);
    }
    buf_put_c(out, ".Sh DESCRIPTION\n");
    put_text(command->help, out);
    if (command->text != NULL) {
        buf_put_c(out, ".Pp\n");
        put_text(command->text, out);
    }
    if (command->verbs != NULL) {
        put_verbs(command, out);
    }
    put_options(command, out);
    put_exit_status(out);
    put_examples(command, out);
    buf_put_c(out, ".Sh SEE ALSO\n.Xr eden 1\n");
}

/* --- The command ----------------------------------------------------------------------------- */

static void write_page(const Command *command, Buf *out)
{
    if (command == NULL) {
        put_overview(out);
    } else {
        put_command(command, out);
    }
}

static bool save_page(const char *directory, const Command *command, Error *err)
{
    AUTO_CLEAR(Buf) path = buf_make(BUF_UNLIMITED);
    buf_put_format(&path, "%s/", directory);
    put_page_name(command, &path);
    AUTO_CLEAR(Buf) page = buf_make(BUF_UNLIMITED);
    write_page(command, &page);
    return file_write_atomic(buf_c(&path), buf_str(&page), err);
}

static int save_all(const Invocation *invocation, const char *directory)
{
    Error err;
    bool ok = save_page(directory, NULL, &err);
    for (size_t i = 0; ok && commands[i] != NULL; i++) {
        ok = save_page(directory, commands[i], &err);
    }
    if (!ok) {
        stream_put_format(invocation->err, "eden man: %s\n", err.text);
        return error_kind_exit_code(err.kind);
    }
    return EXIT_OK;
}

static int man_run(Invocation *invocation)
{
    const char *directory = invocation_text(invocation, "dir");
    if (directory != NULL) {
        return invocation->arg_count == 0
                   ? save_all(invocation, directory)
                   : usage_error(invocation, "--dir writes all pages and takes no COMMAND");
    }
    const Command *command = NULL;
    if (invocation->arg_count > 0) {
        command = command_find(str_from_c(invocation->args[0]));
        if (command == NULL) {
            return usage_error_command(invocation, invocation->args[0]);
        }
    }
    AUTO_CLEAR(Buf) page = buf_make(BUF_UNLIMITED);
    write_page(command, &page);
    stream_put(invocation->out, buf_str(&page));
    return EXIT_OK;
}

static const Option options[] = {
    { .name = "dir",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .help = "write eden.1 and a page for each command there" },
    { 0 },
};

static const Example examples[] = {
    { "eden man render | man -l -", "read the page of a command" },
    { "eden man --dir ~/.local/share/man/man1", "install the pages for yourself" },
    { 0 },
};

const Command command_man = {
    .name = "man",
    .group = GROUP_SYSTEM,
    .args = { { "[COMMAND]", WORD_COMMAND } },
    .help = "Print the manual, or write its pages to a directory.",
    .text = "The pages are in mdoc, for man(1). Each file is replaced as a whole or not at all.",
    .options = options,
    .examples = examples,
    .run = man_run,
};
