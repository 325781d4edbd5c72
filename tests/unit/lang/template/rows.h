/* Tables of templates and their output. The expected text is what Debian's Jinja2 renders with the
 * same context; a row that starts with `!` is the class and message of the error. */
#pragma once

#include "lang/json.h"
#include "lang/template/template.h"
#include "unit.h"

typedef struct Row {
    const char *text; /* a template, or an expression if it does not start with a brace */
    const char *output;
} Row;

#define ROWS_CONTEXT                                                                \
    "{\"d\": {\"a\": 1, \"items\": 2, \"sub\": {\"x\": \"y\"}}, \"l\": [1, 2, 3], " \
    "\"s\": \"it's\", \"n\": 5, \"f\": 1.5, \"neg\": -7, \"t\": true, "             \
    "\"u\": \"héllo wörld\", \"html\": \"<b>\\\"x\\\"&'y'</b>\"}"

static inline bool row_renders(Templates *templates, const Row *row, Value context,
                               Rendered *rendered, Fault *fault)
{
    char text[1024];
    bool whole = strncmp(row->text, "{{", 2) == 0 || strncmp(row->text, "{%", 2) == 0;
    int len = snprintf(text, sizeof text, whole ? "%s" : "{{ %s }}", row->text);
    assert_in_range(len, 0, sizeof text - 1);
    const Template *template;
    return templates_compile(templates, STR_EMPTY, str_from_c(text), &template, fault) &&
           template_render(template, context, rendered, fault);
}

static inline void check_row(const TemplateSettings *settings, const Row *row, Value context)
{
    AUTO(Templates) *templates = templates_new(settings);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&settings->limits);
    Fault fault = { 0 };
    AUTO_CLEAR(Buf) shown = buf_make(BUF_UNLIMITED);
    if (row_renders(templates, row, context, &rendered, &fault)) {
        buf_put(&shown, buf_str(&rendered.text));
    } else {
        buf_put_format(&shown, "!%s: %" STR_FMT, fault_class_name(fault.class),
                       STR_ARG(fault.message));
    }
    if (!str_eq_c(buf_str(&shown), row->output)) {
        print_error("%s\n", row->text);
    }
    assert_str(buf_str(&shown), row->output);
}

static inline void check_rows(const TemplateSettings *settings, const Row *rows, size_t count)
{
    Arena arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Value context;
    Error err = { 0 };
    assert_true(json_parse_text(&arena, STR(ROWS_CONTEXT), NULL, &context, &err));
    for (size_t i = 0; i < count; i++) {
        check_row(settings, &rows[i], context);
    }
    arena_clear(&arena);
}

#define CHECK_ROWS(settings, rows) check_rows((settings), (rows), COUNT_OF(rows))

/* Tests a table with the default settings. */
#define ROWS_TEST(name, rows)                                    \
    static void name(void **state)                               \
    {                                                            \
        TemplateSettings settings = template_settings_default(); \
        CHECK_ROWS(&settings, rows);                             \
    }
