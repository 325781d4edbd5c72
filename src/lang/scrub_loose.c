/* Secrets that were taken apart: broken into lines, set in columns, printed one character at a
 * time, as a list of characters, between quotes and pluses, or escaped for several languages at
 * once. Whitespace and, in a second reading, punctuation are dropped from the text and from the
 * secrets alike.
 *
 * A short secret could then be found anywhere ("root root" contains "troo"), so it must be broken
 * only at line ends, or between all of its characters. */
#include "lang/scrub_search.h"

#define ESCAPE_MARKS "\\%&=" /* of unescape_any() */

/* A character that was kept, with the number of characters so far that follow something dropped. */
typedef struct Kept {
    size_t start;
    size_t joined; /* nothing */
    size_t spaced; /* something, but no line end */
} Kept;

typedef struct LooseStream {
    const Matcher *matcher;
    Loose loose;
    Kept *ring;
    size_t mask;
    size_t count;
    uint32_t state;
    Kept now;
    bool gap;  /* something was dropped since the last character */
    bool line; /* a line end */
} LooseStream;

static bool is_mark(char c)
{
    return (unsigned char)c < 0x80 && (unsigned char)c > ' ' && !ascii_is_alpha(c) &&
           !ascii_is_digit(c);
}

static bool is_dropped(char c, Loose loose)
{
    return (unsigned char)c <= ' ' || c == 0x7f || (loose == LOOSE_MARKS && is_mark(c));
}

Str scrub_loosened(Arena *arena, Str text, Loose loose)
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
    size_t room = search_capacity(search, matcher);
    return (LooseStream){ .matcher = matcher,
                          .loose = loose,
                          .ring = ARENA_ARRAY(&search->arena, Kept, room),
                          .mask = room - 1 };
}

/* Returns the number of characters of a secret that ends with this one. */
static size_t loose_feed(LooseStream *stream, unsigned char byte, size_t start)
{
    stream->now.start = start;
    stream->now.joined += !stream->gap;
    stream->now.spaced += stream->gap && !stream->line;
    stream->gap = stream->line = false;
    if (stream->state == MATCHER_START && matcher_first(stream->matcher)[byte] == MATCHER_START) {
        return 0;
    }
    stream->ring[stream->count++ & stream->mask] = stream->now;
    stream->state = matcher_step(stream->matcher, stream->state, byte);
    return matcher_match(stream->matcher, stream->state);
}

/* Whether the last `len` characters, starting at `first`, are a secret that was taken apart. */
static bool is_split_secret(const Search *search, const LooseStream *stream, size_t len,
                            const Kept *first)
{
    size_t own = stream->loose == LOOSE_BLANKS ? search->scrubber->gaps_of_short : 0;
    return len >= SCRUB_SURE || stream->now.spaced - first->spaced <= own ||
           stream->now.joined == first->joined;
}

/* Includes the punctuation at both ends of a secret, which was dropped with all other. */
static void add_with_marks(Search *search, Loose loose, size_t len, Range range)
{
    const Scrubber *scrubber = search->scrubber;
    Str text = search->text;
    if (search_is_verbatim(search, range)) {
        return;
    }
    size_t before = loose == LOOSE_MARKS ? scrubber->marks_before : 0;
    size_t behind = loose == LOOSE_MARKS ? scrubber->marks_behind : 0;
    for (; before > 0 && range.start > 0 && is_mark(text.data[range.start - 1]); before--) {
        range.start--;
    }
    for (; behind > 0 && range.end < text.len && is_mark(text.data[range.end]); behind--) {
        range.end++;
    }
    search_found(search, len, range.start, range.end);
}

/* The end of a terminal sequence, such as a color, that starts with an escape character. */
static size_t skip_sequence(Str text, size_t at)
{
    if (at + 1 >= text.len || text.data[at + 1] != '[') {
        return at + 1;
    }
    for (at += 2; at < text.len && text.data[at] >= 0x20 && text.data[at] < 0x40;) {
        at++;
    }
    return at < text.len ? at + 1 : at;
}

static void feed(Search *search, LooseStream *stream, char c, Range place)
{
    unsigned char byte = search->scrubber->fold[(unsigned char)c];
    size_t len = loose_feed(stream, byte, place.start);
    const Kept *first = &stream->ring[(stream->count - len) & stream->mask];
    if (len > 0 && is_split_secret(search, stream, len, first)) {
        add_with_marks(search, stream->loose, len, (Range){ first->start, place.end });
    }
}

static void read_loose(Search *search, Loose loose, Unescape *unescape)
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
    for (size_t at = labels ? scrub_skip_label(text, 0, 1) : 0; at < text.len;) {
        char bytes[UTF8_BYTES_MAX] = { text.data[at] };
        Range place = { at, at + 1 };
        switch (kinds[(unsigned char)bytes[0]]) {
        case KEPT: feed(search, &stream, bytes[0], place); break;
        case DROPPED: stream.gap = true; break;
        case LINE_END:
            stream.gap = stream.line = true;
            place.end = labels ? scrub_skip_label(text, at + 1, 1) : at + 1;
            break;
        case SEQUENCE: place.end = skip_sequence(text, at); break;
        default:
            place.end = at;
            unsigned count = unescape(text, &place.end, bytes);
            for (unsigned i = 0; i < count; i++) {
                if (is_dropped(bytes[i], loose)) {
                    stream.gap = true;
                } else {
                    feed(search, &stream, bytes[i], place);
                }
            }
        }
        at = place.end;
    }
    size_t depth = matcher_depth(stream.matcher, stream.state);
    if (search->cut && depth >= SCRUB_SURE) {
        search_add(search, stream.ring[(stream.count - depth) & stream.mask].start, text.len);
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
        read_loose(search, LOOSE_BLANKS, NULL);
    }
    if (matcher_longest(loose[LOOSE_MARKS]) > 0) {
        read_loose(search, LOOSE_MARKS, NULL);
        if (escaped) {
            read_loose(search, LOOSE_MARKS, unescape_any);
        }
        if (escaped && search->scrubber->with_wide) {
            read_loose(search, LOOSE_MARKS, unescape_any_wide);
        }
    }
}
