#include "cli/help_text.h"
#include "cli/subject_action.h"
#include "cli/subject_kind.h"

#include "lang/template/native.h"

enum {
    OPTION_COLUMN = 26,
    NAME_COLUMN = 14,
    SIGNATURE_COLUMN = 30,
};

void help_write_option_name(const Option *option, Buf *out)
{
    if (option->letter != 0) {
        buf_put_format(out, "-%c, ", option->letter);
    }
    buf_put_format(out, "--%s", option->name);
    if (option->argument != NULL) {
        buf_put_format(out, " %s", option->argument);
    }
}

void help_write_option_help(const Option *option, Buf *out)
{
    buf_put_c(out, option->help);
    if (option->choices != NULL) {
        buf_put_format(out, " (%s)", option->choices);
    }
    if (option->fallback != NULL) {
        buf_put_format(out, " [%s]", option->fallback);
    }
    if (option->repeats) {
        buf_put_c(out, "; may be repeated");
    }
}

void help_write_indented(Str text, const char *lead, Buf *out)
{
    Str line;
    while (str_split_next(&text, '\n', &line)) {
        if (line.len > 0) {
            buf_put_format(out, "%s%" STR_FMT, lead, STR_ARG(line));
        } else if (text.len == 0) {
            return; /* end of the last line */
        }
        buf_put_char(out, '\n');
    }
}

/* Pads the text since `start` to the column; starts a new line if it is longer. */
static void pad_to(size_t column, size_t start, Buf *out)
{
    size_t width = out->len - start;
    if (width + 2 > column) {
        buf_put_char(out, '\n');
        width = 0;
    }
    buf_put_repeat(out, ' ', column - width);
}

static void write_row(const char *name, const char *help, Buf *out)
{
    size_t start = out->len;
    buf_put_format(out, "  %s", name);
    pad_to(NAME_COLUMN, start, out);
    buf_put_format(out, "%s\n", help);
}

void help_write_usage(Buf *out)
{
    buf_put_c(out, "usage: eden COMMAND [OPTION]... [ARGUMENT]...\ncommands:");
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_put_format(out, "%s %s", i == 0 ? "" : ",", commands[i]->name);
    }
    buf_put_c(out, "\n  see: eden help\n");
}

void help_write_overview(Buf *out)
{
    buf_put_c(out, "eden configures servers and keeps them in the desired state.\n\n"
                   "usage: eden COMMAND [OPTION]... [ARGUMENT]...\n");
    for (int group = 0; group < GROUP_COUNT; group++) {
        buf_put_format(out, "\n%s:\n", command_group_titles[group]);
        for (size_t i = 0; commands[i] != NULL; i++) {
            if ((int)commands[i]->group == group) {
                write_row(commands[i]->name, commands[i]->help, out);
            }
        }
    }
    buf_put_c(out, "\ntopics:\n");
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        write_row(topic->name, topic->help, out);
    }
    buf_put_c(
        out,
        "\n"
        "'eden help COMMAND' and 'eden help TOPIC' show details; 'eden explain NAME' explains\n"
        "an action, step key, filter, test, function, method, object kind, or problem code\n"
        "such as E0204.\n");
}

static void write_option(const Option *option, Buf *out)
{
    size_t start = out->len;
    buf_put_c(out, option->letter != 0 ? "  " : "      ");
    help_write_option_name(option, out);
    pad_to(OPTION_COLUMN, start, out);
    help_write_option_help(option, out);
    buf_put_char(out, '\n');
}

void help_write_group(const Command *command, uint32_t verbs, Buf *out)
{
    buf_put_c(out, "options");
    if (command->verbs != NULL) {
        buf_put_c(out, verbs == 0 ? " for all verbs" : " for ");
        option_put_verbs(command, verbs, "", out);
    }
}

/* Appends options in groups that the same verbs share. */
static void write_options(const Command *command, Buf *out)
{
    for (OptionCursor group = { 0 }; option_next_group(command, &group);) {
        buf_put_char(out, '\n');
        help_write_group(command, group.verbs, out);
        buf_put_c(out, ":\n");
        for (OptionCursor at = { 0 }; option_next(command, NULL, &at);) {
            if (at.verbs == group.verbs) {
                write_option(at.option, out);
            }
        }
    }
}

static void write_verbs(const Command *command, Buf *out)
{
    buf_put_c(out, "\nverbs:\n");
    for (const Verb *verb = command->verbs; verb->name != NULL; verb++) {
        write_row(verb->name, verb->help, out);
    }
    buf_put_format(out, "\nSee 'eden help %s VERB' for details of a verb.\n", command->name);
}

static void write_examples(const Command *command, const Verb *verb, Buf *out)
{
    for (ExampleCursor at = { 0 }; example_next(command, verb, &at);) {
        buf_put_format(out, "%s  %s\n      %s\n", at.is_first ? "\nexamples:\n" : "",
                       at.example->command, at.example->help);
    }
}

static void write_usage(const Command *command, const Verb *verb, const char *help,
                        const char *text, Buf *out)
{
    buf_put_format(out, "%s\n\nusage: ", help);
    usage_put(command, verb, "\n       ", out);
    buf_put_format(out, "\n%s%s%s", text == NULL ? "" : "\n", text == NULL ? "" : text,
                   text == NULL ? "" : "\n");
}

void help_write_command(const Command *command, Buf *out)
{
    write_usage(command, NULL, command->help, command->text, out);
    if (command->verbs != NULL) {
        write_verbs(command, out);
    }
    write_options(command, out);
    write_examples(command, NULL, out);
}

void help_write_verb(const Command *command, const Verb *verb, Buf *out)
{
    write_usage(command, verb, verb->help, verb->text, out);
    buf_put_c(out, "\noptions:\n");
    for (OptionCursor at = { 0 }; option_next(command, verb, &at);) {
        write_option(at.option, out);
    }
    write_examples(command, verb, out);
}

void help_write_topic(Arena *arena, const SubjectTopic *topic, Buf *out)
{
    buf_put_format(out, "%s\n\n%s\n\n", topic->title, topic->text);
    Subjects all = { 0 };
    subjects_add_kind(arena, topic->kind, &all);
    for (uint32_t i = 0; i < all.len; i++) {
        size_t start = out->len;
        buf_put_c(out, "  ");
        subject_put_signature(&all.items[i], out);
        pad_to(topic->kind >= SUBJECT_OBJECT_KIND ? NAME_COLUMN : SIGNATURE_COLUMN, start, out);
        buf_put_format(out, "%s\n", subject_help(&all.items[i]));
    }
}

void help_write_subject(const Subject *subject, Buf *out)
{
    switch (subject->kind) {
    case SUBJECT_COMMAND: help_write_command(subject->command, out); return;
    case SUBJECT_ACTION: subject_action_text(subject, out); return;
    case SUBJECT_STEP_KEY:
        buf_put_format(out, "step key: %s\n\n    %s\n", subject->step_key.name,
                       subject->step_key.help);
        if (subject->step_key.text != NULL) {
            buf_put_format(out, "\n%s", subject->step_key.text);
        }
        if (subject->step_key.example != NULL) {
            buf_put_c(out, "\nexample:\n");
            help_write_indented(str_from_c(subject->step_key.example), "    ", out);
        }
        buf_put_c(out, "\nSee 'eden help sites' for how these fit together.\n");
        return;
    case SUBJECT_OBJECT_KIND: subject_kind_text(subject, out); return;
    case SUBJECT_CODE:
        buf_put_format(out, "%s: %s\n\n%s", subject->code->name, subject->code->title,
                       subject->code->text);
        return;
    case SUBJECT_EXIT_CODE:
        buf_put_format(out, "exit code %s: %s\n\n%s\n", subject->exit->code, subject->exit->title,
                       subject->exit->text);
        return;
    default: break;
    }
    const Native *native = subject->native;
    buf_put_format(out, "%s ", subject_topic_of(subject->kind)->singular);
    subject_put_signature(subject, out);
    buf_put_format(out, "\n\n    %s\n\nexample:\n", native->help);
    help_write_indented(str_from_c(native->example), "    ", out);
    buf_put_c(out, "shows:\n");
    help_write_indented(str_from_c(native->output), "    ", out);
    if ((native->flags & NATIVE_JINJA) == 0 && subject->kind != SUBJECT_METHOD) {
        buf_put_c(out, "\nNot part of Jinja2.\n");
    }
}
