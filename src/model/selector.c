#include "model/selector.h"

#include "base/glob.h"
#include "model/document_location.h"
#include "model/foreign.h"
#include "model/selector_hints.h"

typedef enum SelectorKind {
    SELECTOR_NAME, /* node name matches `pattern` */
    SELECTOR_LABEL,
    SELECTOR_EXPRESSION,
    SELECTOR_NOT,
    SELECTOR_AND,
    SELECTOR_OR,
} SelectorKind;

struct Selector {
    SelectorKind kind;
    Str text;
    Str label;
    Str pattern;
    const Dynamic *expression; /* of an expression; most selectors have none */
    const Selector *left, *right;
};

/* --- Parsing -------------------------------------------------------------------------------- */

typedef struct Parser {
    Arena *arena;
    Templates *templates;
    const Sources *sources;
    Problems *problems;
    Value location; /* the string as a value of its document */
    Str text;
    size_t pos;
    uint32_t depth;
} Parser;

/* Reports a problem with `length` bytes from `pos`; returns it, so that a hint can be added. */
PRINTF_LIKE(4, 5)
static Problem *report(Parser *p, size_t pos, size_t length, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    Str message = arena_format_v(p->arena, format, args);
    va_end(args);
    uint32_t start = document_offset(p->sources, p->location, pos);
    uint32_t end = document_offset(p->sources, p->location, pos + length);
    return problems_add(p->problems, "E0501", sources_get(p->sources, p->location.source), start,
                        end > start ? end - start : 0, "%" STR_FMT, STR_ARG(message));
}

static void skip_space(Parser *p)
{
    while (p->pos < p->text.len && ascii_is_space(p->text.data[p->pos])) {
        p->pos++;
    }
}

/* Whether the word starts at `pos` and is not part of a longer one. */
static bool word_at(const Parser *p, size_t pos, Str word)
{
    if (!str_starts(str_from_offset(p->text, pos), word)) {
        return false;
    }
    size_t end = pos + word.len;
    return end == p->text.len || ascii_is_space(p->text.data[end]) || p->text.data[end] == '(' ||
           p->text.data[end] == '!';
}

static bool take_word(Parser *p, Str word)
{
    skip_space(p);
    if (!word_at(p, p->pos, word)) {
        return false;
    }
    p->pos += word.len;
    return true;
}

/* A term ends before `and`, `or` or an unmatched closing parenthesis; inside quotes and brackets
 * these do not count. */
static Str take_term(Parser *p)
{
    size_t start = p->pos;
    uint32_t open = 0;
    char quote = 0;
    for (; p->pos < p->text.len; p->pos++) {
        char c = p->text.data[p->pos];
        if (quote != 0) {
            quote = c == quote ? 0 : quote;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '(' || c == '[' || c == '{') {
            open++;
        } else if (c == ')' || c == ']' || c == '}') {
            if (open == 0 && c == ')') {
                break;
            }
            open -= open > 0;
        } else if (ascii_is_space(c) && open == 0 &&
                   (word_at(p, p->pos + 1, STR("and")) || word_at(p, p->pos + 1, STR("or")))) {
            break;
        }
    }
    return str_trim(str_slice(p->text, start, p->pos));
}

static Selector *new_selector(Parser *p, SelectorKind kind)
{
    Selector *selector = ARENA_NEW(p->arena, Selector);
    selector->kind = kind;
    return selector;
}

/* Reports names that can only belong to another tool: grains['os'] == 'Debian'. */
static bool report_foreign_names(Parser *p, size_t start, const Template *template)
{
    const TemplateUses *uses = template_uses(template);
    bool found = false;
    for (uint32_t i = 0; uses != NULL && i < uses->count; i++) {
        const TemplateUse *use = &uses->items[i];
        Str hint = STR_EMPTY;
        if (use->literal) {
            Str element = arena_format(p->arena, "%" STR_FMT ".%" STR_FMT, STR_ARG(use->name),
                                       STR_ARG(use->element));
            hint = foreign_word(NULL, FOREIGN_NAME, STR_EMPTY, element);
        }
        hint = hint.len > 0 ? hint : foreign_word(NULL, FOREIGN_NAME, STR_EMPTY, use->name);
        if (hint.len > 0) {
            report(p, start + use->offset, use->span, "'%" STR_FMT "' is undefined",
                   STR_ARG(use->name))
                ->hint = hint;
            found = true;
        }
    }
    return found;
}

static const Selector *parse_expression(Parser *p, size_t start, Str term)
{
    if (p->templates == NULL) {
        report(p, start, term.len, "only names and labels are allowed here")->hint =
            STR("write 'web*' or 'role=web'");
        return NULL;
    }
    Selector *selector = new_selector(p, SELECTOR_EXPRESSION);
    Dynamic *expression = ARENA_NEW(p->arena, Dynamic);
    *expression = (Dynamic){ .kind = DYNAMIC_EXPRESSION, .value = p->location };
    selector->expression = expression;
    const Source *source = sources_get(p->sources, p->location.source);
    Fault fault;
    if (!templates_compile_expression(p->templates, source == NULL ? STR_EMPTY : source->name, term,
                                      &expression->template, &fault)) {
        document_add_fault(p->problems, p->sources, &fault, p->location);
        return NULL;
    }
    Value literal;
    if (template_literal(expression->template, &literal)) {
        Problem *problem = report(p, start, term.len, "this matches every node or none");
        problem->hint =
            value_is_string(literal) && selector_is_plain(value_str(literal))
                ? arena_format(p->arena, "write '%" STR_FMT "', without additional quotes",
                               STR_ARG(value_str(literal)))
                : STR("write \"server.os == 'debian'\" for a fact");
        return NULL;
    }
    return report_foreign_names(p, start, expression->template) ? NULL : selector;
}

static const Selector *parse_label(Parser *p, size_t start, Str term, size_t equals)
{
    Selector *selector = new_selector(p, SELECTOR_LABEL);
    bool negated = equals > 0 && term.data[equals - 1] == '!';
    selector->label = str_slice(term, 0, equals - negated);
    selector->pattern = str_from_offset(term, equals + 1);
    if (selector->label.len == 0 || glob_is_pattern(selector->label)) {
        report(p, start, term.len, "the name of the label is missing");
        return NULL;
    }
    if (!negated) {
        return selector;
    }
    Selector *negation = new_selector(p, SELECTOR_NOT);
    negation->left = selector;
    return negation;
}

/* Spells the replacement as the document requires: `bare` text gets quotes, because a leading
 * star is an alias in YAML, and quotes inside quotes are doubled. */
static Str quote_fix(const Parser *p, Str fix, bool bare)
{
    bool has_single = str_find(fix, STR("'"), 0) != STR_NOT_FOUND;
    const char *quote = !bare ? "" : has_single ? "\"" : "'";
    bool doubles_quotes = !bare && value_original(p->sources, p->location).data[0] == '\'';
    Buf text = buf_make_in(p->arena, BUF_UNLIMITED);
    buf_put_c(&text, quote);
    for (size_t i = 0; i < fix.len; i++) {
        buf_put_c(&text, doubles_quotes && fix.data[i] == '\'' ? "'" : "");
        buf_put_char(&text, fix.data[i]);
    }
    buf_put_c(&text, quote);
    return buf_str(&text);
}

static void report_term(Parser *p, size_t start, Str term, const SelectorMistake *mistake)
{
    Problem *problem =
        report(p, start + mistake->pos, mistake->length, "%" STR_FMT, STR_ARG(mistake->message));
    problem->hint = mistake->hint;
    const Source *source = sources_get(p->sources, p->location.source);
    uint32_t from = document_offset(p->sources, p->location, start);
    uint32_t to = document_offset(p->sources, p->location, start + term.len);
    if (mistake->term.len > 0 && source != NULL && to - from == term.len) {
        /* A leading star is an alias in YAML. */
        bool bare = value_original(p->sources, p->location).len == p->text.len;
        Str text = quote_fix(p, mistake->term, bare);
        if (!bare || term.len == p->text.len) {
            problem_fix_at(p->problems->arena, problem, source, from, to - from, text);
        }
    }
}

static const Selector *parse_term(Parser *p)
{
    size_t start = p->pos;
    Str term = take_term(p);
    if (term.len == 0) {
        report(p, start, 1,
               start >= p->text.len
                   ? "the selector is incomplete: a name, a label or an expression is expected"
                   : "a name, a label or an expression is expected here");
        return NULL;
    }
    SelectorMistake mistake;
    if (selector_mistake_find(p->arena, term, p->templates != NULL, &mistake)) {
        report_term(p, start, term, &mistake);
        return NULL;
    }
    size_t equals = str_find(term, STR("="), 0);
    bool compares =
        equals != STR_NOT_FOUND && equals + 1 < term.len && term.data[equals + 1] == '=';
    if (equals != STR_NOT_FOUND && !compares && selector_is_plain(str_slice(term, 0, equals)) &&
        selector_is_plain(str_from_offset(term, equals + 1))) {
        return parse_label(p, start, term, equals);
    }
    if (selector_is_plain(term)) {
        Selector *selector = new_selector(p, SELECTOR_NAME);
        selector->pattern = term;
        return selector;
    }
    return parse_expression(p, start, term);
}

static const Selector *parse_or(Parser *p);

/* Reports unparsed input after the selector. */
static void report_rest(Parser *p)
{
    SelectorMistake mistake;
    if (p->text.data[p->pos] == ')') {
        report(p, p->pos, 1, "unmatched closing parenthesis");
        return;
    }
    selector_mistake_between(p->arena, str_from_offset(p->text, p->pos), &mistake);
    report_term(p, p->pos, STR_EMPTY, &mistake);
}

static const Selector *parse_group(Parser *p)
{
    size_t opening = p->pos++;
    const Selector *inner = parse_or(p);
    if (inner == NULL) {
        return NULL;
    }
    skip_space(p);
    if (p->pos < p->text.len && p->text.data[p->pos] != ')') {
        report_rest(p);
        return NULL;
    }
    if (p->pos >= p->text.len) {
        report(p, opening, 1, "unmatched opening parenthesis")->hint = STR("add ')'");
        return NULL;
    }
    p->pos++;
    return inner;
}

static const Selector *parse_not(Parser *p)
{
    skip_space(p);
    if (p->depth >= SELECTOR_DEPTH_MAX) {
        report(p, p->pos, 1, "the selector is nested too deeply");
        return NULL;
    }
    p->depth++;
    const Selector *selector;
    bool bang = p->pos < p->text.len && p->text.data[p->pos] == '!';
    if (bang || take_word(p, STR("not"))) {
        p->pos += bang;
        Selector *negation = new_selector(p, SELECTOR_NOT);
        negation->left = parse_not(p);
        selector = negation->left == NULL ? NULL : negation;
    } else if (p->pos < p->text.len && p->text.data[p->pos] == '(') {
        selector = parse_group(p);
    } else {
        selector = parse_term(p);
    }
    p->depth--;
    return selector;
}

static const Selector *join(Parser *p, SelectorKind kind, const Selector *left,
                            const Selector *right)
{
    Selector *pair = new_selector(p, kind);
    pair->left = left;
    pair->right = right;
    return left == NULL || right == NULL ? NULL : pair;
}

static const Selector *parse_and(Parser *p)
{
    const Selector *left = parse_not(p);
    while (left != NULL && take_word(p, STR("and"))) {
        left = join(p, SELECTOR_AND, left, parse_not(p));
    }
    return left;
}

static const Selector *parse_or(Parser *p)
{
    const Selector *left = parse_and(p);
    while (left != NULL && take_word(p, STR("or"))) {
        left = join(p, SELECTOR_OR, left, parse_and(p));
    }
    return left;
}

bool selector_parse(Arena *arena, Templates *templates, const Sources *sources, Value text,
                    const Selector **out, Problems *problems)
{
    Parser p = { .arena = arena,
                 .templates = templates,
                 .sources = sources,
                 .problems = problems,
                 .location = text };
    *out = NULL;
    if (!value_is_string(text)) {
        document_problem(problems, sources, SEVERITY_ERROR, "E0501", text,
                         "a selector must be a string, not a %s",
                         value_kind_name((ValueKind)text.kind));
        return false;
    }
    p.text = value_str(text);
    if (p.text.len > SELECTOR_TEXT_MAX) {
        report(&p, 0, 1, "the selector is longer than %d bytes", SELECTOR_TEXT_MAX);
        return false;
    }
    const Selector *selector = parse_or(&p);
    if (selector == NULL) {
        return false;
    }
    skip_space(&p);
    if (p.pos < p.text.len) {
        report_rest(&p);
        return false;
    }
    ((Selector *)selector)->text = p.text;
    *out = selector;
    return true;
}

bool selector_check_names(const Selector *selector, const NamesCheck *check)
{
    if (selector == NULL) {
        return true;
    }
    bool ok = selector->expression == NULL || names_check(check, selector->expression);
    ok = selector_check_names(selector->left, check) && ok;
    return selector_check_names(selector->right, check) && ok;
}

Str selector_text(const Selector *selector)
{
    return selector->text;
}

Str selector_name(const Selector *selector)
{
    return selector->kind == SELECTOR_NAME ? selector->pattern : STR_EMPTY;
}

/* Recurses like selector_match. */
bool selector_label(const Selector *selector, Str *name, Str *value)
{
    if (selector->kind == SELECTOR_AND) {
        return selector_label(selector->left, name, value) ||
               selector_label(selector->right, name, value);
    }
    *name = selector->label;
    *value = selector->pattern;
    return selector->kind == SELECTOR_LABEL && !glob_is_pattern(selector->pattern);
}

/* Recurses like selector_match. */
bool selector_has_expression(const Selector *selector)
{
    switch (selector->kind) {
    case SELECTOR_NAME:
    case SELECTOR_LABEL: return false;
    case SELECTOR_NOT: return selector_has_expression(selector->left);
    case SELECTOR_AND:
    case SELECTOR_OR:
        return selector_has_expression(selector->left) || selector_has_expression(selector->right);
    default: return true;
    }
}

/* --- Matching ------------------------------------------------------------------------------- */

static bool has_label(const Selector *selector, const SelectorSubject *subject)
{
    if (subject->labels == NULL) {
        return false;
    }
    const MapEntry *entry = map_find_str(subject->labels, selector->label);
    return entry != NULL && value_is_string(entry->value) &&
           glob_match(selector->pattern, value_str(entry->value));
}

/* Recursion depth is bounded by the length of the text, SELECTOR_TEXT_MAX. */
bool selector_match(const Selector *selector, const SelectorSubject *subject, bool *out)
{
    bool right;
    switch (selector->kind) {
    case SELECTOR_NAME:
        *out = glob_match(selector->pattern, subject->name) ||
               (subject->fqdn.len > 0 && glob_match(selector->pattern, subject->fqdn));
        return true;
    case SELECTOR_LABEL: *out = has_label(selector, subject); return true;
    case SELECTOR_NOT:
        if (!selector_match(selector->left, subject, out)) {
            return false;
        }
        *out = !*out;
        return true;
    case SELECTOR_AND:
    case SELECTOR_OR:
        if (!selector_match(selector->left, subject, out)) {
            return false;
        }
        if (*out == (selector->kind == SELECTOR_OR)) {
            return true;
        }
        if (!selector_match(selector->right, subject, &right)) {
            return false;
        }
        *out = right;
        return true;
    default: break;
    }
    Value value;
    *out = false;
    if (subject->evaluate == NULL) {
        return true;
    }
    if (subject->evaluate(subject->context, selector->expression, &value) != DYNAMIC_OK) {
        return false;
    }
    *out = value_is_true(value);
    return true;
}
