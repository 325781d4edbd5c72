#include "cli/subject.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/suggest.h"
#include "cli/subject_action.h"
#include "cli/subject_kind.h"
#include "lang/template/methods.h"
#include "lang/template/native.h"

const SubjectTopic subject_topics[] = {
    { SUBJECT_COMMAND, "command", "commands", "Commands", "eden commands",
      "See 'eden help COMMAND' for details." },
    { SUBJECT_ACTION, "action", "actions", "Actions", "operations that steps can perform",
      "A step has one action with parameters. Requisites and conditions are available on every\n"
      "step; no parameter uses one of their names." },
    { SUBJECT_STEP_KEY, "step key", "sites", "Sites", "how to write a site",
      "A site is a directory; 'eden plan SITE' and 'eden apply SITE' compare this machine with "
      "it. A\n"
      "single file of steps is a site too.\n"
      "\n"
      "    jobs/base.yaml        which nodes run which jobs:      jobs: {SELECTOR: [{name: web}]}\n"
      "    jobs/web.yaml         a job:                           steps: [..], or further jobs: "
      "{..}\n"
      "    variables/base.yaml   which nodes get which variables: files: {SELECTOR: [{name: "
      "common}]}\n"
      "    variables/common.yaml names and values, used as {{ vars.NAME }}\n"
      "    macros/base.yaml      which nodes get which macros:    macros: {SELECTOR: [{name: "
      "checks}]}\n"
      "    macros/checks.yaml    queries, used as {{ macros['NAME'] }}\n"
      "    files/ templates/     sources of files that steps install\n"
      "\n"
      "A selector is '*', a node name or pattern, 'label=value', 'label=pattern*', an expression\n"
      "such as server.os == 'debian', or a combination of these with 'and', 'or', '!' and\n"
      "parentheses.\n"
      "\n"
      "A requisite is a list of references: 'step: NAME', 'MODULE: NAME-OR-ID', 'job: NAME'. "
      "What\n"
      "the dependent step does depends on the result of its target:\n"
      "\n"
      "                blocked    failed     ok         changed\n"
      "    require     blocked    blocked    runs       runs\n"
      "    watch       blocked    blocked    runs       runs, then reacts\n"
      "    onchanges   skipped    skipped    skipped    runs\n"
      "    onfail      skipped    runs       skipped    skipped\n"
      "    prereq      blocked    blocked    skipped    runs, before the target\n"
      "    listen      nothing    nothing    nothing    reacts once, at the end of the run\n"
      "\n"
      "A step has one action and any of these keys:" },
    { SUBJECT_SELECTOR, "selector", "selectors", "Selectors",
      "how to select nodes and other objects by name and label",
      "A selector matches objects by name and label: nodes in a site's base files, objects\n"
      "listed with '-l SELECTOR' or, in the API, '?selector=', and objects in role rules. Quote\n"
      "selectors that contain spaces:\n"
      "\n"
      "    eden nodes list -l 'role=web and !dc=fra'\n"
      "    eden nodes ping -l 'web*'\n"
      "\n"
      "A single word is a name, and 'role=...' is a label: 'role' selects the node with that\n"
      "name; to select nodes with that label, use 'role=*'. Do not quote values, and do not put\n"
      "spaces around '='. 'in (a, b)' is not supported; use '(role=a or role=b)'.",
      .is_unnamed = true },
    { SUBJECT_SECRET, "secret", "secrets", "Secrets",
      "how to mark secrets, and where they are redacted",
      "A value that is marked as secret can be used like any other value but is never shown.\n"
      "'(secret)' is shown instead: on the terminal, in JSON, YAML and JUnit, in diffs, saved\n"
      "plans, the journal, run records and error messages, and in the output of programs.\n"
      "Anything computed from a secret is also secret. A file that contains a secret gets mode\n"
      "0600 unless the step sets a mode, and its diff is not shown.\n"
      "\n"
      "The mark belongs to the variable name: if a later layer, -v or -D sets the variable\n"
      "again, it is still secret. A mark on a map covers everything in the map, in every layer.\n"
      "\n"
      "In the output of programs a secret is recognized verbatim, in a different case, in\n"
      "base64, base32 and hexadecimal, as a list of numbers, in the output of xxd, hexdump and\n"
      "od, escaped for URLs, JSON, HTML, mail, C or a shell, one character at a time, and broken\n"
      "into lines; each line of a multi-line secret is recognized separately. Strings shorter\n"
      "than 4 bytes, parts of a secret, and other transformations, such as hashes, are not\n"
      "recognized: mark the step with 'secret: true'. docs/secrets.md describes the exact rules.\n"
      "\n"
      "'eden vars get --show-secrets', 'eden render', 'eden eval' and 'eden convert' print "
      "secrets\n"
      "in clear text.",
      .is_unnamed = true },
    { SUBJECT_FILTER, "filter", "filters", "Filters",
      "transform a value in a template: {{ value | NAME }}",
      "A filter transforms the value before it: {{ name | upper }}, {{ list | join(', ') }}. The\n"
      "value itself is the first argument and is not repeated in the parentheses." },
    { SUBJECT_TEST, "test", "tests", "Tests", "conditions on a value: {{ value is NAME }}",
      "A test checks the value before it: {% if port is defined %}, {{ 6 is divisibleby 3 }}; 'is\n"
      "not' negates it." },
    { SUBJECT_GLOBAL, "global function", "globals", "Global functions",
      "functions available in every template",
      "A global function can be called anywhere in a template: {% for i in range(3) %}. A "
      "variable\n"
      "of the same name shadows it." },
    { SUBJECT_METHOD, "method", "methods", "Methods", "methods of strings, lists, maps and numbers",
      "A method is called on a value: {{ name.upper() }}. The methods are those of Python.\n"
      "Methods that modify a list or map, such as append(), affect all later uses of it in the\n"
      "same rendering; the file that it came from does not change." },
    { SUBJECT_OBJECT_KIND, "object kind", "kinds", "Object kinds", "objects that a cluster stores",
      "Every object has metadata, with the same fields for all kinds: name, labels,\n"
      "annotations, uuid, revision and creation time. The spec is the desired state and the\n"
      "status is the observed state; only the spec can be written. 'eden schema KIND' prints\n"
      "the same information in machine-readable form." },
    { SUBJECT_CODE, "problem code", "codes", "Problem codes",
      "errors and warnings about files and requests",
      "Every problem has a code; 'eden explain CODE' explains it and how to fix it." },
    { SUBJECT_EXIT_CODE, "exit code", "exit-codes", "Exit codes",
      "how commands report success and failure",
      "All commands use these unless their help says otherwise." },
    { 0 },
};

static const SecretForm secret_forms[] = {
    { "pw: !secret VALUE", "in a variables file: a string, a number, a list or a map" },
    { "db: {pw: !secret VALUE}", "a mark on part of a map covers only that part" },
    { "{{ VALUE | secret }}", "in a template: marks the result of an expression" },
    { "secret: true", "on a step: its output, result and changes; on a macro: its result" },
    { "-v -", "variables from standard input: sops -d vars.yaml | eden apply site -v -" },
    { "-v <(COMMAND)", "the same with bash and zsh: eden apply site -v <(sops -d vars.yaml)" },
    { "-D pw=VALUE", "keeps the mark of 'pw', but other users can see it in the process list" },
    { 0 },
};

const SubjectTopic *subject_topic_find(Str name)
{
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        if (str_eq_c(name, topic->name)) {
            return topic;
        }
    }
    return NULL;
}

const SubjectTopic *subject_topic_of(SubjectKind kind)
{
    const SubjectTopic *topic = subject_topics;
    while (topic->name != NULL && topic->kind != kind) {
        topic++;
    }
    BUG_IF(topic->name == NULL);
    return topic;
}

static void add_natives(Arena *arena, SubjectKind kind, const Native *const *tables, Subjects *out)
{
    for (; *tables != NULL; tables++) {
        for (const Native *row = *tables; row->name != NULL; row++) {
            Subject subject = { .kind = kind, .name = str_from_c(row->name), .native = row };
            VEC_PUSH(arena, out, subject);
        }
    }
}

static void add_methods(Arena *arena, Subjects *out)
{
    for (const MethodTable *table = method_tables; table->type != NULL; table++) {
        for (const Native *row = table->rows; row->name != NULL; row++) {
            Subject subject = { .kind = SUBJECT_METHOD,
                                .name = arena_format(arena, "%s.%s", table->type, row->name),
                                .native = row };
            VEC_PUSH(arena, out, subject);
        }
    }
}

static void add_step_keys(Arena *arena, Subjects *out)
{
    StepKey key;
    for (uint32_t at = 0; step_key_next(&at, &key);) {
        Subject subject = { .kind = SUBJECT_STEP_KEY,
                            .name = str_from_c(key.name),
                            .step_key = key };
        VEC_PUSH(arena, out, subject);
    }
}

static int compare_names(const void *a, const void *b)
{
    return str_compare(((const Subject *)a)->name, ((const Subject *)b)->name);
}

void subjects_add_kind(Arena *arena, SubjectKind kind, Subjects *out)
{
    uint32_t before = out->len;
    switch (kind) {
    case SUBJECT_COMMAND:
        for (size_t i = 0; commands[i] != NULL; i++) {
            Subject subject = { .kind = kind,
                                .name = str_from_c(commands[i]->name),
                                .command = commands[i] };
            VEC_PUSH(arena, out, subject);
        }
        return;
    case SUBJECT_ACTION: subjects_add_actions(arena, out); return;
    case SUBJECT_STEP_KEY: add_step_keys(arena, out); return;
    case SUBJECT_SELECTOR:
        for (const SelectorForm *form = selector_forms; form->text != NULL; form++) {
            Subject subject = { .kind = kind, .name = str_from_c(form->text), .form = form };
            VEC_PUSH(arena, out, subject);
        }
        return;
    case SUBJECT_SECRET:
        for (const SecretForm *form = secret_forms; form->text != NULL; form++) {
            Subject subject = { .kind = kind, .name = str_from_c(form->text), .secret = form };
            VEC_PUSH(arena, out, subject);
        }
        return;
    case SUBJECT_CODE:
        for (const Code *code = codes; code->name != NULL; code++) {
            Subject subject = { .kind = kind, .name = str_from_c(code->name), .code = code };
            VEC_PUSH(arena, out, subject);
        }
        return;
    case SUBJECT_EXIT_CODE:
        for (const ExitRow *row = exit_rows; row->code != NULL; row++) {
            Subject subject = { .kind = kind, .name = str_from_c(row->code), .exit = row };
            VEC_PUSH(arena, out, subject);
        }
        return;
    case SUBJECT_OBJECT_KIND: subjects_add_object_kinds(arena, out); return;
    case SUBJECT_FILTER: add_natives(arena, kind, filter_tables, out); break;
    case SUBJECT_TEST: add_natives(arena, kind, test_tables, out); break;
    case SUBJECT_GLOBAL: add_natives(arena, kind, global_tables, out); break;
    case SUBJECT_METHOD: add_methods(arena, out); break;
    }
    qsort(out->items + before, out->len - before, sizeof(Subject), compare_names);
}

void subjects_add_all(Arena *arena, Subjects *out)
{
    for (const SubjectTopic *topic = subject_topics; topic->name != NULL; topic++) {
        if (!topic->is_unnamed) {
            subjects_add_kind(arena, topic->kind, out);
        }
    }
}

/* A method also matches without its type, and an action also matches by the name of its module. */
static bool answers_to(const Subject *subject, Str name)
{
    switch (subject->kind) {
    case SUBJECT_CODE: return code_find(name) == subject->code;
    case SUBJECT_ACTION:
        return str_eq(subject->name, name) ||
               (str_starts(subject->name, name) && name.len < subject->name.len &&
                subject->name.data[name.len] == '.');
    case SUBJECT_METHOD:
        return str_eq(subject->name, name) || str_eq_c(name, subject->native->name);
    default: return str_eq(subject->name, name);
    }
}

void subjects_add_named(Arena *arena, Str name, Subjects *out)
{
    Subjects all = { 0 };
    subjects_add_all(arena, &all);
    for (uint32_t i = 0; i < all.len; i++) {
        if (answers_to(&all.items[i], name)) {
            VEC_PUSH(arena, out, all.items[i]);
        }
    }
}

bool subjects_suggest(Arena *arena, Str name, Str *out)
{
    Subjects all = { 0 };
    subjects_add_all(arena, &all);
    Suggest suggest = suggest_make(name);
    for (uint32_t i = 0; i < all.len; i++) {
        suggest_offer(&suggest, all.items[i].name);
        if (all.items[i].kind == SUBJECT_METHOD) {
            suggest_offer(&suggest, str_from_c(all.items[i].native->name));
        }
    }
    return suggest_found(&suggest, out);
}

void subject_put_signature(const Subject *subject, Buf *out)
{
    switch (subject->kind) {
    case SUBJECT_COMMAND:
        buf_put(out, subject->name);
        if (subject->command->verbs != NULL) {
            buf_put_c(out, verb_default(subject->command) != NULL ? " [VERB]" : " VERB");
        }
        arguments_put(subject->command->args, out);
        return;
    case SUBJECT_FILTER:
    case SUBJECT_TEST: native_put_signature(subject->native, true, out); return;
    case SUBJECT_GLOBAL: native_put_signature(subject->native, false, out); return;
    case SUBJECT_METHOD: {
        Str type = str_slice(subject->name, 0, str_find(subject->name, STR("."), 0) + 1);
        buf_put(out, type);
        size_t start = out->len;
        native_put_signature(subject->native, true, out);
        if (out->len - start == strlen(subject->native->name)) {
            buf_put(out, STR("()"));
        }
        return;
    }
    case SUBJECT_ACTION:
    case SUBJECT_STEP_KEY:
    case SUBJECT_SELECTOR:
    case SUBJECT_SECRET:
    case SUBJECT_OBJECT_KIND:
    case SUBJECT_CODE:
    case SUBJECT_EXIT_CODE: buf_put(out, subject->name); return;
    }
}

const char *subject_help(const Subject *subject)
{
    switch (subject->kind) {
    case SUBJECT_COMMAND: return subject->command->help;
    case SUBJECT_ACTION: return subject->action->help;
    case SUBJECT_STEP_KEY: return subject->step_key.help;
    case SUBJECT_SELECTOR: return subject->form->help;
    case SUBJECT_SECRET: return subject->secret->help;
    case SUBJECT_OBJECT_KIND: return subject->object_kind->help;
    case SUBJECT_CODE: return subject->code->title;
    case SUBJECT_EXIT_CODE: return subject->exit->title;
    default: return subject->native->help;
    }
}
