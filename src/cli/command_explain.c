/* eden explain: documentation of anything that has a row. */
#include "cli/help_text.h"
#include "cli/invocation.h"
#include "cli/output.h"
#include "cli/subject_value.h"
#include "model/foreign.h"
#include "modules/modules.h"

static void print_text(const Invocation *invocation, const Subjects *subjects)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (uint32_t i = 0; i < subjects->len; i++) {
        buf_put_c(&text, i == 0 ? "" : "\n");
        help_write_subject(&subjects->items[i], &text);
    }
    stream_put(invocation->out, buf_str(&text));
}

static void print_lists(const Invocation *invocation)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        buf_put_c(&text, topic == subject_topics ? "" : "\n");
        help_write_topic(invocation->arena, topic, &text);
    }
    stream_put(invocation->out, buf_str(&text));
}

static void print_names(const Invocation *invocation, const Subjects *subjects)
{
    for (uint32_t i = 0; i < subjects->len; i++) {
        stream_put_format(invocation->out, "%" STR_FMT "\n", STR_ARG(subjects->items[i].name));
    }
}

/* Returns eden's equivalent of another tool's term; empty if there is none. */
static Str suggest_for_term(Str name)
{
    static const ForeignKind places[] = { FOREIGN_TASK, FOREIGN_ACTION, FOREIGN_KEY };
    Str instead = STR_EMPTY;
    for (size_t i = 0; i < COUNT_OF(places) && instead.len == 0; i++) {
        instead = foreign_word(modules, places[i], STR("a step"), name);
    }
    return instead;
}

static int report_unknown(const Invocation *invocation, Str name)
{
    Str suggestion = STR_EMPTY, instead = suggest_for_term(name);
    if (instead.len > 0) {
        return usage_error(invocation, "'%" STR_FMT "' not found: %" STR_FMT, STR_ARG(name),
                           STR_ARG(instead));
    }
    (void)subjects_suggest(invocation->arena, name, &suggestion);
    return usage_error_suggest(invocation, suggestion, "'%" STR_FMT "' not found", STR_ARG(name));
}

static int explain_run(Invocation *invocation)
{
    Subjects subjects = { 0 };
    bool all = invocation->arg_count == 0;
    if (all) {
        subjects_add_all(invocation->arena, &subjects);
    }
    for (uint32_t i = 0; i < invocation->arg_count; i++) {
        Str name = str_from_c(invocation->args[i]);
        uint32_t old_len = subjects.len;
        subjects_add_named(invocation->arena, name, &subjects);
        if (subjects.len == old_len) {
            return report_unknown(invocation, name);
        }
    }
    if (invocation_prints(invocation, "json")) {
        return output_json(invocation, subjects_value(invocation->arena, &subjects));
    }
    if (invocation_prints(invocation, "name")) {
        print_names(invocation, &subjects);
    } else if (all) {
        print_lists(invocation);
    } else {
        print_text(invocation, &subjects);
    }
    return EXIT_OK;
}

static const Option options[] = {
    OUTPUT_OPTION("text|json|name", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden explain E0204", "explain a problem and how to fix it" },
    { "eden explain cmd.run", "describe an action and its parameters, with an example" },
    { "eden explain onchanges", "explain a step key" },
    { "eden explain upper", "describe the filter, test and method with this name" },
    { "eden explain dict.items", "describe a method of a type" },
    { "eden explain UndefinedError", "look up an error by its Jinja2 name" },
    { "eden explain -o name", "list everything that can be explained" },
    { 0 },
};

const Command command_explain = {
    .name = "explain",
    .group = GROUP_SYSTEM,
    .args = { { "[NAME...]", WORD_SUBJECT } },
    .help = "Explain an action, step key, problem code, filter, test, function, method, object "
            "kind or command.",
    .text = "Without NAME, lists everything that can be explained.",
    .options = options,
    .examples = examples,
    .run = explain_run,
};
