/* Filters that restructure lists: flatten, zip, combinations, permutations and product. */
#include "lang/template/filter.h"

static bool is_null_word(Value v)
{
    return v.kind == VALUE_NULL || (v.kind == VALUE_STRING && (str_eq(value_str(v), STR("None")) ||
                                                               str_eq(value_str(v), STR("null"))));
}

/* A negative `levels` means no limit. */
static bool flatten_into(Render *r, Value nested, int64_t levels, bool skip_nulls, List *flat)
{
    const List *items = nested.list;
    Nest nest;
    if (!charge_items(r, items->len, sizeof(Value)) || !render_enter(r, &nest, items)) {
        return false;
    }
    bool ok = true;
    for (uint32_t i = 0; ok && i < items->len; i++) {
        Value item = items->items[i];
        item.flags |= nested.flags & VALUE_SECRET;
        if (skip_nulls && is_null_word(item)) {
            continue;
        }
        if (value_is_sequence(item) && levels != 0) {
            ok = flatten_into(r, item, levels < 0 ? levels : levels - 1, skip_nulls, flat);
        } else {
            ok = push_item(r, flat, item);
        }
    }
    render_leave(r, &nest);
    return ok;
}

static bool filter_flatten(Render *r, const Args *args, Value *out)
{
    int64_t levels = -1;
    bool skip_nulls;
    List *items;
    if ((arg_not_none(args, 1) && !value_to_index(r, args->values[1], &levels)) ||
        !arg_truth(r, args, 2, true, &skip_nulls) || !iter_collect(r, args->values[0], &items)) {
        return false;
    }
    List *flat = list_new(r->arena, items->len);
    if (!flatten_into(r, value_list(items), levels, skip_nulls, flat)) {
        return false;
    }
    *out = value_list(flat);
    return true;
}

static bool collect_columns(Render *r, const Args *args, List ***out)
{
    List **columns = ARENA_ARRAY(r->arena, List *, args->count);
    for (uint32_t i = 0; i < args->count; i++) {
        if (!iter_collect(r, args->values[i], &columns[i])) {
            return false;
        }
    }
    *out = columns;
    return true;
}

/* Tuples of the items at the same index; `fill` pads the shorter lists. */
static bool zip_rows(Render *r, const Args *args, uint32_t rows, List **columns, Value fill,
                     Value *out)
{
    if (!charge_items(r, (uint64_t)rows * args->count, sizeof(Value)) ||
        !charge_items(r, rows, sizeof(Value) + sizeof(List))) {
        return false;
    }
    List *zipped = list_new(r->arena, rows);
    for (uint32_t row = 0; row < rows; row++) {
        List *tuple = list_new(r->arena, args->count);
        for (uint32_t i = 0; i < args->count; i++) {
            list_push(r->arena, tuple, row < columns[i]->len ? columns[i]->items[row] : fill);
        }
        list_push(r->arena, zipped, value_tuple(tuple));
    }
    *out = generator_new(r, zipped, "zip");
    return true;
}

static bool filter_zip(Render *r, const Args *args, Value *out)
{
    List **columns;
    if (!collect_columns(r, args, &columns)) {
        return false;
    }
    uint32_t rows = columns[0]->len;
    for (uint32_t i = 1; i < args->count; i++) {
        rows = columns[i]->len < rows ? columns[i]->len : rows;
    }
    return zip_rows(r, args, rows, columns, value_null(), out);
}

static bool filter_zip_longest(Render *r, const Args *args, Value *out)
{
    List **columns;
    Value fill = value_null();
    for (uint32_t i = 0; args->named != NULL && i < args->named->len; i++) {
        Str name = value_str(args->named->entries[i].key);
        if (!str_eq(name, STR("fillvalue"))) {
            return render_raise(r, FAULT_TYPE,
                                "zip_longest() got an unexpected keyword argument '%" STR_FMT "'",
                                STR_ARG(name));
        }
        fill = args->named->entries[i].value;
    }
    if (!collect_columns(r, args, &columns)) {
        return false;
    }
    uint32_t rows = 0;
    for (uint32_t i = 0; i < args->count; i++) {
        rows = columns[i]->len > rows ? columns[i]->len : rows;
    }
    return zip_rows(r, args, rows, columns, fill, out);
}

/* Adds a tuple of `size` items and charges for it. */
static bool push_tuple(Render *r, List *tuples, const List *items, const uint32_t *picks,
                       uint32_t size)
{
    if (!charge_items(r, (uint64_t)size + 1, 2 * sizeof(Value))) {
        return false;
    }
    List *tuple = list_new(r->arena, size);
    for (uint32_t i = 0; i < size; i++) {
        list_push(r->arena, tuple, items->items[picks[i]]);
    }
    return push_item(r, tuples, value_tuple(tuple));
}

static bool read_size(Render *r, const Args *args, const List *items, int64_t *out)
{
    *out = items->len;
    if (arg_not_none(args, 1) && !value_to_index(r, args->values[1], out)) {
        return false;
    }
    return *out >= 0 || render_raise(r, FAULT_VALUE, "r must be non-negative");
}

/* The state of an enumeration of all selections of `size` items. */
typedef struct Selection {
    List *items;
    uint32_t size;
    uint32_t *picks; /* indexes of the current selection; NULL if there are too few items */
    List *tuples;
} Selection;

static bool selection_start(Render *r, const Args *args, Selection *selection)
{
    int64_t size;
    if (!iter_collect(r, args->values[0], &selection->items) ||
        !read_size(r, args, selection->items, &size)) {
        return false;
    }
    selection->tuples = list_new(r->arena, 0);
    if (size <= selection->items->len) {
        selection->size = (uint32_t)size;
        selection->picks = ARENA_ARRAY(r->arena, uint32_t, selection->size + 1);
    }
    return true;
}

/* In the order of itertools.combinations. */
static bool filter_combinations(Render *r, const Args *args, Value *out)
{
    Selection selection = { 0 };
    if (!selection_start(r, args, &selection)) {
        return false;
    }
    List *items = selection.items, *tuples = selection.tuples;
    uint32_t *picks = selection.picks;
    uint32_t size = selection.size;
    *out = value_list(tuples);
    if (picks == NULL) {
        return true;
    }
    for (uint32_t i = 0; i < size; i++) {
        picks[i] = i;
    }
    for (;;) {
        if (!push_tuple(r, tuples, items, picks, size)) {
            return false;
        }
        uint32_t pos = size;
        while (pos > 0 && picks[pos - 1] == items->len - size + pos - 1) {
            pos--;
        }
        if (pos == 0) {
            return true;
        }
        picks[pos - 1]++;
        for (uint32_t i = pos; i < size; i++) {
            picks[i] = picks[i - 1] + 1;
        }
    }
}

/* The first unused index at or after `from`, or `count`. */
static uint32_t next_free(const bool *used, uint32_t from, uint32_t count)
{
    while (from < count && used[from]) {
        from++;
    }
    return from;
}

/* In the order of itertools.permutations. */
static bool filter_permutations(Render *r, const Args *args, Value *out)
{
    Selection selection = { 0 };
    if (!selection_start(r, args, &selection)) {
        return false;
    }
    List *items = selection.items, *tuples = selection.tuples;
    uint32_t *picks = selection.picks;
    uint32_t size = selection.size;
    *out = value_list(tuples);
    if (picks == NULL) {
        return true;
    }
    bool *used = arena_alloc_zero(r->arena, items->len + 1);
    uint32_t pos = 0;
    uint32_t from = 0;
    for (;;) {
        uint32_t pick = pos < size ? next_free(used, from, items->len) : items->len;
        if (!render_charge(r, 1 + (pick - from) / 16)) {
            return false;
        }
        if (pick < items->len) {
            used[pick] = true;
            picks[pos++] = pick;
            from = 0;
            continue;
        }
        if (pos == size && !push_tuple(r, tuples, items, picks, size)) {
            return false;
        }
        if (pos == 0) {
            return true;
        }
        used[picks[--pos]] = false;
        from = picks[pos] + 1;
    }
}

static bool filter_product(Render *r, const Args *args, Value *out)
{
    List **columns;
    if (!collect_columns(r, args, &columns)) {
        return false;
    }
    List *tuples = list_new(r->arena, 0);
    *out = value_list(tuples);
    uint64_t rows = 1;
    for (uint32_t i = 0; i < args->count; i++) {
        if (columns[i]->len == 0) {
            return true;
        }
        if (__builtin_mul_overflow(rows, columns[i]->len, &rows)) {
            rows = UINT64_MAX;
            break;
        }
    }
    if (!charge_items(r, rows, sizeof(Value) * (args->count + 2) + sizeof(List))) {
        return false;
    }
    for (uint64_t row = 0; row < rows; row++) {
        List *tuple = list_new(r->arena, args->count);
        uint64_t rest = row;
        tuple->len = args->count;
        for (uint32_t i = args->count; i > 0; i--) {
            tuple->items[i - 1] = columns[i - 1]->items[rest % columns[i - 1]->len];
            rest /= columns[i - 1]->len;
        }
        list_push(r->arena, tuples, value_tuple(tuple));
    }
    return true;
}

/* Salt's filter: wraps a value that is not a list in a list. */
static bool filter_sequence(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    if (value_is_sequence(v) || v.kind == VALUE_MAP) {
        *out = v;
        return true;
    }
    List *items = list_new(r->arena, 1);
    list_push(r->arena, items, v);
    *out = value_list(items);
    return true;
}

const Native filters_list[] = {
    { .name = "flatten",
      .call = filter_flatten,
      .params = { { "value" }, { "levels", "none" }, { "skip_nulls", "true" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Flattens nested lists, all levels or the given number.",
      .example = "{{ [1, [2, [3]]] | flatten }} {{ [1, [2, [3]]] | flatten(levels=1) }}",
      .output = "[1, 2, 3] [1, 2, [3]]" },
    { .name = "zip",
      .call = filter_zip,
      .params = { { "value" } },
      .flags = NATIVE_PASS_THROUGH | NATIVE_VARIADIC,
      .help = "Pairs the items of lists, up to the length of the shortest.",
      .example = "{{ [1, 2, 3] | zip(['a', 'b']) | list }}",
      .output = "[(1, 'a'), (2, 'b')]" },
    { .name = "zip_longest",
      .call = filter_zip_longest,
      .params = { { "value" } },
      .flags = NATIVE_PASS_THROUGH | NATIVE_VARIADIC | NATIVE_KEYWORDS,
      .help = "Pairs the items of lists; `fillvalue` pads the shorter ones.",
      .example = "{{ [1, 2] | zip_longest(['a'], fillvalue='-') | list }}",
      .output = "[(1, 'a'), (2, '-')]" },
    { .name = "combinations",
      .call = filter_combinations,
      .params = { { "value" }, { "r" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns all combinations of the given size.",
      .example = "{{ [1, 2, 3] | combinations(2) }}",
      .output = "[(1, 2), (1, 3), (2, 3)]" },
    { .name = "permutations",
      .call = filter_permutations,
      .params = { { "value" }, { "r", "none" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Returns all permutations, of all items or of the given size.",
      .example = "{{ [1, 2, 3] | permutations(2) | length }} {{ 'ab' | permutations }}",
      .output = "6 [('a', 'b'), ('b', 'a')]" },
    { .name = "product",
      .call = filter_product,
      .params = { { "value" } },
      .flags = NATIVE_PASS_THROUGH | NATIVE_VARIADIC,
      .help = "Returns the Cartesian product: all tuples with one item from each list.",
      .example = "{{ ['a', 'b'] | product([1, 2]) }}",
      .output = "[('a', 1), ('a', 2), ('b', 1), ('b', 2)]" },
    { .name = "sequence",
      .call = filter_sequence,
      .params = { { "value" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Wraps a value in a list unless it already is one.",
      .example = "{{ 'web' | sequence }} {{ ['web'] | sequence }}",
      .output = "['web'] ['web']" },
    { 0 },
};
