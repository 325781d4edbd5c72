/* One search of a text for secrets, which the files scrub_*.c share: each reads the text in some
 * ways and adds the places where a secret is. Private to them and to scrub.c.
 *
 * A reading undoes a kind of spelling. The bytes that come out go through a matcher, and each of them
 * knows where in the text it was spelled. */
#pragma once

#include "base/arena.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "lang/matcher.h"
#include "lang/scrub.h"

enum {
    SCRUB_SURE = 8, /* characters of a secret that are not somewhere by chance */
};

/* Secrets without what is dropped on both sides: needles with fewer characters are not looked for. */
typedef enum Loose {
    LOOSE_BLANKS, /* without blanks, line ends and control characters */
    LOOSE_MARKS,  /* and without punctuation */
    LOOSE_COUNT
} Loose;

struct Scrubber {
    Matcher *matcher;            /* of the secrets, with ASCII in lower case */
    Matcher *loose[LOOSE_COUNT]; /* of the same, without blanks and marks */
    size_t marks_before;         /* the most punctuation marks that a secret starts with */
    size_t marks_behind;         /* and ends with */
    size_t gaps_of_short;        /* the most gaps between words that a short secret has */
    bool with_space;             /* a secret has one, which forms write as `+` */
    bool with_doubled;           /* a secret has a mark that is doubled to quote it */
    bool with_wide;              /* a secret has characters beyond ASCII */
    unsigned char fold[256];     /* to lower case */
};

/* Bytes of the text to replace. */
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
    bool cut;    /* the text may end within a secret */
    bool nested; /* it was encoded in another text */
    Arena arena;
    Ranges found;
    Ranges inside;  /* what search_inside() found, in any order */
    size_t longest; /* secret that was found */
    size_t longest_raw;
    uint32_t raw_count;  /* in found: those as they are, which come first */
    uint32_t pass_start; /* in found: where the present reading of the text began */
} Search;

/* Places in a ring for the longest secret that can be in the text, a power of two. No spelling has
 * fewer bytes than what it spells. */
size_t search_room(const Search *search, const Matcher *matcher);

/* To be called before each reading. */
static inline void search_begin(Search *search)
{
    search->pass_start = search->found.len;
}

/* Within one reading ends come in rising order. */
void search_add(Search *search, size_t start, size_t end);

/* The same for a secret of `len` bytes. */
static inline void search_found(Search *search, size_t len, size_t start, size_t end)
{
    search->longest = len > search->longest ? len : search->longest;
    search_add(search, start, end);
}

/* Whether it was found as it is: then it goes whatever other readings find. */
bool search_is_as_is(const Search *search, Range range);

/* Looks into what was decoded: a secret there takes all of it, `start` to `end` of the text. */
void search_inside(Search *search, Str decoded, size_t start, size_t end);

/* The readings. */
void search_escapes(Search *search); /* scrub_escapes.c */
void search_loose(Search *search);   /* scrub_loose.c */
void search_encoded(Search *search); /* scrub_codes.c */
void search_numbers(Search *search); /* scrub_numbers.c */
void search_dumps(Search *search);

/* Undoes the escapes in texts: puts what the characters at `*at` are spelled for into `out`, moves `*at`
 * behind them and returns the number of bytes put. */
typedef unsigned Unescape(Str text, size_t *at, char out[UTF8_BYTES_MAX]);

/* Any escape, however often it was escaped itself; \xe9 as a byte, and as a character. */
unsigned unescape_any(Str text, size_t *at, char out[UTF8_BYTES_MAX]);
unsigned unescape_any_wide(Str text, size_t *at, char out[UTF8_BYTES_MAX]);

/* Reads `digits` hexadecimal digits at `at`. */
bool scrub_read_hex(Str text, size_t at, unsigned digits, uint32_t *out);

/* Where the number of a line, or an offset, at its start `at` ends: "  12: ", "0000020 ". Returns
 * `at` when there is none. */
size_t scrub_behind_label(Str text, size_t at, size_t digits_min);

/* The text without what `loose` drops. */
Str scrub_loosened(Arena *arena, Str text, Loose loose);

/* Decoded bytes on their way through the matcher. A ring holds where the latest of them were
 * spelled, as many as the longest secret has. Bytes that begin no secret are not counted: most
 * are such. */
typedef struct Spelled {
    uint32_t state;
    size_t count;
    size_t *starts;
    size_t mask;
} Spelled;

Spelled spelled_make(Search *search);

static inline void spelled_reset(Spelled *stream)
{
    stream->state = MATCHER_START;
}

/* One byte, spelled at `start`. Returns how many bytes of a secret end with it; where that secret
 * starts is spelled_start(). */
static inline size_t spelled_feed(const Search *search, Spelled *stream, unsigned char byte,
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

static inline size_t spelled_start(const Spelled *stream, size_t len)
{
    return stream->starts[(stream->count - len) & stream->mask];
}

/* The bytes of one character or number, spelled from `start` to `end`. */
static inline void spelled_put(Search *search, Spelled *stream, Str bytes, size_t start, size_t end)
{
    for (size_t i = 0; i < bytes.len; i++) {
        size_t len = spelled_feed(search, stream, (unsigned char)bytes.data[i], start);
        if (len > 0) {
            search_found(search, len, spelled_start(stream, len), end);
        }
    }
}

/* At the end of the text, which may have been cut within a secret. */
void spelled_end(Search *search, const Spelled *stream);
