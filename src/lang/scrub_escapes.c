/* Finds secrets in which some characters are escaped or quoted. Each kind of escape has a separate
 * pass, because an escape of one language is plain text in another. */
#include "lang/scrub_search.h"

bool scrub_read_hex(Str text, size_t pos, unsigned digits, uint32_t *out)
{
    if (text.len < digits || pos > text.len - digits) {
        return false;
    }
    uint32_t value = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = ascii_hex_value(text.data[pos + i]);
        if (digit < 0) {
            return false;
        }
        value = value << 4 | (uint32_t)digit;
    }
    *out = value;
    return true;
}

static unsigned put_literal(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    out[0] = text.data[(*pos)++];
    return 1;
}

static char char_at(Str text, size_t pos)
{
    return pos < text.len ? text.data[pos] : '\0';
}

/* Parses hexadecimal or decimal digits at `*pos` followed by the character `end`; `*pos` is moved
 * past it. */
static bool parse_code(Str text, size_t *pos, bool hex, char end, uint32_t *code)
{
    size_t start = *pos, i = start;
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
    *pos = i + 1;
    return true;
}

/* --- Backslashes ----------------------------------------------------------------------------- */

/* A `\u` with four hexadecimal digits at `pos`, or two of them that form a surrogate pair. */
static unsigned unescape_unicode(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    if (!scrub_read_hex(text, *pos + 2, 4, &code)) {
        return put_literal(text, pos, out);
    }
    *pos += 6;
    uint32_t low;
    if (code >= 0xd800 && code <= 0xdbff && str_starts(str_from_offset(text, *pos), STR("\\u")) &&
        scrub_read_hex(text, *pos + 2, 4, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *pos += 6;
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

static bool parse_octal(Str text, size_t pos, char *out)
{
    unsigned value = 0;
    for (size_t i = pos; i < pos + 3; i++) {
        if (i >= text.len || text.data[i] < '0' || text.data[i] > '7') {
            return false;
        }
        value = value * 8 + (unsigned)(text.data[i] - '0');
    }
    *out = (char)value;
    return value < 256;
}

/* Escapes in JSON, Python's repr, C, and the shell, where every character can be
 * escaped. */
static unsigned unescape_backslash(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    if (text.data[*pos] != '\\' || *pos + 1 >= text.len) {
        return put_literal(text, pos, out);
    }
    char letter = text.data[*pos + 1];
    uint32_t code;
    size_t digits = *pos + 3;
    if ((letter == 'u' || letter == 'x') && char_at(text, *pos + 2) == '{' &&
        parse_code(text, &digits, true, '}', &code)) {
        *pos = digits;
        return (unsigned)utf8_encode(code, out);
    }
    if (letter == 'u') {
        return unescape_unicode(text, pos, out);
    }
    if (letter == 'x' && scrub_read_hex(text, *pos + 2, 2, &code)) {
        out[0] = (char)code;
        *pos += 4;
        return 1;
    }
    if (parse_octal(text, *pos + 1, &out[0])) {
        *pos += 4;
        return 1;
    }
    char decoded = escaped_letter(letter);
    if (decoded == '\n' && letter == '\n') { /* line continuation */
        *pos += 2;
        return 0;
    }
    out[0] = decoded != '\0' ? decoded : '\\';
    *pos += decoded != '\0' ? 2 : 1;
    return 1;
}

/* The same with escapes of characters rather than bytes, as written by Python's ascii(): \xe9,
 * \U0001f600. */
static unsigned unescape_character(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    char letter = text.data[*pos] == '\\' ? char_at(text, *pos + 1) : '\0';
    unsigned digits = letter == 'x' ? 2 : letter == 'U' ? 8 : 0;
    if (digits == 0 || !scrub_read_hex(text, *pos + 2, digits, &code) || code > 0x10ffff) {
        return unescape_backslash(text, pos, out);
    }
    *pos += 2 + digits;
    return (unsigned)utf8_encode(code, out);
}

/* M-C, ^C and M-^C, as printed by cat -v. */
static unsigned unescape_meta(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    bool meta = str_starts(str_from_offset(text, *pos), STR("M-")) && *pos + 2 < text.len;
    size_t base = *pos + (meta ? 2 : 0);
    bool control = text.data[base] == '^' && base + 1 < text.len;
    char c = text.data[base + control];
    out[0] = (char)((control ? c ^ 0x40 : c) | (meta ? 0x80 : 0));
    *pos = base + control + 1;
    return 1;
}

/* --- A mark and two digits ------------------------------------------------------------------- */

static unsigned unescape_marked(Str text, size_t *pos, char mark, char out[UTF8_BYTES_MAX])
{
    uint32_t byte;
    if (text.data[*pos] != mark || !scrub_read_hex(text, *pos + 1, 2, &byte)) {
        return put_literal(text, pos, out);
    }
    out[0] = (char)byte;
    *pos += 3;
    return 1;
}

/* %41 in URLs, %u0041 from JavaScript's escape(). */
static unsigned unescape_percent(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    if (text.data[*pos] == '%' && char_at(text, *pos + 1) == 'u' &&
        scrub_read_hex(text, *pos + 2, 4, &code)) {
        *pos += 6;
        return (unsigned)utf8_encode(code, out);
    }
    return unescape_marked(text, pos, '%', out);
}

static unsigned unescape_form(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    if (text.data[*pos] == '+') {
        out[0] = ' ';
        ++*pos;
        return 1;
    }
    return unescape_percent(text, pos, out);
}

/* =41 in mail, where a `=` at the end continues the line. */
static unsigned unescape_quoted_printable(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    Str rest = str_from_offset(text, *pos);
    if (str_starts(rest, STR("=\n")) || str_starts(rest, STR("=\r\n"))) {
        *pos += rest.data[1] == '\n' ? 2 : 3;
        return 0;
    }
    return unescape_marked(text, pos, '=', out);
}

/* \41 in LDAP, \000041 in style sheets. */
static unsigned unescape_digits(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    if (text.data[*pos] == '\\' && scrub_read_hex(text, *pos + 1, 6, &code) && code <= 0x10ffff) {
        *pos += 7;
        return (unsigned)utf8_encode(code, out);
    }
    return unescape_marked(text, pos, '\\', out);
}

/* --- Doubled --------------------------------------------------------------------------------- */

/* Quotes inside quotes: '\'' and '"'"' in the shell, and doubled marks: '' in YAML and SQL, "" in
 * CSV, %% in units, $$ in makefiles. */
static unsigned unescape_doubled(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    static const Str spellings[] = { STR("'\\''"), STR("'\"'\"'"), STR("''"),
                                     STR("\"\""),  STR("%%"),      STR("$$") };
    Str rest = str_from_offset(text, *pos);
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        if (rest.data[0] == spellings[i].data[0] && str_starts(rest, spellings[i])) {
            out[0] = rest.data[0];
            *pos += spellings[i].len;
            return 1;
        }
    }
    return put_literal(text, pos, out);
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

/* Looks up the entity name at `*pos`, which is moved past the `;`. */
static bool parse_name(Str text, size_t *pos, uint32_t *code)
{
    char name[8] = { 0 };
    size_t len = 0;
    while (len < sizeof name - 1 && (ascii_is_alpha(char_at(text, *pos + len)) ||
                                     ascii_is_digit(char_at(text, *pos + len)))) {
        name[len] = text.data[*pos + len];
        len++;
    }
    if (len < 2 || char_at(text, *pos + len) != ';') {
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
    *pos += found != 0 ? len + 1 : 0;
    return found != 0;
}

/* Decodes the entity whose `&` is before `*pos`; moves `*pos` past the `;`. */
static bool parse_entity(Str text, size_t *pos, uint32_t *code)
{
    char letter = char_at(text, *pos + 1);
    bool hex = letter == 'x' || letter == 'X';
    size_t digits = *pos + 1 + hex;
    if (char_at(text, *pos) != '#') {
        return parse_name(text, pos, code);
    }
    if (!parse_code(text, &digits, hex, ';', code)) {
        return false;
    }
    *pos = digits;
    return true;
}

static unsigned unescape_entity(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    size_t end = *pos + 1;
    if (text.data[*pos] != '&' || !parse_entity(text, &end, &code)) {
        return put_literal(text, pos, out);
    }
    *pos = end;
    return (unsigned)utf8_encode(code, out);
}

/* --- Escaped several times ------------------------------------------------------------------- */

static unsigned unescape_repeated(Str text, size_t *pos, Unescape *backslash,
                                  char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    size_t inner = *pos + 1;
    switch (text.data[*pos]) {
    case '\\':
        while (char_at(text, inner) == '\\') {
            inner++;
        }
        *pos = inner - 1;
        return backslash(text, pos, out);
    case '%':
        while (str_starts(str_from_offset(text, inner), STR("25")) &&
               scrub_read_hex(text, inner + 2, 2, &code)) {
            inner += 2;
        }
        *pos = inner > *pos + 1 ? inner - 1 : *pos;
        return text.data[*pos] == '%' ? unescape_percent(text, pos, out)
                                      : unescape_marked(text, pos, text.data[*pos], out);
    case '&':
        while (str_starts(str_from_offset(text, inner), STR("amp;"))) {
            inner += 4;
        }
        if (inner == *pos + 1) {
            return unescape_entity(text, pos, out);
        }
        *pos = inner;
        return (unsigned)utf8_encode(parse_entity(text, pos, &code) ? code : '&', out);
    case '=': return unescape_quoted_printable(text, pos, out);
    default: return put_literal(text, pos, out);
    }
}

unsigned unescape_any(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    return unescape_repeated(text, pos, unescape_backslash, out);
}

unsigned unescape_any_wide(Str text, size_t *pos, char out[UTF8_BYTES_MAX])
{
    return unescape_repeated(text, pos, unescape_character, out);
}

/* --- Passes --------------------------------------------------------------------------------- */

/* Whether the text may have been truncated within the escape at `pos`, so that it was decoded as
 * literal text. */
static bool is_truncated_escape(const Search *search, size_t pos)
{
    enum {
        ESCAPE_MAX = 12
    };
    char c = search->text.data[pos];
    return search->is_truncated && search->text.len - pos < ESCAPE_MAX &&
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
    for (size_t pos = 0; pos < text.len;) {
        char bytes[UTF8_BYTES_MAX] = { text.data[pos] };
        size_t start = pos;
        unsigned count = 1;
        if (is_mark[(unsigned char)bytes[0]]) {
            count = kind->unescape(text, &pos, bytes);
            if (pos == start + 1 && is_truncated_escape(search, start)) {
                break;
            }
        } else {
            pos++;
        }
        decoded_stream_put(search, &stream, str_from(bytes, count), start, pos);
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
    for (size_t pos = 0; pos < text.len; pos++) {
        size_t start = pos;
        buf_reset(&part);
        while (pos < text.len && (unsigned char)text.data[pos] > ' ' &&
               memchr("&=?#\"'<>", text.data[pos], 8) == NULL) {
            char bytes[UTF8_BYTES_MAX];
            buf_put(&part, str_from(bytes, unescape_percent(text, &pos, bytes)));
        }
        Str decoded = buf_str(&part);
        if (decoded.len < pos - start && (has(decoded, '\\') || has(decoded, '&'))) {
            search_nested_text(search, decoded, start, pos);
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
        { true, "=", unescape_quoted_printable },
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
