#include "lang/template/parse.h"

#include <stdlib.h>

#include "node_text.h"
#include "unit.h"

typedef struct Fixture {
    Arena arena;
    TemplateSettings settings;
    Fault fault;
    Buf out;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof(Fixture));
    arena_init(&f->arena, ARENA_UNLIMITED);
    f->settings = template_settings_default();
    f->out = buf_make(BUF_UNLIMITED);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    buf_clear(&f->out);
    arena_clear(&f->arena);
    free(f);
    return 0;
}

static Str fault_text(Fixture *f)
{
    buf_put_format(&f->out, "%u:%u %" STR_FMT, f->fault.line, f->fault.column,
                   STR_ARG(f->fault.message));
    return buf_str(&f->out);
}

/* The statements of a template, or "line:column message". */
static Str parse(Fixture *f, Str text)
{
    Node *first;
    buf_reset(&f->out);
    if (!template_parse(&f->arena, &f->settings, text, &first, &f->fault)) {
        return fault_text(f);
    }
    for (const Node *node = first; node != NULL; node = node->next) {
        if (node != first) {
            buf_put_char(&f->out, ' ');
        }
        put_node(&f->out, node);
    }
    return buf_str(&f->out);
}

static Str parse_one(Fixture *f, Str text)
{
    Node *node;
    buf_reset(&f->out);
    if (!expression_parse(&f->arena, &f->settings, text, &node, &f->fault)) {
        return fault_text(f);
    }
    put_node(&f->out, node);
    return buf_str(&f->out);
}

typedef struct Row {
    const char *text;
    const char *tree;
} Row;

static void check_rows(Fixture *f, const Row *rows, size_t count,
                       Str (*parser)(Fixture *f, Str text))
{
    for (size_t i = 0; i < count; i++) {
        Str got = parser(f, str_from_c(rows[i].text));
        if (!str_eq_c(got, rows[i].tree)) {
            fail_msg("source    %s\ngot       %" STR_FMT "\nexpected  %s", rows[i].text,
                     STR_ARG(got), rows[i].tree);
        }
    }
}

#define CHECK_TEMPLATES(f, rows)   check_rows((f), (rows), COUNT_OF(rows), parse)
#define CHECK_EXPRESSIONS(f, rows) check_rows((f), (rows), COUNT_OF(rows), parse_one)

/* --- Expressions -------------------------------------------------------------------------- */

static void literals(void **state)
{
    const Row rows[] = {
        { "1", "1" },
        { "1.5", "1.5f" },
        { "'a' \"b\" 'c'", "'abc'" },
        { "'' ''", "''" },
        { "true", "true" },
        { "True", "true" },
        { "false", "false" },
        { "False", "false" },
        { "none", "none" },
        { "None", "none" },
        { "NONE", "NONE" },
        { "[]", "(list)" },
        { "[1, a,]", "(list 1 a)" },
        { "{}", "(dict)" },
        { "{'a': 1, b: c,}", "(dict (: 'a' 1) (: b c))" },
        { "()", "(tuple)" },
        { "(1)", "1" },
        { "(1,)", "(tuple 1)" },
        { "(1, 2)", "(tuple 1 2)" },
        { "9223372036854775807", "9223372036854775807" },
        { "-9223372036854775808", "-9223372036854775808" },
        { "9223372036854775808", "1:1 the integer does not fit in 64 bits" },
        { "1 + 99999999999999999999", "1:5 the integer does not fit in 64 bits" },
        { "99999999999999999999 +", "1:22 unexpected 'end of template'" },
    };
    CHECK_EXPRESSIONS(*state, rows);
}

static void operators_bind_as_in_jinja(void **state)
{
    const Row rows[] = {
        { "a + b * c", "(+ a (* b c))" },
        { "a - b - c", "(- (- a b) c)" },
        { "(a + b) * c", "(* (+ a b) c)" },
        { "a * b / c // d % e", "(% (// (/ (* a b) c) d) e)" },
        { "2 ** 3 ** 4", "(** (** 2 3) 4)" },
        { "-1 ** 2", "(** (neg 1) 2)" },
        { "2 ** -1", "(** 2 (neg 1))" },
        { "a + b ~ c * d ~ e", "(+ a (~ b (* c d) e))" },
        { "a ~ b ~ c", "(~ a b c)" },
        { "not a and b or c", "(or (and (not a) b) c)" },
        { "a or b and c", "(or a (and b c))" },
        { "not not a", "(not (not a))" },
        { "not a == b", "(not (cmp a == b))" },
        { "a < b <= c != d", "(cmp a < b <= c != d)" },
        { "a in b", "(cmp a in b)" },
        { "a not in b and c", "(and (cmp a not-in b) c)" },
        { "not a in b", "(not (cmp a in b))" },
        { "a + b > c - d", "(cmp (+ a b) > (- c d))" },
        { "-a.b", "(neg (. a b))" },
        { "+-1", "(pos (neg 1))" },
        { "-1|abs", "(|abs (neg 1))" },
        { "1 + -a|f", "(+ 1 (|f (neg a)))" },
        { "a ** b|f", "(** a (|f b))" },
        { "a + not b", "1:9 expected end of expression, got 'b'" },
    };
    CHECK_EXPRESSIONS(*state, rows);
}

static void conditions_group_to_the_right(void **state)
{
    const Row rows[] = {
        { "a if b else c", "(? b a c)" },
        { "a if b", "(? b a _)" },
        { "a if b else c if d else e", "(? b a (? d c e))" },
        { "a if b if c", "(? c (? b a _) _)" },
        { "(a if b else c) if d", "(? d (? b a c) _)" },
        { "a or b if c and d", "(? (and c d) (or a b) _)" },
    };
    CHECK_EXPRESSIONS(*state, rows);
}

static void postfix_operators(void **state)
{
    const Row rows[] = {
        { "a.b.c", "(. (. a b) c)" },
        { "a.1.2", "([] ([] a 1) 2)" },
        { "a[b]['c'].d", "(. ([] ([] a b) 'c') d)" },
        { "a[1, 2]", "([] a (tuple 1 2))" },
        { "a[]", "([] a (tuple))" },
        { "a[1:2]", "([] a (slice 1 2 _))" },
        { "a[:]", "([] a (slice _ _ _))" },
        { "a[::2]", "([] a (slice _ _ 2))" },
        { "a[1::]", "([] a (slice 1 _ _))" },
        { "a[:b:c]", "([] a (slice _ b c))" },
        { "a[1:, 2]", "([] a (tuple (slice 1 _ _) 2))" },
        { "a()", "(call a)" },
        { "a(1, b, c=2, *d, **e)", "(call a 1 b c=2 *d **e)" },
        { "a(*b, c=1)", "(call a c=1 *b)" },
        { "a(b,)", "(call a b)" },
        { "a()()", "(call (call a))" },
        { "a.b(c).d", "(. (call (. a b) c) d)" },
        { "1.real", "(. 1 real)" },
        { "'a'.upper()", "(call (. 'a' upper))" },
        { "a.true", "(. a true)" },
        { "a.", "1:2 expected name or number" },
        { "a.'b'", "1:3 expected name or number" },
    };
    CHECK_EXPRESSIONS(*state, rows);
}

static void filters_and_tests(void **state)
{
    const Row rows[] = {
        { "a|b", "(|b a)" },
        { "a|b|c(1, d=2)", "(|c (|b a) 1 d=2)" },
        { "a|b.c", "(|b.c a)" },
        { "a|b.c.d.e", "(|b.c.d.e a)" },
        { "a|b()", "(|b a)" },
        { "a|b(1)(2)", "(call (|b a 1) 2)" },
        { "a + b|c", "(+ a (|c b))" },
        { "a is b", "(is-b a)" },
        { "a is not b", "(not (is-b a))" },
        { "a is b 3", "(is-b a 3)" },
        { "a is b c.d", "(is-b a (. c d))" },
        { "a is b [1]", "(is-b a (list 1))" },
        { "a is b {}", "(is-b a (dict))" },
        { "a is b(1, c=2)", "(is-b a 1 c=2)" },
        { "a is b -1", "(- (is-b a) 1)" },
        { "a is b and c", "(and (is-b a) c)" },
        { "a if b is c else d", "(? (is-c b) a d)" },
        { "a is b in c", "1:11 expected end of expression, got 'c'" },
        { "a is b|c", "(|c (is-b a))" },
        { "a is in b", "(is-in a b)" },
        { "a is b.c d", "(is-b.c a d)" },
        { "a is b is c", "1:8 You cannot chain multiple tests with is" },
        { "a|", "1:2 unexpected end of template, expected 'name'." },
        { "a|1", "1:3 expected token 'name', got 'integer'" },
        { "a is", "1:3 unexpected end of template, expected 'name'." },
    };
    CHECK_EXPRESSIONS(*state, rows);
}

static void an_expression_must_be_complete(void **state)
{
    const Row rows[] = {
        { "a\n", "a" },
        { "", "1:1 unexpected 'end of template'" },
        { "a b", "1:3 expected end of expression, got 'b'" },
        { "a, b", "1:2 expected end of expression, got ','" },
        { "a }} b", "1:3 expected end of expression, got '}}'" },
        { "a }", "1:3 unexpected '}'" },
        { "}}", "1:1 unexpected 'end of print statement'" },
        { "a $", "1:3 unexpected char '$' at 2" },
    };
    CHECK_EXPRESSIONS(*state, rows);
}

static void invalid_calls_and_lists(void **state)
{
    const Row rows[] = {
        { "a(*b, c)", "1:7 invalid syntax for function call expression" },
        { "a(*b, *c)", "1:7 invalid syntax for function call expression" },
        { "a(**b, *c)", "1:8 invalid syntax for function call expression" },
        { "a(**b, **c)", "1:8 invalid syntax for function call expression" },
        { "a(**b, c=1)", "1:8 invalid syntax for function call expression" },
        { "a(b=1, c)", "1:8 invalid syntax for function call expression" },
        { "a(\n\nb=1, c)", "1:2 invalid syntax for function call expression" },
        { "a(b=1, b=2)", "1:8 keyword argument repeated: b" },
        { "a|f(b=1, c=2, b=2)", "1:15 keyword argument repeated: b" },
        { "a(b c)", "1:5 expected token ',', got 'c'" },
        { "[1 2]", "1:4 expected token ',', got 'integer'" },
        { "[,]", "1:2 unexpected ','" },
        { "{'a'}", "1:5 expected token ':', got '}'" },
        { "{'a' 'b': }", "1:11 unexpected '}'" },
        { "(1, 2", "1:5 unexpected end of template, expected ')'." },
        { "a[1 2]", "1:5 expected token ',', got 'integer'" },
        { "1 +", "1:3 unexpected 'end of template'" },
        { "* 2", "1:1 unexpected '*'" },
    };
    CHECK_EXPRESSIONS(*state, rows);
}

/* --- Statements --------------------------------------------------------------------------- */

static void text_and_variables_are_output(void **state)
{
    const Row rows[] = {
        { "", "" },
        { "a{{ b }}c", "(out 'a' b 'c')" },
        { "a{# b #}c", "(out 'a' 'c')" },
        { "{{ 1, 2 }}", "(out (tuple 1 2))" },
        { "{{ a, }}", "(out (tuple a))" },
        { "{% print 1, a %}", "(out 1 a)" },
        { "{% print %}", "(out)" },
        { "{{ }}", "1:4 Expected an expression, got 'end of print statement'" },
        { "{{ a b }}", "1:6 expected token 'end of print statement', got 'b'" },
        { "{{ a", "1:4 unexpected end of template, expected 'end of print statement'." },
    };
    CHECK_TEMPLATES(*state, rows);
}

static void loops(void **state)
{
    const Row rows[] = {
        { "{% for a in b %}{{ a }}{% endfor %}", "(for a b (do (out a)))" },
        { "{% for a, b in c %}{% else %}x{% endfor %}", "(for (tuple a b) c (else (out 'x')))" },
        { "{% for a, (b, c) in d if e recursive %}{% endfor %}",
          "(for (tuple a (tuple b c)) d (if e) recursive)" },
        { "{% for a in b, c %}{% endfor %}", "(for a (tuple b c))" },
        { "{% for a in b if c if d %}{% endfor %}", "(for a b (if (? d c _)))" },
        { "{% for a in b: %}{% endfor %}", "(for a b)" },
        { "{% for a in b %}{% break %}{% if a %}{% continue %}{% endif %}{% endfor %}",
          "(for a b (do (break) (if a (then (continue)))))" },
        { "{% for a in b %}{% else %}{% break %}{% endfor %}", "1:30 'break' outside loop" },
        { "{% for a in b %}{% for c in d %}{% else %}{% break %}{% endfor %}{% endfor %}",
          "(for a b (do (for c d (else (break)))))" },
        { "{% for a in b %}{% macro c() %}{% break %}{% endmacro %}{% endfor %}",
          "1:35 'break' outside loop" },
        { "{% continue %}", "1:4 'continue' not properly in loop" },
        { "{% break %}{{ * }}", "1:15 unexpected '*'" },
        { "{% for 1 in b %}{% endfor %}", "1:8 can't assign to 'const'" },
        { "{% for a.b in c %}{% endfor %}", "1:9 expected token 'in', got '.'" },
        { "{% for in b %}{% endfor %}", "1:11 expected token 'in', got 'b'" },
        { "{% for a b %}{% endfor %}", "1:10 expected token 'in', got 'b'" },
        { "{% for a in %}{% endfor %}",
          "1:13 Expected an expression, got 'end of statement block'" },
    };
    CHECK_TEMPLATES(*state, rows);
}

static void conditions(void **state)
{
    const Row rows[] = {
        { "{% if a %}b{% endif %}", "(if a (then (out 'b')))" },
        { "{% if a %}b{% else %}c{% endif %}", "(if a (then (out 'b')) (else (out 'c')))" },
        { "{% if a %}1{% elif b %}2{% elif c %}3{% else %}4{% endif %}",
          "(if a (then (out '1')) (else (if b (then (out '2')) "
          "(else (if c (then (out '3')) (else (out '4')))))))" },
        { "{% if a, b %}{% endif %}", "(if (tuple a b))" },
        { "{% if a: %}{% else: %}{% endif %}", "(if a)" },
        { "{% if %}{% endif %}", "1:7 Expected an expression, got 'end of statement block'" },
        { "{% if a if b %}{% endif %}", "1:9 expected token 'end of statement block', got 'if'" },
    };
    CHECK_TEMPLATES(*state, rows);
}

static void assignments(void **state)
{
    const Row rows[] = {
        { "{% set a = 1 %}", "(set a 1)" },
        { "{% set a, b = 1, 2 %}", "(set (tuple a b) (tuple 1 2))" },
        { "{% set (a, b) = c %}", "(set (tuple a b) c)" },
        { "{% set a.b = c %}", "(set a.b c)" },
        { "{% set a %}b{% endset %}", "(set-block a _ (do (out 'b')))" },
        { "{% set a | upper | f(1) %}b{% endset %}",
          "(set-block a (|f (|upper _) 1) (do (out 'b')))" },
        { "{% set a.b %}c{% endset %}", "(set-block a.b _ (do (out 'c')))" },
        { "{% with a = 1, b = a %}c{% endwith %}", "(with a 1 b a (do (out 'c')))" },
        { "{% with a, b = c %}{% endwith %}", "(with (tuple a b) c)" },
        { "{% with %}{% endwith %}", "(with)" },
        { "{% do a.b(1) %}", "(do (call (. a b) 1))" },
        { "{% do a, b %}", "(do (tuple a b))" },
        { "{% autoescape true %}a{% endautoescape %}", "(autoescape true (do (out 'a')))" },
        { "{% set true = 1 %}", "1:8 can't assign to 'const'" },
        { "{% set 'a' = 1 %}", "1:8 can't assign to 'const'" },
        { "{% set [a] = 1 %}", "1:8 can't assign to 'list'" },
        { "{% set a, 1 = 2 %}", "1:8 can't assign to 'tuple'" },
        { "{% set (a + b) = 2 %}", "1:11 can't assign to 'add'" },
        { "{% set (not a) = 2 %}", "1:9 can't assign to 'not'" },
        { "{% set (a.b) = 2 %}", "1:11 can't assign to 'getattr'" },
        { "{% set (a if b) = 2 %}", "1:9 can't assign to 'condexpr'" },
        { "{% set a.1 = 2 %}", "1:10 expected token 'name', got 'integer'" },
        { "{% set %}", "1:8 Expected an expression, got 'end of statement block'" },
        { "{% with a 1 %}{% endwith %}", "1:11 expected token '=', got 'integer'" },
    };
    CHECK_TEMPLATES(*state, rows);
}

static void macros_calls_and_filters(void **state)
{
    const Row rows[] = {
        { "{% macro a() %}b{% endmacro %}", "(macro a (do (out 'b')))" },
        { "{% macro a(b, c=1, d=e + 1) %}{% endmacro %}", "(macro a b c=1 d=(+ e 1))" },
        { "{% call a(1) %}b{% endcall %}", "(call-block (call a 1) (do (out 'b')))" },
        { "{% call(x, y=2) a.b() %}{% endcall %}", "(call-block x y=2 (call (. a b)))" },
        { "{% filter upper %}a{% endfilter %}", "(filter (|upper _) (do (out 'a')))" },
        { "{% filter a(1)|b.c %}{% endfilter %}", "(filter (|b.c (|a _ 1)))" },
        { "{% macro a(b=1, c) %}{% endmacro %}",
          "1:17 non-default argument follows default argument" },
        { "{% macro a(b,) %}{% endmacro %}", "1:14 expected token 'name', got ')'" },
        { "{% macro true() %}{% endmacro %}", "1:10 can't assign to 'name'" },
        { "{% macro a %}{% endmacro %}", "1:12 expected token '(', got 'end of statement block'" },
        { "{% call a %}{% endcall %}", "1:9 expected call" },
        { "{% call a|b %}{% endcall %}", "1:11 expected call" },
        { "{% filter %}{% endfilter %}",
          "1:11 expected token 'name', got 'end of statement block'" },
    };
    CHECK_TEMPLATES(*state, rows);
}

static void blocks_and_other_templates(void **state)
{
    const Row rows[] = {
        { "{% extends 'a' %}", "(extends 'a')" },
        { "{% block a %}b{% endblock %}", "(block a (do (out 'b')))" },
        { "{% block a scoped required %} {# b #}\n{% endblock a %}",
          "(block a scoped required (do (out ' ' '\n')))" },
        { "{% include 'a' %}", "(include 'a')" },
        { "{% include ['a', b] ignore missing without context %}",
          "(include (list 'a' b) ignore-missing no-context)" },
        { "{% include a with context %}", "(include a)" },
        { "{% import 'a' as b %}", "(import 'a' b)" },
        { "{% import 'a' as b with context %}", "(import 'a' b context)" },
        { "{% from 'a' import b %}", "(from 'a' b)" },
        { "{% from 'a' import b as c, d, with context %}", "(from 'a' b>c d context)" },
        { "{% from 'a' import with, without without context %}", "(from 'a' with without)" },
        { "{% from 'a' import with context %}", "(from 'a' context)" },
        { "{% block a-b %}{% endblock %}",
          "1:11 Block names in Jinja have to be valid Python identifiers and may not contain "
          "hyphens, use an underscore instead." },
        { "{% block a required scoped %}{% endblock %}",
          "1:21 expected token 'end of statement block', got 'scoped'" },
        { "{% block a required %}b{% endblock %}",
          "1:36 Required blocks can only contain comments or whitespace" },
        { "{% block a required %}{% if b %}{% endif %}{% endblock %}",
          "1:56 Required blocks can only contain comments or whitespace" },
        { "{% block a %}{% endblock b %}",
          "1:26 expected token 'end of statement block', got 'b'" },
        { "{% import 'a' %}", "1:15 expected token 'as', got 'end of statement block'" },
        { "{% from 'a' import %}", "1:20 expected token 'name', got 'end of statement block'" },
        { "{% from 'a' import _b %}", "1:20 names starting with an underline can not be imported" },
        { "{% from 'a' import b, %}", "1:23 expected token 'name', got 'end of statement block'" },
    };
    CHECK_TEMPLATES(*state, rows);
}

static void a_private_import_is_an_assertion(void **state)
{
    Fixture *f = *state;
    parse(f, STR("{% from 'a' import _b %}"));
    assert_int_equal(f->fault.class, FAULT_ASSERTION);
}

static void unknown_and_unclosed_tags(void **state)
{
    const Row rows[] = {
        { "{% foo %}", "1:4 unknown tag 'foo'" },
        { "{% endif %}", "1:4 'endif' has no matching open tag" },
        { "{% 1 %}", "1:4 tag name expected" },
        { "{% %}", "1:4 tag name expected" },
        { "{% if a %}\n\n{% for b in c %}{% endif %}",
          "3:20 'endif' does not match the open 'for'" },
        { "{% if a %}{% foo %}", "1:14 unknown tag 'foo'" },
        { "{% for a in b %}x{% if c %}\n{% endif %}", "2:10 the 'for' is never closed" },
        { "{% if a %}\n\nb", "1:11 the 'if' is never closed" },
        { "{% if a", "1:7 unexpected end of template, expected 'end of statement block'." },
        { "{% if a %}{% endif b %}", "1:20 expected token 'end of statement block', got 'b'" },
    };
    CHECK_TEMPLATES(*state, rows);
}

static void near_misses_of_tags_get_a_hint(void **state)
{
    Fixture *f = *state;
    parse(f, STR("{% inlcude 'a' %}"));
    assert_str(f->fault.hint, "did you mean 'include'?");
    parse(f, STR("{% for a in b %}{% endfro %}"));
    assert_str(f->fault.hint, "did you mean 'endfor'?");
    parse(f, STR("{% something %}"));
    assert_str(f->fault.hint, "");
}

static void other_hints(void **state)
{
    const struct {
        const char *text;
        const char *hint;
    } rows[] = {
        { "{{ a && b }}", "write 'and'" },
        { "{{ a || b }}", "write 'or' for alternatives" },
        { "{{ !a }}", "write 'not'" },
        { "{{ a ? b : c }}", "write 'a if condition else b'" },
        { "{{ $a }}", "write variables without '$'" },
        { "{{ 'a }}", "this string is not closed" },
        { "{% if a %}{% else if b %}{% endif %}", "write 'elif'" },
        { "{{ 'a' } }}", "'{{' is closed by '}}'" },
        { "{% if a } %}", "'{%' is closed by '%}'" },
        { "{{ a) }}", "" },
        { "{% if a %}b", "add '{% endif %}'" },
        { "{% if a %}{% endfor %}", "close it first: '{% endif %}'" },
        { "{{ a b }}", "" },
    };
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parse(f, str_from_c(rows[i].text));
        assert_str(f->fault.hint, rows[i].hint);
    }
}

static void an_unclosed_tag_shows_its_start(void **state)
{
    Fixture *f = *state;
    parse(f, STR("\n{% for a in b %}\n{% if c %}{% endif %}"));
    assert_int_equal(f->fault.begins, 2);
    parse(f, STR("\n{% for a in b %}\n{% endif %}"));
    assert_int_equal(f->fault.begins, 2);
    parse(f, STR("{% if a %}{% foo %}"));
    assert_int_equal(f->fault.begins, 0);
}

/* --- Places ------------------------------------------------------------------------------- */

static const Node *first_item(Fixture *f, Str text)
{
    Node *node;
    assert_true(template_parse(&f->arena, &f->settings, text, &node, &f->fault));
    return node->kind == NODE_OUTPUT ? node->items : node;
}

/* Jinja2 reports these lines; where it is ambiguous, the position is the relevant word. */
static void nodes_have_positions(void **state)
{
    const struct {
        const char *text;
        const char *at; /* the text from the node on */
        uint32_t span;
    } rows[] = {
        { "{{ abc }}", "abc }}", 3 },
        { "{{ a + bc }}", "+ bc", 1 },
        { "{{ a\n + b }}", "a\n +", 1 },
        { "{{ a\n + b\n + c }}", "+ c", 1 },
        { "{{ a < b }}", "< b", 1 },
        { "{{ a <\n b }}", "}}", 2 },
        { "{{ ab.cd }}", "cd }}", 2 },
        { "{{ ab\n.\ncd }}", ".\ncd", 1 },
        { "{{ ab[cd] }}", "[cd]", 1 },
        { "{{ ab.cd(1) }}", "cd(1)", 2 },
        { "{{ a|upper }}", "upper }}", 5 },
        { "{{ a\n|\nupper }}", "upper }}", 5 },
        { "{{ a is not none }}", "none }}", 4 },
        { "{{ a is\n none }}", "is\n none", 2 },
        { "{{ a if b else c }}", "a if", 1 },
        { "{{ not a }}", "not a", 3 },
        { "{{ a, b }}", "a, b", 1 },
        { "{{ a\n, b }}", ", b", 1 },
        { "{% for a in b %}{% endfor %}", "for a", 3 },
        { "{% set\n a = b %}", "set\n a", 3 },
    };
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Str text = str_from_c(rows[i].text);
        const Node *node = first_item(f, text);
        Str rest = str_from_offset(text, node->offset);
        if (!str_starts(rest, str_from_c(rows[i].at)) || node->span != rows[i].span) {
            fail_msg("%s: at \"%" STR_FMT "\", span %u", rows[i].text, STR_ARG(rest), node->span);
        }
    }
}

/* --- Limits ------------------------------------------------------------------------------- */

/* `head`, `count` times `part`, `tail`. */
static Str repeat(Fixture *f, const char *head, const char *part, size_t count, const char *tail)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    buf_put_c(&text, head);
    for (size_t i = 0; i < count; i++) {
        buf_put_c(&text, part);
    }
    buf_put_c(&text, tail);
    return arena_copy(&f->arena, buf_str(&text));
}

static void deep_nesting_is_a_limit(void **state)
{
    const struct {
        const char *head, *part, *tail;
    } rows[] = {
        { "{{ ", "(", "" },
        { "{{ ", "[", "" },
        { "{{ ", "{1:", "" },
        { "{{ ", "a(", "" },
        { "{{ a", "[a", "" },
        { "{{ ", "not ", "a }}" },
        { "{{ ", "-", "1 }}" },
        { "{{ ", "a if b else ", "c }}" },
        { "", "{% if a %}", "" },
        { "{% set ", "(", "" },
        { "{{ a", "|f(a", "" },
        { "{{ a", " is b(a", "" },
        { "{{ a", "+a", " }}" },
        { "{{ a", ".b", " }}" },
        { "{{ a", "|b", " }}" },
        { "{{ a", "()", " }}" },
        { "{{ a", " if b", " }}" },
        { "{{ a", " and b", " }}" },
        { "{% if a %}", "{% elif b %}", "{% endif %}" },
    };
    Fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Node *node;
        Str text = repeat(f, rows[i].head, rows[i].part, 100000, rows[i].tail);
        bool ok = template_parse(&f->arena, &f->settings, text, &node, &f->fault);
        if (ok || f->fault.class != FAULT_LIMIT) {
            fail_msg("%s%s: class %d", rows[i].head, rows[i].part, f->fault.class);
        }
    }
}

static void long_flat_templates_are_accepted(void **state)
{
    Fixture *f = *state;
    Node *node;
    const Str texts[] = {
        repeat(f, "{{ a", "~a", 20000, " }}"),
        repeat(f, "{{ a", "+a", 1500, " }}"),
        repeat(f, "{{ a", "|f", 1500, " }}"),
        repeat(f, "{{ [", "a,", 20000, "] }}"),
        repeat(f, "{{ a", " < a", 20000, " }}"),
        repeat(f, "{{ ", "'ab'", 20000, " }}"),
        repeat(f, "", "{{ a }}{% do b %}", 20000, ""),
        repeat(f, "{% if a %}", "{% elif b %}", 1500, "{% endif %}"),
        repeat(f, "{{ ", "(", 150, arena_copy_c(&f->arena, repeat(f, "a", ")", 150, " }}"))),
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Str text = texts[i];
        if (!template_parse(&f->arena, &f->settings, text, &node, &f->fault)) {
            fail_msg("text %zu: %" STR_FMT, i, STR_ARG(f->fault.message));
        }
    }
}

static void memory_is_a_limit(void **state)
{
    Fixture *f = *state;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, 64 * 1024);
    Node *node;
    Str text = repeat(f, "{{ [", "a,", 20000, "] }}");
    assert_false(template_parse(&arena, &f->settings, text, &node, &f->fault));
    assert_int_equal(f->fault.class, FAULT_LIMIT);
}

static void faults_have_class_and_message(void **state)
{
    Fixture *f = *state;
    assert_str(parse(f, STR("a\n{{ $ }}")), "2:4 unexpected char '$' at 5");
    assert_int_equal(f->fault.class, FAULT_SYNTAX);
    assert_str(f->fault.template_text, "a\n{{ $ }}");
    assert_string_equal(fault_class_name(FAULT_SYNTAX), "TemplateSyntaxError");
    assert_string_equal(fault_class_name(FAULT_LIMIT), "LimitError");
    assert_string_equal(fault_class_code(FAULT_SYNTAX), "E0201");
    assert_string_equal(fault_class_name(FAULT_NONE), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(literals),
        TEST(operators_bind_as_in_jinja),
        TEST(conditions_group_to_the_right),
        TEST(postfix_operators),
        TEST(filters_and_tests),
        TEST(an_expression_must_be_complete),
        TEST(invalid_calls_and_lists),
        TEST(text_and_variables_are_output),
        TEST(loops),
        TEST(conditions),
        TEST(assignments),
        TEST(macros_calls_and_filters),
        TEST(blocks_and_other_templates),
        TEST(a_private_import_is_an_assertion),
        TEST(unknown_and_unclosed_tags),
        TEST(near_misses_of_tags_get_a_hint),
        TEST(other_hints),
        TEST(an_unclosed_tag_shows_its_start),
        TEST(nodes_have_positions),
        TEST(deep_nesting_is_a_limit),
        TEST(long_flat_templates_are_accepted),
        TEST(memory_is_a_limit),
        TEST(faults_have_class_and_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
