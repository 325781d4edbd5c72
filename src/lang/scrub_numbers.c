/* Finds secrets printed as numbers, one for each byte or character: lists in programming languages,
 * text in which every character is escaped, and the output of xxd, hexdump and od. */
#include "lang/scrub_search.h"

enum {
    OFFSET_DIGITS = 6, /* minimum in the output of xxd, hexdump and od */
};

static bool is_word(char c)
{
    return ascii_is_alpha(c) || ascii_is_digit(c);
}

static bool is_line_start(Str text, size_t pos)
{
    while (pos > 0 && (text.data[pos - 1] == ' ' || text.data[pos - 1] == '\t')) {
        pos--;
    }
    return pos == 0 || text.data[pos - 1] == '\n';
}

static bool all_digits(Str word, int radix)
{
    for (size_t i = 0; i < word.len; i++) {
        int digit = ascii_hex_value(word.data[i]);
        if (digit < 0 || digit >= radix) {
            return false;
        }
    }
    return true;
}

size_t scrub_skip_label(Str text, size_t pos, size_t digits_min)
{
    size_t start = pos;
    while (start < text.len && (text.data[start] == ' ' || text.data[start] == '\t')) {
        start++;
    }
    size_t end = start;
    bool hex = false;
    for (; end < text.len && ascii_hex_value(text.data[end]) >= 0; end++) {
        hex |= !ascii_is_digit(text.data[end]);
    }
    size_t digits = end - start;
    if (digits < digits_min || (hex && digits < OFFSET_DIGITS) || end == text.len) {
        return pos;
    }
    size_t next = end + (text.data[end] == ':');
    return next < text.len && (text.data[next] == ' ' || text.data[next] == '\t') ? next : pos;
}

/* --- Lists ----------------------------------------------------------------------------------- */

enum {
    RADIXES = 4,
};

static const struct {
    unsigned radix;
    unsigned digits_min, digits_max;
    const char *prefixes; /* letters that may follow a 0 */
} radixes[RADIXES] = { { 16, 1, 8, "xuh" }, { 10, 1, 7, "" }, { 8, 1, 7, "o" }, { 2, 8, 8, "b" } };

static bool parse_number(Str word, size_t radix, uint32_t *out)
{
    size_t pos = word.len > 2 && word.data[0] == '0' ? 1 : 0;
    char letter = ascii_lower(word.data[pos]);
    pos = ascii_is_alpha(letter) && strchr(radixes[radix].prefixes, letter) != NULL ? pos + 1 : 0;
    word.len -= radixes[radix].radix == 16 && word.len > 1 &&
                ascii_lower(word.data[word.len - 1]) == 'h'; /* assembler syntax */
    size_t digits = word.len - pos;
    if (digits < radixes[radix].digits_min || digits > radixes[radix].digits_max) {
        return false;
    }
    uint32_t value = 0;
    for (; pos < word.len; pos++) {
        int digit = ascii_hex_value(word.data[pos]);
        if (digit < 0 || (unsigned)digit >= radixes[radix].radix) {
            return false;
        }
        value = value * radixes[radix].radix + (uint32_t)digit;
    }
    *out = value;
    return value <= 0x10ffff;
}

/* The effect of a minus before the number, in languages with signed bytes. */
static uint32_t with_sign(Str text, size_t start, uint32_t value)
{
    bool negative = start >= 2 && text.data[start - 1] == '-' && !is_word(text.data[start - 2]);
    return negative && value > 0 && value <= 128 ? 256 - value : value;
}

typedef struct NumberStreams {
    DecodedStream bytes[RADIXES];
    DecodedStream characters[RADIXES]; /* if secrets have non-ASCII characters */
} NumberStreams;

static void put_number(Search *search, NumberStreams *streams, size_t radix, Range word)
{
    Str text = str_slice(search->text, word.start, word.end);
    uint32_t value;
    if (!parse_number(text, radix, &value)) {
        decoded_stream_reset(&streams->bytes[radix]);
        decoded_stream_reset(&streams->characters[radix]);
        return;
    }
    if (search->scrubber->has_wide) {
        char bytes[UTF8_BYTES_MAX];
        Str character = str_from(bytes, utf8_encode(value, bytes));
        decoded_stream_put(search, &streams->characters[radix], character, word.start, word.end);
    }
    value = radixes[radix].radix == 10 ? with_sign(search->text, word.start, value) : value;
    if (value > 255) {
        decoded_stream_reset(&streams->bytes[radix]);
        return;
    }
    char byte = (char)value;
    decoded_stream_put(search, &streams->bytes[radix], str_from(&byte, 1), word.start, word.end);
}

static bool is_bits(Str word)
{
    return word.len == 8 && all_digits(word, 2);
}

/* An offset, the letter in `U+41` and `\x{41}`, or the function name in `chr(65)`. */
static bool is_not_number(Str text, Range word)
{
    size_t len = word.end - word.start;
    char next = word.end < text.len ? text.data[word.end] : '\0';
    if (next == '(') {
        return true;
    }
    if (len == 1) {
        return (next == '+' || next == '{') && strchr("xXuUo", text.data[word.start]) != NULL;
    }
    if (len < OFFSET_DIGITS || !is_line_start(text, word.start) ||
        (is_bits(str_slice(text, word.start, word.end)) && next != ':' &&
         is_bits(str_slice(text, word.end + 1, word.end + 1 + len)))) {
        return false;
    }
    return scrub_skip_label(text, word.start, OFFSET_DIGITS) > word.start;
}

void search_numbers(Search *search)
{
    Str text = search->text;
    NumberStreams streams;
    for (size_t i = 0; i < RADIXES; i++) {
        streams.bytes[i] = decoded_stream_make(search);
        streams.characters[i] = decoded_stream_make(search);
    }
    search_begin(search);
    for (size_t pos = 0; pos < text.len;) {
        if (!is_word(text.data[pos])) {
            pos++;
            continue;
        }
        Range word = { pos, pos };
        while (word.end < text.len && is_word(text.data[word.end])) {
            word.end++;
        }
        pos = word.end;
        if (is_not_number(text, word)) {
            continue;
        }
        for (size_t i = 0; i < RADIXES; i++) {
            put_number(search, &streams, i, word);
        }
    }
    for (size_t i = 0; i < RADIXES; i++) {
        decoded_stream_end(search, &streams.bytes[i]);
        decoded_stream_end(search, &streams.characters[i]);
    }
}

/* --- Dumps ----------------------------------------------------------------------------------- */

/* The possible formats of the words of a row. A row with an offset is removed entirely, because it
 * also shows the text next to the numbers. */
typedef enum Dump {
    DUMP_BIG,    /* hexadecimal, any number of bytes */
    DUMP_LITTLE, /* the same, last byte first */
    DUMP_OCTAL,  /* two bytes, last byte first */
    DUMP_BITS,
    DUMP_SHORTS,                  /* decimal, two bytes */
    DUMP_INTS,                    /* four bytes */
    DUMP_LONGS,                   /* eight bytes */
    DUMP_WORD_COUNT,              /* number of these */
    DUMP_CELLS = DUMP_WORD_COUNT, /* one character each */
    DUMP_COUNT
} Dump;

enum {
    WORD_BYTES_MAX = 32, /* bytes of a word */
};

static size_t parse_hex_word(Str word, bool is_little, char bytes[WORD_BYTES_MAX])
{
    size_t count = word.len / 2;
    if (word.len == 0 || word.len % 2 != 0 || count > WORD_BYTES_MAX || !all_digits(word, 16)) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t byte = 0;
        (void)scrub_read_hex(word, 2 * i, 2, &byte);
        bytes[is_little ? count - 1 - i : i] = (char)byte;
    }
    return count;
}

/* Numbers of `size` bytes, last byte first. Trailing zeros pad the last number. */
static size_t parse_decimal_word(Str word, size_t size, char bytes[WORD_BYTES_MAX])
{
    enum {
        DIGITS_MAX = 20 /* of eight bytes */
    };
    bool negative = str_starts(word, STR("-"));
    Str digits = str_from_offset(word, negative);
    if (digits.len == 0 || digits.len > DIGITS_MAX || !all_digits(digits, 10)) {
        return 0;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < digits.len; i++) {
        value = value * 10 + (uint64_t)(digits.data[i] - '0');
    }
    value = negative ? 0 - value : value;
    size_t count = 0;
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (char)(value >> 8 * i);
        count = bytes[i] != '\0' ? i + 1 : count;
    }
    return count <= word.len ? count : 0; /* search_capacity() relies on this */
}

/* Returns the number of bytes that the word denotes; 0 if it does not have this format. */
static size_t parse_word(Str word, Dump dump, char bytes[WORD_BYTES_MAX])
{
    switch (dump) {
    case DUMP_BIG:
    case DUMP_LITTLE: return parse_hex_word(word, dump == DUMP_LITTLE, bytes);
    case DUMP_SHORTS: return parse_decimal_word(word, 2, bytes);
    case DUMP_INTS: return parse_decimal_word(word, 4, bytes);
    case DUMP_LONGS: return parse_decimal_word(word, 8, bytes);
    default: break;
    }
    int radix = dump == DUMP_OCTAL ? 8 : 2;
    if (word.len != (dump == DUMP_OCTAL ? 6 : 8) || !all_digits(word, radix)) {
        return 0;
    }
    unsigned value = 0;
    for (size_t i = 0; i < word.len; i++) {
        value = value * (unsigned)radix + (unsigned)ascii_hex_value(word.data[i]);
    }
    bytes[0] = (char)value;
    bytes[1] = (char)(value >> 8);
    return dump == DUMP_OCTAL ? 2 : 1;
}

/* Feeds the words of a row, starting at `pos`; returns whether there were any. */
static bool search_words(Search *search, DecodedStream streams[DUMP_WORD_COUNT], Range row,
                         size_t pos)
{
    Str text = search->text;
    bool is_labeled = pos > row.start;
    bool is_framed = is_labeled && text.data[pos - 1] == ':'; /* two spaces end the numbers */
    for (bool first = true;; first = false) {
        size_t before = pos;
        while (pos < row.end && text.data[pos] == ' ') {
            pos++;
        }
        if (pos == row.end || (is_framed && !first && pos - before > 1)) {
            return !first;
        }
        size_t start = pos;
        while (pos < row.end && text.data[pos] != ' ') {
            pos++;
        }
        bool any = false;
        /* Without a label, DUMP_BIG is found as hexadecimal digits (scrub_codes.c). */
        for (Dump dump = is_labeled ? DUMP_BIG : DUMP_LITTLE; dump < DUMP_WORD_COUNT; dump++) {
            char bytes[WORD_BYTES_MAX];
            size_t count = parse_word(str_slice(text, start, pos), dump, bytes);
            any |= count > 0;
            decoded_stream_put(search, &streams[dump], str_from(bytes, count),
                               is_labeled ? row.start : start, is_labeled ? row.end : pos);
        }
        if (!any) {
            return !first;
        }
    }
}

/* Parses a cell of four columns, the first of which is blank: "   a", "  \\n", "  sp", " 303". */
static bool parse_cell(Str cell, char *out)
{
    Str word = str_trim(cell);
    if (cell.data[0] != ' ' || !str_ends(cell, word)) {
        return false;
    }
    switch (word.len) {
    case 0: *out = ' '; return true;
    case 1: *out = word.data[0]; return true;
    /* one of the whitespace characters */
    case 2: *out = word.data[0] == '\\' ? '\n' : ' '; return true;
    default: break;
    }
    unsigned value = 0;
    for (size_t i = 0; i < word.len; i++) {
        value = value * 8 + (unsigned)(word.data[i] - '0');
    }
    *out = (char)value;
    return all_digits(word, 8);
}

static void search_cells(Search *search, DecodedStream *stream, Range row, size_t pos)
{
    for (; pos + 4 <= row.end; pos += 4) {
        char byte;
        if (!parse_cell(str_slice(search->text, pos, pos + 4), &byte)) {
            decoded_stream_reset(stream);
            return;
        }
        decoded_stream_put(search, stream, str_from(&byte, 1), row.start, row.end);
    }
}

static void reset_words(DecodedStream streams[DUMP_WORD_COUNT])
{
    for (size_t i = 0; i < DUMP_WORD_COUNT; i++) {
        decoded_stream_reset(&streams[i]);
    }
}

/* Without offsets, which od can omit, the first word of a row may look like an offset. So each row
 * is searched both ways. */
static void search_unlabeled_dumps(Search *search)
{
    Str text = search->text;
    DecodedStream streams[DUMP_WORD_COUNT];
    for (size_t i = 0; i < DUMP_WORD_COUNT; i++) {
        streams[i] = decoded_stream_make(search);
    }
    search_begin(search);
    for (Range row = { 0 }; row.start < text.len; row.start = row.end + 1) {
        const char *line_end = memchr(text.data + row.start, '\n', text.len - row.start);
        row.end = line_end != NULL ? (size_t)(line_end - text.data) : text.len;
        if (!search_words(search, streams, row, row.start)) {
            reset_words(streams);
        }
    }
}

void search_dumps(Search *search)
{
    Str text = search->text;
    DecodedStream streams[DUMP_COUNT];
    for (size_t i = 0; i < DUMP_COUNT; i++) {
        streams[i] = decoded_stream_make(search);
    }
    search_begin(search);
    for (Range row = { 0 }; row.start < text.len; row.start = row.end + 1) {
        const char *line_end = memchr(text.data + row.start, '\n', text.len - row.start);
        row.end = line_end != NULL ? (size_t)(line_end - text.data) : text.len;
        Str line = str_slice(text, 0, row.end);
        size_t label_end = scrub_skip_label(line, row.start, OFFSET_DIGITS);
        bool is_labeled = label_end > row.start;
        bool has_cells = is_labeled || str_starts(str_from_offset(line, row.start), STR(" "));
        if (is_labeled) {
            (void)search_words(search, streams, row, label_end);
        } else {
            reset_words(streams);
        }
        if (has_cells) {
            search_cells(search, &streams[DUMP_CELLS], row, label_end);
        } else {
            decoded_stream_reset(&streams[DUMP_CELLS]);
        }
    }
    search_unlabeled_dumps(search);
}
