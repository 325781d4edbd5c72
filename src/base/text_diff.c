/* Unified diffs. Common lines at both ends are stripped first. What is between is compared with
 * Myers's O(ND) algorithm, keeping the furthest point of every diagonal for each number of changes
 * d (so memory is quadratic in d, not in the length), and the path is traced back from the end.
 * Beyond TEXT_DIFF_CHANGES_MAX changes the whole middle is shown as replaced. */
#include "base/text_diff.h"

#include "base/hash.h"
#include "base/json_out.h"
#include "base/vec.h"

typedef VEC(Str) Lines; /* including their newlines */

typedef enum EditKind {
    EDIT_KEEP,
    EDIT_REMOVE,
    EDIT_ADD,
} EditKind;

/* `count` lines of one kind, starting at `old_at` and `new_at`. */
typedef struct Edit {
    EditKind kind;
    uint32_t old_at, new_at, count;
} Edit;

typedef VEC(Edit) Edits;

typedef struct Diff {
    Arena arena;
    Lines old_lines, new_lines;
    uint64_t *old_hashes, *new_hashes;
    Edits edits;
} Diff;

static void split(Arena *arena, Str text, Lines *lines)
{
    while (text.len > 0) {
        size_t end = str_find(text, STR("\n"), 0);
        Str line = str_slice(text, 0, end == STR_NOT_FOUND ? text.len : end + 1);
        VEC_PUSH(arena, lines, line);
        text = str_from_offset(text, line.len);
    }
}

static uint64_t *hash_lines(Arena *arena, const Lines *lines)
{
    uint64_t *hashes = ARENA_ARRAY(arena, uint64_t, lines->len + 1);
    for (uint32_t i = 0; i < lines->len; i++) {
        hashes[i] = hash_str(lines->items[i]);
    }
    return hashes;
}

static bool same(const Diff *diff, uint32_t old_at, uint32_t new_at)
{
    return diff->old_hashes[old_at] == diff->new_hashes[new_at] &&
           str_eq(diff->old_lines.items[old_at], diff->new_lines.items[new_at]);
}

/* Merges consecutive edits of the same kind. */
static void push(Diff *diff, EditKind kind, uint32_t old_at, uint32_t new_at, uint32_t count)
{
    if (count == 0) {
        return;
    }
    if (diff->edits.len > 0 && VEC_LAST(&diff->edits).kind == kind) {
        VEC_LAST(&diff->edits).count += count;
        return;
    }
    VEC_PUSH(&diff->arena, &diff->edits, (Edit){ kind, old_at, new_at, count });
}

static void push_replaced(Diff *diff, uint32_t old_at, uint32_t old_end, uint32_t new_at,
                          uint32_t new_end)
{
    push(diff, EDIT_REMOVE, old_at, new_at, old_end - old_at);
    push(diff, EDIT_ADD, old_end, new_at, new_end - new_at);
}

/* The rows of Myers's algorithm: how far each diagonal k = x - y gets with d changes; row d has 2d
 * + 1 entries and starts at d * d. */
typedef struct Rows {
    int32_t *reach;
    uint32_t count;
} Rows;

static int32_t *row_at(const Rows *rows, uint32_t d, int32_t k)
{
    return &rows->reach[(size_t)d * d + (size_t)(k + (int32_t)d)];
}

/* Whether the best path to diagonal k with d changes comes from k + 1, by adding a line. */
static bool comes_from_above(const Rows *rows, uint32_t d, int32_t k)
{
    int32_t limit = (int32_t)d;
    if (k == -limit) {
        return true;
    }
    return k != limit && *row_at(rows, d - 1, k - 1) < *row_at(rows, d - 1, k + 1);
}

static int32_t start_of(const Rows *rows, uint32_t d, int32_t k)
{
    if (d == 0) {
        return 0;
    }
    return comes_from_above(rows, d, k) ? *row_at(rows, d - 1, k + 1)
                                        : *row_at(rows, d - 1, k - 1) + 1;
}

/* Returns true if the end is reached with at most TEXT_DIFF_CHANGES_MAX changes; `rows` then
 * contains all rows. */
static bool search(Diff *diff, uint32_t old_at, uint32_t new_at, int32_t old_count,
                   int32_t new_count, Rows *rows)
{
    size_t cap = 0;
    for (uint32_t d = 0; d <= TEXT_DIFF_CHANGES_MAX; d++) {
        size_t least = (size_t)(d + 1) * (d + 1);
        if (least > cap) {
            size_t wanted = least * 2;
            rows->reach = arena_grow(&diff->arena, rows->reach, cap * sizeof *rows->reach,
                                     wanted * sizeof *rows->reach);
            cap = wanted;
        }
        rows->count = d + 1;
        for (int32_t k = -(int32_t)d; k <= (int32_t)d; k++) {
            if (((uint32_t)k ^ d) & 1) {
                *row_at(rows, d, k) = INT32_MIN / 2; /* not reachable with d changes */
                continue;
            }
            int32_t x = start_of(rows, d, k);
            while (x >= 0 && x < old_count && x - k >= 0 && x - k < new_count &&
                   same(diff, old_at + (uint32_t)x, new_at + (uint32_t)(x - k))) {
                x++;
            }
            *row_at(rows, d, k) = x;
            if (x >= old_count && x - k >= new_count) {
                return true;
            }
        }
    }
    return false;
}

/* Traces the path back from the end. The steps are found in reverse order and reversed. */
static void trace(Diff *diff, const Rows *rows, uint32_t old_at, uint32_t new_at, int32_t old_count,
                  int32_t new_count)
{
    Edits steps = { 0 };
    int32_t x = old_count, y = new_count;
    for (uint32_t d = rows->count - 1;; d--) {
        int32_t k = x - y, start = start_of(rows, d, k);
        if (x > start) {
            Edit keep = { EDIT_KEEP, old_at + (uint32_t)start, new_at + (uint32_t)(start - k),
                          (uint32_t)(x - start) };
            VEC_PUSH(&diff->arena, &steps, keep);
        }
        if (d == 0) {
            break;
        }
        bool adds = comes_from_above(rows, d, k);
        x = adds ? start : start - 1;
        y = adds ? start - k - 1 : start - k;
        Edit change = { adds ? EDIT_ADD : EDIT_REMOVE, old_at + (uint32_t)x, new_at + (uint32_t)y,
                        1 };
        VEC_PUSH(&diff->arena, &steps, change);
    }
    for (uint32_t i = steps.len; i > 0; i--) {
        Edit *step = &steps.items[i - 1];
        push(diff, step->kind, step->old_at, step->new_at, step->count);
    }
}

static void compare(Diff *diff)
{
    uint32_t old_end = diff->old_lines.len, new_end = diff->new_lines.len, start = 0;
    while (start < old_end && start < new_end && same(diff, start, start)) {
        start++;
    }
    while (old_end > start && new_end > start && same(diff, old_end - 1, new_end - 1)) {
        old_end--;
        new_end--;
    }
    push(diff, EDIT_KEEP, 0, 0, start);
    Rows rows = { 0 };
    if (old_end == start || new_end == start) {
        push_replaced(diff, start, old_end, start, new_end);
    } else if (search(diff, start, start, (int32_t)(old_end - start), (int32_t)(new_end - start),
                      &rows)) {
        trace(diff, &rows, start, start, (int32_t)(old_end - start), (int32_t)(new_end - start));
    } else {
        push_replaced(diff, start, old_end, start, new_end);
    }
    push(diff, EDIT_KEEP, old_end, new_end, diff->old_lines.len - old_end);
}

/* --- Printing ------------------------------------------------------------------------------ */

static void put_lines(const Lines *lines, uint32_t pos, uint32_t count, char mark, Buf *out)
{
    for (uint32_t i = pos; i < pos + count; i++) {
        Str line = lines->items[i];
        buf_put_char(out, mark);
        buf_put(out, line);
        if (!str_ends(line, STR("\n"))) {
            buf_put_c(out, "\n\\ No newline at end of file\n");
        }
    }
}

/* "12,3"; a single line is just "12", and an empty range is reported after the preceding line. */
static void put_range(uint32_t pos, uint32_t count, Buf *out)
{
    buf_put_i64(out, count == 0 ? pos : (int64_t)pos + 1);
    if (count != 1) {
        buf_put_char(out, ',');
        buf_put_i64(out, count);
    }
}

/* Prints the edits of one hunk, from `first` up to `end`, with unchanged lines at both ends cut to
 * the context. */
static void put_hunk(const Diff *diff, uint32_t first, uint32_t end, Buf *out)
{
    Edits part = { 0 };
    part.items = diff->edits.items + first;
    part.len = end - first;
    uint32_t lead = 0, old_count = 0, new_count = 0;
    if (part.items[0].kind == EDIT_KEEP && part.items[0].count > TEXT_DIFF_CONTEXT) {
        lead = part.items[0].count - TEXT_DIFF_CONTEXT;
    }
    uint32_t tail = 0;
    if (part.len > 1 && VEC_LAST(&part).kind == EDIT_KEEP &&
        VEC_LAST(&part).count > TEXT_DIFF_CONTEXT) {
        tail = VEC_LAST(&part).count - TEXT_DIFF_CONTEXT;
    }
    for (uint32_t i = 0; i < part.len; i++) {
        old_count += part.items[i].kind != EDIT_ADD ? part.items[i].count : 0;
        new_count += part.items[i].kind != EDIT_REMOVE ? part.items[i].count : 0;
    }
    buf_put_c(out, "@@ -");
    put_range(part.items[0].old_at + lead, old_count - lead - tail, out);
    buf_put_c(out, " +");
    put_range(part.items[0].new_at + lead, new_count - lead - tail, out);
    buf_put_c(out, " @@\n");
    for (uint32_t i = 0; i < part.len; i++) {
        Edit edit = part.items[i];
        uint32_t skip = i == 0 ? lead : 0;
        uint32_t count = edit.count - skip - (i + 1 == part.len ? tail : 0);
        if (edit.kind == EDIT_ADD) {
            put_lines(&diff->new_lines, edit.new_at, count, '+', out);
        } else {
            put_lines(&diff->old_lines, edit.old_at + skip, count,
                      edit.kind == EDIT_KEEP ? ' ' : '-', out);
        }
    }
}

/* A run of unchanged lines longer than two contexts separates two hunks and belongs to both. */
static bool separates_hunks(const Edit *edit)
{
    return edit->kind == EDIT_KEEP && edit->count > 2 * TEXT_DIFF_CONTEXT;
}

static void put_hunks(const Diff *diff, Buf *out)
{
    uint32_t count = diff->edits.len, first = 0;
    while (first < count) {
        uint32_t end = first + 1;
        while (end < count && !separates_hunks(&diff->edits.items[end])) {
            end++;
        }
        bool at_gap = end < count;
        if (end - first > 1 || diff->edits.items[first].kind != EDIT_KEEP) {
            put_hunk(diff, first, at_gap ? end + 1 : end, out);
        }
        first = end;
    }
}

/* A name that contains a newline must not look like lines of the diff. */
static void put_name(Buf *out, const char *mark, Str name)
{
    buf_put_c(out, mark);
    if (str_find(name, STR("\n"), 0) == STR_NOT_FOUND) {
        buf_put(out, name);
    } else {
        json_text_put(out, name);
    }
    buf_put_char(out, '\n');
}

void text_diff(Str old_text, Str new_text, Str old_name, Str new_name, Buf *out)
{
    if (str_eq(old_text, new_text)) {
        return;
    }
    Diff diff = { 0 };
    arena_init(&diff.arena, ARENA_UNLIMITED);
    split(&diff.arena, old_text, &diff.old_lines);
    split(&diff.arena, new_text, &diff.new_lines);
    diff.old_hashes = hash_lines(&diff.arena, &diff.old_lines);
    diff.new_hashes = hash_lines(&diff.arena, &diff.new_lines);
    compare(&diff);
    put_name(out, "--- ", old_name);
    put_name(out, "+++ ", new_name);
    put_hunks(&diff, out);
    arena_clear(&diff.arena);
}
