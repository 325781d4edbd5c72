#include "lang/template/lexer.h"

#include <inttypes.h>
#include <stdlib.h>

#include "unit.h"

/* A test's texts and their tokens. */
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

static void put_quoted(Buf *out, char open, Str text, char close)
{
    buf_put_char(out, open);
    buf_put(out, text);
    buf_put_char(out, close);
}

static void put_token(Buf *out, const Token *token)
{
    switch (token->type) {
    case TOKEN_DATA: put_quoted(out, '[', token->text, ']'); break;
    case TOKEN_BLOCK_BEGIN: buf_put_c(out, "{%"); break;
    case TOKEN_BLOCK_END: buf_put_c(out, "%}"); break;
    case TOKEN_VARIABLE_BEGIN: buf_put_c(out, "{{"); break;
    case TOKEN_VARIABLE_END: buf_put_c(out, "}}"); break;
    case TOKEN_NAME: buf_put(out, token->text); break;
    case TOKEN_STRING: put_quoted(out, '\'', token->text, '\''); break;
    case TOKEN_INTEGER:
        if (token->wide) {
            buf_put_c(out, "wide");
        } else {
            buf_put_format(out, "%" PRIu64, token->integer);
        }
        break;
    case TOKEN_FLOAT: buf_put_format(out, "%.17gf", token->number); break;
    default: buf_put(out, token_type_describe(token->type)); break;
    }
}

/* All tokens separated by spaces; an error as "line:column message". */
static Str lex(Fixture *f, Str text)
{
    Lexer lexer;
    Token token = { .type = TOKEN_FAULT };
    buf_reset(&f->out);
    bool ok = lexer_init(&lexer, &f->arena, &f->settings, text, LEXER_DATA, &f->fault);
    while (ok) {
        lexer_next(&lexer, &token);
        if (token.type == TOKEN_END || token.type == TOKEN_FAULT) {
            break;
        }
        if (f->out.len > 0) {
            buf_put_char(&f->out, ' ');
        }
        put_token(&f->out, &token);
    }
    if (token.type == TOKEN_FAULT) {
        if (f->out.len > 0) {
            buf_put_char(&f->out, ' ');
        }
        buf_put_format(&f->out, "%u:%u %" STR_FMT, f->fault.line, f->fault.column,
                       STR_ARG(f->fault.message));
    }
    return buf_str(&f->out);
}

typedef struct Row {
    const char *text;
    const char *tokens;
} Row;

static void check_rows(Fixture *f, const Row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        Str got = lex(f, str_from_c(rows[i].text));
        if (!str_eq_c(got, rows[i].tokens)) {
            fail_msg("template  %s\ngot       %" STR_FMT "\nexpected  %s", rows[i].text,
                     STR_ARG(got), rows[i].tokens);
        }
    }
}

#define CHECK(f, rows) check_rows((f), (rows), COUNT_OF(rows))

static void data_and_tags_alternate(void **state)
{
    const Row rows[] = {
        { "", "" },
        { "\n", "" },
        { "text", "[text]" },
        { "a{{ b }}c", "[a] {{ b }} [c]" },
        { "{{a}}{%b%}", "{{ a }} {% b %}" },
        { "a{# b {{ c #}d", "[a] [d]" },
        { "a { b } {", "[a { b } {]" },
        { "{{ {'a': {}} }}", "{{ { 'a' : { } } }}" },
        { "{{ a", "{{ a" },
        { "{#", "" },
    };
    CHECK(*state, rows);
}

static void operators_are_the_longest_that_fit(void **state)
{
    const Row rows[] = {
        { "{{ a+b-c*d/e%f }}", "{{ a + b - c * d / e % f }}" },
        { "{{ **//==!=<=>=<>=. }}", "{{ ** // == != <= >= < >= . }}" },
        { "{{ ***///=== }}", "{{ ** * // / == = }}" },
        { "{{ ~|,:;([{}]) }}", "{{ ~ | , : ; ( [ { } ] ) }}" },
    };
    CHECK(*state, rows);
}

static void numbers_follow_python(void **state)
{
    const Row rows[] = {
        { "{{ 0 7 42 1_000 007 0_0 }}", "{{ 0 7 42 1000 0 7 0 }}" },
        { "{{ 0x1F 0b1_01 0o17 0X_ff }}", "{{ 31 5 15 255 }}" },
        { "{{ 0x 0b2 1__0 12_ }}", "{{ 0 x 0 b2 1 __0 12 _ }}" },
        { "{{ 1.5 1e3 1_0.5e3 2E-2 01.5 }}", "{{ 1.5f 1000f 10500f 0.02f 1.5f }}" },
        { "{{ 1. 1.e5 1e 1.5e+ .5 }}", "{{ 1 . 1 . e5 1 e 1.5f e + . 5 }}" },
        { "{{ a.1.2 a.1 .5 }}", "{{ a . 1 . 2 a . 1 . 5 }}" },
        { "{{ 18446744073709551615 18446744073709551616 }}", "{{ 18446744073709551615 wide }}" },
        { "{{ 0xffffffffffffffff 0x1_0000000000000000 }}", "{{ 18446744073709551615 wide }}" },
        { "{{ 1e999 }}", "{{ inff }}" },
    };
    CHECK(*state, rows);
}

static void strings_are_decoded_as_python_does(void **state)
{
    const Row rows[] = {
        { "{{ 'a' \"b'c\" '' }}", "{{ 'a' 'b'c' '' }}" },
        { "{{ '\\'\\\"\\\\' }}", "{{ ''\"\\' }}" },
        { "{{ '\\n\\t\\a\\b\\f\\r\\v' }}", "{{ '\n\t\a\b\f\r\v' }}" },
        { "{{ '\\x41\\u00e9\\U0001F600\\101\\7x' }}", "{{ 'A\u00e9\U0001F600A\ax' }}" },
        { "{{ '\\777\\8\\q\\ ' }}", "{{ '\u01ff\\8\\q\\ ' }}" },
        { "{{ 'a\nb' 'a\\\nb' }}", "{{ 'a\nb' 'ab' }}" },
        { "{{ '\u00e9\\\u00e9\\\u20ac\\\U0001F600' }}", "{{ '\u00e9\\xe9\\u20ac\\U0001f600' }}" },
        { "{{ '}}' }}", "{{ '}}' }}" },
        { "{{ '\\x4' }}", "{{ 1:4 truncated \\xXX escape" },
        { "{{ '\\u12' }}", "{{ 1:4 truncated \\uXXXX escape" },
        { "{{\n '\\U0001f60' }}", "{{ 2:2 truncated \\UXXXXXXXX escape" },
        { "{{ '\\U00110000' }}", "{{ 1:4 illegal Unicode character" },
        { "{{ '\\ud83d' }}", "{{ 1:4 surrogates not allowed" },
        { "{{ '\\N{DASH}' }}", "{{ 1:4 unknown Unicode character name" },
        { "{{ '\\Nx' }}", "{{ 1:4 malformed \\N character escape" },
        { "{{ '\\N{}' }}", "{{ 1:4 malformed \\N character escape" },
    };
    CHECK(*state, rows);
}

static void names_can_contain_any_letters(void **state)
{
    const Row rows[] = {
        { "{{ f\u00f6\u00f6 \u540d\u524d _x1 }}", "{{ f\u00f6\u00f6 \u540d\u524d _x1 }}" },
        { "{{ a\u00b2 }}", "{{ 1:4 Invalid character in identifier" },
        { "{{ \u0663 }}", "{{ 1:4 Invalid character in identifier" },
        { "{{ a\u00a0b }}", "{{ a b }}" },
        { "{{ a\U0001F40D }}", "{{ a 1:5 unexpected char '\U0001F40D' at 4" },
    };
    CHECK(*state, rows);
}

static void invalid_characters_and_brackets_are_named(void **state)
{
    const Row rows[] = {
        { "{{ $ }}", "{{ 1:4 unexpected char '$' at 3" },
        { "\u00e9\n{{ ! }}", "[\u00e9\n] {{ 2:4 unexpected char '!' at 5" },
        { "{{ 'a }}", "{{ 1:4 unexpected char \"'\" at 3" },
        { "{{ \"a' }}", "{{ 1:4 unexpected char '\"' at 3" },
        { "{{ \\ }}", "{{ 1:4 unexpected char '\\\\' at 3" },
        { "{{ \u200b }}", "{{ 1:4 unexpected char '\\u200b' at 3" },
        { "{{ \x01 }}", "{{ 1:4 unexpected char '\\x01' at 3" },
        { "{{ (a }}", "{{ ( a 1:7 unexpected '}', expected ')'" },
        { "{{ a] }}", "{{ a 1:5 unexpected ']'" },
        { "{{ {(]}", "{{ { ( 1:6 unexpected ']', expected ')'" },
    };
    CHECK(*state, rows);
}

static void a_nul_is_a_character(void **state)
{
    Fixture *f = *state;
    Str got = lex(f, STR("a\0b{{ '\0' \0 }}"));
    assert_true(str_eq(got, STR("[a\0b] {{ '\0' 1:11 unexpected char '\\x00' at 10")));
}

static void unclosed_comments_and_raw_blocks_are_faults(void **state)
{
    const Row rows[] = {
        { "a\n{# b", "[a\n] 2:1 Missing end of comment tag" },
        { "{% raw %}\n{{ x", "1:1 Missing end of raw directive" },
        { "{% raw -%}\n\n x", "3:2 Missing end of raw directive" },
        { "{% raw %}", "" },
        { "{#-", "" },
    };
    CHECK(*state, rows);
}

static void raw_blocks_are_data(void **state)
{
    const Row rows[] = {
        { "{% raw %}{{ a }}{% endraw %}b", "[{{ a }}] [b]" },
        { "a {%- raw -%} {{ b }} {%- endraw -%} c", "[a] [{{ b }}] [c]" },
        { "{%raw%}{% endrawx %}{%+endraw+%}", "[{% endrawx %}]" },
        { "{% raw %}{# {% raw %}{% endraw %}", "[{# {% raw %}]" },
        { "{% rawx %}", "{% rawx %}" },
    };
    CHECK(*state, rows);
}

static void a_minus_strips_whitespace(void **state)
{
    const Row rows[] = {
        { "a \n {{- b -}} \n c", "[a] {{ b }} [c]" },
        { "a \n {%- b -%} \n c", "[a] {% b %} [c]" },
        { "a \n {#- b -#} \n c", "[a] [c]" },
        { "a\u00a0{{- b -}}\u3000c", "[a] {{ b }} [c]" },
        { "  {{- a }}", "{{ a }}" },
        { "{{ a - }}", "{{ a - }}" },
        { "{{-1}}", "{{ 1 }}" },
        { "{{ -1}}", "{{ - 1 }}" },
        { "{{+1 }}", "{{ 1 }}" },
        { "{{ a +}}", "{{ a + }}" },
        { "a {%+ b +%} c", "[a ] {% b %} [ c]" },
        { "{#--#} a", "[a]" },
    };
    CHECK(*state, rows);
}

static void one_trailing_newline_is_dropped(void **state)
{
    Fixture *f = *state;
    assert_str(lex(f, STR("a\n\n")), "[a\n]");
    assert_str(lex(f, STR("a\r\n")), "[a]");
    assert_str(lex(f, STR("{{ a }}\n")), "{{ a }}");
    f->settings.syntax.keep_trailing_newline = true;
    assert_str(lex(f, STR("a\n\n")), "[a\n\n]");
    assert_str(lex(f, STR("\n")), "[\n]");
}

static void newlines_become_the_newline_sequence(void **state)
{
    Fixture *f = *state;
    const char *text = "a\r\nb\rc\nd {{ 'x\r\ny' }}";
    assert_str(lex(f, str_from_c(text)), "[a\nb\nc\nd ] {{ 'x\ny' }}");
    f->settings.syntax.newline_sequence = STR("\r\n");
    assert_str(lex(f, str_from_c(text)), "[a\r\nb\r\nc\r\nd ] {{ 'x\r\ny' }}");
    f->settings.syntax.newline_sequence = STR("\r");
    assert_str(lex(f, str_from_c(text)), "[a\rb\rc\rd ] {{ 'x\ry' }}");
}

static void positions_refer_to_the_original_text(void **state)
{
    Fixture *f = *state;
    assert_str(lex(f, STR("a\r\n\r\n\r {{ $ }}")), "[a\n\n\n ] {{ 4:5 unexpected char '$' at 8");
    assert_int_equal(f->fault.offset, 10);
    assert_int_equal(f->fault.span, 1);
}

static void trim_blocks_removes_the_newline_after_a_block(void **state)
{
    Fixture *f = *state;
    f->settings.syntax.trim_blocks = true;
    const Row rows[] = {
        { "{% a %}\n\nb", "{% a %} [\nb]" }, { "{% a %} \nb", "{% a %} [ \nb]" },
        { "{% a +%}\nb", "{% a %} [\nb]" },  { "{% a -%}\n \nb", "{% a %} [b]" },
        { "{{ a }}\nb", "{{ a }} [\nb]" },   { "{# a #}\nb", "[b]" },
        { "{# a +#}\nb", "[\nb]" },          { "{% raw %}\na{% endraw %}\nb", "[\na] [b]" },
    };
    CHECK(f, rows);
}

static void lstrip_blocks_removes_the_indentation_before_a_block(void **state)
{
    Fixture *f = *state;
    f->settings.syntax.lstrip_blocks = true;
    const Row rows[] = {
        { "  {% a %}", "{% a %}" },
        { "x\n \t {% a %}", "[x\n] {% a %}" },
        { "x {% a %}", "[x ] {% a %}" },
        { "  {%+ a %}", "[  ] {% a %}" },
        { "  {{ a }}", "[  ] {{ a }}" },
        { "  {# a #}  {% b %}", "[  ] {% b %}" },
        { "{% a %}\n  {% b %}", "{% a %} [\n] {% b %}" },
        { "{{ a }}  {% b %}", "{{ a }} [  ] {% b %}" },
        { "  {% raw %} {% endraw %}", "[ ]" },
        { "{% raw %}\n  {% endraw %}", "[\n]" },
    };
    CHECK(f, rows);
    f->settings.syntax.trim_blocks = true;
    assert_str(lex(f, STR("{% a %}\n  {% b %}\n")), "{% a %} {% b %}");
}

static void line_statements_end_at_the_newline(void **state)
{
    Fixture *f = *state;
    f->settings.syntax.line_statement_prefix = STR("%");
    f->settings.syntax.line_comment_prefix = STR("##");
    const Row rows[] = {
        { "% a\nb", "{% a %} [b]" },
        { "x\n \t% a: \n\n  b\n% c", "[x\n] {% a : %} [  b\n] {% c %}" },
        { "x % a", "[x % a]" },
        { "% a (1,\n 2)\nb", "{% a ( 1 , 2 ) %} [b]" },
        { "%- a\nb", "{% a %} [b]" },
        { "x\n%- a", "[x] {% a %}" },
        { "a ## b\nc", "[a] [\nc]" },
        { "  ## b\nc", "[\nc]" },
        { "{{ a }} ## b", "{{ a }}" },
        { "{{ a -}}  ## b", "{{ a }} [## b]" },
    };
    CHECK(f, rows);
}

static void the_longer_prefix_wins(void **state)
{
    Fixture *f = *state;
    f->settings.syntax.line_statement_prefix = STR("#");
    f->settings.syntax.line_comment_prefix = STR("##");
    assert_str(lex(f, STR("# a\n## b\nc")), "{% a %} [\nc]");
    f->settings.syntax.line_statement_prefix = STR("##");
    f->settings.syntax.line_comment_prefix = STR("#");
    assert_str(lex(f, STR("## a\n# b\nc")), "{% a %} [\nc]");
}

static void delimiters_are_configurable(void **state)
{
    Fixture *f = *state;
    TemplateSyntax *syntax = &f->settings.syntax;
    syntax->variable_start = STR("${");
    syntax->variable_end = STR("}");
    assert_str(lex(f, STR("${ {'a': 1} }{{ x")), "{{ { 'a' : 1 } }} [{{ x]");
    syntax->block_start = STR("<%");
    syntax->block_end = STR("%>");
    syntax->variable_start = STR("<%=");
    syntax->variable_end = STR("%>");
    syntax->comment_start = STR("<%#");
    syntax->comment_end = STR("%>");
    assert_str(lex(f, STR("<%= a %><% b %><%# c %>d")), "{{ a }} {% b %} [d]");
    syntax->block_start = STR("<!--");
    syntax->block_end = STR("-->");
    syntax->comment_start = STR("<!--#");
    syntax->comment_end = STR("-->");
    assert_str(lex(f, STR("<!-- a --><!--# b --> <!-- c ---> d")), "{% a %} [ ] {% c %} [d]");
}

static void unusable_settings_and_texts_are_rejected(void **state)
{
    Fixture *f = *state;
    assert_str(lex(f, STR("a\n\xff")), "2:1 the template is not valid UTF-8: byte 0xff at 2");
    assert_int_equal(f->fault.class, FAULT_SYNTAX);
    f->settings.limits.source = 3;
    assert_str(lex(f, STR("abcd")), "1:1 the template is 4 bytes long, more than the limit of 3");
    assert_int_equal(f->fault.class, FAULT_LIMIT);
    f->settings.limits.source = 1000;
    f->settings.syntax.comment_start = STR("{{");
    assert_str(lex(f, STR("a")), "1:1 block, variable and comment start strings must be different");
    f->settings.syntax.comment_start = STR("");
    assert_str(lex(f, STR("a")),
               "1:1 the delimiters of blocks, variables and comments must not be empty");
}

static void every_keyword_is_found_by_its_text(void **state)
{
    for (Word word = WORD_OTHER + 1; word < WORD_COUNT; word++) {
        assert_int_equal(word_find(word_text(word)), word);
    }
    const char *others[] = { "", "i", "iff", "endautoescaped", "FOR", "ends" };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_int_equal(word_find(str_from_c(others[i])), WORD_OTHER);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(data_and_tags_alternate),
        TEST(operators_are_the_longest_that_fit),
        TEST(numbers_follow_python),
        TEST(strings_are_decoded_as_python_does),
        TEST(names_can_contain_any_letters),
        TEST(invalid_characters_and_brackets_are_named),
        TEST(a_nul_is_a_character),
        TEST(unclosed_comments_and_raw_blocks_are_faults),
        TEST(raw_blocks_are_data),
        TEST(a_minus_strips_whitespace),
        TEST(one_trailing_newline_is_dropped),
        TEST(newlines_become_the_newline_sequence),
        TEST(positions_refer_to_the_original_text),
        TEST(trim_blocks_removes_the_newline_after_a_block),
        TEST(lstrip_blocks_removes_the_indentation_before_a_block),
        TEST(line_statements_end_at_the_newline),
        TEST(the_longer_prefix_wins),
        TEST(delimiters_are_configurable),
        TEST(unusable_settings_and_texts_are_rejected),
        TEST(every_keyword_is_found_by_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
