#include "cli/output.h"

#include <stdarg.h>

#include "base/bug.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "cli/json_path.h"
#include "lang/json.h"
#include "lang/yaml.h"

static const JsonStyle json_lines = { .lines = true, .indent = 2, .distinct = true };
static const JsonStyle json_line = { .distinct = true };
static const YamlStyle yaml_style = { .tag_secrets = true };

static bool print_documents(const List *documents, const JsonStyle *json, Buf *out, Error *err)
{
    if (json == NULL) {
        return yaml_print_all(out, documents, &yaml_style, err);
    }
    for (uint32_t i = 0; i < documents->len; i++) {
        if (!json_print(out, documents->items[i], json, err)) {
            return false;
        }
        buf_put_char(out, '\n');
    }
    return true;
}

#define JSON_PATH "jsonpath="

/* The expression after "jsonpath="; NULL if -o has another format. */
static const char *json_path_of(const Invocation *invocation)
{
    const char *format = invocation_text(invocation, "output");
    return format != NULL && strncmp(format, JSON_PATH, sizeof JSON_PATH - 1) == 0
               ? format + sizeof JSON_PATH - 1
               : NULL;
}

bool output_check(const Invocation *invocation)
{
    bool has_option = option_find(invocation->command, invocation->verb, STR("output")) != NULL;
    const char *path = has_option ? json_path_of(invocation) : NULL;
    Error err;
    if (path == NULL || json_path_check(invocation->arena, str_from_c(path), &err)) {
        return true;
    }
    usage_error(invocation, "-o jsonpath=: %s", err.text);
    return false;
}

static int output_parts(Inputs *inputs, const Invocation *invocation, const char *path,
                        const List *documents)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Error err;
    for (uint32_t i = 0; i < documents->len; i++) {
        if (!json_path_print(invocation->arena, str_from_c(path), documents->items[i], &out,
                             &err)) {
            problems_add(&inputs->problems, "E0004", NULL, 0, 0, "-o jsonpath=: %s", err.text);
            return inputs_report(inputs, invocation);
        }
        if (out.len > 0 && out.data[out.len - 1] != '\n') {
            buf_put_char(&out, '\n');
        }
    }
    stream_put(invocation->out, buf_str(&out));
    return inputs_report(inputs, invocation);
}

static int output(Inputs *inputs, const Invocation *invocation, const JsonStyle *json,
                  const List *documents)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Error err;
    const char *path = json_path_of(invocation);
    if (path != NULL) {
        return output_parts(inputs, invocation, path, documents);
    }
    bool is_json = invocation_prints(invocation, "json");
    if (!print_documents(documents, is_json ? json : NULL, &out, &err)) {
        problems_add(&inputs->problems, "E0004", NULL, 0, 0, "%s", err.text);
        return inputs_report(inputs, invocation);
    }
    if (is_json) {
        output_json_text(invocation->out, buf_str(&out));
    } else {
        stream_put(invocation->out, buf_str(&out));
    }
    return inputs_report(inputs, invocation);
}

int output_value(Inputs *inputs, const Invocation *invocation, OutputLayout layout, Value value)
{
    List one = { .items = &value, .len = 1 };
    return output(inputs, invocation, layout == OUTPUT_LINE ? &json_line : &json_lines, &one);
}

int output_response(const Invocation *invocation, Value value)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    return output_value(&inputs, invocation, OUTPUT_LINES, value);
}

bool output_wants_value(const Invocation *invocation)
{
    return invocation_prints(invocation, "json") || invocation_prints(invocation, "yaml") ||
           json_path_of(invocation) != NULL;
}

int output_yaml(const Invocation *invocation, Value value)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    List one = { .items = &value, .len = 1 };
    Error err;
    bool printed = yaml_print_all(&out, &one, &yaml_style, &err);
    BUG_IF(!printed); /* cannot fail, because the value was parsed from JSON */
    stream_put(invocation->out, buf_str(&out));
    return EXIT_OK;
}

int output_documents(Inputs *inputs, const Invocation *invocation, const List *documents)
{
    return output(inputs, invocation, &json_lines, documents);
}

int output_json(const Invocation *invocation, Value value)
{
    AUTO_CLEAR(Buf) out = buf_make(BUF_UNLIMITED);
    Error err;
    bool ok = json_print(&out, value, &json_lines, &err);
    BUG_IF(!ok);
    buf_put_char(&out, '\n');
    output_json_text(invocation->out, buf_str(&out));
    return EXIT_OK;
}

Str output_count(Arena *arena, int64_t count, const char *one, const char *several)
{
    return arena_format(arena, "%lld %s", (long long)count, count == 1 ? one : several);
}

void output_line(Stream *to, const char *format, ...)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED), shown = buf_make(BUF_UNLIMITED);
    va_list arguments;
    va_start(arguments, format);
    buf_put_format_v(&text, format, arguments);
    va_end(arguments);
    visible_put(&shown, buf_str(&text));
    buf_put_char(&shown, '\n');
    stream_put(to, buf_str(&shown));
}

void output_text(Stream *to, Str text)
{
    if (!stream_is_terminal(to)) {
        stream_put(to, text);
        return;
    }
    AUTO_CLEAR(Buf) shown = buf_make(BUF_UNLIMITED);
    for (size_t at = 0; at < text.len;) {
        if (text.data[at] == '\n' || text.data[at] == '\t') {
            buf_put_char(&shown, text.data[at++]);
        } else {
            VisiblePiece piece = visible_next(text, &at);
            buf_put(&shown, str_from(piece.text, piece.bytes));
        }
    }
    stream_put(to, buf_str(&shown));
}

static void put_json_escape(Buf *out, uint32_t code)
{
    if (code > 0xffff) {
        code -= 0x10000;
        buf_put_format(out, "\\u%04x", 0xd800 + (code >> 10));
        code = 0xdc00 + (code & 0x3ff);
    }
    buf_put_format(out, "\\u%04x", code);
}

void output_json_text(Stream *to, Str json)
{
    if (!stream_is_terminal(to)) {
        stream_put(to, json);
        return;
    }
    AUTO_CLEAR(Buf) shown = buf_make(BUF_UNLIMITED);
    for (size_t at = 0; at < json.len;) {
        size_t start = at;
        VisiblePiece piece = visible_next(json, &at);
        Str own = str_slice(json, start, at);
        uint32_t code = UTF8_REPLACEMENT;
        bool is_escaped = piece.text[0] == '\\' && own.data[0] != '\\';
        if (!is_escaped || own.data[0] == '\n') {
            buf_put(&shown, own);
        } else {
            (void)utf8_decode(own.data, own.len, &code);
            put_json_escape(&shown, code);
        }
    }
    stream_put(to, buf_str(&shown));
}
