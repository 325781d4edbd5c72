#include "model/document_location.h"

#include <stdio.h>

#include "base/utf8.h"

Problem *document_problem(Problems *problems, const Sources *sources, Severity severity,
                          const char *code, Value value, const char *format, ...)
{
    char message[PROBLEM_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return problems_add_severity(problems, severity, code, sources_get(sources, value.source),
                                 value.start, value.span, "%s", message);
}

/* Whether the text never needs quotes in YAML. */
static bool is_plain_word(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (!ascii_is_name(text.data[i]) && memchr("-./ ", text.data[i], 4) == NULL) {
            return false;
        }
    }
    return text.len > 0 && (ascii_is_alpha(text.data[0]) || text.data[0] == '_') &&
           text.data[text.len - 1] != ' ';
}

void document_fix(Arena *arena, Problem *problem, const Sources *sources, Value location, Str text)
{
    const Source *source = sources_get(sources, location.source);
    Str original = value_original(sources, location);
    if (source == NULL || original.len == 0 || !is_plain_word(text)) {
        return;
    }
    char quote = original.data[0];
    bool quoted = original.len > 1 && (quote == '"' || quote == '\'');
    problem_fix_at(arena, problem, source, location.start + quoted,
                   (uint32_t)original.len - 2 * quoted, text);
}

/* Length of the escape sequence at the start of `text`, in double quotes. */
static size_t escape_length(Str text)
{
    switch (text.len > 1 ? text.data[1] : 0) {
    case 'x': return 4;
    case 'u': return 6;
    case 'U': return 10;
    default: return 2;
    }
}

/* Walks the spelling and the string in parallel. Where they differ, one of them has whitespace
 * that the other lacks (indentation, folded lines), or the spelling has an escape sequence. */
uint32_t document_offset(const Sources *sources, Value string, size_t pos)
{
    Str text = value_str(string);
    Str original = value_original(sources, string);
    if (original.len == 0) {
        return string.start;
    }
    char style = original.data[0];
    bool block = (string.flags & VALUE_QUOTED) != 0 && (style == '|' || style == '>');
    bool quoted = (string.flags & VALUE_QUOTED) != 0 && (style == '"' || style == '\'');
    size_t s = block ? str_find(original, STR("\n"), 0) : quoted ? 1 : 0;
    size_t t = 0;
    while (s < original.len && t < text.len) {
        char c = original.data[s];
        bool escape =
            quoted && ((style == '"' && c == '\\') ||
                       (style == '\'' && str_starts(str_from_offset(original, s), STR("''"))));
        if (escape) {
            size_t length = style == '"' ? escape_length(str_from_offset(original, s)) : 2;
            if (t >= pos) {
                break;
            }
            s += length;
            if (!(style == '"' && original.data[s - length + 1] == '\n')) {
                utf8_next(text, &t);
            }
        } else if (c == text.data[t]) {
            if (t >= pos) {
                break;
            }
            s++;
            t++;
        } else if (ascii_is_space(c)) {
            s++;
        } else {
            if (t >= pos) {
                break;
            }
            t++;
        }
    }
    return string.start + (uint32_t)(s < original.len ? s : original.len);
}

/* Offset of the template in the string of the document: a single `{{ }}` is compiled without its
 * braces. */
static bool template_start(Value document, Str template_text, size_t *out)
{
    if (!value_is_string(document)) {
        return false;
    }
    *out = str_find(value_str(document), template_text, 0);
    return *out != STR_NOT_FOUND;
}

/* The line of the document that corresponds to line `line` of the template. */
static uint32_t document_line(const Sources *sources, Value document, size_t start, uint32_t line)
{
    Str text = value_str(document);
    size_t pos = start;
    while (line > 1 && pos < text.len) {
        size_t end = str_find(text, STR("\n"), pos);
        if (end == STR_NOT_FOUND) {
            break;
        }
        pos = end + 1;
        line--;
    }
    const Source *source = sources_get(sources, document.source);
    return source == NULL ? 0
                          : source_location(source, document_offset(sources, document, pos)).line;
}

static void add_origins(Problems *problems, const Sources *sources, Problem *problem,
                        const Fault *fault, Value document)
{
    uint32_t last = 0;
    Str last_name = STR_EMPTY;
    for (const FaultOrigin *origin = fault->origin; origin != NULL; origin = origin->next) {
        Value location = origin->document.kind != VALUE_NULL ? origin->document : document;
        const Source *source = sources_get(sources, location.source);
        uint32_t line = origin->line;
        if (source != NULL && value_is_string(location) &&
            str_eq(origin->template_name, source->name)) {
            line = document_line(sources, location, 0, line);
        }
        /* Recursive calls are shown only once. */
        if (line == last && str_eq(origin->template_name, last_name)) {
            continue;
        }
        last = line;
        last_name = origin->template_name;
        problem_add_origin(problems->arena, problem,
                           arena_copy(problems->arena, origin->template_name), line);
    }
}

/* Adds the fix only if the document contains the template verbatim: otherwise quotes in the fix
 * would have to be escaped as well. */
static void add_fix(Arena *arena, Problem *problem, const Fault *fault, const Source *source,
                    uint32_t offset, uint32_t span)
{
    if (fault->fix.len == 0 || source == NULL || span == 0 || span != fault->span ||
        memcmp(source->text.data + offset, fault->template_text.data + fault->offset, span) != 0) {
        return;
    }
    char quote = source->text.data[offset];
    Str text = quote == '\'' || quote == '"'
                   ? arena_format(arena, "%c%" STR_FMT "%c", quote, STR_ARG(fault->fix), quote)
                   : fault->fix;
    problem_fix_at(arena, problem, source, offset, span, text);
}

/* The label that server.labels.role and server.labels['role'] refer to, if it is missing; otherwise
 * empty. */
static Str missing_label(const Fault *fault)
{
    static const Str owners[] = { STR("server.labels"), STR("server.metadata.labels"),
                                  STR("Server.labels"), STR("ObjectMetadata.Labels") };
    Str text = fault->template_text;
    if (fault->class != FAULT_UNDEFINED || fault->hint.len > 0 ||
        str_find(fault->message, STR("has no attribute"), 0) == STR_NOT_FOUND ||
        fault->offset + fault->span > text.len) {
        return STR_EMPTY;
    }
    Str name = str_slice(text, fault->offset, fault->offset + fault->span);
    bool quoted = name.len > 2 && (name.data[0] == '\'' || name.data[0] == '"');
    Str before = str_slice(text, 0, fault->offset);
    while (before.len > 0 && memchr(".[ ", before.data[before.len - 1], 3) != NULL) {
        before.len--;
    }
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        if (str_ends(before, owners[i])) {
            return quoted ? str_slice(name, 1, name.len - 1) : name;
        }
    }
    return STR_EMPTY;
}

static void suggest_label(Problems *problems, Problem *problem, Str label)
{
    problem->message =
        arena_format(problems->arena, "this node has no label '%" STR_FMT "'", STR_ARG(label));
    problem->hint = arena_format(problems->arena,
                                 "set it with '--label %" STR_FMT "=VALUE', 'eden nodes label' or "
                                 "node.yaml, or write \"server.labels.%" STR_FMT " | default('')\"",
                                 STR_ARG(label), STR_ARG(label));
}

static void add_fault(Problems *problems, const Sources *sources, const Fault *fault,
                      Value call_site)
{
    Value document = call_site;
    if (fault->document.kind != VALUE_NULL) {
        document = fault->document;
    }
    const Source *source = sources_get(sources, document.source);
    Source other = { .name = fault->template_name, .text = fault->template_text, .first_line = 1 };
    uint32_t offset = fault->offset;
    uint32_t span = fault->span;
    size_t start;
    bool is_local = source != NULL && str_eq(fault->template_name, source->name) &&
                    template_start(document, fault->template_text, &start);
    if (is_local) {
        offset = document_offset(sources, document, start + fault->offset);
        uint32_t end = document_offset(sources, document, start + fault->offset + fault->span);
        span = end > offset ? end - offset : 0;
    } else if (fault->line > 0) {
        source = &other;
    } else {
        offset = document.start;
        span = document.span;
    }
    Problem *problem = problems_add(
        problems, fault_class_code(fault->class), source, offset, span,
        fault->class == FAULT_NOT_FOUND ? "template '%" STR_FMT "' not found" : "%" STR_FMT,
        STR_ARG(fault->message));
    problem->hint = arena_copy(problems->arena, fault->hint);
    add_fix(problems->arena, problem, fault, source, offset, span);
    Str label = missing_label(fault);
    if (label.len > 0) {
        suggest_label(problems, problem, label);
    }
    add_origins(problems, sources, problem, fault, call_site);
    if (fault->begins > 0) {
        uint32_t line =
            is_local ? document_line(sources, document, start, fault->begins) : fault->begins;
        problem_add_note(problems->arena, problem, STR("it starts"), problem->file, line);
    }
    for (const FaultLoop *loop = fault->loops; loop != NULL; loop = loop->next) {
        Str note = arena_format(problems->arena, "in item %llu%s%" STR_FMT "%s of the loop",
                                (unsigned long long)loop->index + 1, loop->item.len > 0 ? ", " : "",
                                STR_ARG(loop->item), loop->item.len > 0 ? "," : "");
        uint32_t line = is_local ? document_line(sources, document, start, loop->line) : loop->line;
        problem_add_note(problems->arena, problem, note,
                         arena_copy(problems->arena, loop->template_name), line);
    }
}

void document_add_fault(Problems *problems, const Sources *sources, const Fault *fault,
                        Value document)
{
    for (; fault != NULL; fault = fault->next) {
        add_fault(problems, sources, fault, document);
    }
}
