/* Regular expressions as filters and tests, compatible with Ansible's. */
#include "base/utf8.h"
#include "lang/template/filter.h"
#include "lang/template/regex.h"

static Str span_text(Str text, RegexSpan span)
{
    return span.start == REGEX_UNSET ? STR_EMPTY : str_slice(text, span.start, span.end);
}

static bool read_flags(Render *r, Value multiline, Value ignore_case, unsigned *out)
{
    bool is_multiline = false, is_ignore_case = false;
    if ((!value_is_missing(multiline) && !op_truth(r, multiline, &is_multiline)) ||
        (!value_is_missing(ignore_case) && !op_truth(r, ignore_case, &is_ignore_case))) {
        return false;
    }
    *out = (is_multiline ? REGEX_MULTILINE : 0) | (is_ignore_case ? REGEX_IGNORE_CASE : 0);
    return true;
}

static bool get_regex(Render *r, Value pattern, unsigned flags, const Regex **out)
{
    Str text;
    return op_text(r, pattern, &text) && regex_get(r, text, flags, out);
}

/* Resolves a group reference: "1" or a name. */
static bool find_group(Render *r, const Regex *regex, Str name, uint32_t *out)
{
    int64_t number;
    if (str_to_i64(name, &number) && number >= 0) {
        if (number > regex_group_count(regex)) {
            return render_raise(r, FAULT_VALUE, "invalid group reference %lld", (long long)number);
        }
        *out = (uint32_t)number;
        return true;
    }
    *out = regex_group_number(regex, name);
    return *out > 0 ||
           render_raise(r, FAULT_INDEX, "unknown group name '%" STR_FMT "'", STR_ARG(name));
}

/* Parses "\1" or "\g<name>" as an argument of regex_search. */
static bool group_argument(Render *r, const Regex *regex, Value v, uint32_t *out)
{
    Str text;
    if (!op_text(r, v, &text)) {
        return false;
    }
    if (str_starts(text, STR("\\g<")) && str_ends(text, STR(">"))) {
        return find_group(r, regex, str_slice(text, 3, text.len - 1), out);
    }
    if (text.len > 1 && text.data[0] == '\\' && ascii_is_digit(text.data[1])) {
        return find_group(r, regex, str_from_offset(text, 1), out);
    }
    return render_raise(r, FAULT_FILTER_ARGUMENT,
                        "Unknown argument '%" STR_FMT "'; groups are written '\\\\1' or "
                        "'\\\\g<name>'",
                        STR_ARG(text));
}

static Value group_value(Str text, RegexSpan span)
{
    return span.start == REGEX_UNSET ? value_null() : value_string(span_text(text, span));
}

static bool read_search_flags(Render *r, const char *filter, const Map *named, unsigned *out)
{
    *out = 0;
    Value multiline = value_missing(), ignore_case = value_missing();
    for (uint32_t i = 0; named != NULL && i < named->len; i++) {
        Str name = value_str(named->entries[i].key);
        if (str_eq(name, STR("multiline"))) {
            multiline = named->entries[i].value;
        } else if (str_eq(name, STR("ignorecase"))) {
            ignore_case = named->entries[i].value;
        } else {
            return render_raise(r, FAULT_TYPE,
                                "%s() got an unexpected keyword argument '%" STR_FMT "'", filter,
                                STR_ARG(name));
        }
    }
    return read_flags(r, multiline, ignore_case, out);
}

/* Returns the whole match, or a list of the requested groups; none if there is no match. */
static bool search(Render *r, const Args *args, const char *filter, RegexAnchor anchor, Value *out)
{
    Str text;
    unsigned flags;
    const Regex *regex;
    RegexMatch match = { 0 };
    bool found;
    if (!op_text(r, args->values[0], &text) || !read_search_flags(r, filter, args->named, &flags) ||
        !get_regex(r, args->values[1], flags, &regex)) {
        return false;
    }
    List *groups = list_new(r->arena, args->count - 2);
    for (uint32_t i = 2; i < args->count; i++) {
        uint32_t group;
        if (!group_argument(r, regex, args->values[i], &group)) {
            return false;
        }
        list_push(r->arena, groups, value_int(group));
    }
    if (!regex_match(r, &(RegexSearch){ .regex = regex, .text = text, .anchor = anchor }, &match,
                     &found)) {
        return false;
    }
    if (!found) {
        *out = value_null();
        return true;
    }
    for (uint32_t i = 0; i < groups->len; i++) {
        groups->items[i] = group_value(text, match.groups[groups->items[i].integer]);
    }
    *out = groups->len > 0 ? value_list(groups) : group_value(text, match.groups[0]);
    return true;
}

static bool filter_regex_search(Render *r, const Args *args, Value *out)
{
    return search(r, args, "regex_search", REGEX_ANYWHERE, out);
}

static bool filter_regex_match(Render *r, const Args *args, Value *out)
{
    return search(r, args, "regex_match", REGEX_AT_START, out);
}

static bool filter_regex_findall(Render *r, const Args *args, Value *out)
{
    Str text;
    unsigned flags;
    const Regex *regex;
    if (!op_text(r, args->values[0], &text) ||
        !read_flags(r, args->values[2], args->values[3], &flags) ||
        !get_regex(r, args->values[1], flags, &regex)) {
        return false;
    }
    List *found = list_new(r->arena, 0);
    RegexIterator walk = { .regex = regex, .text = text };
    RegexMatch match = { 0 };
    while (regex_next(r, &walk, &match)) {
        if (match.count <= 2) {
            RegexSpan span = match.groups[match.count - 1];
            if (!push_item(r, found, value_string(span_text(text, span)))) {
                return false;
            }
            continue;
        }
        if (!render_reserve(r, sizeof(List) + sizeof(Value) * match.count)) {
            return false;
        }
        List *tuple = list_new(r->arena, match.count - 1);
        for (uint32_t i = 1; i < match.count; i++) {
            list_push(r->arena, tuple, value_string(span_text(text, match.groups[i])));
        }
        if (!push_item(r, found, value_tuple(tuple))) {
            return false;
        }
    }
    *out = value_list(found);
    return !render_failed(r);
}

/* A replacement, parsed once: literals and, between them, group references. */
typedef struct Replacement {
    Str *texts;
    uint32_t *groups; /* groups[i] follows literal i; NO_GROUP at the end */
    uint32_t count;
} Replacement;

enum {
    NO_GROUP = UINT32_MAX
};

/* The character that the escape `\c` denotes, or 0. */
static char escaped_char(char c)
{
    static const char from[] = "abfnrtv\\";
    static const char to[] = "\a\b\f\n\r\t\v\\";
    const char *found_char = memchr(from, c, sizeof from - 1);
    return found_char == NULL ? '\0' : to[found_char - from];
}

/* Parses the reference after a backslash at `*pos` and moves `*pos` past it. */
static bool read_reference(Render *r, const Regex *regex, Str text, size_t *pos, uint32_t *group)
{
    size_t start = *pos;
    if (text.data[start] == 'g') {
        size_t end = str_find(text, STR(">"), start);
        if (start + 1 >= text.len || text.data[start + 1] != '<' || end == STR_NOT_FOUND) {
            return render_raise(r, FAULT_VALUE, "missing group name in the replacement");
        }
        *pos = end + 1;
        return find_group(r, regex, str_slice(text, start + 2, end), group);
    }
    size_t end = start + 1;
    if (end < text.len && ascii_is_digit(text.data[end])) {
        end++;
    }
    *pos = end;
    return find_group(r, regex, str_slice(text, start, end), group);
}

static bool read_replacement(Render *r, const Regex *regex, Str text, Replacement *out)
{
    uint32_t pieces = 1;
    for (size_t i = 0; i < text.len; i++) {
        pieces += text.data[i] == '\\';
    }
    if (!render_reserve(r, pieces * (sizeof(Str) + sizeof(uint32_t)))) {
        return false;
    }
    *out = (Replacement){ ARENA_ARRAY(r->arena, Str, pieces),
                          ARENA_ARRAY(r->arena, uint32_t, pieces), 0 };
    Buf buf = buf_make_in(r->arena, BUF_UNLIMITED);
    buf_reserve(&buf, text.len + 1);
    size_t start = 0;
    for (size_t pos = 0; pos < text.len;) {
        char c = text.data[pos++];
        if (c != '\\' || pos == text.len) {
            buf_put_char(&buf, c);
            continue;
        }
        char next = text.data[pos];
        if (next != 'g' && !(ascii_is_digit(next) && next != '0')) {
            char plain = next == '0' ? '\0' : escaped_char(next);
            if (plain == '\0' && next != '0') {
                if (ascii_is_alpha(next)) {
                    return render_raise(r, FAULT_VALUE, "bad escape \\%c in the replacement", next);
                }
                buf_put_char(&buf, '\\');
                plain = next;
            }
            buf_put_char(&buf, plain);
            pos++;
            continue;
        }
        out->texts[out->count] = str_slice(buf_str(&buf), start, buf.len);
        start = buf.len;
        if (!read_reference(r, regex, text, &pos, &out->groups[out->count++])) {
            return false;
        }
    }
    out->texts[out->count] = str_slice(buf_str(&buf), start, buf.len);
    out->groups[out->count++] = NO_GROUP;
    return true;
}

static void put_replacement(const Replacement *replacement, Str text, const RegexMatch *match,
                            Buf *out)
{
    for (uint32_t i = 0; i < replacement->count; i++) {
        buf_put(out, replacement->texts[i]);
        if (replacement->groups[i] != NO_GROUP) {
            buf_put(out, span_text(text, match->groups[replacement->groups[i]]));
        }
    }
}

static bool filter_regex_replace(Render *r, const Args *args, Value *out)
{
    Str text, new_text;
    unsigned flags;
    const Regex *regex;
    Replacement replacement;
    int64_t limit, required_count;
    if (!op_text(r, args->values[0], &text) ||
        !read_flags(r, args->values[4], args->values[3], &flags) ||
        !get_regex(r, arg_or(args, 1, value_string(STR_EMPTY)), flags, &regex) ||
        !arg_text(r, args, 2, STR_EMPTY, &new_text) || !arg_int(r, args, 5, 0, &limit) ||
        !arg_int(r, args, 6, 0, &required_count) ||
        !read_replacement(r, regex, new_text, &replacement)) {
        return false;
    }
    Buf changed = render_buf(r);
    RegexIterator walk = { .regex = regex, .text = text };
    RegexMatch match = { 0 };
    size_t from = 0;
    int64_t count = 0;
    while ((limit <= 0 || count < limit) && !changed.overflow && regex_next(r, &walk, &match)) {
        buf_put(&changed, str_slice(text, from, match.groups[0].start));
        put_replacement(&replacement, text, &match, &changed);
        from = match.groups[0].end;
        count++;
    }
    if (render_failed(r)) {
        return false;
    }
    if (required_count > 0 && count != required_count) {
        return render_raise(r, FAULT_VALUE, "regex_replace made %lld replacements, not %lld",
                            (long long)count, (long long)required_count);
    }
    buf_put(&changed, str_from_offset(text, from));
    return take_text(r, &changed, false, out);
}

static bool filter_regex_escape(Render *r, const Args *args, Value *out)
{
    Str text, type;
    if (!op_text(r, args->values[0], &text) || !arg_text(r, args, 1, STR("python"), &type)) {
        return false;
    }
    const char *special;
    if (str_eq(type, STR("python"))) {
        special = "()[]{}?*+-|^$\\.&~# \t\n\r\v\f";
    } else if (str_eq(type, STR("posix_basic"))) {
        special = "].[^$*\\";
    } else {
        return render_raise(r, FAULT_FILTER_ARGUMENT, "re_type must be python or posix_basic");
    }
    Buf escaped = render_buf(r);
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] != '\0' && strchr(special, text.data[i]) != NULL) {
            buf_put_char(&escaped, '\\');
        }
        buf_put_char(&escaped, text.data[i]);
    }
    return take_text(r, &escaped, false, out);
}

static bool test_pattern(Render *r, const Args *args, RegexAnchor anchor, Value *out)
{
    Str text;
    unsigned flags;
    const Regex *regex;
    RegexMatch match = { 0 };
    bool found;
    if (!op_text(r, args->values[0], &text) ||
        !read_flags(r, args->values[3], args->values[2], &flags) ||
        !get_regex(r, arg_or(args, 1, value_string(STR_EMPTY)), flags, &regex) ||
        !regex_match(r, &(RegexSearch){ .regex = regex, .text = text, .anchor = anchor }, &match,
                     &found)) {
        return false;
    }
    *out = value_bool(found);
    return true;
}

static bool test_match(Render *r, const Args *args, Value *out)
{
    return test_pattern(r, args, REGEX_AT_START, out);
}

static bool test_search(Render *r, const Args *args, Value *out)
{
    return test_pattern(r, args, REGEX_ANYWHERE, out);
}

static bool test_regex(Render *r, const Args *args, Value *out)
{
    Str type;
    if (!arg_text(r, args, 4, STR("search"), &type)) {
        return false;
    }
    if (str_eq(type, STR("search"))) {
        return test_pattern(r, args, REGEX_ANYWHERE, out);
    }
    if (str_eq(type, STR("match"))) {
        return test_pattern(r, args, REGEX_AT_START, out);
    }
    if (str_eq(type, STR("fullmatch"))) {
        return test_pattern(r, args, REGEX_FULL, out);
    }
    return render_raise(r, FAULT_FILTER_ARGUMENT, "match_type must be search, match or fullmatch");
}

const Native filters_regex[] = {
    { .name = "regex_search",
      .call = filter_regex_search,
      .params = { { "value" }, { "regex" } },
      .flags = NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Returns the first match anywhere, or a list of its groups; none if there is no "
              "match. Accepts multiline=true and ignorecase=true.",
      .example = "{{ 'eth0: 10.0.0.7' | regex_search('[0-9.]{7,}') }} "
                 "{{ 'v12-3' | regex_search('v(\\\\d+)-(\\\\d+)', '\\\\1', '\\\\2') }}",
      .output = "10.0.0.7 ['12', '3']" },
    { .name = "regex_match",
      .call = filter_regex_match,
      .params = { { "value" }, { "regex" } },
      .flags = NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Like regex_search, but only matches at the start of the string.",
      .example = "{{ 'web-01' | regex_match('[a-z]+') }} {{ 'web-01' | regex_match('[0-9]+') }}",
      .output = "web None" },
    { .name = "regex_findall",
      .call = filter_regex_findall,
      .params = { { "value" }, { "regex" }, { "multiline", "false" }, { "ignorecase", "false" } },
      .help = "Returns all matches, or their groups if the pattern has any.",
      .example = "{{ 'a1 b22' | regex_findall('[0-9]+') }}",
      .output = "['1', '22']" },
    { .name = "regex_replace",
      .call = filter_regex_replace,
      .params = { { "value" },
                  { "pattern", "''" },
                  { "replacement", "''" },
                  { "ignorecase", "false" },
                  { "multiline", "false" },
                  { "count", "0" },
                  { "mandatory_count", "0" } },
      .help = "Replaces all matches, or the first `count`; \\1 and \\g<name> refer to groups.",
      .example = "{{ 'web-01.lan' | regex_replace('^(\\\\w+)-(\\\\d+).*$', '\\\\2.\\\\1') }}",
      .output = "01.web" },
    { .name = "regex_escape",
      .call = filter_regex_escape,
      .params = { { "value" }, { "re_type", "'python'" } },
      .help = "Escapes the characters that have a special meaning in a pattern.",
      .example = "{{ 'a.b*' | regex_escape }}",
      .output = "a\\.b\\*" },
    { 0 },
};

const Native tests_regex[] = {
    { .name = "match",
      .call = test_match,
      .params = { { "value" },
                  { "pattern", "''" },
                  { "ignorecase", "false" },
                  { "multiline", "false" } },
      .flags = NATIVE_PLAIN,
      .help = "The pattern matches at the start of the string.",
      .example = "{{ 'web-01' is match('web') }} {{ 'web-01' is match('01') }}",
      .output = "True False" },
    { .name = "search",
      .call = test_search,
      .params = { { "value" },
                  { "pattern", "''" },
                  { "ignorecase", "false" },
                  { "multiline", "false" } },
      .flags = NATIVE_PLAIN,
      .help = "The pattern matches anywhere in the string.",
      .example = "{{ 'web-01' is search('[0-9]+') }}",
      .output = "True" },
    { .name = "regex",
      .call = test_regex,
      .params = { { "value" },
                  { "pattern", "''" },
                  { "ignorecase", "false" },
                  { "multiline", "false" },
                  { "match_type", "'search'" } },
      .flags = NATIVE_PLAIN,
      .help =
          "The pattern matches: anywhere, at the start (match) or the whole string (fullmatch).",
      .example = "{{ 'web-01' is regex('^W', ignorecase=true) }} "
                 "{{ 'web' is regex('we', match_type='fullmatch') }}",
      .output = "True False" },
    { 0 },
};
