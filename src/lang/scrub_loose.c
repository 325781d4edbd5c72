/* Finds secrets that were split: broken into lines or columns, printed one character at a time, as
 * a list of characters, concatenated from quoted pieces, or escaped for several languages at once.
 * Whitespace and, in a second pass, punctuation are dropped from both the text and the secrets.
 *
 * A short secret could then be found anywhere ("root root" contains "troo"), so it must be broken
 * only at newlines, or between all of its characters. */
#include "lang/scrub_search.h"

#define ESCAPE_MARKS "\\%&=" /* of unescape_any() */

/* The position of a character that was not dropped, and how many characters so far directly follow
 * the previous one (`joined`) or follow a gap without a newline (`spaced`). */
typedef struct CharPosition {
    size_t start;
    size_t joined;
    size_t spaced;
} CharPosition;

typedef struct LooseStream {
    const Matcher *matcher;
    Loose loose;
    CharPosition *positions;
    size_t mask;
    size_t count;
    uint32_t state;
    CharPosition current;
    bool has_gap;      /* characters were dropped since the last one */
    bool has_line_end; /* one of them was a newline */
} LooseStream;

static bool is_punctuation(char c)
{
    return (unsigned char)c < 0x80 && (unsigned char)c > ' ' && !ascii_is_alpha(c) &&
           !ascii_is_digit(c);
}

static bool is_dropped(char c, Loose loose)
{
    return (unsigned char)c <= ' ' || c == 0x7f || (loose == LOOSE_MARKS && is_punctuation(c));
}

Str scrub_strip_text(Arena *arena, Str text, Loose loose)
{
    char *copy = arena_alloc(arena, text.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_dropped(text.data[i], loose)) {
            copy[len++] = text.data[i];
        }
    }
    return str_from(copy, len);
}

static LooseStream loose_make(Search *search, Loose loose)
{
    const Matcher *matcher = search->scrubber->loose[loose];
    size_t capacity = search_capacity(search, matcher);
    return (LooseStream){ .matcher = matcher,
                          .loose = loose,
                          .positions = ARENA_ARRAY(&search->arena, CharPosition, capacity),
                          .mask = capacity - 1 };
}

/* Returns the number of characters of a secret that ends with this one. */
static size_t loose_feed(LooseStream *stream, unsigned char byte, size_t start)
{
    stream->current.start = start;
    stream->current.joined += !stream->has_gap;
    stream->current.spaced += stream->has_gap && !stream->has_line_end;
    stream->has_gap = stream->has_line_end = false;
    if (stream->state == MATCHER_START && matcher_first(stream->matcher)[byte] == MATCHER_START) {
        return 0;
    }
    stream->positions[stream->count++ & stream->mask] = stream->current;
    stream->state = matcher_step(stream->matcher, stream->state, byte);
    return matcher_match(stream->matcher, stream->state);
}

/* Whether the last `len` characters, starting at `first`, are a secret that was split. */
static bool is_split_secret(const Search *search, const LooseStream *stream, size_t len,
                            const CharPosition *first)
{
    size_t allowed_gaps = stream->loose == LOOSE_BLANKS ? search->scrubber->short_gaps_max : 0;
    return len >= SCRUB_CERTAIN_MIN || stream->current.spaced - first->spaced <= allowed_gaps ||
           stream->current.joined == first->joined;
}

/* Adds the range, extended by the punctuation that was dropped at both ends of the secret. */
static void add_with_punctuation(Search *search, Loose loose, size_t len, Range range)
{
    const Scrubber *scrubber = search->scrubber;
    Str text = search->text;
    if (search_is_verbatim(search, range)) {
        return;
    }
    size_t leading = loose == LOOSE_MARKS ? scrubber->leading_punctuation : 0;
    size_t trailing = loose == LOOSE_MARKS ? scrubber->trailing_punctuation : 0;
    for (; leading > 0 && range.start > 0 && is_punctuation(text.data[range.start - 1]);
         leading--) {
        range.start--;
    }
    for (; trailing > 0 && range.end < text.len && is_punctuation(text.data[range.end]);
         trailing--) {
        range.end++;
    }
    search_found(search, len, range.start, range.end);
}

/* The end of a terminal sequence, such as a color, that starts with an escape character. */
static size_t skip_sequence(Str text, size_t pos)
{
    if (pos + 1 >= text.len || text.data[pos + 1] != '[') {
        return pos + 1;
    }
    for (pos += 2; pos < text.len && text.data[pos] >= 0x20 && text.data[pos] < 0x40;) {
        pos++;
    }
    return pos < text.len ? pos + 1 : pos;
}

static void feed(Search *search, LooseStream *stream, char c, Range range)
{
    unsigned char byte = search->scrubber->fold[(unsigned char)c];
    size_t len = loose_feed(stream, byte, range.start);
    const CharPosition *first = &stream->positions[(stream->count - len) & stream->mask];
    if (len > 0 && is_split_secret(search, stream, len, first)) {
        add_with_punctuation(search, stream->loose, len, (Range){ first->start, range.end });
    }
}

static void search_split(Search *search, Loose loose, Unescape *unescape)
{
    enum {
        KEPT,
        DROPPED,
        LINE_END,
        SEQUENCE,
        ESCAPE,
    };
    unsigned char kinds[256];
    for (unsigned i = 0; i < 256; i++) {
        kinds[i] = is_dropped((char)i, loose) ? DROPPED : KEPT;
    }
    kinds['\n'] = kinds['\r'] = LINE_END;
    kinds['\033'] = SEQUENCE;
    for (const char *c = ESCAPE_MARKS; unescape != NULL && *c != '\0'; c++) {
        kinds[(unsigned char)*c] = ESCAPE;
    }
    Str text = search->text;
    bool labels = loose == LOOSE_MARKS;
    LooseStream stream = loose_make(search, loose);
    search_begin(search);
    for (size_t pos = labels ? scrub_skip_label(text, 0, 1) : 0; pos < text.len;) {
        char bytes[UTF8_BYTES_MAX] = { text.data[pos] };
        Range range = { pos, pos + 1 };
        switch (kinds[(unsigned char)bytes[0]]) {
        case KEPT: feed(search, &stream, bytes[0], range); break;
        case DROPPED: stream.has_gap = true; break;
        case LINE_END:
            stream.has_gap = stream.has_line_end = true;
            range.end = labels ? scrub_skip_label(text, pos + 1, 1) : pos + 1;
            break;
        case SEQUENCE: range.end = skip_sequence(text, pos); break;
        default:
            range.end = pos;
            unsigned count = unescape(text, &range.end, bytes);
            for (unsigned i = 0; i < count; i++) {
                if (is_dropped(bytes[i], loose)) {
                    stream.has_gap = true;
                } else {
                    feed(search, &stream, bytes[i], range);
                }
            }
        }
        pos = range.end;
    }
    size_t depth = matcher_depth(stream.matcher, stream.state);
    if (search->is_truncated && depth >= SCRUB_CERTAIN_MIN) {
        search_add(search, stream.positions[(stream.count - depth) & stream.mask].start, text.len);
    }
}

void search_loose(Search *search)
{
    const Matcher *const *loose = (const Matcher *const *)search->scrubber->loose;
    bool escaped = false;
    for (const char *c = ESCAPE_MARKS; *c != '\0' && !escaped; c++) {
        escaped = memchr(search->text.data, *c, search->text.len) != NULL;
    }
    if (matcher_longest(loose[LOOSE_BLANKS]) > 0) {
        search_split(search, LOOSE_BLANKS, NULL);
    }
    if (matcher_longest(loose[LOOSE_MARKS]) > 0) {
        search_split(search, LOOSE_MARKS, NULL);
        if (escaped) {
            search_split(search, LOOSE_MARKS, unescape_any);
        }
        if (escaped && search->scrubber->has_wide) {
            search_split(search, LOOSE_MARKS, unescape_any_wide);
        }
    }
}
