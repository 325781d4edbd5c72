#include "cli/batch.h"

#include <unistd.h>

#include "lang/json.h"
#include "sys/line_reader.h"

enum {
    LINE_MAX_BYTES = 64 << 20
};

/* One line of input, parsed. */
typedef struct Request {
    Str text; /* template or expression */
    Value context;
    TemplateSettings settings;
} Request;

static bool load_from_map(void *context, Str name, Arena *arena, Str *text)
{
    const MapEntry *entry = map_find_str(context, name);
    if (entry == NULL || entry->value.kind != VALUE_STRING) {
        return false;
    }
    *text = value_str(entry->value);
    return true;
}

/* Sets a field of the settings from an option of a request. */
typedef struct TextOption {
    const char *name;
    size_t offset;
} TextOption;

static const TextOption text_options[] = {
    { "block_start_string", offsetof(TemplateSyntax, block_start) },
    { "block_end_string", offsetof(TemplateSyntax, block_end) },
    { "variable_start_string", offsetof(TemplateSyntax, variable_start) },
    { "variable_end_string", offsetof(TemplateSyntax, variable_end) },
    { "comment_start_string", offsetof(TemplateSyntax, comment_start) },
    { "comment_end_string", offsetof(TemplateSyntax, comment_end) },
    { "line_statement_prefix", offsetof(TemplateSyntax, line_statement_prefix) },
    { "line_comment_prefix", offsetof(TemplateSyntax, line_comment_prefix) },
    { "newline_sequence", offsetof(TemplateSyntax, newline_sequence) },
};

static const TextOption flag_options[] = {
    { "trim_blocks", offsetof(TemplateSyntax, trim_blocks) },
    { "lstrip_blocks", offsetof(TemplateSyntax, lstrip_blocks) },
    { "keep_trailing_newline", offsetof(TemplateSyntax, keep_trailing_newline) },
};

static const TextOption *find_option(const TextOption *rows, size_t count, Str name)
{
    for (size_t i = 0; i < count; i++) {
        if (str_eq_c(name, rows[i].name)) {
            return &rows[i];
        }
    }
    return NULL;
}

static bool apply_option(Request *request, Str name, Value value, Error *err)
{
    TemplateSettings *settings = &request->settings;
    char *syntax = (char *)&settings->syntax;
    const TextOption *row = find_option(text_options, COUNT_OF(text_options), name);
    if (row != NULL && (value.kind == VALUE_STRING || value.kind == VALUE_NULL)) {
        *(Str *)(syntax + row->offset) = value.kind == VALUE_STRING ? value_str(value) : STR_EMPTY;
        return true;
    }
    row = find_option(flag_options, COUNT_OF(flag_options), name);
    if (row != NULL && value.kind == VALUE_BOOL) {
        *(bool *)(syntax + row->offset) = value.boolean;
        return true;
    }
    if (str_eq(name, STR("autoescape")) && value.kind == VALUE_BOOL) {
        settings->autoescape = value.boolean;
        return true;
    }
    if (str_eq(name, STR("undefined")) && value.kind == VALUE_STRING &&
        undefined_mode_from_class(value_str(value), &settings->undefined)) {
        return true;
    }
    if (str_eq(name, STR("loader")) && value.kind == VALUE_MAP) {
        settings->load = load_from_map;
        settings->load_context = value.map;
        return true;
    }
    if (str_eq(name, STR("globals")) && value.kind == VALUE_MAP) {
        settings->globals = value;
        return true;
    }
    if (str_eq(name, STR("optimized"))) {
        /* accepted but ignored: in Jinja2 it affects only compilation, not the result */
        return true;
    }
    return error_set(err, ERROR_INVALID,
                     "unknown option '%" STR_FMT "', or its value has the wrong type",
                     STR_ARG(name));
}

static bool read_request(Value line, BatchKind kind, Request *request, Error *err)
{
    const char *key = kind == BATCH_TEMPLATES ? "template" : "expression";
    if (line.kind != VALUE_MAP) {
        return error_set(err, ERROR_INVALID, "each line must be a JSON object");
    }
    const Value *text = value_get(line, str_from_c(key));
    if (text == NULL || text->kind != VALUE_STRING) {
        return error_set(err, ERROR_INVALID, "'%s' is missing or not a string", key);
    }
    request->text = value_str(*text);
    const Value *context = value_get(line, STR("context"));
    request->context = context == NULL ? value_null() : *context;
    const Value *options = value_get(line, STR("options"));
    for (uint32_t i = 0; options != NULL && options->kind == VALUE_MAP && i < options->map->len;
         i++) {
        const MapEntry *entry = &options->map->entries[i];
        if (!apply_option(request, value_str(entry->key), entry->value, err)) {
            return false;
        }
    }
    return true;
}

static void put_member(Buf *out, const char *name, Str text)
{
    buf_put_format(out, "\"%s\":", name);
    json_print_string(out, text, NULL);
}

static void put_fault(Buf *out, const Fault *fault)
{
    buf_put_char(out, '{');
    put_member(out, "error", str_from_c(fault_class_name(fault->class)));
    buf_put_char(out, ',');
    put_member(out, "message", fault->message);
    if (fault->line > 0) {
        buf_put_format(out, ",\"line\":%u,\"column\":%u", fault->line, fault->column);
    }
    if (fault->template_name.len > 0) {
        buf_put_char(out, ',');
        put_member(out, "template", fault->template_name);
    }
    if (fault->hint.len > 0) {
        buf_put_char(out, ',');
        put_member(out, "hint", fault->hint);
    }
    buf_put(out, STR("}\n"));
}

static void put_error(Buf *out, const char *message)
{
    buf_put(out, STR("{\"error\":\"InvalidRequest\","));
    put_member(out, "message", str_from_c(message));
    buf_put(out, STR("}\n"));
}

static void process_template(const Request *request, Rendered *rendered, Buf *out)
{
    AUTO(Templates) *templates = templates_new(&request->settings);
    const Template *template;
    Fault fault;
    if (!templates_compile(templates, STR_EMPTY, request->text, &template, &fault) ||
        !template_render(template, request->context, rendered, &fault)) {
        put_fault(out, &fault);
        return;
    }
    buf_put_char(out, '{');
    put_member(out, "output", buf_str(&rendered->text));
    if (rendered->secret_count > 0) {
        buf_put(out, STR(",\"secrets\":["));
        for (uint32_t i = 0; i < rendered->secret_count; i++) {
            buf_put_format(out, "%s[%zu,%zu]", i == 0 ? "" : ",", rendered->secrets[i].start,
                           rendered->secrets[i].end);
        }
        buf_put_char(out, ']');
    }
    buf_put(out, STR("}\n"));
}

static void process_expression(const Request *request, Rendered *rendered, Buf *out)
{
    AUTO(Templates) *templates = templates_new(&request->settings);
    const Template *template;
    Fault fault;
    Value value;
    if (!templates_compile_expression(templates, STR_EMPTY, request->text, &template, &fault) ||
        !template_evaluate(template, request->context, rendered, &value, &fault)) {
        put_fault(out, &fault);
        return;
    }
    size_t start = out->len;
    buf_put(out, STR("{\"value\":"));
    Error err;
    JsonStyle style = { .allow_nan = true };
    if (!json_print(out, value, &style, &err)) {
        out->len = start;
        put_error(out, err.text);
        return;
    }
    buf_put(out, STR("}\n"));
}

static void process_line(Str line, const TemplateSettings *base, BatchKind kind, Rendered *rendered,
                         Arena *arena, Buf *out)
{
    Value value;
    Error err;
    Request request = { .settings = *base };
    if (!json_parse_text(arena, line, NULL, &value, &err) ||
        !read_request(value, kind, &request, &err)) {
        put_error(out, err.text);
    } else if (kind == BATCH_TEMPLATES) {
        process_template(&request, rendered, out);
    } else {
        process_expression(&request, rendered, out);
    }
}

/* Output is flushed whenever no further input is available yet. A client that waits for each result
 * gets it immediately, and bulk input is not slowed down by one write per line. */
int batch_run(const Invocation *invocation, const TemplateSettings *settings, BatchKind kind)
{
    if (invocation->arg_count > 0) {
        return usage_error(invocation, "--batch reads standard input and takes no arguments");
    }
    if (invocation_flag(invocation, "vars") || invocation_flag(invocation, "define")) {
        return usage_error(invocation,
                           "--batch takes variables from its input; -v and -D are not allowed");
    }
    TemplateSettings base = *settings;
    if (!invocation_flag(invocation, "undefined")) {
        base.undefined = UNDEFINED_DEFAULT; /* same default as Jinja2 */
    }
    AUTO_CLEAR(LineReader) reader = line_reader_make(STDIN_FILENO, LINE_MAX_BYTES);
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&base.limits);
    Str line;
    Error err;
    LineOutcome outcome;
    while ((outcome = line_reader_next(&reader, &line, &err)) != LINE_END) {
        if (outcome == LINE_FAILED) {
            stream_put_format(invocation->err, "eden: standard input: %s\n", err.text);
            return EXIT_FAILED;
        }
        if (outcome == LINE_TOO_LONG) {
            put_error(&out, "the line is longer than 64 MiB");
        } else if (str_trim(line).len > 0) {
            process_line(str_trim(line), &base, kind, &rendered, &arena, &out);
        }
        stream_put(invocation->out, buf_str(&out));
        buf_reset(&out);
        arena_reset(&arena);
        if (!line_reader_is_ready(&reader) && !stream_flush(invocation->out)) {
            return EXIT_FAILED; /* stdout was closed */
        }
    }
    return EXIT_OK;
}
