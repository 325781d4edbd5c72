/* Finds secrets in which some characters are escaped or quoted. Each kind of escape has a separate
 * pass, because an escape of one language is plain text in another. */
#include "lang/scrub_search.h"

bool scrub_read_hex(Str text, size_t at, unsigned digits, uint32_t *out)
{
    if (text.len < digits || at > text.len - digits) {
        return false;
    }
    uint32_t value = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = ascii_hex_value(text.data[at + i]);
        if (digit < 0) {
            return false;
        }
        value = value << 4 | (uint32_t)digit;
    }
    *out = value;
    return true;
}

static unsigned put_literal(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    out[0] = text.data[(*at)++];
    return 1;
}

static char char_at(Str text, size_t at)
{
    return at < text.len ? text.data[at] : '\0';
}

/* Parses hexadecimal or decimal digits at `*at` followed by the character `end`; `*at` is moved
 * past it. */
static bool parse_code(Str text, size_t *at, bool hex, char end, uint32_t *code)
{
    size_t start = *at, i = start;
    *code = 0;
    for (; i < text.len && i - start < 7; i++) {
        int digit = ascii_hex_value(text.data[i]);
        if (digit < 0 || (!hex && digit > 9)) {
            break;
        }
        *code = *code * (hex ? 16 : 10) + (uint32_t)digit;
    }
    if (i == start || char_at(text, i) != end || *code > 0x10ffff) {
        return false;
    }
    *at = i + 1;
    return true;
}

/* --- Backslashes ----------------------------------------------------------------------------- */

/* A `\u` with four hexadecimal digits at `at`, or two of them that form a surrogate pair. */
static unsigned unescape_unicode(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    if (!scrub_read_hex(text, *at + 2, 4, &code)) {
        return put_literal(text, at, out);
    }
    *at += 6;
    uint32_t low;
    if (code >= 0xd800 && code <= 0xdbff && str_starts(str_from_offset(text, *at), STR("\\u")) &&
        scrub_read_hex(text, *at + 2, 4, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return (unsigned)utf8_encode(code, out);
}

/* The byte of a single-letter escape; 0 if there is none. A punctuation mark denotes itself. */
static char escaped_letter(char letter)
{
    switch (letter) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'e': return '\033';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 's': return ' '; /* systemd, desktop files */
    case 't': return '\t';
    case 'v': return '\v';
    default: return ascii_is_alpha(letter) || ascii_is_digit(letter) ? '\0' : letter;
    }
}

static bool parse_octal(Str text, size_t at, char *out)
{
    unsigned value = 0;
    for (size_t i = at; i < at + 3; i++) {
        if (i >= text.len || text.data[i] < '0' || text.data[i] > '7') {
            return false;
        }
        value = value * 8 + (unsigned)(text.data[i] - '0');
    }
    *out = (char)value;
    return value < 256;
}

/* Escapes of JSON, of Python's repr, of C, and of the shell, where every character can be
 * escaped. */
static unsigned unescape_backslash(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    if (text.data[*at] != '\\' || *at + 1 >= text.len) {
        return put_literal(text, at, out);
    }
    char letter = text.data[*at + 1];
    uint32_t code;
    size_t digits = *at + 3;
    if ((letter == 'u' || letter == 'x') && char_at(text, *at + 2) == '{' &&
        parse_code(text, &digits, true, '}', &code)) {
        *at = digits;
        return (unsigned)utf8_encode(code, out);
    }
    if (letter == 'u') {
        return unescape_unicode(text, at, out);
    }
    if (letter == 'x' && scrub_read_hex(text, *at + 2, 2, &code)) {
        out[0] = (char)code;
        *at += 4;
        return 1;
    }
    if (parse_octal(text, *at + 1, &out[0])) {
        *at += 4;
        return 1;
    }
    char decoded = escaped_letter(letter);
    if (decoded == '\n' && letter == '\n') { /* line continuation */
        *at += 2;
        return 0;
    }
    out[0] = decoded != '\0' ? decoded : '\\';
    *at += decoded != '\0' ? 2 : 1;
    return 1;
}

/* The same with escapes of characters rather than bytes, as written by Python's ascii(): \xe9,
 * \U0001f600. */
static unsigned unescape_character(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    char letter = text.data[*at] == '\\' ? char_at(text, *at + 1) : '\0';
    unsigned digits = letter == 'x' ? 2 : letter == 'U' ? 8 : 0;
    if (digits == 0 || !scrub_read_hex(text, *at + 2, digits, &code) || code > 0x10ffff) {
        return unescape_backslash(text, at, out);
    }
    *at += 2 + digits;
    return (unsigned)utf8_encode(code, out);
}

/* M-C and ^C of cat -v, and M-^C. */
static unsigned unescape_meta(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    bool meta = str_starts(str_from_offset(text, *at), STR("M-")) && *at + 2 < text.len;
    size_t base = *at + (meta ? 2 : 0);
    bool control = text.data[base] == '^' && base + 1 < text.len;
    char c = text.data[base + control];
    out[0] = (char)((control ? c ^ 0x40 : c) | (meta ? 0x80 : 0));
    *at = base + control + 1;
    return 1;
}

/* --- A mark and two digits ------------------------------------------------------------------- */

static unsigned unescape_marked(Str text, size_t *at, char mark, char out[UTF8_BYTES_MAX])
{
    uint32_t byte;
    if (text.data[*at] != mark || !scrub_read_hex(text, *at + 1, 2, &byte)) {
        return put_literal(text, at, out);
    }
    out[0] = (char)byte;
    *at += 3;
    return 1;
}

/* %41 of URLs, %u0041 of JavaScript's escape(). */
static unsigned unescape_percent(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    if (text.data[*at] == '%' && char_at(text, *at + 1) == 'u' &&
        scrub_read_hex(text, *at + 2, 4, &code)) {
        *at += 6;
        return (unsigned)utf8_encode(code, out);
    }
    return unescape_marked(text, at, '%', out);
}

static unsigned unescape_form(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    if (text.data[*at] == '+') {
        out[0] = ' ';
        ++*at;
        return 1;
    }
    return unescape_percent(text, at, out);
}

/* =41 of mail, where a `=` at the end continues the line. */
static unsigned unescape_mail(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    Str rest = str_from_offset(text, *at);
    if (str_starts(rest, STR("=\n")) || str_starts(rest, STR("=\r\n"))) {
        *at += rest.data[1] == '\n' ? 2 : 3;
        return 0;
    }
    return unescape_marked(text, at, '=', out);
}

/* \41 of LDAP, \000041 of style sheets. */
static unsigned unescape_digits(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    if (text.data[*at] == '\\' && scrub_read_hex(text, *at + 1, 6, &code) && code <= 0x10ffff) {
        *at += 7;
        return (unsigned)utf8_encode(code, out);
    }
    return unescape_marked(text, at, '\\', out);
}

/* --- Doubled --------------------------------------------------------------------------------- */

/* Quotes inside quotes: '\'' and '"'"' of the shell, and doubled marks: '' of YAML and SQL, "" of
 * CSV, %% of units, $$ of makefiles. */
static unsigned unescape_doubled(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    static const Str spellings[] = { STR("'\\''"), STR("'\"'\"'"), STR("''"),
                                     STR("\"\""),  STR("%%"),      STR("$$") };
    Str rest = str_from_offset(text, *at);
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        if (rest.data[0] == spellings[i].data[0] && str_starts(rest, spellings[i])) {
            out[0] = rest.data[0];
            *at += spellings[i].len;
            return 1;
        }
    }
    return put_literal(text, at, out);
}

/* --- Entities -------------------------------------------------------------------------------- */

/* Names that HTML escapers write: for ASCII, and for Latin-1 from U+00A0 on. */
static const struct {
    char c;
    char name[8];
} ascii_names[] = { { '&', "amp" },    { '<', "lt" },      { '>', "gt" },     { '"', "quot" },
                    { '\'', "apos" },  { '&', "AMP" },     { '<', "LT" },     { '>', "GT" },
                    { '"', "QUOT" },   { '!', "excl" },    { '#', "num" },    { '$', "dollar" },
                    { '%', "percnt" }, { '(', "lpar" },    { ')', "rpar" },   { '*', "ast" },
                    { '+', "plus" },   { ',', "comma" },   { '-', "hyphen" }, { '.', "period" },
                    { '/', "sol" },    { ':', "colon" },   { ';', "semi" },   { '=', "equals" },
                    { '?', "quest" },  { '@', "commat" },  { '[', "lsqb" },   { '[', "lbrack" },
                    { '\\', "bsol" },  { ']', "rsqb" },    { ']', "rbrack" }, { '^', "Hat" },
                    { '_', "lowbar" }, { '`', "grave" },   { '{', "lcub" },   { '{', "lbrace" },
                    { '|', "vert" },   { '|', "verbar" },  { '}', "rcub" },   { '}', "rbrace" },
                    { '\t', "Tab" },   { '\n', "NewLine" } };
static const char latin_names[][8] = {
    "nbsp",   "iexcl",  "cent",   "pound",  "curren", "yen",    "brvbar", "sect",   "uml",
    "copy",   "ordf",   "laquo",  "not",    "shy",    "reg",    "macr",   "deg",    "plusmn",
    "sup2",   "sup3",   "acute",  "micro",  "para",   "middot", "cedil",  "sup1",   "ordm",
    "raquo",  "frac14", "frac12", "frac34", "iquest", "Agrave", "Aacute", "Acirc",  "Atilde",
    "Auml",   "Aring",  "AElig",  "Ccedil", "Egrave", "Eacute", "Ecirc",  "Euml",   "Igrave",
    "Iacute", "Icirc",  "Iuml",   "ETH",    "Ntilde", "Ograve", "Oacute", "Ocirc",  "Otilde",
    "Ouml",   "times",  "Oslash", "Ugrave", "Uacute", "Ucirc",  "Uuml",   "Yacute", "THORN",
    "szlig",  "agrave", "aacute", "acirc",  "atilde", "auml",   "aring",  "aelig",  "ccedil",
    "egrave", "eacute", "ecirc",  "euml",   "igrave", "iacute", "icirc",  "iuml",   "eth",
    "ntilde", "ograve", "oacute", "ocirc",  "otilde", "ouml",   "divide", "oslash", "ugrave",
    "uacute", "ucirc",  "uuml",   "yacute", "thorn",  "yuml"
};

/* Looks up the entity name at `*at`, which is moved past the `;`. */
static bool parse_name(Str text, size_t *at, uint32_t *code)
{
    char name[8] = { 0 };
    size_t len = 0;
    while (len < sizeof name - 1 &&
           (ascii_is_alpha(char_at(text, *at + len)) || ascii_is_digit(char_at(text, *at + len)))) {
        name[len] = text.data[*at + len];
        len++;
    }
    if (len < 2 || char_at(text, *at + len) != ';') {
        return false;
    }
    uint32_t found = 0;
    for (size_t i = 0; i < COUNT_OF(ascii_names) && found == 0; i++) {
        found =
            memcmp(ascii_names[i].name, name, sizeof name) == 0 ? (uint32_t)ascii_names[i].c : 0;
    }
    for (uint32_t i = 0; i < COUNT_OF(latin_names) && found == 0; i++) {
        found = memcmp(latin_names[i], name, sizeof name) == 0 ? 0xa0 + i : 0;
    }
    *code = found;
    *at += found != 0 ? len + 1 : 0;
    return found != 0;
}

/* Decodes the entity whose `&` is before `*at`; moves `*at` past the `;`. */
static bool parse_entity(Str text, size_t *at, uint32_t *code)
{
    char letter = char_at(text, *at + 1);
    bool hex = letter == 'x' || letter == 'X';
    size_t digits = *at + 1 + hex;
    if (char_at(text, *at) != '#') {
        return parse_name(text, at, code);
    }
    if (!parse_code(text, &digits, hex, ';', code)) {
        return false;
    }
    *at = digits;
    return true;
}

static unsigned unescape_entity(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    size_t end = *at + 1;
    if (text.data[*at] != '&' || !parse_entity(text, &end, &code)) {
        return put_literal(text, at, out);
    }
    *at = end;
    return (unsigned)utf8_encode(code, out);
}

/* --- Escaped several times ------------------------------------------------------------------- */

static unsigned unescape_repeated(Str text, size_t *at, Unescape *backslash,
                                  char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    size_t inner = *at + 1;
    switch (text.data[*at]) {
    case '\\':
        while (char_at(text, inner) == '\\') {
            inner++;
        }
        *at = inner - 1;
        return backslash(text, at, out);
    case '%':
        while (str_starts(str_from_offset(text, inner), STR("25")) &&
               scrub_read_hex(text, inner + 2, 2, &code)) {
            inner += 2;
        }
        *at = inner > *at + 1 ? inner - 1 : *at;
        return text.data[*at] == '%' ? unescape_percent(text, at, out)
                                     : unescape_marked(text, at, text.data[*at], out);
    case '&':
        while (str_starts(str_from_offset(text, inner), STR("amp;"))) {
            inner += 4;
        }
        if (inner == *at + 1) {
            return unescape_entity(text, at, out);
        }
        *at = inner;
        return (unsigned)utf8_encode(parse_entity(text, at, &code) ? code : '&', out);
    case '=': return unescape_mail(text, at, out);
    default: return put_literal(text, at, out);
    }
}

unsigned unescape_any(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    return unescape_repeated(text, at, unescape_backslash, out);
}

unsigned unescape_any_wide(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    return unescape_repeated(text, at, unescape_character, out);
}

/* --- Passes --------------------------------------------------------------------------------- */

/* Whether the text may have been truncated within the escape at `at`, so that it was decoded as
 * literal text. */
static bool is_cut_escape(const Search *search, size_t at)
{
    enum {
        ESCAPE_MAX = 12
    };
    char c = search->text.data[at];
    return search->cut && search->text.len - at < ESCAPE_MAX &&
           (c == '\\' || c == '%' || c == '&' || c == '=');
}

/* One kind of escape, which starts with one of the characters `marks`. */
typedef struct EscapeKind {
    bool is_needed;
    const char *marks;
    Unescape *unescape;
} EscapeKind;

static void search_unescaped(Search *search, const EscapeKind *kind)
{
    DecodedStream stream = decoded_stream_make(search);
    Str text = search->text;
    bool is_mark[256] = { 0 };
    for (const char *c = kind->marks; *c != '\0'; c++) {
        is_mark[(unsigned char)*c] = true;
    }
    search_begin(search);
    for (size_t at = 0; at < text.len;) {
        char bytes[UTF8_BYTES_MAX] = { text.data[at] };
        size_t start = at;
        unsigned count = 1;
        if (is_mark[(unsigned char)bytes[0]]) {
            count = kind->unescape(text, &at, bytes);
            if (at == start + 1 && is_cut_escape(search, start)) {
                break;
            }
        } else {
            at++;
        }
        decoded_stream_put(search, &stream, str_from(bytes, count), start, at);
    }
    decoded_stream_end(search, &stream);
}

static bool has(Str text, char c)
{
    return memchr(text.data, c, text.len) != NULL;
}

/* The parts of a URL may have been escaped for another language before being percent-encoded. */
static void search_url_parts(Search *search)
{
    Str text = search->text;
    Buf part = buf_make_in(&search->arena, BUF_UNLIMITED);
    for (size_t at = 0; at < text.len; at++) {
        size_t start = at;
        buf_reset(&part);
        while (at < text.len && (unsigned char)text.data[at] > ' ' &&
               memchr("&=?#\"'<>", text.data[at], 8) == NULL) {
            char bytes[UTF8_BYTES_MAX];
            buf_put(&part, str_from(bytes, unescape_percent(text, &at, bytes)));
        }
        Str decoded = buf_str(&part);
        if (decoded.len < at - start && (has(decoded, '\\') || has(decoded, '&'))) {
            search_nested_text(search, decoded, start, at);
        }
    }
}

static bool has_any(Str text, const char *marks)
{
    while (*marks != '\0' && !has(text, *marks)) {
        marks++;
    }
    return *marks != '\0';
}

void search_escapes(Search *search)
{
    const Scrubber *scrubber = search->scrubber;
    const EscapeKind kinds[] = {
        { true, "\\", unescape_backslash },
        { scrubber->has_wide, "\\", unescape_character },
        { true, "\\", unescape_digits },
        { true, "%", unescape_percent },
        { scrubber->has_space, "+%", unescape_form },
        { true, "=", unescape_mail },
        { true, "&", unescape_entity },
        { scrubber->has_doubled, "'\"%$", unescape_doubled },
        { scrubber->has_wide, "M^", unescape_meta },
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        if (kinds[i].is_needed && has_any(search->text, kinds[i].marks)) {
            search_unescaped(search, &kinds[i]);
        }
    }
    if (!search->nested && has(search->text, '%')) {
        search_url_parts(search);
    }
}
