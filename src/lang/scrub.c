/* Instead of searching the text for every spelling of every secret, which are endless (each byte
 * may be escaped or not), the text is read once per kind of spelling with the escapes undone, and
 * the secrets are searched in what comes out. Each decoded byte knows where it was spelled.
 *
 * Base64 has no unique reading: where encoded data starts is not known, so it is read at all four
 * offsets at the same time. Secrets inside longer data need nothing more, because decoded data has
 * no alignment. */
#include "lang/scrub.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "lang/matcher.h"
#include "lang/unicode.h"

/* What the characters of an encoding mean: their value + 1, or one of these. */
enum {
    CODE_END = 0,   /* not of the encoding */
    CODE_SKIP = 65, /* may stand between the characters: line ends, indentation */
};

struct Scrubber {
    Matcher *matcher;          /* of the secrets, with ASCII in lower case */
    bool with_space;           /* a secret has one, which forms write as `+` */
    bool with_quote;           /* a secret has a single quote */
    bool with_wide;            /* a secret has characters beyond ASCII */
    unsigned char fold[256];   /* to lower case */
    unsigned char base64[256]; /* both alphabets */
    unsigned char hex[256];
};

static void fill_tables(Scrubber *scrubber)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char *base64 = scrubber->base64, *hex = scrubber->hex;
    for (unsigned i = 0; i < 64; i++) {
        base64[(unsigned char)characters[i]] = (unsigned char)(i + 1);
    }
    base64['-'] = base64['+'];
    base64['_'] = base64['/'];
    base64[' '] = base64['\t'] = base64['\r'] = base64['\n'] = CODE_SKIP;
    hex[' '] = hex['\t'] = hex['\r'] = hex['\n'] = hex[':'] = CODE_SKIP;
    for (unsigned i = 0; i < 256; i++) {
        int digit = ascii_hex_value((char)i);
        hex[i] = digit >= 0 ? (unsigned char)(digit + 1) : hex[i];
        scrubber->fold[i] = (unsigned char)ascii_lower((char)i);
    }
}

static bool has(Str text, char c)
{
    return text.len > 0 && memchr(text.data, c, text.len) != NULL;
}

static Str folded(Arena *arena, Str text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        copy[i] = ascii_lower(text.data[i]);
    }
    return str_from(copy, text.len);
}

/* In upper or lower case, or with capitals at the start of words only (CASE_TITLE). */
static Str in_case(Arena *arena, Str text, CaseMapping mapping)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    bool in_word = false;
    for (size_t at = 0; at < text.len;) {
        uint32_t code = utf8_next(text, &at), mapped[UNICODE_MAPPED_MAX];
        unsigned count =
            unicode_map(code, mapping == CASE_TITLE && in_word ? CASE_LOWER : mapping, mapped);
        for (unsigned i = 0; i < count; i++) {
            char bytes[UTF8_BYTES_MAX];
            buf_put(&out, str_from(bytes, utf8_encode(mapped[i], bytes)));
        }
        in_word = unicode_is(code, UNICODE_CASED);
    }
    return buf_str(&out);
}

typedef VEC(Str) Texts;

/* The case of ASCII does not count when texts are compared; of other letters each case is a text of its
 * own. */
static void push_cases(Arena *arena, Str secret, Texts *texts)
{
    static const CaseMapping mappings[] = { CASE_LOWER, CASE_UPPER, CASE_TITLE };
    VEC_PUSH(arena, texts, folded(arena, secret));
    if (utf8_is_ascii(secret) || !utf8_is_valid(secret)) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(mappings); i++) {
        Str text = in_case(arena, secret, mappings[i]);
        if (text.len >= SCRUB_SHORTEST) {
            VEC_PUSH(arena, texts, folded(arena, text));
        }
    }
}

bool scrubber_new(const SecretSet *set, Scrubber **out, Error *err)
{
    if (set->bytes > SCRUB_BYTES_MAX) {
        return error_set(err, ERROR_LIMIT, "secrets have %zu bytes, more than %d", set->bytes,
                         SCRUB_BYTES_MAX);
    }
    Scrubber *scrubber = memory_new(sizeof *scrubber);
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Texts texts = { 0 };
    uint32_t at = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&set->texts, &at)) != NULL;) {
        push_cases(&scratch, entry->key, &texts);
        scrubber->with_space |= has(entry->key, ' ');
        scrubber->with_quote |= has(entry->key, '\'');
        scrubber->with_wide |= !utf8_is_ascii(entry->key);
    }
    fill_tables(scrubber);
    scrubber->matcher = matcher_new(texts.items, texts.len);
    *out = scrubber;
    return true;
}

void scrubber_free(Scrubber *scrubber)
{
    if (scrubber != NULL) {
        matcher_free(scrubber->matcher);
        free(scrubber);
    }
}

/* Bytes of the text to replace. */
typedef struct Range {
    size_t start;
    size_t end;
} Range;
typedef VEC(Range) Ranges;

/* One application: where the text is and what was found in it. */
typedef struct Search {
    const Scrubber *scrubber;
    const Matcher *matcher;
    const uint32_t *first; /* matcher_first() */
    Str text;
    bool cut; /* the text may end within a secret */
    Arena arena;
    Ranges found;
    size_t longest; /* secret that was found */
    size_t longest_raw;
    uint32_t raw_count;  /* in found: those as they are, which come first */
    uint32_t pass_start; /* in found: where the present reading of the text began */
} Search;

/* Ends come in rising order within one reading, so a range can only reach back into those before
 * it, and takes them in. */
static void add_range(Search *search, size_t start, size_t end)
{
    Ranges *found = &search->found;
    while (found->len > search->pass_start && VEC_LAST(found).end >= start) {
        Range last = VEC_POP(found);
        start = last.start < start ? last.start : start;
        end = last.end > end ? last.end : end;
    }
    VEC_PUSH(&search->arena, found, (Range){ start, end });
}

/* Decoded bytes on their way through the matcher. A ring holds where the latest of them were
 * spelled, as many as the longest secret has. Bytes that begin no secret are not counted: most
 * are such. */
typedef struct Stream {
    uint32_t state;
    size_t count;
    size_t *starts;
    size_t mask;
} Stream;

static Stream stream_make(Search *search)
{
    size_t room = 16;
    while (room < matcher_longest(search->matcher)) {
        room *= 2;
    }
    return (Stream){ .starts = ARENA_ARRAY(&search->arena, size_t, room), .mask = room - 1 };
}

/* One byte, spelled at `start`. Returns how many bytes of a secret end with it; where that secret
 * starts is stream_start(). */
static inline size_t stream_feed(const Search *search, Stream *stream, unsigned char byte,
                                 size_t start)
{
    byte = search->scrubber->fold[byte];
    if (stream->state == MATCHER_START && search->first[byte] == MATCHER_START) {
        return 0;
    }
    stream->starts[stream->count++ & stream->mask] = start;
    stream->state = matcher_step(search->matcher, stream->state, byte);
    return matcher_match(search->matcher, stream->state);
}

static size_t stream_start(const Stream *stream, size_t len)
{
    return stream->starts[(stream->count - len) & stream->mask];
}

static void stream_end(Search *search, const Stream *stream)
{
    size_t depth = matcher_depth(search->matcher, stream->state);
    if (search->cut && depth >= SCRUB_SHORTEST) {
        add_range(search, stream_start(stream, depth), search->text.len);
    }
}

static void found_secret(Search *search, size_t len, size_t start, size_t end)
{
    search->longest = len > search->longest ? len : search->longest;
    add_range(search, start, end);
}

static void search_raw(Search *search)
{
    const unsigned char *fold = search->scrubber->fold;
    uint32_t state = MATCHER_START;
    for (size_t at = 0; at < search->text.len; at++) {
        unsigned char byte = fold[(unsigned char)search->text.data[at]];
        if (state == MATCHER_START && search->first[byte] == MATCHER_START) {
            continue;
        }
        state = matcher_step(search->matcher, state, byte);
        size_t len = matcher_match(search->matcher, state);
        if (len > 0) {
            found_secret(search, len, at + 1 - len, at + 1);
        }
    }
    size_t depth = matcher_depth(search->matcher, state);
    if (search->cut && depth >= SCRUB_SHORTEST) {
        add_range(search, search->text.len - depth, search->text.len);
    }
}

/* Undoes one escape: puts what the characters at `*at` stand for into `out`, moves `*at` behind
 * them and returns the number of bytes put. */
typedef unsigned Unescape(Str text, size_t *at, char out[UTF8_BYTES_MAX]);

/* Whether the text may have been cut within the escape at `at`, which then stood for itself. */
static bool is_cut_escape(const Search *search, size_t at)
{
    enum {
        ESCAPE_MAX = 12
    };
    char c = search->text.data[at];
    return search->cut && search->text.len - at < ESCAPE_MAX && (c == '\\' || c == '%' || c == '&');
}

static void search_unescaped(Search *search, Unescape *unescape)
{
    Stream stream = stream_make(search);
    for (size_t at = 0; at < search->text.len;) {
        char bytes[UTF8_BYTES_MAX];
        size_t start = at;
        unsigned count = unescape(search->text, &at, bytes);
        if (at == start + 1 && is_cut_escape(search, start)) {
            break;
        }
        for (unsigned i = 0; i < count; i++) {
            size_t len = stream_feed(search, &stream, (unsigned char)bytes[i], start);
            if (len > 0) {
                found_secret(search, len, stream_start(&stream, len), at);
            }
        }
    }
    stream_end(search, &stream);
}

/* Reads `digits` hexadecimal digits at `at`. */
static bool read_hex(Str text, size_t at, unsigned digits, uint32_t *out)
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

/* A `\uXXXX` at `at`, or two that make a surrogate pair. */
static unsigned unescape_unicode(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    if (!read_hex(text, *at + 2, 4, &code)) {
        out[0] = text.data[(*at)++];
        return 1;
    }
    *at += 6;
    uint32_t low;
    if (code >= 0xd800 && code <= 0xdbff && str_starts(str_from_offset(text, *at), STR("\\u")) &&
        read_hex(text, *at + 2, 4, &low) && low >= 0xdc00 && low <= 0xdfff) {
        *at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    return (unsigned)utf8_encode(code, out);
}

/* The byte of an escape of one letter; 0: it is none. A punctuation mark stands for itself. */
static char escaped_letter(char letter)
{
    switch (letter) {
    case 'a': return '\a';
    case 'b': return '\b';
    case 'e': return '\033';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return ascii_is_alpha(letter) || ascii_is_digit(letter) ? '\0' : letter;
    }
}

static bool read_octal(Str text, size_t at, char *out)
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

/* Escapes of JSON, of Python's repr, of C, and of the shell, which has one for each character. */
static unsigned unescape_backslash(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    out[0] = text.data[*at];
    if (out[0] != '\\' || *at + 1 >= text.len) {
        ++*at;
        return 1;
    }
    char letter = text.data[*at + 1];
    uint32_t byte;
    if (letter == 'u') {
        return unescape_unicode(text, at, out);
    }
    if (letter == 'x' && read_hex(text, *at + 2, 2, &byte)) {
        out[0] = (char)byte;
        *at += 4;
        return 1;
    }
    if (read_octal(text, *at + 1, &out[0])) {
        *at += 4;
        return 1;
    }
    char meant = escaped_letter(letter);
    out[0] = meant != '\0' ? meant : '\\';
    *at += meant != '\0' ? 2 : 1;
    return 1;
}

/* The same with escapes of whole characters, as Python's ascii() writes them: \xe9, \U0001f600. */
static unsigned unescape_character(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t code;
    char letter = text.data[*at] == '\\' && *at + 1 < text.len ? text.data[*at + 1] : '\0';
    unsigned digits = letter == 'x' ? 2 : letter == 'U' ? 8 : 0;
    if (digits == 0 || !read_hex(text, *at + 2, digits, &code) || code > 0x10ffff) {
        return unescape_backslash(text, at, out);
    }
    *at += 2 + digits;
    return (unsigned)utf8_encode(code, out);
}

static unsigned unescape_percent(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    uint32_t byte;
    out[0] = text.data[*at];
    if (out[0] == '%' && read_hex(text, *at + 1, 2, &byte)) {
        out[0] = (char)byte;
        *at += 3;
    } else {
        ++*at;
    }
    return 1;
}

/* A quote inside of quotes: '\'' and '"'"' of the shell, '' of YAML and SQL. */
static unsigned unescape_quote(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    static const Str spellings[] = { STR("'\\''"), STR("'\"'\"'"), STR("''") };
    Str rest = str_from_offset(text, *at);
    out[0] = rest.data[0];
    for (size_t i = 0; out[0] == '\'' && i < COUNT_OF(spellings); i++) {
        if (str_starts(rest, spellings[i])) {
            *at += spellings[i].len;
            return 1;
        }
    }
    ++*at;
    return 1;
}

/* &#39; or &#x27;, with `at` behind the `#`. */
static bool read_reference(Str text, size_t at, uint32_t *code, size_t *behind)
{
    bool hex = at < text.len && (text.data[at] == 'x' || text.data[at] == 'X');
    size_t start = at += hex;
    *code = 0;
    for (; at < text.len && at - start < 7; at++) {
        int digit = ascii_hex_value(text.data[at]);
        if (digit < 0 || (!hex && digit > 9)) {
            break;
        }
        *code = *code * (hex ? 16 : 10) + (uint32_t)digit;
    }
    *behind = at + 1;
    return at > start && at < text.len && text.data[at] == ';' && *code <= 0x10ffff;
}

static unsigned unescape_entity(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    static const struct {
        Str name;
        char c;
    } named[] = { { STR("&amp;"), '&' },
                  { STR("&lt;"), '<' },
                  { STR("&gt;"), '>' },
                  { STR("&quot;"), '"' },
                  { STR("&apos;"), '\'' } };
    Str rest = str_from_offset(text, *at);
    uint32_t code;
    size_t behind;
    out[0] = rest.data[0];
    if (out[0] != '&') {
        ++*at;
        return 1;
    }
    if (str_starts(rest, STR("&#")) && read_reference(text, *at + 2, &code, &behind)) {
        *at = behind;
        return (unsigned)utf8_encode(code, out);
    }
    for (size_t i = 0; i < COUNT_OF(named); i++) {
        if (str_starts(rest, named[i].name)) {
            out[0] = named[i].c;
            *at += named[i].name.len;
            return 1;
        }
    }
    ++*at;
    return 1;
}

/* Line ends, and the indentation behind them, are passed over. */
static unsigned unescape_break(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    out[0] = text.data[(*at)++];
    if (out[0] != '\n' && out[0] != '\r') {
        return 1;
    }
    while (*at < text.len && (text.data[*at] == ' ' || text.data[*at] == '\t')) {
        ++*at;
    }
    return 0;
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

/* What the table says of the character at `*at`, also of one that a URL or a JSON text had to
 * escape; moves `*at` behind it. */
static inline unsigned base64_next(const unsigned char table[256], Str text, size_t *at)
{
    unsigned char c = (unsigned char)text.data[(*at)++];
    unsigned value = table[c];
    if (value != CODE_END) {
        return value;
    }
    char next = *at < text.len ? text.data[*at] : '\0';
    uint32_t byte;
    if (c == '%' && read_hex(text, *at, 2, &byte)) {
        *at += 2;
        return table[byte];
    }
    if (c == '\\' && (next == '/' || next == 'n' || next == 'r')) {
        ++*at;
        return next == '/' ? table['/'] : CODE_SKIP;
    }
    return CODE_END;
}

/* `end` moved behind the padding that follows there. */
static size_t behind_padding(Str text, size_t end)
{
    for (int i = 0; i < 2; i++) {
        uint32_t byte;
        if (end < text.len && text.data[end] == '=') {
            end++;
        } else if (end < text.len && text.data[end] == '%' && read_hex(text, end + 1, 2, &byte) &&
                   byte == '=') {
            end += 3;
        }
    }
    return end;
}

/* The byte that two neighboring characters make when the second is number `position` (1 to 3) of
 * its group of four. */
static unsigned char base64_byte(unsigned first, unsigned second, unsigned position)
{
    switch (position) {
    case 1: return (unsigned char)(first << 2 | second >> 4);
    case 2: return (unsigned char)(first << 4 | second >> 2);
    default: return (unsigned char)(first << 6 | second);
    }
}

static void reset_streams(Stream *streams, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        streams[i].state = MATCHER_START;
    }
}

static void search_base64(Search *search)
{
    Stream streams[4];
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        streams[i] = stream_make(search);
    }
    unsigned count = 0; /* characters since the last that was none */
    unsigned before = 0;
    size_t before_start = 0;
    for (size_t at = 0; at < search->text.len;) {
        size_t start = at;
        unsigned value = base64_next(search->scrubber->base64, search->text, &at);
        if (value == CODE_SKIP) {
            continue;
        }
        if (value == CODE_END) {
            if (count > 0) {
                reset_streams(streams, COUNT_OF(streams));
            }
            count = 0;
            continue;
        }
        for (unsigned i = 0; count > 0 && i < COUNT_OF(streams); i++) {
            unsigned position = (count - i) & 3;
            if (position == 0) {
                continue;
            }
            size_t len = stream_feed(search, &streams[i], base64_byte(before, value - 1, position),
                                     before_start);
            if (len > 0) {
                found_secret(search, len, stream_start(&streams[i], len),
                             behind_padding(search->text, at));
            }
        }
        before = value - 1;
        before_start = start;
        count++;
    }
    for (size_t i = 0; i < COUNT_OF(streams); i++) {
        stream_end(search, &streams[i]);
    }
}

/* Where pairs of digits begin is not known either. */
static void search_hex(Search *search)
{
    Stream streams[2] = { stream_make(search), stream_make(search) };
    unsigned count = 0, before = 0;
    size_t before_start = 0;
    for (size_t at = 0; at < search->text.len; at++) {
        unsigned value = search->scrubber->hex[(unsigned char)search->text.data[at]];
        if (value == CODE_SKIP) {
            continue;
        }
        if (value == CODE_END) {
            if (count > 0) {
                reset_streams(streams, COUNT_OF(streams));
            }
            count = 0;
            continue;
        }
        if (count > 0) {
            Stream *stream = &streams[count & 1];
            size_t len = stream_feed(search, stream, (unsigned char)(before << 4 | (value - 1)),
                                     before_start);
            if (len > 0) {
                found_secret(search, len, stream_start(stream, len), at + 1);
            }
        }
        before = value - 1;
        before_start = at;
        count++;
    }
    stream_end(search, &streams[0]);
    stream_end(search, &streams[1]);
}

static int compare_ranges(const void *a, const void *b)
{
    const Range *left = a;
    const Range *right = b;
    return left->start < right->start ? -1 : left->start > right->start;
}

static void put_scrubbed(Search *search, Buf *out)
{
    Ranges *found = &search->found;
    if (found->len > 0) {
        qsort(found->items, found->len, sizeof found->items[0], compare_ranges);
    }
    size_t done = 0;
    for (uint32_t i = 0; i < found->len;) {
        Range range = found->items[i++];
        while (i < found->len && found->items[i].start <= range.end) {
            range.end = found->items[i].end > range.end ? found->items[i].end : range.end;
            i++;
        }
        buf_put(out, str_slice(search->text, done, range.start));
        buf_put(out, STR(SCRUB_MARK));
        done = range.end;
    }
    buf_put(out, str_from_offset(search->text, done));
}

static Search search_all(const Scrubber *scrubber, Str text, bool cut)
{
    Search search = { .scrubber = scrubber,
                      .matcher = scrubber->matcher,
                      .first = matcher_first(scrubber->matcher),
                      .text = text,
                      .cut = cut };
    const struct {
        bool needed;
        Unescape *unescape;
    } spellings[] = {
        { has(text, '\n') || has(text, '\r'), unescape_break },
        { has(text, '\\'), unescape_backslash },
        { scrubber->with_wide && has(text, '\\'), unescape_character },
        { has(text, '%'), unescape_percent },
        { scrubber->with_space && has(text, '+'), unescape_form },
        { has(text, '&'), unescape_entity },
        { scrubber->with_quote && has(text, '\''), unescape_quote },
    };
    arena_init(&search.arena, ARENA_UNLIMITED);
    if (text.len < SCRUB_SHORTEST || matcher_longest(scrubber->matcher) == 0) {
        return search;
    }
    search_raw(&search);
    search.longest_raw = search.longest;
    search.raw_count = search.found.len;
    search.pass_start = search.found.len;
    search_base64(&search);
    search.pass_start = search.found.len;
    search_hex(&search);
    for (size_t i = 0; i < COUNT_OF(spellings); i++) {
        search.pass_start = search.found.len;
        if (spellings[i].needed) {
            search_unescaped(&search, spellings[i].unescape);
        }
    }
    return search;
}

static void apply(const Scrubber *scrubber, Str text, bool cut, Buf *out)
{
    Search search = search_all(scrubber, text, cut);
    put_scrubbed(&search, out);
    arena_clear(&search.arena);
}

void scrubber_apply(const Scrubber *scrubber, Str text, Buf *out)
{
    apply(scrubber, text, false, out);
}

void scrubber_apply_cut(const Scrubber *scrubber, Str text, Buf *out)
{
    apply(scrubber, text, true, out);
}

/* Ranges of one reading do not touch and lie in order. */
static bool is_found_as_is(const Search *search, Range range)
{
    uint32_t low = 0, high = search->raw_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (search->found.items[middle].end < range.end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < search->raw_count && search->found.items[low].start <= range.start;
}

ScrubberFound scrubber_find(const Scrubber *scrubber, Str text, SecretFound *respelled,
                            void *context)
{
    Search search = search_all(scrubber, text, false);
    for (uint32_t i = search.raw_count; i < search.found.len; i++) {
        Range range = search.found.items[i];
        if (!is_found_as_is(&search, range)) {
            respelled(context, str_slice(text, range.start, range.end));
        }
    }
    arena_clear(&search.arena);
    return (ScrubberFound){ .as_is = search.longest_raw, .spelled = search.longest };
}
