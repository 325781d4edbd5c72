/* str(), repr() and escaping. */
#include "lang/template/ops.h"
#include "lang/template/rows.h"

static const Row printed[] = {
    { "[1,'a',2.5,none,true,(1,),{'a':[1]}]", "[1, 'a', 2.5, None, True, (1,), {'a': [1]}]" },
    { "(1,)", "(1,)" },
    { "()", "()" },
    { "[]", "[]" },
    { "{}", "{}" },
    { "{'a':1,2:'b',(1,2):none,none:1,true:2,1.5:3}",
      "{'a': 1, 2: 'b', (1, 2): None, None: 1, True: 2, 1.5: 3}" },
    { "\"it's\"|list", "['i', 't', \"'\", 's']" },
    { "[\"it's\",'a\"b','a\\'b\"c','x\\ny\\t\\r\\\\','\\x00\\x7f\\x80é\\u200b\\U0001f600']",
      "[\"it's\", 'a\"b', 'a\\'b\"c', 'x\\ny\\t\\r\\\\', '\\x00\\x7f\\x80é\\u200b😀']" },
    { "['\\u00a0','\\u2028','\\ufeff','\\ue000','\\U000e0001','日本']",
      "['\\xa0', '\\u2028', '\\ufeff', '\\ue000', '\\U000e0001', '日本']" },
    { "1.0", "1.0" },
    { "1e16", "1e+16" },
    { "1e15", "1000000000000000.0" },
    { "123456789012345680.0", "1.2345678901234568e+17" },
    { "0.1", "0.1" },
    { "1e-5", "1e-05" },
    { "0.0001", "0.0001" },
    { "1e100", "1e+100" },
    { "-0.0", "-0.0" },
    { "1.5e-10", "1.5e-10" },
    { "100000000000000000000.0", "1e+20" },
    { "[1.0,2e20]", "[1.0, 2e+20]" },
    { "'a'~1~2.5~none~true~[1]", "a12.5NoneTrue[1]" },
    { "''~missing", "" },
    { "s", "it's" },
    { "[s]", "[\"it's\"]" },
    { "u", "héllo wörld" },
    { "[u]", "['héllo wörld']" },
    { "html", "<b>\"x\"&'y'</b>" },
    { "[html]", "['<b>\"x\"&\\'y\\'</b>']" },
    { "none", "None" },
    { "t", "True" },
    { "n", "5" },
    { "f", "1.5" },
    { "d", "{'a': 1, 'items': 2, 'sub': {'x': 'y'}}" },
    { "l", "[1, 2, 3]" },
    { "[d]", "[{'a': 1, 'items': 2, 'sub': {'x': 'y'}}]" },
    { "d.keys()", "dict_keys(['a', 'items', 'sub'])" },
    { "[none, true]", "[None, True]" },
    { "{'a': {'b': [1, (2,)]}}", "{'a': {'b': [1, (2,)]}}" },
    { "['']", "['']" },
    { "[()]", "[()]" },
    { "[[],{}]", "[[], {}]" },
    { "'%s' % none", "None" },
    { "['\\u0301', '\\U0001f468\\u200d\\U0001f469']", "['́', '👨\\u200d👩']" },
    { "1e23", "1e+23" },
    { "5e-324", "5e-324" },
    { "1.7976931348623157e308", "1.7976931348623157e+308" },
    { "123456789.123456789", "123456789.12345679" },
    { "[1e5, 1e-4, 123456.7, 0.00001]", "[100000.0, 0.0001, 123456.7, 1e-05]" },
    { "missing", "" },
    { "[missing, [missing]]", "[Undefined, [Undefined]]" },
    { "'a' ~ 'b'", "ab" },
    { "'<' ~ n", "<5" },
    { "{% set x=[3] %}{% do x.append(x) %}{{ x }}", "[3, [...]]" },
    { "{% set x={'a':1} %}{% do x.update(b=x) %}{{ x }}", "{'a': 1, 'b': {...}}" },
    { "{% set x=[1] %}{% set y=(x,) %}{% do x.append(y) %}{{ y }}", "([1, (...)],)" },
    { "{% set x={'a':1} %}{% do x.update(b=x.items()) %}{{ x.keys() }}", "dict_keys(['a', 'b'])" },
};

ROWS_TEST(values_print_as_in_python, printed)

static const Row escaped[] = {
    { "html", "&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;" },
    { "[html]", "[&#39;&lt;b&gt;&#34;x&#34;&amp;\\&#39;y\\&#39;&lt;/b&gt;&#39;]" },
    { "'<' ~ html", "&lt;&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;" },
    { "html|safe", "<b>\"x\"&'y'</b>" },
    { "(html|safe) ~ n", "<b>\"x\"&'y'</b>5" },
    { "missing ~ (html|safe) ~ html",
      "<b>\"x\"&'y'</b>&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;" },
    { "n", "5" },
    { "f", "1.5" },
    { "none", "None" },
    { "t", "True" },
    { "l", "[1, 2, 3]" },
    { "d", "{&#39;a&#39;: 1, &#39;items&#39;: 2, &#39;sub&#39;: {&#39;x&#39;: &#39;y&#39;}}" },
    { "[html|safe]", "[Markup(&#39;&lt;b&gt;&#34;x&#34;&amp;\\&#39;y\\&#39;&lt;/b&gt;&#39;)]" },
    { "html ~ '<'", "&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;&lt;" },
    { "(html|safe) + html", "<b>\"x\"&'y'</b>&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;" },
    { "html + (html|safe)", "&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;<b>\"x\"&'y'</b>" },
    { "[(html|safe) ~ html]", "[Markup(&#39;&lt;b&gt;&#34;x&#34;&amp;\\&#39;y\\&#39;&lt;/"
                              "b&gt;&amp;lt;b&amp;gt;&amp;#34;x&amp;#34;&amp;amp;&amp;#39;y&amp;#"
                              "39;&amp;lt;/b&amp;gt;&#39;)]" },
    { "missing", "" },
    { "range(2)", "range(0, 2)" },
    { "'&<>\"' ~ s", "&amp;&lt;&gt;&#34;it&#39;s" },
    { "'a'*20 ~ html", "aaaaaaaaaaaaaaaaaaaa&lt;b&gt;&#34;x&#34;&amp;&#39;y&#39;&lt;/b&gt;" },
    { "'0123456789abcde<0123456789abcdef&'~s", "0123456789abcde&lt;0123456789abcdef&amp;it&#39;s" },
    { "cycler(1)", "&lt;jinja2.utils.Cycler object at 0x7f0000000000&gt;" },
    { "namespace(a='<')", "&lt;Namespace {&#39;a&#39;: &#39;&lt;&#39;}&gt;" },
};

static void autoescape_escapes_everything_but_markup(void **state)
{
    TemplateSettings settings = template_settings_default();
    settings.autoescape = true;
    CHECK_ROWS(&settings, escaped);
}

static void deep_values_do_not_crash(void **state)
{
    static const Row rows[] = {
        { "{% set ns = namespace(l=[]) %}{% for i in range(5000) %}{% set ns.l = [ns.l] %}"
          "{% endfor %}{{ ns.l }}",
          "!RecursionError: maximum recursion depth exceeded" },
        { "{% set ns = namespace(l=[1]) %}{% for i in range(64) %}{% set ns.l = [ns.l, ns.l] %}"
          "{% endfor %}{{ ns.l }}",
          "!LimitError: the template exceeded its limit of 100000 steps" },
    };
    TemplateSettings settings = template_settings_default();
    settings.limits.steps = 100000;
    CHECK_ROWS(&settings, rows);
}

/* A render context for operators, without an interpreter. */
typedef struct Stage {
    TemplateSettings settings;
    Arena arena;
    Rendered rendered;
    Render r;
} Stage;

static void stage_init(Stage *stage)
{
    *stage = (Stage){ .settings = template_settings_default() };
    arena_init(&stage->arena, ARENA_UNLIMITED);
    stage->rendered = rendered_make(&stage->settings.limits);
    stage->r = (Render){ .arena = &stage->arena,
                         .settings = &stage->settings,
                         .steps_left = 1000000,
                         .secrets = true,
                         .rendered = &stage->rendered,
                         .out = &stage->rendered.text,
                         .ranges = &stage->rendered };
}

static void stage_clear(Stage *stage)
{
    rendered_clear(&stage->rendered);
    arena_clear(&stage->arena);
}

static void check_range(const Stage *stage, uint32_t number, const char *expected)
{
    assert_in_range(number, 0, stage->rendered.secret_count - 1);
    SecretRange range = stage->rendered.secrets[number];
    assert_str(str_slice(buf_str(&stage->rendered.text), range.start, range.end), expected);
}

static void secrets_leave_their_ranges(void **state)
{
    Stage stage;
    stage_init(&stage);
    Render *r = &stage.r;
    Value secret = value_with_secret(value_string(STR("p<w")));
    List *list = list_new(&stage.arena, 2);
    list_push(&stage.arena, list, value_int(1));
    list_push(&stage.arena, list, secret);

    assert_true(op_print(r, value_string(STR("plain ")), r->out));
    assert_true(op_print(r, secret, r->out));
    assert_true(op_print(r, value_string(STR(" ")), r->out));
    assert_true(op_print_escaped(r, secret, r->out));
    assert_true(op_print(r, value_string(STR(" ")), r->out));
    assert_true(op_print(r, value_list(list), r->out));
    assert_true(op_print_escaped(r, value_list(list), r->out));
    assert_str(buf_str(&stage.rendered.text), "plain p<w p&lt;w [1, 'p<w'][1, &#39;p&lt;w&#39;]");
    assert_int_equal(stage.rendered.secret_count, 4);
    check_range(&stage, 0, "p<w");
    check_range(&stage, 1, "p&lt;w");
    check_range(&stage, 2, "'p<w'");
    /* A value escaped as a whole is secret as a whole. */
    check_range(&stage, 3, "[1, &#39;p&lt;w&#39;]");

    Value joined;
    Value parts[] = { value_string(STR("a")), secret };
    assert_true(op_concat(r, parts, 2, &joined));
    assert_true(value_is_secret(joined));
    assert_true(op_binary(r, OP_ADD, parts[0], secret, &joined));
    assert_true(value_is_secret(joined));
    bool equal;
    assert_true(op_equal(r, secret, value_string(STR("p<w")), &equal));
    assert_true(equal);
    /* Intermediate text leaves no range. */
    assert_int_equal(stage.rendered.secret_count, 4);
    stage_clear(&stage);
}

static void every_position_of_a_text_is_escaped(void **state)
{
    char text[64];
    for (size_t at = 0; at < sizeof text; at++) {
        for (const char *special = "&<>'\""; *special != '\0'; special++) {
            memset(text, 'x', sizeof text);
            text[at] = *special;
            AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
            escape_html(str_from(text, sizeof text), &out);
            const char *entity = *special == '&'    ? "&amp;"
                                 : *special == '<'  ? "&lt;"
                                 : *special == '>'  ? "&gt;"
                                 : *special == '\'' ? "&#39;"
                                                    : "&#34;";
            assert_int_equal(out.len, sizeof text - 1 + strlen(entity));
            assert_memory_equal(out.data + at, entity, strlen(entity));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_print_as_in_python),
        cmocka_unit_test(autoescape_escapes_everything_but_markup),
        cmocka_unit_test(deep_values_do_not_crash),
        cmocka_unit_test(secrets_leave_their_ranges),
        cmocka_unit_test(every_position_of_a_text_is_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
