/* Jinja2's urlize, without regular expressions. The text is split at whitespace. From each word
 * leading brackets and trailing punctuation are stripped (keeping a closing bracket that matches
 * one inside the URL), and the rest is linked if it is a URL, a well-known domain, a mail address,
 * or starts with one of the extra schemes. The rules match Jinja2's patterns, including their
 * oddities. */
#include "lang/template/urlize.h"

#include "base/utf8.h"
#include "lang/template/filter.h"

typedef struct Link {
    const UrlizeRules *rules;
    Buf attributes; /* ` rel="..." target="..."` */
} Link;

static bool starts_ignore_case(Str text, Str prefix)
{
    return str_eq_ignore_case(str_slice(text, 0, prefix.len), prefix);
}

static bool is_host_code(uint32_t code)
{
    return code == '%' || code == '-' || code_is_word(code);
}

/* Length of the longest prefix of host characters and dots. */
static size_t host_bytes(Str text)
{
    size_t pos = 0;
    while (pos < text.len) {
        size_t next = pos;
        uint32_t code = utf8_next(text, &next);
        if (code != '.' && !is_host_code(code)) {
            break;
        }
        pos = next;
    }
    return pos;
}

/* [a-z] ignoring case, as in Python: four other letters match as well. */
static bool is_letters(Str label)
{
    size_t length = 0;
    for (size_t pos = 0; pos < label.len; length++) {
        uint32_t code = utf8_next(label, &pos);
        bool folds = code == 0x130 || code == 0x131 || code == 0x17f || code == 0x212a;
        if (!folds && (code >= 0x80 || !ascii_is_alpha((char)code))) {
            return false;
        }
    }
    return length >= 2 && length <= 63;
}

static bool is_idna_label(Str label)
{
    if (!starts_ignore_case(label, STR("xn--"))) {
        return false;
    }
    Str rest = str_from_offset(label, 4);
    size_t length = utf8_count(rest);
    return length >= 2 && length <= 59 && memchr(rest.data, '-', rest.len) == NULL;
}

/* Any domain, after a scheme or "www.". */
static bool is_domain(Str host)
{
    Str label = STR_EMPTY;
    Str rest = host;
    while (str_split_next(&rest, '.', &label)) {
        if (label.len == 0) {
            return false;
        }
    }
    return is_letters(label) || is_idna_label(label);
}

/* A domain that is linked even without a scheme. */
static bool is_known_domain(Str host)
{
    static const Str top_domains[] = {
        { "com", 3 }, { "net", 3 }, { "int", 3 },  { "edu", 3 },
        { "gov", 3 }, { "org", 3 }, { "info", 4 }, { "mil", 3 },
    };
    size_t dot = str_find_last(host, STR("."));
    if (dot == STR_NOT_FOUND) {
        return false;
    }
    Str top = str_from_offset(host, dot + 1);
    bool known = false;
    for (size_t i = 0; i < COUNT_OF(top_domains); i++) {
        known = known || str_eq_ignore_case(top, top_domains[i]);
    }
    Str rest = str_slice(host, 0, dot);
    Str label;
    while (known && str_split_next(&rest, '.', &label)) {
        size_t length = utf8_count(label);
        known = length >= 2 && length <= 63;
    }
    return known;
}

static bool is_ipv4(Str host)
{
    unsigned parts = 0;
    Str part;
    while (str_split_next(&host, '.', &part)) {
        if (part.len < 1 || part.len > 3) {
            return false;
        }
        for (size_t i = 0; i < part.len; i++) {
            if (!ascii_is_digit(part.data[i])) {
                return false;
            }
        }
        parts++;
    }
    return parts == 4;
}

/* Up to four hexadecimal digits and a colon; returns the number of bytes. */
static size_t ipv6_group(Str text, bool *colon)
{
    size_t pos = 0;
    while (pos < text.len && pos < 4 && ascii_hex_value(text.data[pos]) >= 0) {
        pos++;
    }
    *colon = pos < text.len && text.data[pos] == ':';
    return pos + *colon;
}

/* "[...]" at the start: its length, or 0. As permissive about the groups as Jinja2. */
static size_t ipv6_bytes(Str text)
{
    if (text.len == 0 || text.data[0] != '[') {
        return 0;
    }
    size_t pos = 1;
    bool colon;
    for (unsigned group = 0; group < 8; group++) {
        size_t used = ipv6_group(str_from_offset(text, pos), &colon);
        if (group < 2 && !colon) {
            return 0;
        }
        pos += used;
    }
    return pos < text.len && text.data[pos] == ']' ? pos + 1 : 0;
}

/* Nothing, a port, a path, or both. */
static bool is_url_end(Str text)
{
    size_t pos = 0;
    if (text.len > 0 && text.data[0] == ':') {
        pos = 1;
        while (pos < text.len && pos <= 5 && ascii_is_digit(text.data[pos])) {
            pos++;
        }
        if (pos == 1) {
            return false;
        }
    }
    return pos == text.len || text.data[pos] == '/' || text.data[pos] == '?' ||
           text.data[pos] == '#';
}

static bool is_url(Str text)
{
    size_t scheme = starts_ignore_case(text, STR("https://"))  ? 8
                    : starts_ignore_case(text, STR("http://")) ? 7
                                                               : 0;
    size_t www = scheme == 0 && starts_ignore_case(text, STR("www.")) ? 4 : 0;
    Str rest = str_from_offset(text, scheme + www);
    size_t host = host_bytes(rest);
    Str name = str_slice(rest, 0, host);
    Str end = str_from_offset(rest, host);
    if (scheme + www > 0 && is_domain(name) && is_url_end(end)) {
        return true;
    }
    if (scheme > 0) {
        if (is_ipv4(name)) {
            return is_url_end(end);
        }
        size_t bracket = ipv6_bytes(rest);
        return bracket > 0 && is_url_end(str_from_offset(rest, bracket));
    }
    host = host_bytes(text);
    return is_known_domain(str_slice(text, 0, host)) && is_url_end(str_from_offset(text, host));
}

static bool is_mail_address(Str text)
{
    size_t pos = str_find_last(text, STR("@"));
    if (pos == STR_NOT_FOUND || pos == 0) {
        return false;
    }
    Str domain = str_from_offset(text, pos + 1);
    size_t dot = str_find_last(domain, STR("."));
    if (dot == STR_NOT_FOUND || dot == 0 || dot + 1 == domain.len) {
        return false;
    }
    for (size_t i = 0; i < domain.len;) {
        size_t start = i;
        uint32_t code = utf8_next(domain, &i);
        bool inside = start > 0 && start <= dot && (code == '.' || code == '-');
        if (!inside && !code_is_word(code)) {
            return false;
        }
    }
    return true;
}

static void put_link(const Link *link, const char *prefix, Str url, Buf *out)
{
    buf_put_format(out, "<a href=\"%s", prefix);
    buf_put(out, url);
    buf_put_char(out, '"');
    buf_put(out, buf_str(&link->attributes));
    buf_put_char(out, '>');
    size_t shown = url.len;
    if (link->rules->text_limit >= 0) {
        shown = utf8_index_to_offset(url, (size_t)link->rules->text_limit);
    }
    buf_put(out, str_slice(url, 0, shown));
    buf_put_c(out, shown < url.len ? "...</a>" : "</a>");
}

static void put_mail_link(const char *prefix, Str address, Buf *out)
{
    buf_put_format(out, "<a href=\"%s", prefix);
    buf_put(out, address);
    buf_put(out, STR("\">"));
    buf_put(out, str_from_offset(address, str_starts(address, STR("mailto:")) ? 7 : 0));
    buf_put(out, STR("</a>"));
}

static void put_scheme_link(const Link *link, Str url, Buf *out)
{
    const List *schemes = link->rules->schemes;
    for (uint32_t i = 0; schemes != NULL && i < schemes->len; i++) {
        Str scheme = value_str(schemes->items[i]);
        if (url.len > scheme.len && str_starts(url, scheme)) {
            buf_put(out, STR("<a href=\""));
            buf_put(out, url);
            buf_put_char(out, '"');
            buf_put(out, buf_str(&link->attributes));
            buf_put_char(out, '>');
            buf_put(out, url);
            buf_put(out, STR("</a>"));
            return;
        }
    }
    buf_put(out, url);
}

static void put_middle(const Link *link, Str middle, Buf *out)
{
    if (is_url(middle)) {
        bool scheme = str_starts(middle, STR("https://")) || str_starts(middle, STR("http://"));
        put_link(link, scheme ? "" : "https://", middle, out);
    } else if (str_starts(middle, STR("mailto:")) && is_mail_address(str_from_offset(middle, 7))) {
        put_mail_link("", middle, out);
    } else if (!str_starts(middle, STR("www.")) && str_find(middle, STR(":"), 0) == STR_NOT_FOUND &&
               is_mail_address(middle)) {
        put_mail_link("mailto:", middle, out);
    } else {
        put_scheme_link(link, middle, out);
    }
}

static size_t head_bytes(Str word)
{
    size_t pos = 0;
    while (pos < word.len) {
        if (word.data[pos] == '(' || word.data[pos] == '<') {
            pos++;
        } else if (str_starts(str_from_offset(word, pos), STR("&lt;"))) {
            pos += 4;
        } else {
            break;
        }
    }
    return pos;
}

/* The start of the trailing punctuation. */
static size_t tail_start(Str word)
{
    size_t end = word.len;
    while (end > 0) {
        if (memchr(")>.,", word.data[end - 1], 4) != NULL) {
            end--;
        } else if (str_ends(str_slice(word, 0, end), STR("&gt;"))) {
            end -= 4;
        } else {
            break;
        }
    }
    return end;
}

static size_t count_occurrences(Str text, Str needle)
{
    size_t count = 0;
    for (size_t pos = str_find(text, needle, 0); pos != STR_NOT_FOUND;
         pos = str_find(text, needle, pos + needle.len)) {
        count++;
    }
    return count;
}

/* A URL that contains an opening bracket may also end with the closing one. Returns the new end. */
static size_t include_closing(Str word, size_t end)
{
    static const Str pairs[][2] = {
        { { "(", 1 }, { ")", 1 } },
        { { "<", 1 }, { ">", 1 } },
        { { "&lt;", 4 }, { "&gt;", 4 } },
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        size_t opened = count_occurrences(str_slice(word, 0, end), pairs[i][0]);
        if (opened <= count_occurrences(str_slice(word, 0, end), pairs[i][1])) {
            continue;
        }
        size_t available = count_occurrences(str_from_offset(word, end), pairs[i][1]);
        for (size_t k = 0; k < opened && k < available; k++) {
            end = str_find(word, pairs[i][1], end) + pairs[i][1].len;
        }
    }
    return end;
}

static void put_word(const Link *link, Str word, Buf *out)
{
    size_t head = head_bytes(word);
    buf_put(out, str_slice(word, 0, head));
    word = str_from_offset(word, head);
    size_t end = include_closing(word, tail_start(word));
    put_middle(link, str_slice(word, 0, end), out);
    buf_put(out, str_from_offset(word, end));
}

bool urlize_is_scheme(Str scheme)
{
    size_t colon = str_find(scheme, STR(":"), 0);
    if (colon == STR_NOT_FOUND || utf8_count(str_slice(scheme, 0, colon)) < 2) {
        return false;
    }
    for (size_t pos = 0; pos < colon;) {
        uint32_t code = utf8_next(scheme, &pos);
        if (code != '.' && code != '+' && code != '-' && !code_is_word(code)) {
            return false;
        }
    }
    Str slashes = str_from_offset(scheme, colon + 1);
    return slashes.len == 0 || str_eq(slashes, STR("/")) || str_eq(slashes, STR("//"));
}

bool urlize(Render *r, Str text, const UrlizeRules *rules, Buf *out)
{
    Link link = { .rules = rules, .attributes = render_buf(r) };
    if (rules->rel.len > 0) {
        buf_put(&link.attributes, STR(" rel=\""));
        escape_html(rules->rel, &link.attributes);
        buf_put_char(&link.attributes, '"');
    }
    if (rules->target.len > 0) {
        buf_put(&link.attributes, STR(" target=\""));
        escape_html(rules->target, &link.attributes);
        buf_put_char(&link.attributes, '"');
    }
    size_t schemes = rules->schemes == NULL ? 0 : rules->schemes->len;
    for (size_t pos = 0; pos < text.len && !out->overflow;) {
        size_t end = text_skip_word(text, pos);
        if (!render_charge(r, 1 + schemes)) {
            return false;
        }
        put_word(&link, str_slice(text, pos, end), out);
        pos = text_skip_spaces(text, end);
        buf_put(out, str_slice(text, end, pos));
    }
    return true;
}
