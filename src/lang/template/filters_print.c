/* Jinja2's filters that lay out text in lines: pprint and wordwrap.
 *
 * Both follow Python's modules pprint and textwrap to the letter, including the widths at which
 * they break lines; tests compare them with Python's output. */
#include "base/utf8.h"
#include "lang/template/filter.h"
#include "lang/template/sort.h"
#include "lang/unicode.h"

/* --- pprint: Python's pprint.pformat() -------------------------------------------------------- */

/* A value that does not fit on one line is split over several. */

enum {
    WIDTH = 80
};

/* Columns are signed, because deep nesting may leave a negative width. */
typedef struct Position {
    int64_t indent;
    int64_t allowance; /* columns needed by the closing brackets after it */
    unsigned level;
} Position;

static bool is_number(Value v)
{
    return v.kind >= VALUE_BOOL && v.kind <= VALUE_FLOAT;
}

/* The sort key of a map key: numbers, strings and others separately, ordered by type name. */
static Value typed_key(Render *r, Value key)
{
    List *pair = list_new(r->arena, 2);
    Str type = is_number(key) ? STR("int") : str_from_c(op_type_name(key));
    list_push(r->arena, pair, value_string(type));
    list_push(r->arena, pair, key);
    return value_list(pair);
}

static void entries_unsorted(const Map *map, SortItem *items)
{
    for (uint32_t i = 0; i < map->len; i++) {
        items[i] = (SortItem){ map->entries[i].key, value_int(i) };
    }
}

/* The entries of a map sorted by key; `item` is the index. Keys that cannot be compared keep their
 * order. */
static bool sorted_entries(Render *r, const Map *map, SortItem **out)
{
    if (!sort_reserve(r, map->len)) {
        return false;
    }
    SortItem *items = ARENA_ARRAY(r->arena, SortItem, map->len);
    *out = items;
    entries_unsorted(map, items);
    bool mixed = false;
    for (uint32_t i = 1; i < map->len; i++) {
        mixed = mixed || (items[i].key.kind != items[0].key.kind &&
                          !(is_number(items[i].key) && is_number(items[0].key)));
    }
    for (uint32_t i = 0; mixed && i < map->len; i++) {
        items[i].key = typed_key(r, items[i].key);
    }
    if (!sort_items(r, items, map->len, SORT_LISTED, false)) {
        if (r->fault.class != FAULT_TYPE) {
            return false;
        }
        r->fault = (Fault){ .class = FAULT_NONE };
        entries_unsorted(map, items);
    }
    return true;
}

static bool put_repr(Render *r, Value v, unsigned depth, Buf *out);

static bool put_map_repr(Render *r, const Map *map, unsigned depth, Buf *out)
{
    SortItem *items;
    if (!sorted_entries(r, map, &items)) {
        return false;
    }
    buf_put_char(out, '{');
    for (uint32_t i = 0; i < map->len; i++) {
        const MapEntry *entry = &map->entries[items[i].item.integer];
        buf_put_c(out, i == 0 ? "" : ", ");
        if (!put_repr(r, entry->key, depth + 1, out)) {
            return false;
        }
        buf_put(out, STR(": "));
        if (!put_repr(r, entry->value, depth + 1, out)) {
            return false;
        }
    }
    buf_put_char(out, '}');
    return true;
}

static bool put_list_repr(Render *r, Value v, unsigned depth, Buf *out)
{
    bool tuple = v.kind == VALUE_TUPLE;
    buf_put_char(out, tuple ? '(' : '[');
    for (uint32_t i = 0; i < v.list->len; i++) {
        buf_put_c(out, i == 0 ? "" : ", ");
        if (!put_repr(r, v.list->items[i], depth + 1, out)) {
            return false;
        }
    }
    buf_put_c(out, !tuple ? "]" : v.list->len == 1 ? ",)" : ")");
    return true;
}

/* repr() with sorted maps. */
static bool put_repr(Render *r, Value v, unsigned depth, Buf *out)
{
    if (!render_charge(r, 1) || out->overflow) {
        return out->overflow ? render_out_of_memory(r) : false;
    }
    if (depth > VALUE_DEPTH_MAX) {
        return render_raise(r, FAULT_RECURSION, "maximum recursion depth exceeded");
    }
    if (v.kind == VALUE_MAP) {
        return put_map_repr(r, v.map, depth, out);
    }
    if (value_is_sequence(v)) {
        return put_list_repr(r, v, depth, out);
    }
    return op_repr(r, v, out);
}

static bool quote_text(Render *r, Str text, Str *out)
{
    Buf buf = render_buf(r);
    repr_text(text, &buf);
    *out = buf_str(&buf);
    return !buf.overflow || render_out_of_memory(r);
}

static void put_line_start(int64_t indent, Buf *out)
{
    buf_put_char(out, '\n');
    buf_put_repeat(out, ' ', indent > 0 ? (size_t)indent : 0);
}

/* Splits a line of a string after whitespace into pieces that fit. */
static bool push_words(Render *r, Str line, int64_t width, int64_t last_width, List *chunks)
{
    size_t start = 0;
    Str quoted;
    for (size_t pos = 0; pos < line.len;) {
        size_t end = text_skip_spaces(line, text_skip_word(line, pos));
        int64_t available = end == line.len ? last_width : width;
        if (!quote_text(r, str_slice(line, start, end), &quoted) ||
            !op_charge_bytes(r, quoted.len)) {
            return false;
        }
        if ((int64_t)utf8_count(quoted) > available && pos > start) {
            if (!quote_text(r, str_slice(line, start, pos), &quoted)) {
                return false;
            }
            list_push(r->arena, chunks, value_string(quoted));
            start = pos;
        }
        pos = end;
    }
    if (start < line.len) {
        if (!quote_text(r, str_from_offset(line, start), &quoted)) {
            return false;
        }
        list_push(r->arena, chunks, value_string(quoted));
    }
    return true;
}

static bool put_text(Render *r, Str text, Position pos, Buf *out)
{
    List *chunks = list_new(r->arena, 4);
    if (pos.level == 1) {
        pos.indent++;
        pos.allowance++;
    }
    int64_t width = WIDTH - pos.indent;
    Str line, line_with_end, quoted;
    for (size_t from = 0; text_next_line(text, &from, &line, &line_with_end);) {
        int64_t last_width = from == text.len ? width - pos.allowance : width;
        if (!quote_text(r, line_with_end, &quoted)) {
            return false;
        }
        if ((int64_t)utf8_count(quoted) <= last_width) {
            list_push(r->arena, chunks, value_string(quoted));
        } else if (!push_words(r, line_with_end, width, last_width, chunks)) {
            return false;
        }
    }
    bool brackets = pos.level == 1 && chunks->len > 1;
    buf_put_c(out, brackets ? "(" : "");
    for (uint32_t i = 0; i < chunks->len; i++) {
        if (i > 0) {
            put_line_start(pos.indent, out);
        }
        buf_put(out, value_str(chunks->items[i]));
    }
    buf_put_c(out, brackets ? ")" : "");
    return true;
}

static bool put_value(Render *r, Value v, Position pos, Buf *out);

static bool put_map(Render *r, const Map *map, Position pos, Buf *out)
{
    SortItem *items;
    if (!sorted_entries(r, map, &items)) {
        return false;
    }
    buf_put_char(out, '{');
    for (uint32_t i = 0; i < map->len; i++) {
        const MapEntry *entry = &map->entries[items[i].item.integer];
        if (i > 0) {
            buf_put_char(out, ',');
            put_line_start(pos.indent + 1, out);
        }
        size_t before = out->len;
        if (!put_repr(r, entry->key, pos.level, out)) {
            return false;
        }
        int64_t columns = (int64_t)utf8_count(str_from_offset(buf_str(out), before));
        buf_put(out, STR(": "));
        Position next = { pos.indent + 1 + columns + 2, i + 1 == map->len ? pos.allowance + 1 : 1,
                          pos.level };
        if (!put_value(r, entry->value, next, out)) {
            return false;
        }
    }
    buf_put_char(out, '}');
    return true;
}

static bool put_list(Render *r, Value v, Position pos, Buf *out)
{
    bool tuple = v.kind == VALUE_TUPLE;
    const char *end = !tuple ? "]" : v.list->len == 1 ? ",)" : ")";
    buf_put_char(out, tuple ? '(' : '[');
    for (uint32_t i = 0; i < v.list->len; i++) {
        if (i > 0) {
            buf_put_char(out, ',');
            put_line_start(pos.indent + 1, out);
        }
        bool last = i + 1 == v.list->len;
        Position next = { pos.indent + 1, last ? pos.allowance + (int64_t)strlen(end) : 1,
                          pos.level };
        if (!put_value(r, v.list->items[i], next, out)) {
            return false;
        }
    }
    buf_put_c(out, end);
    return true;
}

/* Prints on one line if it fits, split otherwise. Every level measures everything below it, so it
 * charges for the text. */
static bool put_value(Render *r, Value v, Position pos, Buf *out)
{
    Buf line = render_buf(r);
    if (!put_repr(r, v, pos.level, &line) || !op_charge_bytes(r, line.len)) {
        return false;
    }
    Str quoted = buf_str(&line);
    pos.level++;
    if ((int64_t)utf8_count(quoted) > WIDTH - pos.indent - pos.allowance) {
        if (v.kind == VALUE_MAP) {
            return put_map(r, v.map, pos, out);
        }
        if (value_is_sequence(v)) {
            return put_list(r, v, pos, out);
        }
        if (v.kind == VALUE_STRING && !value_is_markup(v) && v.len > 0) {
            return put_text(r, value_str(v), pos, out);
        }
    }
    buf_put(out, quoted);
    return true;
}

static bool pprint_put(Render *r, Value v, Buf *out)
{
    return put_value(r, v, (Position){ 0, 0, 0 }, out);
}

static bool filter_pprint(Render *r, const Args *args, Value *out)
{
    Buf text = render_buf(r);
    return pprint_put(r, args->values[0], &text) && take_text(r, &text, false, out);
}

/* --- wordwrap: Python's textwrap -------------------------------------------------------------- */

/* Breaks text into lines of a given width as Jinja2 does with Python's textwrap: whitespace is
 * preserved, and each line of the input is a separate paragraph. */

typedef struct WrapRules {
    int64_t width; /* positive */
    bool break_long_words;
    bool break_on_hyphens;
    Str separator; /* line separator */
} WrapRules;

/* Text that is not broken across lines: a word, a part of a hyphenated word, or whitespace. */
typedef struct Chunk {
    Str text;
    int64_t width;     /* in characters */
    const char *solid; /* end of the last character that is not whitespace */
} Chunk;

static bool is_blank(const Chunk *chunk)
{
    return chunk->solid <= chunk->text.data;
}

typedef struct Chunks {
    Chunk *items;
    size_t count, cap;
} Chunks;

static bool push_chunk(Render *r, Chunks *chunks, Str text)
{
    if (chunks->count == chunks->cap) {
        size_t cap = chunks->cap == 0 ? 16 : chunks->cap * 2;
        if (!charge_items(r, cap, sizeof(Chunk))) {
            return false;
        }
        chunks->items =
            arena_grow(r->arena, chunks->items, chunks->cap * sizeof(Chunk), cap * sizeof(Chunk));
        chunks->cap = cap;
    }
    Str solid = text_strip(text);
    chunks->items[chunks->count++] =
        (Chunk){ .text = text,
                 .width = (int64_t)utf8_count(text),
                 .solid = solid.len == 0 ? text.data : solid.data + solid.len };
    return true;
}

static uint32_t code_at(Str text, size_t pos)
{
    return pos < text.len ? utf8_next(text, &pos) : 0;
}

static uint32_t code_before(Str text, size_t pos)
{
    return pos > 0 ? utf8_previous(text, &pos) : 0;
}

/* Underscores count as letters. */
static bool is_letter(uint32_t code)
{
    return code_is_word(code) && !unicode_is(code, UNICODE_DECIMAL);
}

/* Whether the character may precede a dash between words. */
static bool is_word_or_mark(uint32_t code)
{
    return (code != 0 && code < 0x80 && strchr("!\"'&.,?", (int)code) != NULL) ||
           code_is_word(code);
}

/* If `pos` is at two or more hyphens that are followed by a word, returns the end of the hyphens,
 * otherwise 0. */
static size_t dash_end(Str text, size_t pos)
{
    size_t end = pos;
    while (end < text.len && text.data[end] == '-') {
        end++;
    }
    return end >= pos + 2 && code_is_word(code_at(text, end)) ? end : 0;
}

/* Whether a word may be broken after the hyphen at `pos`: two letters are required on both sides,
 * the second of which may follow another hyphen. */
static bool breaks_after_hyphen(Str text, size_t pos)
{
    size_t before = pos;
    if (before == 0) {
        return false;
    }
    uint32_t last = utf8_previous(text, &before);
    size_t first = before;
    if (first == 0) {
        return false;
    }
    uint32_t second = utf8_previous(text, &first);
    bool left = is_letter(last) && is_letter(second);
    if (!left && second == '-' && first > 0) {
        left = is_letter(last) && is_letter(code_before(text, first));
    }
    if (!left) {
        return false;
    }
    size_t next = pos + 1;
    if (next >= text.len || !is_letter(utf8_next(text, &next))) {
        return false;
    }
    if (next < text.len && text.data[next] == '-') {
        next++;
    }
    return next < text.len && is_letter(code_at(text, next));
}

/* The end of the chunk at `pos`, which does not start with whitespace. */
static size_t word_end(Str text, size_t pos, bool hyphens)
{
    if (!hyphens) {
        while (pos < text.len && !ascii_is_space(text.data[pos])) {
            pos++;
        }
        return pos;
    }
    if (is_word_or_mark(code_before(text, pos))) {
        size_t end = dash_end(text, pos);
        if (end > 0) {
            return end;
        }
    }
    while (pos < text.len) {
        utf8_next(text, &pos); /* a word has at least one character */
        if (pos == text.len || ascii_is_space(text.data[pos])) {
            return pos;
        }
        if (text.data[pos] != '-') {
            continue;
        }
        if (is_word_or_mark(code_before(text, pos)) && dash_end(text, pos) > 0) {
            return pos;
        }
        if (breaks_after_hyphen(text, pos)) {
            return pos + 1;
        }
    }
    return pos;
}

static bool split_line(Render *r, Str line, bool hyphens, Chunks *chunks)
{
    chunks->count = 0;
    for (size_t pos = 0; pos < line.len;) {
        size_t end = pos;
        while (end < line.len && ascii_is_space(line.data[end])) {
            end++;
        }
        if (end == pos) {
            end = word_end(line, pos, hyphens);
        }
        if (!push_chunk(r, chunks, str_slice(line, pos, end))) {
            return false;
        }
        pos = end;
    }
    return true;
}

/* Cuts off and returns the start of a chunk that does not fit on any line. */
static Str cut_chunk(Chunk *chunk, int64_t space, const WrapRules *rules)
{
    size_t end = utf8_index_to_offset(chunk->text, (size_t)space);
    if (rules->break_on_hyphens && chunk->width > space) {
        size_t hyphen = str_find_last(str_slice(chunk->text, 0, end), STR("-"));
        bool other = false;
        for (size_t i = 0; hyphen != STR_NOT_FOUND && i < hyphen; i++) {
            other = other || chunk->text.data[i] != '-';
        }
        if (other) {
            end = hyphen + 1;
        }
    }
    Str cut = str_slice(chunk->text, 0, end);
    chunk->text = str_from_offset(chunk->text, end);
    chunk->width -= (int64_t)utf8_count(cut); /* counting the remainder would be quadratic */
    return cut;
}

/* Prints as many chunks as fit on one line, starting at `*pos`. Trailing whitespace is omitted,
 * even if there is nothing else. */
static void put_line(Chunks *chunks, size_t *pos, const WrapRules *rules, Buf *out)
{
    size_t start = *pos;
    int64_t width = 0;
    while (*pos < chunks->count && chunks->items[*pos].width <= rules->width - width) {
        width += chunks->items[(*pos)++].width;
    }
    size_t end = *pos;
    Str cut = STR_EMPTY;
    bool breaks = false;
    if (*pos < chunks->count && chunks->items[*pos].width > rules->width) {
        breaks = rules->break_long_words;
        if (breaks) {
            cut = cut_chunk(&chunks->items[*pos], rules->width - width, rules);
        } else if (end == start) {
            end = ++*pos;
        }
    }
    if (breaks) {
        cut = text_strip(cut).len == 0 ? STR_EMPTY : cut;
    } else if (end > start && is_blank(&chunks->items[end - 1])) {
        end--;
    }
    for (size_t i = start; i < end; i++) {
        buf_put(out, chunks->items[i].text);
    }
    buf_put(out, cut);
}

static bool wrap_line(Render *r, Chunks *chunks, const WrapRules *rules, Buf *out)
{
    bool has_output = false;
    for (size_t pos = 0; pos < chunks->count && !out->overflow;) {
        if (!render_charge(r, 1)) {
            return false;
        }
        if (has_output && is_blank(&chunks->items[pos])) {
            pos++; /* no whitespace at the start of a wrapped line */
        }
        size_t before = out->len;
        if (has_output) {
            buf_put(out, rules->separator);
        }
        size_t begin = out->len;
        put_line(chunks, &pos, rules, out);
        if (out->len == begin) {
            out->len = before; /* the line is empty */
        } else {
            has_output = true;
        }
    }
    return true;
}

/* Fails only if the budget is exhausted. */
static bool wordwrap(Render *r, Str text, const WrapRules *rules, Buf *out)
{
    Chunks chunks = { 0 };
    Str line;
    bool first = true;
    for (size_t pos = 0; text_next_line(text, &pos, &line, NULL) && !out->overflow;) {
        if (!first) {
            buf_put(out, rules->separator);
        }
        first = false;
        if (!split_line(r, line, rules->break_on_hyphens, &chunks) ||
            !wrap_line(r, &chunks, rules, out)) {
            return false;
        }
    }
    return true;
}

static bool filter_wordwrap(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    WrapRules rules;
    if (v.kind != VALUE_STRING) {
        return raise_no_attribute(r, v, "splitlines");
    }
    if (arg_passed(args, 1) && args->values[1].kind == VALUE_UNDEFINED) {
        return undefined_raise(r, args->values[1]);
    }
    if (!arg_int(r, args, 1, 79, &rules.width) ||
        !arg_truth(r, args, 2, true, &rules.break_long_words) ||
        !arg_truth(r, args, 4, true, &rules.break_on_hyphens)) {
        return false;
    }
    rules.separator = r->settings->syntax.newline_sequence;
    if (arg_not_none(args, 3) && !op_text(r, args->values[3], &rules.separator)) {
        return false;
    }
    if (rules.width <= 0 && v.len > 0) {
        return render_raise(r, FAULT_VALUE, "invalid width %lld (must be > 0)",
                            (long long)rules.width);
    }
    Buf text = render_buf(r);
    return wordwrap(r, value_str(v), &rules, &text) && take_text(r, &text, false, out);
}

const Native filters_print[] = {
    { .name = "pprint",
      .call = filter_pprint,
      .params = { { "value" } },
      .flags = NATIVE_JINJA,
      .help = "Formats a value like Python's pprint, on several lines if it is long.",
      .example = "{{ {'b': 1, 'a': ['x', none]} | pprint }}",
      .output = "{'a': ['x', None], 'b': 1}" },
    { .name = "wordwrap",
      .call = filter_wordwrap,
      .params = { { "value" },
                  { "width", "79" },
                  { "break_long_words", "true" },
                  { "wrapstring", "none" },
                  { "break_on_hyphens", "true" } },
      .flags = NATIVE_JINJA,
      .help = "Wraps lines that are longer than `width` at word boundaries.",
      .example = "{{ 'one two three four' | wordwrap(9) }}",
      .output = "one two\nthree\nfour" },
    { 0 },
};
