#include "cli/help_markdown.h"

#include "cli/help_text.h"
#include "cli/subject_action.h"
#include "cli/subject_kind.h"

static void put_block(const char *language, const char *text, Buf *out)
{
    Str body = str_from_c(text);
    buf_put_format(out, "```%s\n%" STR_FMT "%s```\n\n", language, STR_ARG(body),
                   str_ends(body, STR("\n")) ? "" : "\n");
}

void help_markdown_cell(Str text, Buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '|' || c == '<' || c == '*' || c == '_' || c == '\\') {
            buf_put_char(out, '\\');
        }
        buf_put_char(out, c == '\n' ? ' ' : c);
    }
}

/* Appends paragraphs of help. Indented lines become code blocks. */
static void put_text(const char *text, Buf *out)
{
    Str rest = str_from_c(text), line;
    bool code = false;
    while (str_split_next(&rest, '\n', &line)) {
        bool indented = str_starts(line, STR("    "));
        if (indented && !code) {
            buf_put_c(out, "```\n");
        } else if (code && !indented && line.len > 0) {
            buf_put_c(out, "```\n\n");
        }
        code = indented || (code && line.len == 0);
        if (code && line.len == 0) {
            continue;
        }
        if (code) {
            buf_put(out, str_from_offset(line, 4));
        } else {
            help_markdown_cell(line, out);
        }
        if (rest.len > 0 || line.len > 0) {
            buf_put_char(out, '\n');
        }
    }
    buf_put_c(out, code ? "```\n\n" : "\n");
}

static void put_option(const Option *option, Buf *out)
{
    buf_put_c(out, "| `");
    help_write_option_name(option, out);
    buf_put_c(out, "` | ");
    AUTO_CLEAR(Buf) help = buf_make(BUF_UNLIMITED);
    help_write_option_help(option, &help);
    help_markdown_cell(buf_str(&help), out);
    buf_put_c(out, " |\n");
}

/* Appends a table for each group of options that the same verbs share. */
static void put_options(const Command *command, Buf *out)
{
    for (OptionCursor group = { 0 }; option_next_group(command, &group);) {
        buf_put_c(out, "| ");
        help_write_group(command, group.verbs, out);
        buf_put_c(out, " | |\n|--|--|\n");
        for (OptionCursor at = { 0 }; option_next(command, NULL, &at);) {
            if (at.verbs == group.verbs) {
                put_option(at.option, out);
            }
        }
        buf_put_char(out, '\n');
    }
}

static void put_examples(const Example *examples, Buf *out)
{
    for (const Example *row = examples; row != NULL && row->command != NULL; row++) {
        buf_put_format(out, "%s# %s\n%s\n%s", row == examples ? "```\n" : "", row->help,
                       row->command, row[1].command == NULL ? "```\n\n" : "");
    }
}

void help_markdown_verb(const Command *command, const Verb *verb, Buf *out)
{
    buf_put_format(out, "### eden %s %s\n\n", command->name, verb->name);
    put_text(verb->help, out);
    if (verb->text != NULL) {
        put_text(verb->text, out);
    }
    put_examples(verb->examples, out);
}

static void put_command(const Command *command, Buf *out)
{
    put_text(command->help, out);
    buf_put_c(out, "```\n");
    usage_put(command, NULL, "\n", out);
    buf_put_c(out, "\n```\n\n");
    if (command->text != NULL) {
        put_text(command->text, out);
    }
    put_options(command, out);
    put_examples(command->examples, out);
    for (const Verb *verb = command->verbs; verb != NULL && verb->name != NULL; verb++) {
        help_markdown_verb(command, verb, out);
    }
}

static void put_native(const Subject *subject, Buf *out)
{
    const Native *native = subject->native;
    buf_put_c(out, "```\n");
    subject_put_signature(subject, out);
    buf_put_c(out, "\n```\n\n");
    put_text(native->help, out);
    if ((native->flags & NATIVE_JINJA) == 0 && subject->kind != SUBJECT_METHOD) {
        buf_put_c(out, "Not part of Jinja2.\n\n");
    }
    put_block("jinja", native->example, out);
    buf_put_c(out, "shows\n\n");
    put_block("", native->output, out);
}

void help_markdown_subject(const Subject *subject, Buf *out)
{
    buf_put_format(out, "## %s%" STR_FMT "\n\n", subject->kind == SUBJECT_COMMAND ? "eden " : "",
                   STR_ARG(subject->name));
    switch (subject->kind) {
    case SUBJECT_COMMAND: put_command(subject->command, out); return;
    case SUBJECT_ACTION: subject_action_markdown(subject, out); return;
    case SUBJECT_STEP_KEY:
        put_text(subject->step_key.help, out);
        if (subject->step_key.text != NULL) {
            put_text(subject->step_key.text, out);
        }
        if (subject->step_key.example != NULL) {
            put_block("yaml", subject->step_key.example, out);
        }
        return;
    case SUBJECT_SELECTOR: put_text(subject->form->help, out); return;
    case SUBJECT_SECRET: put_text(subject->secret->help, out); return;
    case SUBJECT_OBJECT_KIND: subject_kind_markdown(subject, out); return;
    case SUBJECT_CODE:
        buf_put_format(out, "**%s**\n\n", subject->code->title);
        put_text(subject->code->text, out);
        return;
    case SUBJECT_EXIT_CODE:
        buf_put_format(out, "**%s**\n\n", subject->exit->title);
        put_text(subject->exit->text, out);
        return;
    default: put_native(subject, out); return;
    }
}

/* Strips the empty line at the end of a page. */
static void end_page(Buf *out)
{
    while (out->len >= 2 && out->data[out->len - 1] == '\n' && out->data[out->len - 2] == '\n') {
        out->len--;
    }
}

void help_markdown_topic(Arena *arena, const SubjectTopic *topic, Buf *out)
{
    buf_put_format(
        out, "# %s\n\n<!-- Generated by `make docs` from the rows in src; edit those. -->\n\n",
        topic->title);
    put_text(topic->text, out);
    Subjects all = { 0 };
    subjects_add_kind(arena, topic->kind, &all);
    for (uint32_t i = 0; i < all.len; i++) {
        help_markdown_subject(&all.items[i], out);
    }
    end_page(out);
}
