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
#include "lang/number.h"

enum {
    BASE64_END = 0,   /* what is no base64 */
    BASE64_SKIP = 65, /* what may stand between the characters: line ends, indentation */
};

struct Scrubber {
    Matcher *matcher;
    bool with_space;           /* a secret has one, which forms write as `+` */
    unsigned char base64[256]; /* value + 1 of the characters of both alphabets, or the above */
};

void secret_set_init(SecretSet *set, Arena *arena)
{
    *set = (SecretSet){ 0 };
    str_map_init(&set->texts, arena);
}

void secret_set_add(SecretSet *set, Str secret)
{
    if (secret.len >= SCRUB_SHORTEST && str_map_put(&set->texts, secret, NULL)) {
        set->bytes += secret.len;
    }
}

typedef struct Collection {
    SecretSet *set;
    unsigned depth;
    uint32_t visits;
} Collection;

static void add_number(SecretSet *set, Value v)
{
    char text[NUMBER_TEXT_MAX];
    size_t len = v.kind == VALUE_INT ? number_format_int(v.integer, text)
                                     : number_format_repr(v.number, text);
    secret_set_add(set, arena_copy(set->texts.arena, str_from(text, len)));
}

static bool collect(Collection *collection, Value v, bool secret);

static bool collect_items(Collection *collection, const List *list, bool secret)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (!collect(collection, list->items[i], secret)) {
            return false;
        }
    }
    return true;
}

static bool collect_entries(Collection *collection, const Map *map, bool secret)
{
    for (uint32_t i = 0; i < map->len; i++) {
        if (!collect(collection, map->entries[i].key, false) ||
            !collect(collection, map->entries[i].value, secret)) {
            return false;
        }
    }
    return true;
}

/* False when it goes too far. */
static bool collect(Collection *collection, Value v, bool secret)
{
    secret |= value_is_secret(v);
    bool is_map = v.kind == VALUE_MAP;
    if (!is_map && !value_is_sequence(v)) {
        if (secret && v.kind == VALUE_STRING) {
            secret_set_add(collection->set, value_str(v));
        } else if (secret && (v.kind == VALUE_INT || v.kind == VALUE_FLOAT)) {
            add_number(collection->set, v);
        }
        return true;
    }
    bool frozen = is_map ? v.map->frozen : v.list->frozen;
    if (!secret && frozen && !value_holds_secret(v)) {
        return true; /* it knows that there is nothing to find */
    }
    uint32_t len = is_map ? v.map->len : v.list->len;
    if (collection->depth == 0 || collection->visits < len) {
        return false;
    }
    collection->depth--;
    collection->visits -= len;
    bool done = is_map ? collect_entries(collection, v.map, secret)
                       : collect_items(collection, v.list, secret);
    collection->depth++;
    return done;
}

bool secret_set_add_value(SecretSet *set, Value v, Error *err)
{
    Collection collection = { set, VALUE_DEPTH_MAX, VALUE_VISITS_MAX };
    if (!collect(&collection, v, false)) {
        return error_set(err, ERROR_LIMIT, "too many values to look through for secrets");
    }
    return true;
}

static void fill_base64(unsigned char table[256])
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    memset(table, BASE64_END, 256);
    for (unsigned i = 0; i < 64; i++) {
        table[(unsigned char)characters[i]] = (unsigned char)(i + 1);
    }
    table['-'] = table['+'];
    table['_'] = table['/'];
    table[' '] = table['\t'] = table['\r'] = table['\n'] = BASE64_SKIP;
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
    VEC(Str) texts = { 0 };
    uint32_t at = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&set->texts, &at)) != NULL;) {
        VEC_PUSH(&scratch, &texts, entry->key);
        scrubber->with_space |= str_find(entry->key, STR(" "), 0) != STR_NOT_FOUND;
    }
    fill_base64(scrubber->base64);
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
    const Matcher *matcher;
    const uint32_t *first;       /* matcher_first() */
    const unsigned char *base64; /* Scrubber's table */
    Str text;
    Arena arena;
    Ranges found;
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

static void search_raw(Search *search)
{
    uint32_t state = MATCHER_START;
    for (size_t at = 0; at < search->text.len; at++) {
        unsigned char byte = (unsigned char)search->text.data[at];
        if (state == MATCHER_START && search->first[byte] == MATCHER_START) {
            continue;
        }
        state = matcher_step(search->matcher, state, byte);
        size_t len = matcher_match(search->matcher, state);
        if (len > 0) {
            add_range(search, at + 1 - len, at + 1);
        }
    }
}

/* Undoes one escape: puts what the characters at `*at` stand for into `out`, moves `*at` behind
 * them and returns the number of bytes put. */
typedef unsigned Unescape(Str text, size_t *at, char out[UTF8_BYTES_MAX]);

static void search_unescaped(Search *search, Unescape *unescape)
{
    Stream stream = stream_make(search);
    for (size_t at = 0; at < search->text.len;) {
        char bytes[UTF8_BYTES_MAX];
        size_t start = at;
        unsigned count = unescape(search->text, &at, bytes);
        for (unsigned i = 0; i < count; i++) {
            size_t len = stream_feed(search, &stream, (unsigned char)bytes[i], start);
            if (len > 0) {
                add_range(search, stream_start(&stream, len), at);
            }
        }
    }
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

/* JSON's escapes, and `\xXX` and `\'` of Python's repr. */
static unsigned unescape_backslash(Str text, size_t *at, char out[UTF8_BYTES_MAX])
{
    out[0] = text.data[*at];
    if (out[0] != '\\' || *at + 1 >= text.len) {
        ++*at;
        return 1;
    }
    uint32_t byte;
    switch (text.data[*at + 1]) {
    case 'n': out[0] = '\n'; break;
    case 'r': out[0] = '\r'; break;
    case 't': out[0] = '\t'; break;
    case 'b': out[0] = '\b'; break;
    case 'f': out[0] = '\f'; break;
    case '"':
    case '\'':
    case '/':
    case '\\': out[0] = text.data[*at + 1]; break;
    case 'u': return unescape_unicode(text, at, out);
    case 'x':
        if (read_hex(text, *at + 2, 2, &byte)) {
            out[0] = (char)byte;
            *at += 4;
            return 1;
        }
        ++*at;
        return 1;
    default: ++*at; return 1;
    }
    *at += 2;
    return 1;
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
    if (value != BASE64_END) {
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
        return next == '/' ? table['/'] : BASE64_SKIP;
    }
    return BASE64_END;
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
        unsigned value = base64_next(search->base64, search->text, &at);
        if (value == BASE64_SKIP) {
            continue;
        }
        if (value == BASE64_END) {
            for (size_t i = 0; count > 0 && i < COUNT_OF(streams); i++) {
                streams[i].state = MATCHER_START;
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
                add_range(search, stream_start(&streams[i], len), behind_padding(search->text, at));
            }
        }
        before = value - 1;
        before_start = start;
        count++;
    }
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

static bool has(Str text, char c)
{
    return memchr(text.data, c, text.len) != NULL;
}

void scrubber_apply(const Scrubber *scrubber, Str text, Buf *out)
{
    if (text.len < SCRUB_SHORTEST || matcher_longest(scrubber->matcher) == 0) {
        buf_put(out, text);
        return;
    }
    Search search = { .matcher = scrubber->matcher,
                      .first = matcher_first(scrubber->matcher),
                      .base64 = scrubber->base64,
                      .text = text };
    arena_init(&search.arena, ARENA_UNLIMITED);
    search_raw(&search);
    search.pass_start = search.found.len;
    search_base64(&search);
    search.pass_start = search.found.len;
    if (has(text, '\\')) {
        search_unescaped(&search, unescape_backslash);
        search.pass_start = search.found.len;
    }
    if (has(text, '%')) {
        search_unescaped(&search, unescape_percent);
        search.pass_start = search.found.len;
    }
    if (scrubber->with_space && has(text, '+')) {
        search_unescaped(&search, unescape_form);
    }
    put_scrubbed(&search, out);
    arena_clear(&search.arena);
}

/* --- Values ---------------------------------------------------------------------------------- */

enum {
    HIDE_DEPTH = 128 /* what lies deeper is hidden unseen */
};

static Value hide(Arena *arena, Value v, unsigned depth)
{
    if (value_is_secret(v) || depth > HIDE_DEPTH) {
        return value_string(STR("(secret)"));
    }
    if (value_is_sequence(v) && value_holds_secret(v)) {
        List *list = list_new(arena, v.list->len);
        for (uint32_t i = 0; i < v.list->len; i++) {
            list_push(arena, list, hide(arena, v.list->items[i], depth + 1));
        }
        return value_list(list);
    }
    if (v.kind == VALUE_MAP && value_holds_secret(v)) {
        Map *map = map_new(arena, v.map->len);
        for (uint32_t i = 0; i < v.map->len; i++) {
            map_set(arena, map, hide(arena, v.map->entries[i].key, depth + 1),
                    hide(arena, v.map->entries[i].value, depth + 1));
        }
        return value_map(map);
    }
    return v;
}

Value secrets_hide(Arena *arena, Value v)
{
    return value_holds_secret(v) ? hide(arena, v, 0) : v;
}
