/* Jinja2's filters for HTML and URLs. */
#include "lang/template/filter.h"
#include "lang/template/html_unescape.h"
#include "lang/template/urlize.h"

static bool filter_escape(Render *r, const Args *args, Value *out)
{
    return op_escape(r, args->values[0], out);
}

static bool filter_forceescape(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    return op_escape(r, value_string(text), out);
}

static bool filter_safe(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    *out = value_markup(text);
    return true;
}

/* Copies `text` without the sections between `open` and `close`, delimiters included. */
static void put_without(Str text, Str open, Str close, Buf *out)
{
    size_t from = 0;
    while (from < text.len) {
        size_t start = str_find(text, open, from);
        size_t end = start == STR_NOT_FOUND ? start : str_find(text, close, start + open.len);
        if (end == STR_NOT_FOUND) {
            break;
        }
        buf_put(out, str_slice(text, from, start));
        from = end + close.len;
    }
    buf_put(out, str_from_offset(text, from));
}

static bool filter_striptags(Render *r, const Args *args, Value *out)
{
    Str text;
    if (!op_text(r, args->values[0], &text)) {
        return false;
    }
    Buf without_comments = render_buf(r);
    put_without(text, STR("<!--"), STR("-->"), &without_comments);
    Buf without_tags = render_buf(r);
    put_without(buf_str(&without_comments), STR("<"), STR(">"), &without_tags);
    text = buf_str(&without_tags);
    Buf words = render_buf(r);
    for (size_t pos = text_skip_spaces(text, 0); pos < text.len;) {
        size_t end = text_skip_word(text, pos);
        if (words.len > 0) {
            buf_put_char(&words, ' ');
        }
        buf_put(&words, str_slice(text, pos, end));
        pos = text_skip_spaces(text, end);
    }
    Buf plain = render_buf(r);
    html_unescape(buf_str(&words), &plain);
    return take_text(r, &plain, false, out);
}

static bool is_invalid_in_attribute_name(char c)
{
    return ascii_is_space(c) || c == '/' || c == '>' || c == '=';
}

static bool check_attribute_name(Render *r, Value key)
{
    if (key.kind != VALUE_STRING) {
        return render_raise(r, FAULT_TYPE, "expected string or bytes-like object, got '%s'",
                            op_type_name(key));
    }
    for (uint32_t i = 0; i < key.len; i++) {
        if (is_invalid_in_attribute_name(key.text[i])) {
            return render_raise(r, FAULT_VALUE, "Invalid character in attribute name: %" STR_FMT,
                                STR_ARG(repr_for_message(r, key)));
        }
    }
    return true;
}

static bool filter_xmlattr(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    bool autospace;
    if (v.kind != VALUE_MAP) {
        return raise_no_attribute(r, v, "items");
    }
    if (!arg_truth(r, args, 1, true, &autospace) || !render_charge(r, v.map->len)) {
        return false;
    }
    Buf text = render_buf(r);
    for (uint32_t i = 0; i < v.map->len; i++) {
        const MapEntry *entry = &v.map->entries[i];
        if (entry->value.kind == VALUE_NULL || entry->value.kind == VALUE_UNDEFINED) {
            continue;
        }
        if (!check_attribute_name(r, entry->key)) {
            return false;
        }
        if (text.len > 0 || autospace) {
            buf_put_char(&text, ' ');
        }
        if (!op_print_escaped(r, entry->key, &text)) {
            return false;
        }
        buf_put(&text, STR("=\""));
        if (!op_print_escaped(r, entry->value, &text)) {
            return false;
        }
        buf_put_char(&text, '"');
    }
    return take_text(r, &text, r->autoescape, out);
}

/* Percent-encodes everything except unreserved characters; in a query a space becomes a plus. */
static void put_url_quoted(Str text, bool query, Buf *out)
{
    static const char hex[] = "0123456789ABCDEF";
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (ascii_is_name((char)c) || c == '.' || c == '-' || c == '~' || (c == '/' && !query)) {
            buf_put_char(out, (char)c);
        } else if (c == ' ' && query) {
            buf_put_char(out, '+');
        } else {
            buf_put_char(out, '%');
            buf_put_char(out, hex[c >> 4]);
            buf_put_char(out, hex[c & 15]);
        }
    }
}

static bool put_query_pair(Render *r, Value name, Value value, Buf *out)
{
    Str name_text, value_text;
    if (!op_text(r, name, &name_text) || !op_text(r, value, &value_text)) {
        return false;
    }
    if (out->len > 0) {
        buf_put_char(out, '&');
    }
    put_url_quoted(name_text, true, out);
    buf_put_char(out, '=');
    put_url_quoted(value_text, true, out);
    return true;
}

static bool filter_urlencode(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    Buf url = render_buf(r);
    bool iterable =
        v.kind == VALUE_OBJECT ? v.object->type->iterate != NULL : v.kind > VALUE_STRING;
    if (!iterable) {
        Str text;
        if (!op_text(r, v, &text)) {
            return false;
        }
        put_url_quoted(text, false, &url);
        return take_text(r, &url, false, out);
    }
    if (v.kind == VALUE_MAP) {
        v = view_new(r, v.map, VIEW_ITEMS);
    }
    Iter iter;
    Value pair, name, value;
    if (!iter_start(r, v, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &pair)) {
        if (!charge_iteration(r) || !unpack_pair(r, pair, &name, &value) ||
            !put_query_pair(r, name, value, &url)) {
            return false;
        }
    }
    return !render_failed(r) && take_text(r, &url, false, out);
}

/* The sorted, distinct words of `rel`, always including "noopener", and "nofollow" if requested. */
static bool read_rel(Render *r, const Args *args, Str *out)
{
    bool nofollow;
    Str rel = STR_EMPTY;
    if (!arg_truth(r, args, 2, false, &nofollow) ||
        (arg_not_none(args, 4) && !op_text(r, args->values[4], &rel))) {
        return false;
    }
    enum {
        WORDS_MAX = 64
    };
    Str words[WORDS_MAX];
    uint32_t count = 0;
    words[count++] = STR("noopener");
    if (nofollow) {
        words[count++] = STR("nofollow");
    }
    for (size_t pos = text_skip_spaces(rel, 0); pos < rel.len && count < WORDS_MAX;) {
        size_t end = text_skip_word(rel, pos);
        words[count++] = str_slice(rel, pos, end);
        pos = text_skip_spaces(rel, end);
    }
    for (uint32_t i = 1; i < count; i++) {
        for (uint32_t k = i; k > 0 && str_compare(words[k], words[k - 1]) < 0; k--) {
            Str other = words[k];
            words[k] = words[k - 1];
            words[k - 1] = other;
        }
    }
    Buf joined = render_buf(r);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && str_eq(words[i], words[i - 1])) {
            continue;
        }
        if (joined.len > 0) {
            buf_put_char(&joined, ' ');
        }
        buf_put(&joined, words[i]);
    }
    *out = buf_str(&joined);
    return true;
}

static bool filter_urlize(Render *r, const Args *args, Value *out)
{
    Value text;
    UrlizeRules rules = { .text_limit = -1 };
    if (!op_escape(r, args->values[0], &text) || !read_rel(r, args, &rules.rel) ||
        (arg_not_none(args, 3) && !op_text(r, args->values[3], &rules.target)) ||
        (arg_not_none(args, 1) && !value_to_index(r, args->values[1], &rules.text_limit)) ||
        (arg_not_none(args, 5) && !iter_collect(r, args->values[5], &rules.schemes))) {
        return false;
    }
    for (uint32_t i = 0; rules.schemes != NULL && i < rules.schemes->len; i++) {
        Value scheme = rules.schemes->items[i];
        if (scheme.kind != VALUE_STRING || !urlize_is_scheme(value_str(scheme))) {
            return render_raise(r, FAULT_FILTER_ARGUMENT,
                                "%" STR_FMT " is not a valid URI scheme "
                                "prefix.",
                                STR_ARG(repr_for_message(r, scheme)));
        }
    }
    Buf linked = render_buf(r);
    if (!urlize(r, value_str(text), &rules, &linked)) {
        return false;
    }
    return take_text(r, &linked, r->autoescape, out);
}

const Native filters_html[] = {
    { .name = "escape",
      .call = filter_escape,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Replaces & < > ' and \" with HTML entities, unless the string is already safe.",
      .example = "{{ '<b>&' | escape }}",
      .output = "&lt;b&gt;&amp;" },
    { .name = "e",
      .call = filter_escape,
      .params = { { "value" } },
      .flags = NATIVE_JINJA | NATIVE_ALIAS,
      .help = "The same as escape.",
      .example = "{{ '<b>' | e }}",
      .output = "&lt;b&gt;" },
    { .name = "forceescape",
      .call = filter_forceescape,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Escapes for HTML even if the string is already marked as safe.",
      .example = "{{ '<b>' | escape | forceescape }}",
      .output = "&amp;lt;b&amp;gt;" },
    { .name = "safe",
      .call = filter_safe,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Marks a string as safe HTML, so that autoescape does not escape it.",
      .example = "{% autoescape true %}{{ '<b>' | safe }}{% endautoescape %}",
      .output = "<b>" },
    { .name = "striptags",
      .call = filter_striptags,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Removes HTML tags and comments and collapses whitespace to single spaces.",
      .example = "{{ '<p>a <b>bold</b>\\n &amp; brave</p>' | striptags }}",
      .output = "a bold & brave" },
    { .name = "xmlattr",
      .call = filter_xmlattr,
      .params = { { "value" }, { "autospace", "true" } },
      .flags = NATIVE_JINJA,
      .help = "Formats a map as XML attributes; none and undefined values are omitted.",
      .example = "<li{{ {'class': 'on', 'id': none} | xmlattr }}>",
      .output = "<li class=\"on\">" },
    { .name = "urlencode",
      .call = filter_urlencode,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Percent-encodes a string for a URL path, or builds a query from a map or pairs.",
      .example = "{{ 'a b/c' | urlencode }} {{ {'q': 'x y', 'n': 1} | urlencode }}",
      .output = "a%20b/c q=x+y&n=1" },
    { .name = "urlize",
      .call = filter_urlize,
      .params = { { "value" },
                  { "trim_url_limit", "none" },
                  { "nofollow", "false" },
                  { "target", "none" },
                  { "rel", "none" },
                  { "extra_schemes", "none" } },
      .flags = NATIVE_JINJA,
      .help = "Converts URLs and mail addresses in a string to HTML links.",
      .example = "{{ 'see example.org' | urlize }}",
      .output = "see <a href=\"https://example.org\" rel=\"noopener\">example.org</a>" },
    { 0 },
};
