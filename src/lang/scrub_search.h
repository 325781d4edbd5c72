/* State of one search of a text for secrets, shared by the files scrub_*.c. Private to them.
 *
 * Each of these files makes one or more passes over the text. A pass decodes one kind of spelling,
 * feeds the decoded bytes to a matcher, records their locations, and adds the ranges that contain a
 * secret. */
#pragma once

#include "base/arena.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "lang/matcher.h"
#include "lang/scrub.h"

enum {
    SCRUB_CERTAIN_MIN = 8, /* this many characters of a secret do not occur by chance */
};

/* The characters that a pass of scrub_loose.c drops from both the text and the secrets. */
typedef enum Loose {
    LOOSE_BLANKS, /* without whitespace, newlines and control characters */
    LOOSE_MARKS,  /* also without punctuation */
    LOOSE_COUNT
} Loose;

struct Scrubber {
    Matcher *matcher;            /* for the secrets, with ASCII in lowercase */
    Matcher *loose[LOOSE_COUNT]; /* for the same, without whitespace and punctuation */
    size_t leading_punctuation;  /* maximum number of punctuation marks at the start of a secret */
    size_t trailing_punctuation; /* and at the end */
    size_t short_gaps_max;       /* maximum number of gaps between words in a short secret */
    bool has_space;              /* a secret contains a space, which forms encode as `+` */
    bool has_doubled;            /* a secret contains a mark that is doubled for quoting */
    bool has_wide;               /* a secret contains non-ASCII characters */
    unsigned char fold[256];     /* to lowercase */
};

/* A range of bytes to replace. */
typedef struct Range {
    size_t start;
    size_t end;
} Range;
typedef VEC(Range) Ranges;

typedef struct Search {
    const Scrubber *scrubber;
    const Matcher *matcher;
    const uint32_t *first; /* matcher_first() */
    Str text;
    bool is_truncated; /* the text may end within a secret */
    bool nested;       /* the text was encoded inside another */
    Arena arena;
    Ranges found;
    Ranges nested_found; /* found by search_nested_text(), in any order */
    size_t longest;      /* length of the longest secret found */
    size_t longest_raw;
    uint32_t raw_count;  /* in `found`: number of verbatim matches, which come first */
    uint32_t pass_start; /* in `found`: start of the current reading */
} Search;

/* Number of entries in a ring for the longest secret that can be in the text, a power of two. No
 * spelling is shorter than the secret itself. */
size_t search_capacity(const Search *search, const Matcher *matcher);

/* Must be called before each pass. */
static inline void search_begin(Search *search)
{
    search->pass_start = search->found.len;
}

/* Adds a range to replace. Within one pass, ends must ascend. */
void search_add(Search *search, size_t start, size_t end);

/* The same for a secret of `len` bytes. */
static inline void search_found(Search *search, size_t len, size_t start, size_t end)
{
    search->longest = len > search->longest ? len : search->longest;
    search_add(search, start, end);
}

/* Whether the range was found verbatim: it is then removed regardless of other passes. */
bool search_is_verbatim(const Search *search, Range range);

/* Searches decoded text. If it contains a secret, `start` to `end` of the outer text is removed. */
void search_nested_text(Search *search, Str decoded, size_t start, size_t end);

/* The passes. */
void search_escapes(Search *search); /* scrub_escapes.c */
void search_loose(Search *search);   /* scrub_loose.c */
void search_encoded(Search *search); /* scrub_codes.c */
void search_numbers(Search *search); /* scrub_numbers.c */
void search_dumps(Search *search);

/* Decodes escapes: writes what the characters at `*pos` denote to `out`, moves `*pos` past them and
 * returns the number of bytes written. */
typedef unsigned Unescape(Str text, size_t *pos, char out[UTF8_BYTES_MAX]);

/* Any escape, even if it was escaped repeatedly; \xe9 as a byte and as a character. */
unsigned unescape_any(Str text, size_t *pos, char out[UTF8_BYTES_MAX]);
unsigned unescape_any_wide(Str text, size_t *pos, char out[UTF8_BYTES_MAX]);

/* Parses `digits` hexadecimal digits at `pos`. */
bool scrub_read_hex(Str text, size_t pos, unsigned digits, uint32_t *out);

/* Skips a line number or offset at the start of a line: "  12: ", "0000020 ". Returns `pos` if
 * there is none. */
size_t scrub_skip_label(Str text, size_t pos, size_t digits_min);

/* A copy of the text without the characters that `loose` drops. */
Str scrub_strip_text(Arena *arena, Str text, Loose loose);

/* Feeds decoded bytes to the matcher. A ring holds the locations of the most recent bytes, as many
 * as the longest secret has. Bytes that cannot begin a secret, which are the majority, are not
 * recorded. */
typedef struct DecodedStream {
    uint32_t state;
    size_t count;
    size_t *starts;
    size_t mask;
} DecodedStream;

DecodedStream decoded_stream_make(Search *search);

static inline void decoded_stream_reset(DecodedStream *stream)
{
    stream->state = MATCHER_START;
}

/* Feeds one byte whose spelling starts at `start`. Returns the length of a secret that ends with
 * it; its start is decoded_stream_start(). */
static inline size_t decoded_stream_feed(const Search *search, DecodedStream *stream,
                                         unsigned char byte, size_t start)
{
    byte = search->scrubber->fold[byte];
    if (stream->state == MATCHER_START && search->first[byte] == MATCHER_START) {
        return 0;
    }
    stream->starts[stream->count++ & stream->mask] = start;
    stream->state = matcher_step(search->matcher, stream->state, byte);
    return matcher_match(search->matcher, stream->state);
}

static inline size_t decoded_stream_start(const DecodedStream *stream, size_t len)
{
    return stream->starts[(stream->count - len) & stream->mask];
}

/* Feeds the bytes of one character or number, spelled from `start` to `end`. */
static inline void decoded_stream_put(Search *search, DecodedStream *stream, Str bytes,
                                      size_t start, size_t end)
{
    for (size_t i = 0; i < bytes.len; i++) {
        size_t len = decoded_stream_feed(search, stream, (unsigned char)bytes.data[i], start);
        if (len > 0) {
            search_found(search, len, decoded_stream_start(stream, len), end);
        }
    }
}

/* Call at the end of the text, which may be truncated within a secret. */
void decoded_stream_end(Search *search, const DecodedStream *stream);
