/* Removes secrets from text. A secret has an unlimited number of spellings (each byte may be
 * escaped or not), so searching the text for all of them is impossible. Instead each pass over the
 * text decodes one kind of spelling and searches the decoded bytes for the secrets
 * (scrub_search.h). */
#include "lang/scrub.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/search.h"
#include "lang/scrub_search.h"
#include "lang/unicode.h"

enum {
    /* Longer secrets are found complete or by line, but not if split into characters. */
    LOOSE_LENGTH_MAX = 4096,
};

static Str lowercase_copy(Arena *arena, Str text)
{
    char *copy = arena_alloc(arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        copy[i] = ascii_lower(text.data[i]);
    }
    return str_from(copy, text.len);
}

/* Converts to uppercase or lowercase, or to capitals at the start of words only (CASE_TITLE). */
static Str to_case(Arena *arena, Str text, CaseMapping mapping)
{
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    bool in_word = false;
    for (size_t pos = 0; pos < text.len;) {
        uint32_t code = utf8_next(text, &pos), mapped[UNICODE_MAPPED_MAX];
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

/* ASCII is compared without regard to case; for other letters, each case is a separate string. */
static void push_cases(Arena *arena, Str secret, Texts *texts)
{
    static const CaseMapping mappings[] = { CASE_LOWER, CASE_UPPER, CASE_TITLE };
    VEC_PUSH(arena, texts, lowercase_copy(arena, secret));
    if (utf8_is_ascii(secret) || !utf8_is_valid(secret)) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(mappings); i++) {
        Str text = to_case(arena, secret, mappings[i]);
        if (text.len >= SCRUB_LENGTH_MIN) {
            VEC_PUSH(arena, texts, lowercase_copy(arena, text));
        }
    }
}

static bool is_punctuation(char c)
{
    return (unsigned char)c < 0x80 && !ascii_is_alpha(c) && !ascii_is_digit(c);
}

/* Builds the matcher for the passes of scrub_loose.c. */
static Matcher *loose_matcher(Arena *arena, const Texts *texts, Loose loose)
{
    Texts needles = { 0 };
    for (uint32_t i = 0; i < texts->len; i++) {
        Str needle = scrub_strip_text(arena, texts->items[i], loose);
        if (needle.len >= SCRUB_LENGTH_MIN && needle.len <= LOOSE_LENGTH_MAX) {
            VEC_PUSH(arena, &needles, needle);
        }
    }
    return matcher_new(needles.items, needles.len);
}

static void update_properties(Scrubber *scrubber, Str secret)
{
    static const char doubled[] = "'\"%$";
    size_t leading = 0, trailing = 0;
    while (leading < secret.len && is_punctuation(secret.data[leading])) {
        leading++;
    }
    while (trailing < secret.len && is_punctuation(secret.data[secret.len - 1 - trailing])) {
        trailing++;
    }
    if (leading < secret.len) {
        scrubber->leading_punctuation =
            leading > scrubber->leading_punctuation ? leading : scrubber->leading_punctuation;
        scrubber->trailing_punctuation =
            trailing > scrubber->trailing_punctuation ? trailing : scrubber->trailing_punctuation;
    }
    size_t gaps = 0, visible = 0;
    for (size_t i = 0; i < secret.len; i++) {
        bool blank = (unsigned char)secret.data[i] <= ' ' || secret.data[i] == 0x7f;
        gaps += blank;
        visible += !blank;
        scrubber->has_space |= secret.data[i] == ' ';
        scrubber->has_doubled |= memchr(doubled, secret.data[i], sizeof doubled - 1) != NULL;
    }
    scrubber->has_wide |= !utf8_is_ascii(secret);
    if (visible < SCRUB_CERTAIN_MIN && gaps > scrubber->short_gaps_max) {
        scrubber->short_gaps_max = gaps;
    }
}

bool scrubber_new(const SecretSet *set, Scrubber **out, Error *err)
{
    if (set->bytes > SCRUB_BYTES_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "secrets are %zu bytes long in total, more than the limit of %d",
                         set->bytes, SCRUB_BYTES_MAX);
    }
    Scrubber *scrubber = memory_new(sizeof *scrubber);
    AUTO_CLEAR(Arena) scratch;
    arena_init(&scratch, ARENA_UNLIMITED);
    Texts texts = { 0 };
    uint32_t pos = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&set->texts, &pos)) != NULL;) {
        push_cases(&scratch, entry->key, &texts);
        update_properties(scrubber, entry->key);
    }
    for (unsigned i = 0; i < 256; i++) {
        scrubber->fold[i] = (unsigned char)ascii_lower((char)i);
    }
    scrubber->matcher = matcher_new(texts.items, texts.len);
    for (Loose loose = 0; loose < LOOSE_COUNT; loose++) {
        scrubber->loose[loose] = loose_matcher(&scratch, &texts, loose);
    }
    *out = scrubber;
    return true;
}

void scrubber_free(Scrubber *scrubber)
{
    if (scrubber != NULL) {
        matcher_free(scrubber->matcher);
        for (Loose loose = 0; loose < LOOSE_COUNT; loose++) {
            matcher_free(scrubber->loose[loose]);
        }
        free(scrubber);
    }
}

/* Adds a range and merges it with earlier ones that it overlaps. */
void search_add(Search *search, size_t start, size_t end)
{
    Ranges *found = &search->found;
    while (found->len > search->pass_start && VEC_LAST(found).end >= start) {
        Range last = VEC_POP(found);
        start = last.start < start ? last.start : start;
        end = last.end > end ? last.end : end;
    }
    VEC_PUSH(&search->arena, found, (Range){ start, end });
}

size_t search_capacity(const Search *search, const Matcher *matcher)
{
    size_t longest = matcher_longest(matcher), capacity = 16;
    longest = longest < search->text.len ? longest : search->text.len;
    while (capacity < longest) {
        capacity *= 2;
    }
    return capacity;
}

DecodedStream decoded_stream_make(Search *search)
{
    size_t capacity = search_capacity(search, search->matcher);
    return (DecodedStream){ .starts = ARENA_ARRAY(&search->arena, size_t, capacity),
                            .mask = capacity - 1 };
}

void decoded_stream_end(Search *search, const DecodedStream *stream)
{
    size_t depth = matcher_depth(search->matcher, stream->state);
    if (search->is_truncated && depth >= SCRUB_LENGTH_MIN) {
        search_add(search, decoded_stream_start(stream, depth), search->text.len);
    }
}

/* Whether a line ends here, or is visibly truncated here. */
static bool is_line_end_or_truncated(Str text, size_t pos)
{
    Str rest = str_from_offset(text, pos);
    char c = rest.len > 0 ? rest.data[0] : '\n';
    rest = str_from_offset(rest, c == ' ');
    return c == '\n' || c == '\r' || str_starts(rest, STR("...")) || str_starts(rest, STR("…"));
}

/* Programs truncate lines to the width of the terminal. Adds a secret of which at least half
 * precedes the end of a line; returns the length of that part. */
static size_t add_truncated_secret(Search *search, uint32_t state, size_t pos)
{
    size_t partial = matcher_partial(search->matcher, state);
    if (partial < SCRUB_CERTAIN_MIN || !is_line_end_or_truncated(search->text, pos)) {
        return 0;
    }
    search_add(search, pos - partial, pos);
    return partial;
}

static void search_raw(Search *search)
{
    const unsigned char *fold = search->scrubber->fold;
    uint32_t state = MATCHER_START;
    size_t truncated_len = 0;
    for (size_t pos = 0; pos < search->text.len; pos++) {
        unsigned char byte = fold[(unsigned char)search->text.data[pos]];
        if (state == MATCHER_START && search->first[byte] == MATCHER_START) {
            continue;
        }
        state = matcher_step(search->matcher, state, byte);
        size_t len = matcher_match(search->matcher, state);
        if (len > 0) {
            search_found(search, len, pos + 1 - len, pos + 1);
        }
        len = add_truncated_secret(search, state, pos + 1);
        truncated_len = len > truncated_len ? len : truncated_len;
    }
    size_t depth = matcher_depth(search->matcher, state);
    if (search->is_truncated && depth >= SCRUB_LENGTH_MIN) {
        search_add(search, search->text.len - depth, search->text.len);
    }
    search->longest_raw = search->longest;
    search->raw_count = search->found.len;
    search->longest = truncated_len > search->longest ? truncated_len : search->longest;
}

static int compare_ranges(const void *a, const void *b)
{
    const Range *left = a;
    const Range *right = b;
    return left->start != right->start ? (left->start < right->start ? -1 : 1)
                                       : (left->end > right->end ? -1 : left->end < right->end);
}

static void sort_ranges(Range *ranges, uint32_t count)
{
    if (count > 0) {
        qsort(ranges, count, sizeof ranges[0], compare_ranges);
    }
}

static void put_scrubbed(Search *search, Buf *out)
{
    Ranges *found = &search->found;
    sort_ranges(found->items, found->len);
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

static Search search_all(const Scrubber *scrubber, Str text, bool truncated_len, bool nested)
{
    Search search = { .scrubber = scrubber,
                      .matcher = scrubber->matcher,
                      .first = matcher_first(scrubber->matcher),
                      .text = text,
                      .is_truncated = truncated_len,
                      .nested = nested };
    arena_init(&search.arena, ARENA_UNLIMITED);
    if (text.len < SCRUB_LENGTH_MIN || matcher_longest(scrubber->matcher) == 0) {
        return search;
    }
    search_raw(&search);
    search_encoded(&search);
    search_escapes(&search);
    search_loose(&search);
    search_numbers(&search);
    search_dumps(&search);
    for (uint32_t i = 0; i < search.nested_found.len; i++) {
        VEC_PUSH(&search.arena, &search.found, search.nested_found.items[i]);
    }
    return search;
}

/* Ranges of one pass are ordered and do not touch. */
bool search_is_verbatim(const Search *search, Range range)
{
    const Range *found = search->found.items;
    uint32_t first = SEARCH(search->raw_count, pos, found[pos].end < range.end);
    return first < search->raw_count && found[first].start <= range.start;
}

void search_nested_text(Search *search, Str decoded, size_t start, size_t end)
{
    Search nested = search_all(search->scrubber, decoded, false, true);
    bool found = false; /* verbatim occurrences were already found */
    for (uint32_t i = nested.raw_count; i < nested.found.len && !found; i++) {
        found = !search_is_verbatim(&nested, nested.found.items[i]);
    }
    if (found) {
        search->longest = nested.longest > search->longest ? nested.longest : search->longest;
        VEC_PUSH(&search->arena, &search->nested_found, (Range){ start, end });
    }
    arena_clear(&nested.arena);
}

static void apply(const Scrubber *scrubber, Str text, bool truncated_len, Buf *out)
{
    Search search = search_all(scrubber, text, truncated_len, false);
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

ScrubberMatch scrubber_find(const Scrubber *scrubber, Str text, SecretFound *on_respelled,
                            void *context)
{
    Search search = search_all(scrubber, text, false, false);
    const Ranges *found = &search.found;
    if (found->len > search.raw_count) {
        sort_ranges(found->items + search.raw_count, found->len - search.raw_count);
    }
    size_t done = 0;
    for (uint32_t i = search.raw_count; i < found->len; i++) {
        Range range = found->items[i];
        if (range.end > done && !search_is_verbatim(&search, range)) {
            on_respelled(context, str_slice(text, range.start, range.end));
            done = range.end;
        }
    }
    arena_clear(&search.arena);
    return (ScrubberMatch){ .verbatim = search.longest_raw, .any_spelling = search.longest };
}
