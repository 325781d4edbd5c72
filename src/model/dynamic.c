#include "model/dynamic.h"

#include "lang/template/host_object.h"
#include "model/document_location.h"

TemplateSettings dynamic_template_settings(void)
{
    TemplateSettings settings = template_settings_default();
    settings.undefined = UNDEFINED_STRICT;
    settings.syntax.keep_trailing_newline = true;
    settings.traced = true;
    return settings;
}

/* --- Compiling ------------------------------------------------------------------------------ */

typedef struct Compiler {
    Arena *arena;
    Templates *templates;
    const Sources *sources;
    Problems *problems;
} Compiler;

bool dynamic_has_template(Str text)
{
    const char *pos = text.data;
    const char *end = text.data + text.len;
    while (pos < end && (pos = memchr(pos, '{', (size_t)(end - pos))) != NULL) {
        if (pos + 1 < end && (pos[1] == '{' || pos[1] == '%' || pos[1] == '#')) {
            return true;
        }
        pos++;
    }
    return false;
}

/* Position of the closing quote that matches the opening one at `pos`, or the end. */
static size_t skip_quoted(Str text, size_t pos)
{
    char quote = text.data[pos++];
    while (pos < text.len && text.data[pos] != quote) {
        pos += text.data[pos] == '\\' ? 2 : 1;
    }
    return pos < text.len ? pos : text.len;
}

/* The expression in a string that consists of a single `{{ expression }}`, ignoring surrounding
 * whitespace. The first `}}` outside of quotes and brackets must be the end. */
static bool is_lone_expression(Str text, Str *out)
{
    text = str_trim(text);
    if (!str_starts(text, STR("{{")) || !str_ends(text, STR("}}")) || text.len < 4) {
        return false;
    }
    uint32_t open = 0;
    size_t last = text.len - 2;
    for (size_t i = 2; i < last; i++) {
        char c = text.data[i];
        if (c == '"' || c == '\'') {
            i = skip_quoted(text, i);
        } else if (c == '{' || c == '[' || c == '(') {
            open++;
        } else if ((c == ')' || c == ']' || c == '}') && open > 0) {
            open--;
        } else if (c == '}' && text.data[i + 1] == '}') {
            return false;
        }
    }
    Str inner = str_slice(text, 2, last);
    if (inner.len > 0 && (inner.data[0] == '-' || inner.data[0] == '+')) {
        inner = str_from_offset(inner, 1);
    }
    if (inner.len > 0 && inner.data[inner.len - 1] == '-') {
        inner.len--;
    }
    *out = str_trim(inner);
    return open == 0;
}

static Str document_name(const Compiler *c, Value value)
{
    const Source *source = sources_get(c->sources, value.source);
    return source == NULL ? STR_EMPTY : source->name;
}

static bool compile_string(Compiler *c, Value value, Dynamic *out)
{
    Str text = value_str(value);
    Str expression;
    Fault fault;
    bool ok;
    if (is_lone_expression(text, &expression)) {
        out->kind = DYNAMIC_EXPRESSION;
        ok = templates_compile_expression(c->templates, document_name(c, value), expression,
                                          &out->template, &fault);
    } else {
        out->kind = DYNAMIC_TEXT;
        ok = templates_compile(c->templates, document_name(c, value), text, &out->template, &fault);
    }
    if (!ok) {
        document_add_fault(c->problems, c->sources, &fault, value);
        *out = (Dynamic){ .kind = DYNAMIC_CONSTANT, .value = value };
    }
    return ok;
}

static bool compile_value(Compiler *c, Value value, Dynamic *out);

/* A container whose children are all constant is constant itself and has no children. */
static bool compile_children(Compiler *c, Value value, Dynamic *out)
{
    bool is_map = value.kind == VALUE_MAP;
    uint32_t count = is_map ? value.map->len : value.list->len;
    Dynamic *children = ARENA_ARRAY(c->arena, Dynamic, count);
    bool ok = true;
    bool constant = true;
    for (uint32_t i = 0; i < count; i++) {
        Value child = is_map ? value.map->entries[i].value : value.list->items[i];
        ok = compile_value(c, child, &children[i]) && ok;
        constant = constant && children[i].kind == DYNAMIC_CONSTANT;
    }
    if (!constant) {
        out->kind = is_map ? DYNAMIC_MAP : DYNAMIC_LIST;
        out->children = children;
    } else {
        arena_shrink(c->arena, children, count * sizeof *children, 0);
    }
    return ok;
}

static bool compile_value(Compiler *c, Value value, Dynamic *out)
{
    *out = (Dynamic){ .kind = DYNAMIC_CONSTANT, .value = value };
    if (value_is_string(value)) {
        return !dynamic_has_template(value_str(value)) || compile_string(c, value, out);
    }
    if (value.kind == VALUE_MAP || value_is_sequence(value)) {
        return compile_children(c, value, out);
    }
    return true;
}

bool dynamic_compile(Arena *arena, Templates *templates, const Sources *sources, Value value,
                     Dynamic *out, Problems *problems)
{
    Compiler c = { arena, templates, sources, problems };
    return compile_value(&c, value, out);
}

/* If `text` starts with a quoted template, such as '"{{ vars.y }}"', returns the text between the
 * braces and the length including the quotes. */
static bool quoted_braces(Str text, Str *inner, size_t *len)
{
    if (text.len < 3 || (text.data[0] != '"' && text.data[0] != '\'') ||
        !str_starts(str_from_offset(text, 1), STR("{{"))) {
        return false;
    }
    size_t end = str_find(text, STR("}}"), 3);
    if (end == STR_NOT_FOUND || end + 2 >= text.len || text.data[end + 2] != text.data[0]) {
        return false;
    }
    *inner = str_trim(str_slice(text, 3, end));
    *len = end + 3;
    return true;
}

/* Turns "{{ vars.x }} == 1" into "vars.x == 1", which is what the author meant. */
static Str without_braces(Arena *arena, Str text)
{
    Buf bare = buf_make_in(arena, BUF_UNLIMITED);
    for (size_t i = 0; i < text.len; i++) {
        Str rest = str_from_offset(text, i), inner;
        size_t len;
        if (quoted_braces(rest, &inner, &len)) {
            buf_put(&bare, inner);
            i += len - 1;
        } else if (str_starts(rest, STR("{{")) || str_starts(rest, STR("}}"))) {
            bool opens = rest.data[0] == '{';
            i++;
            while (opens && i + 1 < text.len && text.data[i + 1] == ' ') {
                i++;
            }
            while (!opens && bare.len > 0 && buf_str(&bare).data[bare.len - 1] == ' ') {
                bare.len--;
            }
        } else {
            buf_put_char(&bare, text.data[i]);
        }
    }
    return buf_str(&bare);
}

/* Reports braces inside an expression: the string is neither an expression nor a template. */
static bool report_braces(const Compiler *c, Value value, Str text)
{
    if (str_find(text, STR("{{"), 0) == STR_NOT_FOUND) {
        return false;
    }
    Problem *problem = document_problem(c->problems, c->sources, SEVERITY_ERROR, "E0318", value,
                                        "an expression must not contain braces");
    const Template *ignored;
    Fault fault;
    Str bare = without_braces(c->problems->arena, text);
    if (!templates_compile_expression(c->templates, STR_EMPTY, bare, &ignored, &fault)) {
        problem->hint = STR("remove the '{{' and '}}'");
        return true;
    }
    problem->hint = arena_format(c->problems->arena, "write: %" STR_FMT, STR_ARG(bare));
    const Source *source = sources_get(c->sources, value.source);
    uint32_t from = document_offset(c->sources, value, 0);
    uint32_t to = document_offset(c->sources, value, value_str(value).len);
    if (source != NULL && to - from == value_str(value).len) {
        problem_fix_at(c->problems->arena, problem, source, from, to - from, bare);
    }
    return true;
}

bool dynamic_compile_expression(Arena *arena, Templates *templates, const Sources *sources,
                                Value value, Dynamic *out, Problems *problems)
{
    Compiler c = { arena, templates, sources, problems };
    *out = (Dynamic){ .kind = DYNAMIC_CONSTANT, .value = value };
    if (value.kind == VALUE_BOOL || value.kind == VALUE_INT || value.kind == VALUE_FLOAT) {
        return true;
    }
    if (!value_is_string(value)) {
        document_problem(problems, sources, SEVERITY_ERROR, "E0303", value,
                         "this must be an expression, not a %s",
                         value_kind_name((ValueKind)value.kind));
        return false;
    }
    Str text = str_trim(value_str(value));
    Str inner;
    if (is_lone_expression(text, &inner)) {
        Problem *problem = document_problem(problems, sources, SEVERITY_HINT, "E0318", value,
                                            "braces are not needed: this is an expression already");
        problem->hint = STR("remove the '{{' and '}}'");
        text = inner;
    }
    if (report_braces(&c, value, text)) {
        return false;
    }
    out->kind = DYNAMIC_EXPRESSION;
    Fault fault;
    if (!templates_compile_expression(templates, document_name(&c, value), text, &out->template,
                                      &fault)) {
        document_add_fault(problems, sources, &fault, value);
        *out = (Dynamic){ .kind = DYNAMIC_CONSTANT, .value = value };
        return false;
    }
    return true;
}

/* --- Evaluating ----------------------------------------------------------------------------- */

typedef struct Evaluation {
    Value scope;
    Render *outer; /* NULL: a separate render */
    Rendered *rendered;
    Arena *arena;
    /* Destination of a fault: raised in `outer`, or added to `problems`. */
    const Sources *sources;
    Problems *problems;
} Evaluation;

static DynamicOutcome fail(const Evaluation *e, const Fault *fault, Value document)
{
    if (e->outer != NULL) {
        render_raise_nested(e->outer, fault, document);
    } else if (fault->class != FAULT_UNKNOWN) {
        document_add_fault(e->problems, e->sources, fault, document);
    }
    return fault->class == FAULT_UNKNOWN ? DYNAMIC_UNKNOWN : DYNAMIC_FAILED;
}

static DynamicOutcome fail_at_size(const Evaluation *e, Value document)
{
    Fault fault = { .class = FAULT_LIMIT, .message = STR("the value is too large") };
    return fail(e, &fault, document);
}

static DynamicOutcome evaluate_template(const Evaluation *e, const Dynamic *dynamic, Value *out)
{
    const Template *template = dynamic->template;
    Fault fault;
    bool ok;
    if (dynamic->kind == DYNAMIC_EXPRESSION) {
        Value value;
        ok = e->outer == NULL ? template_evaluate(template, e->scope, e->rendered, &value, &fault)
                              : template_evaluate_nested(e->outer, template, e->scope, e->rendered,
                                                         &value, &fault);
        if (ok) {
            *out = value_copy(e->arena, value);
        }
    } else {
        ok = e->outer == NULL
                 ? template_render(template, e->scope, e->rendered, &fault)
                 : template_render_nested(e->outer, template, e->scope, e->rendered, &fault);
        if (ok) {
            Str text = buf_str(&e->rendered->text);
            char *copy = arena_try_alloc(e->arena, text.len + 1);
            if (copy == NULL) {
                return fail_at_size(e, dynamic->value);
            }
            memcpy(copy, text.data, text.len);
            *out = value_string(str_from(copy, text.len));
            out->flags |= e->rendered->secret_count > 0 ? VALUE_SECRET : 0;
        }
    }
    if (!ok) {
        return fail(e, &fault, dynamic->value);
    }
    if (arena_exceeded(e->arena)) {
        return fail_at_size(e, dynamic->value);
    }
    out->flags |= dynamic->value.flags & VALUE_SECRET;
    return DYNAMIC_OK;
}

static DynamicOutcome evaluate_value(const Evaluation *e, const Dynamic *dynamic, Value *out);

/* Continues after an unknown or failed child, so that all faults are reported. */
static DynamicOutcome evaluate_children(const Evaluation *e, const Dynamic *dynamic, Value *out)
{
    bool is_map = dynamic->kind == DYNAMIC_MAP;
    const Value *from = &dynamic->value;
    uint32_t count = is_map ? from->map->len : from->list->len;
    Map *map = is_map ? map_new(e->arena, count) : NULL;
    List *list = is_map ? NULL : list_new(e->arena, count);
    DynamicOutcome outcome = DYNAMIC_OK;
    for (uint32_t i = 0; i < count; i++) {
        Value child;
        DynamicOutcome of_child = evaluate_value(e, &dynamic->children[i], &child);
        if (of_child != DYNAMIC_OK) {
            outcome = of_child == DYNAMIC_FAILED ? DYNAMIC_FAILED
                      : outcome == DYNAMIC_OK    ? of_child
                                                 : outcome;
            if (e->outer != NULL) {
                return outcome;
            }
        } else if (is_map) {
            map_append(e->arena, map, from->map->entries[i].key, child);
        } else {
            list_push(e->arena, list, child);
        }
    }
    *out = *from;
    if (is_map) {
        out->map = map;
    } else {
        out->list = list;
    }
    return outcome;
}

static DynamicOutcome evaluate_value(const Evaluation *e, const Dynamic *dynamic, Value *out)
{
    switch (dynamic->kind) {
    case DYNAMIC_CONSTANT: *out = dynamic->value; return DYNAMIC_OK;
    case DYNAMIC_LIST:
    case DYNAMIC_MAP: return evaluate_children(e, dynamic, out);
    default: return evaluate_template(e, dynamic, out);
    }
}

DynamicOutcome dynamic_evaluate(const Dynamic *dynamic, Value scope, const Sources *sources,
                                Rendered *rendered, Arena *arena, Value *out, Problems *problems)
{
    Evaluation e = { .scope = scope,
                     .rendered = rendered,
                     .arena = arena,
                     .sources = sources,
                     .problems = problems };
    return evaluate_value(&e, dynamic, out);
}

bool dynamic_evaluate_inside(Render *outer, const Dynamic *dynamic, Value scope, Rendered *rendered,
                             Arena *arena, Value *out)
{
    Evaluation e = { .scope = scope, .outer = outer, .rendered = rendered, .arena = arena };
    return evaluate_value(&e, dynamic, out) == DYNAMIC_OK;
}

/* --- Dependencies --------------------------------------------------------------------------- */

static bool list_holds(const List *names, Str name)
{
    for (uint32_t i = 0; i < names->len; i++) {
        if (str_eq(value_str(names->items[i]), name)) {
            return true;
        }
    }
    return false;
}

uint32_t dynamic_child_count(const Dynamic *dynamic)
{
    if (dynamic->children == NULL) {
        return 0;
    }
    return dynamic->kind == DYNAMIC_MAP ? dynamic->value.map->len : dynamic->value.list->len;
}

void dynamic_steps_used(const Dynamic *dynamic, Arena *arena, List *names, bool *computed)
{
    const TemplateUses *uses = dynamic->template == NULL ? NULL : template_uses(dynamic->template);
    for (uint32_t i = 0; uses != NULL && i < uses->count; i++) {
        const TemplateUse *use = &uses->items[i];
        if (!str_eq(use->name, STR("steps"))) {
            continue;
        }
        *computed = *computed || !use->literal;
        if (use->literal && !list_holds(names, use->element)) {
            list_push(arena, names, value_string(use->element));
        }
    }
    for (uint32_t i = 0; i < dynamic_child_count(dynamic); i++) {
        dynamic_steps_used(&dynamic->children[i], arena, names, computed);
    }
}

bool dynamic_uses_steps(const Dynamic *dynamic)
{
    const TemplateUses *uses = dynamic->template == NULL ? NULL : template_uses(dynamic->template);
    bool found = false;
    for (uint32_t i = 0; uses != NULL && !found && i < uses->count; i++) {
        found = str_eq(uses->items[i].name, STR("steps"));
    }
    for (uint32_t i = 0; !found && i < dynamic_child_count(dynamic); i++) {
        found = dynamic_uses_steps(&dynamic->children[i]);
    }
    return found;
}
