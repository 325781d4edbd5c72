/* Filters that split and decorate text: split, comment, urlsplit. */
#include "lang/template/filter.h"

/* Like str.split(): splits at whitespace, or at every separator. */
static bool filter_split(Render *r, const Args *args, Value *out)
{
    Str text, separator;
    int64_t limit;
    if (!op_text(r, args->values[0], &text) || !arg_text(r, args, 1, STR_EMPTY, &separator) ||
        !arg_int(r, args, 2, -1, &limit)) {
        return false;
    }
    const Native *method = method_find(VALUE_STRING, STR("split"));
    Value values[] = { value_string(text),
                       arg_not_none(args, 1) ? value_string(separator) : value_null(),
                       value_int(limit) };
    return native_call_bound(r, method, &(Args){ .values = values, .count = 3 }, out);
}

typedef struct CommentStyle {
    const char *name;
    const char *beginning;
    const char *decoration;
    const char *end;
} CommentStyle;

static const CommentStyle comment_styles[] = {
    { "plain", "", "# ", "" },        { "erlang", "", "% ", "" },      { "c", "", "// ", "" },
    { "cblock", "/*", " * ", " */" }, { "xml", "<!--", " - ", "-->" },
};

static const CommentStyle *find_comment_style(Str name)
{
    for (size_t i = 0; i < COUNT_OF(comment_styles); i++) {
        if (str_eq_c(name, comment_styles[i].name)) {
            return &comment_styles[i];
        }
    }
    return NULL;
}

/* The decoration and the line, without trailing whitespace. */
static void put_comment_line(Str decoration, Str line, Buf *out)
{
    size_t start = out->len;
    buf_put(out, decoration);
    buf_put(out, line);
    while (out->len > start && ascii_is_space(out->data[out->len - 1])) {
        out->len--;
    }
    buf_put_char(out, '\n');
}

static bool filter_comment(Render *r, const Args *args, Value *out)
{
    Str text, name;
    if (!op_text(r, args->values[0], &text) || !arg_text(r, args, 1, STR("plain"), &name)) {
        return false;
    }
    const CommentStyle *style = find_comment_style(name);
    if (style == NULL) {
        return render_raise(r, FAULT_FILTER_ARGUMENT,
                            "unknown comment style '%" STR_FMT "'; use plain, erlang, c, "
                            "cblock or xml",
                            STR_ARG(name));
    }
    Str decoration, beginning, end;
    if (!arg_text(r, args, 2, str_from_c(style->decoration), &decoration) ||
        !arg_text(r, args, 3, str_from_c(style->beginning), &beginning) ||
        !arg_text(r, args, 4, str_from_c(style->end), &end)) {
        return false;
    }
    Buf comment = render_buf(r);
    if (beginning.len > 0) {
        put_comment_line(STR_EMPTY, beginning, &comment);
    }
    put_comment_line(decoration, STR_EMPTY, &comment);
    Str line;
    while (str_split_next(&text, '\n', &line) && !comment.overflow) {
        put_comment_line(decoration, line, &comment);
    }
    put_comment_line(decoration, STR_EMPTY, &comment);
    if (end.len > 0) {
        put_comment_line(STR_EMPTY, end, &comment);
    }
    if (comment.len > 0) {
        comment.len--; /* the template supplies the last newline */
    }
    return take_text(r, &comment, false, out);
}

typedef struct Url {
    Str scheme, netloc, path, query, fragment;
} Url;

/* Truncates `*text` at the first `delimiter`; returns the part after it. */
static Str split_off(Str *text, Str delimiter)
{
    size_t pos = str_find(*text, delimiter, 0);
    if (pos == STR_NOT_FOUND) {
        return STR_EMPTY;
    }
    Str rest = str_from_offset(*text, pos + delimiter.len);
    text->len = pos;
    return rest;
}

static bool is_scheme(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!ascii_is_alpha(c) && (i == 0 || (!ascii_is_digit(c) && memchr("+-.", c, 3) == NULL))) {
            return false;
        }
    }
    return text.len > 0;
}

static Url split_url(Str text)
{
    Url url = { .scheme = STR_EMPTY, .netloc = STR_EMPTY };
    size_t colon = str_find(text, STR(":"), 0);
    if (colon != STR_NOT_FOUND && is_scheme(str_slice(text, 0, colon))) {
        url.scheme = str_slice(text, 0, colon);
        text = str_from_offset(text, colon + 1);
    }
    if (str_starts(text, STR("//"))) {
        size_t end = 2;
        while (end < text.len && memchr("/?#", text.data[end], 3) == NULL) {
            end++;
        }
        url.netloc = str_slice(text, 2, end);
        text = str_from_offset(text, end);
    }
    url.fragment = split_off(&text, STR("#"));
    url.query = split_off(&text, STR("?"));
    url.path = text;
    return url;
}

/* Adds username, password, hostname and port, each none if absent. */
static bool set_netloc_parts(Render *r, Map *parts, Str netloc)
{
    Value username = value_null(), password = value_null(), hostname = value_null(),
          port = value_null();
    size_t pos = str_find_last(netloc, STR("@"));
    if (pos != STR_NOT_FOUND) {
        Str user = str_slice(netloc, 0, pos);
        size_t colon = str_find(user, STR(":"), 0);
        if (colon != STR_NOT_FOUND) {
            password = value_string(str_from_offset(user, colon + 1));
            user.len = colon;
        }
        username = value_string(user);
        netloc = str_from_offset(netloc, pos + 1);
    }
    size_t bracket = str_starts(netloc, STR("[")) ? str_find(netloc, STR("]"), 0) : 0;
    size_t colon = bracket == STR_NOT_FOUND ? bracket : str_find(netloc, STR(":"), bracket);
    Str host = str_slice(netloc, 0, colon);
    if (colon != STR_NOT_FOUND && colon + 1 < netloc.len) {
        int64_t number;
        if (!str_to_i64(str_from_offset(netloc, colon + 1), &number) || number < 0 ||
            number > 65535) {
            return render_raise(r, FAULT_VALUE, "invalid port in URL");
        }
        port = value_int(number);
    }
    if (bracket > 0 && bracket != STR_NOT_FOUND) {
        host = str_slice(host, 1, bracket);
    }
    if (host.len > 0 && !text_lower(r, host, &host)) {
        return false;
    }
    hostname = host.len > 0 ? value_string(host) : hostname;
    map_set_str(r->arena, parts, STR("hostname"), hostname);
    map_set_str(r->arena, parts, STR("port"), port);
    map_set_str(r->arena, parts, STR("username"), username);
    map_set_str(r->arena, parts, STR("password"), password);
    return true;
}

static bool filter_urlsplit(Render *r, const Args *args, Value *out)
{
    Str text, query;
    if (!op_text(r, args->values[0], &text) || !arg_text(r, args, 1, STR_EMPTY, &query)) {
        return false;
    }
    Url url = split_url(text);
    Map *parts = map_new(r->arena, 9);
    if (!text_lower(r, url.scheme, &url.scheme)) {
        return false;
    }
    map_set_str(r->arena, parts, STR("scheme"), value_string(url.scheme));
    map_set_str(r->arena, parts, STR("netloc"), value_string(url.netloc));
    if (!set_netloc_parts(r, parts, url.netloc)) {
        return false;
    }
    map_set_str(r->arena, parts, STR("path"), value_string(url.path));
    map_set_str(r->arena, parts, STR("query"), value_string(url.query));
    map_set_str(r->arena, parts, STR("fragment"), value_string(url.fragment));
    if (query.len == 0 || !arg_not_none(args, 1)) {
        *out = value_map(parts);
        return true;
    }
    const MapEntry *part = map_find_str(parts, query);
    if (part == NULL) {
        return render_raise(r, FAULT_FILTER_ARGUMENT, "unknown URL component '%" STR_FMT "'",
                            STR_ARG(query));
    }
    *out = part->value;
    return true;
}

const Native filters_lines[] = {
    { .name = "split",
      .call = filter_split,
      .params = { { "value" }, { "sep", "none" }, { "maxsplit", "-1" } },
      .help = "Splits a string at whitespace, or at a separator.",
      .example = "{{ 'a b  c' | split }} {{ 'a,b,,c' | split(',') }}",
      .output = "['a', 'b', 'c'] ['a', 'b', '', 'c']" },
    { .name = "comment",
      .call = filter_comment,
      .params = { { "value" },
                  { "style", "'plain'" },
                  { "decoration", "none" },
                  { "beginning", "none" },
                  { "end", "none" } },
      .help = "Formats a string as a comment; styles: plain, erlang, c, cblock, xml.",
      .example = "{{ 'managed by eden' | comment }}\n{{ 'managed' | comment('cblock') }}",
      .output = "#\n# managed by eden\n#\n/*\n *\n * managed\n *\n */" },
    { .name = "urlsplit",
      .call = filter_urlsplit,
      .params = { { "value" }, { "query", "none" } },
      .help = "Splits a URL: returns a map of its components, or the named one.",
      .example = "{{ 'http://user@web.lan:8080/a?b=c#d' | urlsplit('hostname') }} "
                 "{{ ('http://web.lan:8080/a?b=c#d' | urlsplit).port }}",
      .output = "web.lan 8080" },
    { 0 },
};
