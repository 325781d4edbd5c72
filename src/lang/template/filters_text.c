/* Jinja2's filters on plain text. */
#include "base/ascii_case.h"
#include "base/utf8.h"
#include "lang/template/filter.h"
#include "lang/unicode.h"

/* Python's soft_str(): converts to a string; the markup flag stays with the value. */
static inline bool soft_text(Render *r, const Value *v, Str *out)
{
    if (LIKELY(v->kind == VALUE_STRING)) {
        *out = str_from(v->text, v->len);
        return true;
    }
    return op_text(r, *v, out);
}

typedef bool (*ChangeCase)(Render *r, Str text, Str *out);

static COLD bool change_any_case(Render *r, const Value *v, ChangeCase change, Value *out)
{
    Str text;
    if (!soft_text(r, v, &text) || !change(r, text, &text)) {
        return false;
    }
    *out = text_like(v, text);
    return true;
}

static bool filter_upper(Render *r, const Args *args, Value *out)
{
    const Value *v = &args->values[0];
    if (LIKELY(v->kind == VALUE_STRING)) {
        char *copy = arena_alloc(r->arena, chunk_capacity(v->len));
        if (LIKELY(ascii_copy_upper(str_from(v->text, v->len), copy))) {
            *out = string_like(v, copy, v->len);
            return true;
        }
    }
    return change_any_case(r, v, text_upper, out);
}

static bool filter_lower(Render *r, const Args *args, Value *out)
{
    const Value *v = &args->values[0];
    if (LIKELY(v->kind == VALUE_STRING)) {
        char *copy = arena_alloc(r->arena, chunk_capacity(v->len));
        if (LIKELY(ascii_copy_lower(str_from(v->text, v->len), copy))) {
            *out = string_like(v, copy, v->len);
            return true;
        }
    }
    return change_any_case(r, v, text_lower, out);
}

static bool filter_capitalize(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Str text;
    Value changed;
    if (!soft_text(r, &v, &text)) {
        return false;
    }
    char *copy = arena_alloc(r->arena, chunk_capacity(text.len));
    if (LIKELY(ascii_copy_lower(text, copy))) {
        if (text.len > 0) {
            copy[0] = ascii_upper(copy[0]);
        }
        text.data = copy;
    } else if (text_method(r, "capitalize", text, &changed)) {
        text = value_str(changed);
    } else {
        return false;
    }
    *out = text_like(&v, text);
    return true;
}

static bool ends_title_word(uint32_t code)
{
    return code == '-' || code == '(' || code == '{' || code == '[' || code == '<' ||
           code_is_space(code);
}

/* The first character of a word in uppercase and the remainder in lowercase, converted as one
 * string because a final sigma has a special form. */
static bool put_title_word(Render *r, Str word, Buf *out)
{
    size_t pos = 0;
    uint32_t mapped[UNICODE_MAPPED_MAX];
    unsigned count = unicode_map(utf8_next(word, &pos), CASE_UPPER, mapped);
    for (unsigned i = 0; i < count; i++) {
        utf8_put(out, mapped[i]);
    }
    Str rest;
    if (!text_lower(r, str_from_offset(word, pos), &rest)) {
        return false;
    }
    buf_put(out, rest);
    return true;
}

static COLD bool title_any(Render *r, const Value *v, Value *out)
{
    Str text;
    if (!soft_text(r, v, &text)) {
        return false;
    }
    Buf title = buf_make_in(r->arena, VALUE_STRING_MAX);
    buf_reserve(&title, text.len + text.len / 2);
    size_t pos = 0;
    while (pos < text.len) {
        size_t start = pos;
        size_t next = pos;
        while (next < text.len && !ends_title_word(utf8_next(text, &next))) {
            pos = next;
        }
        if (pos > start && !put_title_word(r, str_slice(text, start, pos), &title)) {
            return false;
        }
        while (pos < text.len) {
            next = pos;
            if (!ends_title_word(utf8_next(text, &next))) {
                break;
            }
            buf_put(&title, str_slice(text, pos, next));
            pos = next;
        }
    }
    return take_text(r, &title, false, out);
}

static bool filter_title(Render *r, const Args *args, Value *out)
{
    const Value *v = &args->values[0];
    if (LIKELY(v->kind == VALUE_STRING)) {
        char *copy = arena_alloc(r->arena, chunk_capacity(v->len));
        if (LIKELY(ascii_copy_title(str_from(v->text, v->len), copy))) {
            *out = value_string(str_from(copy, v->len));
            return true;
        }
    }
    return title_any(r, v, out);
}

/* Whether the code point is in `set`. */
static bool is_one_of(uint32_t code, Str set)
{
    for (size_t pos = 0; pos < set.len;) {
        if (utf8_next(set, &pos) == code) {
            return true;
        }
    }
    return false;
}

static COLD bool trim_any(Render *r, const Args *args, Value *out)
{
    const Value *v = &args->values[0];
    Str text;
    if (!soft_text(r, v, &text)) {
        return false;
    }
    if (!arg_not_none(args, 1)) {
        *out = text_like(v, text_strip(text));
        return true;
    }
    Value chars = args->values[1];
    if (!value_is_string(chars)) {
        return render_raise(r, FAULT_TYPE, "strip arg must be None or str");
    }
    if (value_is_markup(*v) && !op_escape(r, chars, &chars)) {
        return false;
    }
    Str set = value_str(chars);
    /* Each stripped character is compared with the entire set. */
    if (!render_charge(r, (uint64_t)text.len * set.len / 16)) {
        return false;
    }
    size_t start = 0;
    for (size_t next = 0; next < text.len && is_one_of(utf8_next(text, &next), set);) {
        start = next;
    }
    size_t end = text.len;
    for (size_t before = end; before > start && is_one_of(utf8_previous(text, &before), set);) {
        end = before;
    }
    *out = text_like(v, str_slice(text, start, end));
    return true;
}

static bool filter_trim(Render *r, const Args *args, Value *out)
{
    const Value *v = &args->values[0];
    if (LIKELY(v->kind == VALUE_STRING && !arg_not_none(args, 1))) {
        Str text = text_strip(str_from(v->text, v->len));
        *out = string_like(v, text.data, text.len);
        return true;
    }
    return trim_any(r, args, out);
}

static bool filter_string(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (v.kind == VALUE_STRING) {
        *out = v;
        return true;
    }
    Str text;
    if (!op_text(r, v, &text)) {
        return false;
    }
    *out = value_string(text);
    return true;
}

static bool filter_center(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Str text;
    int64_t width;
    if (!soft_text(r, &v, &text) || !arg_int(r, args, 1, 80, &width)) {
        return false;
    }
    int64_t length = (int64_t)utf8_count(text);
    if (width <= length) {
        *out = text_like(&v, text);
        return true;
    }
    uint64_t padding = (uint64_t)(width - length);
    uint64_t left = padding / 2 + (padding & (uint64_t)width & 1); /* rounds like Python */
    Buf line = render_buf(r);
    buf_put_repeat(&line, ' ', left);
    buf_put(&line, text);
    buf_put_repeat(&line, ' ', padding - left);
    return take_text(r, &line, value_is_markup(v), out);
}

/* Replaces every byte `old` with `new`. */
static inline Value replace_bytes(Render *r, Str text, char old, char new)
{
    char *copy = arena_alloc(r->arena, chunk_capacity(text.len));
    const Chunk all_old = chunk_splat((int8_t)old);
    const Chunk change = chunk_splat((int8_t)(old ^ new));
    if (text.len >= CHUNK_BYTES) {
        size_t last = text.len - CHUNK_BYTES; /* start of the last chunk; it may overlap */
        for (size_t pos = 0; pos < last; pos += CHUNK_BYTES) {
            Chunk chunk = chunk_load(text.data + pos);
            chunk_store(copy + pos, chunk ^ ((chunk == all_old) & change));
        }
        Chunk chunk = chunk_load(text.data + last);
        chunk_store(copy + last, chunk ^ ((chunk == all_old) & change));
    } else if (text.len > 0) {
        Chunk chunk = chunk_load_part(text.data, text.len);
        chunk_store(copy, chunk ^ ((chunk == all_old) & change));
    }
    return value_string(str_from(copy, text.len));
}

/* A negative `limit` means no limit. */
static bool replace_text(Render *r, Str text, Str old, Str new, int64_t limit, Value *out)
{
    size_t found = limit == 0 ? STR_NOT_FOUND : str_find(text, old, 0);
    if (found == STR_NOT_FOUND) {
        *out = value_string(text);
        return true;
    }
    Buf changed = render_buf_for(r, text.len + 2 * new.len);
    size_t from = 0;
    while (found != STR_NOT_FOUND && limit-- != 0 && !changed.overflow) {
        buf_put_short(&changed, str_slice(text, from, found));
        buf_put_short(&changed, new);
        from = found + old.len;
        if (old.len > 0) {
            found = str_find(text, old, from);
        } else if (found < text.len) {
            utf8_next(text, &found); /* an empty string matches before every character */
        } else {
            break;
        }
    }
    buf_put(&changed, str_from_offset(text, from));
    return render_take(r, &changed, out);
}

static COLD bool replace_any(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Value old = args->values[1];
    Value new = args->values[2];
    int64_t limit = -1;
    if (arg_not_none(args, 3) && !value_to_index(r, args->values[3], &limit)) {
        return false;
    }
    bool markup = false;
    if (r->autoescape) {
        if ((value_is_html(r, old) || (value_is_html(r, new) && !value_is_html(r, v))) &&
            !op_escape(r, v, &v)) {
            return false;
        }
        markup = value_is_markup(v);
        if (markup && (!op_escape(r, old, &old) || !op_escape(r, new, &new))) {
            return false;
        }
    }
    Str text, old_text, new_text;
    if (!soft_text(r, &v, &text) || !soft_text(r, &old, &old_text) ||
        !soft_text(r, &new, &new_text) || !replace_text(r, text, old_text, new_text, limit, out)) {
        return false;
    }
    out->flags = markup ? VALUE_MARKUP : 0;
    return true;
}

static bool filter_replace(Render *r, const Args *args, Value *out)
{
    const Value *v = args->values;
    const uint64_t kind_and_len = VALUE_HEAD(0xff, 0, UINT32_MAX);
    const uint64_t one_byte = VALUE_HEAD(VALUE_STRING, 0, 1);
    if (LIKELY(v[0].kind == VALUE_STRING && (v[1].head & kind_and_len) == one_byte &&
               (v[2].head & kind_and_len) == one_byte && !r->autoescape && !arg_passed(args, 3))) {
        *out = replace_bytes(r, str_from(v->text, v->len), v[1].text[0], v[2].text[0]);
        return true;
    }
    return replace_any(r, args, out);
}

static bool filter_format(Render *r, const Args *args, Value *out)
{
    Value format = args->values[0];
    if (format.kind != VALUE_STRING && !filter_string(r, args, &format)) {
        return false;
    }
    if (args->named != NULL) {
        if (args->count > 1) {
            return render_raise(r, FAULT_FILTER_ARGUMENT,
                                "can't handle positional and keyword arguments at the same time");
        }
        return op_binary(r, OP_MOD, format, value_map(args->named), out);
    }
    List *items = list_new(r->arena, args->count - 1);
    for (uint32_t i = 1; i < args->count; i++) {
        list_push(r->arena, items, args->values[i]);
    }
    return op_binary(r, OP_MOD, format, value_tuple(items), out);
}

typedef struct Indent {
    Str text;      /* either a string ... */
    size_t spaces; /* ... or a number of spaces */
} Indent;

static bool read_indent(Render *r, const Args *args, Indent *out)
{
    *out = (Indent){ .spaces = 4 };
    if (!arg_passed(args, 1)) {
        return true;
    }
    Value width = args->values[1];
    if (width.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, width);
    }
    if (width.kind == VALUE_STRING) {
        *out = (Indent){ .text = value_str(width) };
        return true;
    }
    if (width.kind != VALUE_INT && width.kind != VALUE_BOOL) {
        return render_raise(r, FAULT_TYPE, "can't multiply sequence by non-int of type '%s'",
                            op_type_name(width));
    }
    int64_t spaces = width.kind == VALUE_INT ? width.integer : width.boolean;
    out->spaces = spaces > 0 ? (size_t)spaces : 0;
    return true;
}

static void put_indent(const Indent *indent, Buf *out)
{
    buf_put(out, indent->text);
    buf_put_repeat(out, ' ', indent->spaces);
}

static bool filter_indent(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Indent indent;
    bool first, blank;
    if (v.kind == VALUE_UNDEFINED) {
        return undefined_raise(r, v);
    }
    if (!read_indent(r, args, &indent) || !arg_truth(r, args, 2, false, &first) ||
        !arg_truth(r, args, 3, false, &blank)) {
        return false;
    }
    if (v.kind == VALUE_LIST) {
        return raise_no_attribute(r, v, "splitlines"); /* Python's list += accepts a string */
    }
    if (v.kind != VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "unsupported operand type(s) for +=: '%s' and 'str'",
                            op_type_name(v));
    }
    Str text = value_str(v);
    Buf lines = render_buf(r);
    buf_reserve(&lines, text.len + 16);
    if (first) {
        put_indent(&indent, &lines);
    }
    /* A trailing newline starts another, empty line. The exception is a lone CR: Python appends a
     * newline before it splits, which turns it into CR LF. */
    Str line, line_with_end = STR_EMPTY;
    bool has_output = false;
    for (size_t pos = 0; text_next_line(text, &pos, &line, &line_with_end) && !lines.overflow;) {
        if (has_output) {
            buf_put_char(&lines, '\n');
            if (line.len > 0 || blank) {
                put_indent(&indent, &lines);
            }
        }
        buf_put(&lines, line);
        has_output = true;
    }
    if (has_output && line_with_end.len > line.len &&
        !(line_with_end.len == line.len + 1 && str_ends(line_with_end, STR("\r")))) {
        buf_put_char(&lines, '\n');
        if (blank) {
            put_indent(&indent, &lines);
        }
    }
    return take_text(r, &lines, value_is_markup(v), out);
}

static bool filter_truncate(Render *r, const Args *args, Value *out)
{
    const Value *v = &args->values[0];
    int64_t length, leeway, actual_length;
    bool kill_words;
    Str end;
    if (arg_passed(args, 1) && args->values[1].kind == VALUE_UNDEFINED) {
        return undefined_raise(r, args->values[1]);
    }
    if (!arg_int(r, args, 1, 255, &length) || !arg_truth(r, args, 2, false, &kill_words) ||
        !arg_text(r, args, 3, STR("..."), &end)) {
        return false;
    }
    leeway = 5;
    if (arg_not_none(args, 4) && !value_to_index(r, args->values[4], &leeway)) {
        return false;
    }
    int64_t end_length = arg_passed(args, 3) ? (int64_t)utf8_count(end) : (int64_t)end.len;
    if (length < end_length) {
        return render_raise(r, FAULT_ASSERT, "expected length >= %lld, got %lld",
                            (long long)end_length, (long long)length);
    }
    if (leeway < 0) {
        return render_raise(r, FAULT_ASSERT, "expected leeway >= 0, got %lld", (long long)leeway);
    }
    if (LIKELY(v->kind == VALUE_STRING && v->len <= length)) {
        *out = *v; /* there are at least as many bytes as characters */
        return true;
    }
    if (LIKELY(v->kind == VALUE_STRING)) {
        actual_length = (int64_t)utf8_count(str_from(v->text, v->len)); /* charged by the caller */
    } else if (!op_length(r, *v, &actual_length)) {
        return false;
    }
    if (actual_length <= length || actual_length - length <= leeway) {
        *out = *v;
        return true;
    }
    if (v->kind == VALUE_MAP) {
        return render_raise(r, FAULT_TYPE, "unhashable type: 'slice'");
    }
    if (v->kind != VALUE_STRING && !kill_words) {
        return raise_no_attribute(r, *v, "rsplit");
    }
    if (v->kind != VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "can only concatenate %s (not \"str\") to %s",
                            op_type_name(*v), op_type_name(*v));
    }
    Str text = value_str(*v);
    size_t kept_length = (size_t)(length - end_length);
    text.len =
        (size_t)actual_length == text.len ? kept_length : utf8_index_to_offset(text, kept_length);
    const char *space = kill_words || text.len == 0 ? NULL : memrchr(text.data, ' ', text.len);
    if (space != NULL) {
        text.len = (size_t)(space - text.data);
    }
    Buf truncated = render_buf_for(r, text.len + end.len);
    buf_put_short(&truncated, text);
    if (value_is_markup(*v) && !(arg_passed(args, 3) && value_is_html(r, args->values[3]))) {
        escape_html(end, &truncated);
    } else {
        buf_put_short(&truncated, end);
    }
    return take_text(r, &truncated, value_is_markup(*v), out);
}

static bool filter_wordcount(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!soft_text(r, &args->values[0], &text) || !op_charge_bytes(r, text.len)) {
        return false;
    }
    int64_t count = 0;
    bool in_word = false;
    for (size_t pos = 0; pos < text.len;) {
        bool word = code_is_word(utf8_next(text, &pos));
        count += word && !in_word;
        in_word = word;
    }
    *out = value_int(count);
    return true;
}

const Native filters_text[] = {
    { .name = "upper",
      .call = filter_upper,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Converts to uppercase.",
      .example = "{{ 'web-01' | upper }}",
      .output = "WEB-01" },
    { .name = "lower",
      .call = filter_lower,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Converts to lowercase.",
      .example = "{{ 'Web-01' | lower }}",
      .output = "web-01" },
    { .name = "capitalize",
      .call = filter_capitalize,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Converts the first letter to uppercase and all others to lowercase.",
      .example = "{{ 'hello WORLD' | capitalize }}",
      .output = "Hello world" },
    { .name = "title",
      .call = filter_title,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Converts the first letter of each word to uppercase and all others to lowercase.",
      .example = "{{ 'load balancer (old)' | title }}",
      .output = "Load Balancer (Old)" },
    { .name = "trim",
      .call = filter_trim,
      .params = { { "value" }, { "chars", "none" } },
      .flags = NATIVE_JINJA,
      .help = "Strips whitespace, or the given characters, from both ends.",
      .example = "{{ ' a ' | trim }} {{ '--b-' | trim('-') }}",
      .output = "a b" },
    { .name = "string",
      .call = filter_string,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Converts a value to a string; strings are unchanged.",
      .example = "{{ (8080 | string).replace('8', '9') }}",
      .output = "9090" },
    { .name = "center",
      .call = filter_center,
      .params = { { "value" }, { "width", "80" } },
      .flags = NATIVE_JINJA,
      .help = "Centers a string in a field of the given width.",
      .example = "[{{ 'eden' | center(10) }}]",
      .output = "[   eden   ]" },
    { .name = "replace",
      .call = filter_replace,
      .params = { { "value" }, { "old" }, { "new" }, { "count", "none" } },
      .flags = NATIVE_JINJA,
      .help = "Replaces every occurrence of a string, or the first `count`.",
      .example = "{{ 'a-b-c' | replace('-', '.') }} {{ 'a-b-c' | replace('-', '.', 1) }}",
      .output = "a.b.c a.b-c" },
    { .name = "format",
      .call = filter_format,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Fills values into a string with % placeholders, like Python's % operator.",
      .example = "{{ '%s:%05.1f' | format('load', 2.25) }}",
      .output = "load:002.2" },
    { .name = "indent",
      .call = filter_indent,
      .params = { { "value" }, { "width", "4" }, { "first", "false" }, { "blank", "false" } },
      .flags = NATIVE_JINJA,
      .help = "Indents every line except the first and blank ones, by spaces or a string.",
      .example = "key:\n  {{ 'a: 1\nb: 2' | indent(2) }}",
      .output = "key:\n  a: 1\n  b: 2" },
    { .name = "truncate",
      .call = filter_truncate,
      .params = { { "value" },
                  { "length", "255" },
                  { "killwords", "false" },
                  { "end", "'...'" },
                  { "leeway", "5" } },
      .flags = NATIVE_JINJA,
      .help = "Truncates a string that is longer than `length` plus `leeway`, at a word boundary "
              "unless `killwords` is true.",
      .example =
          "{{ 'foo bar baz qux' | truncate(9) }} {{ 'foo bar baz qux' | truncate(9, true) }}",
      .output = "foo... foo ba..." },
    { .name = "wordcount",
      .call = filter_wordcount,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_PLAIN,
      .help = "Counts the words of a string.",
      .example = "{{ 'one two, three' | wordcount }}",
      .output = "3" },
    { 0 },
};
