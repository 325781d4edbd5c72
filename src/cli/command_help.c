/* eden help: help for commands and topics. */
#include "base/suggest.h"
#include "cli/help_markdown.h"
#include "cli/help_text.h"
#include "cli/invocation.h"
#include "cli/output.h"
#include "cli/subject_value.h"

static int report_unknown(const Invocation *invocation, Str name)
{
    Suggest suggest = suggest_make(name);
    for (size_t i = 0; commands[i] != NULL; i++) {
        suggest_offer(&suggest, str_from_c(commands[i]->name));
    }
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        suggest_offer(&suggest, str_from_c(topic->name));
    }
    Str suggestion = STR_EMPTY;
    (void)suggest_found(&suggest, &suggestion);
    return usage_error_suggest(invocation, suggestion, "unknown command or topic '%" STR_FMT "'",
                               STR_ARG(name));
}

/* Writes all topics, one after another. */
static void write_all_pages(Arena *arena, Buf *out)
{
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        buf_put_c(out, topic == subject_topics ? "" : "\n");
        help_markdown_topic(arena, topic, out);
    }
}

static void write_command(const Subject *subject, const Verb *verb, bool markdown, Buf *out)
{
    if (verb != NULL) {
        markdown ? help_markdown_verb(subject->command, verb, out)
                 : help_write_verb(subject->command, verb, out);
    } else {
        markdown ? help_markdown_subject(subject, out) : help_write_command(subject->command, out);
    }
}

static int help_run(Invocation *invocation)
{
    Arena *arena = invocation->arena;
    Str name = invocation->arg_count == 0 ? STR_EMPTY : str_from_c(invocation->args[0]);
    Subject subject = { .kind = SUBJECT_COMMAND, .name = name, .command = command_find(name) };
    const SubjectTopic *topic = subject_topic_find(name);
    bool is_overview = invocation->arg_count == 0;
    if (!is_overview && subject.command == NULL && topic == NULL) {
        return report_unknown(invocation, name);
    }
    const Verb *verb = invocation->arg_count > 1 && subject.command != NULL
                           ? verb_find(subject.command, str_from_c(invocation->args[1]))
                           : NULL;
    if (invocation->arg_count > 1 && verb == NULL) {
        return usage_error(invocation, "unknown verb '%s %s'; 'eden help %s' lists all verbs",
                           invocation->args[0], invocation->args[1], invocation->args[0]);
    }
    if (invocation_prints(invocation, "json")) {
        Subjects all = { 0 };
        if (topic != NULL) {
            subjects_add_kind(arena, topic->kind, &all);
        }
        return output_json(invocation, is_overview               ? program_value(arena)
                                       : subject.command != NULL ? subject_value(arena, &subject)
                                                                 : subjects_value(arena, &all));
    }
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool markdown = invocation_prints(invocation, "markdown");
    if (is_overview) {
        markdown ? write_all_pages(arena, &text) : help_write_overview(&text);
    } else if (subject.command != NULL) {
        write_command(&subject, verb, markdown, &text);
    } else if (markdown) {
        help_markdown_topic(arena, topic, &text);
    } else {
        help_write_topic(arena, topic, &text);
        buf_put_c(&text, topic->is_unnamed ? "" : "\n'eden explain NAME' shows details.\n");
    }
    stream_put(invocation->out, buf_str(&text));
    return EXIT_OK;
}

static const Option options[] = {
    OUTPUT_OPTION("text|json|markdown", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden help render", "show the options and examples of a command" },
    { "eden help nodes approve", "show the options and examples of a verb" },
    { "eden help filters", "list all filters" },
    { "eden help -o json", "print all commands and options, for scripts" },
    { "eden help filters -o markdown", "generate a page of the reference" },
    { 0 },
};

const Command command_help = {
    .name = "help",
    .group = GROUP_SYSTEM,
    .args = { { "[COMMAND|TOPIC]", WORD_TOPIC }, { "[VERB]", WORD_VERB } },
    .help = "Show help for commands and topics.",
    .options = options,
    .examples = examples,
    .run = help_run,
};
