/* range(start, stop, step): Python's lazy sequence of integers. */
#include <math.h>

#include "lang/template/methods.h"
#include "lang/template/ops.h"

typedef struct Range {
    Object base;
    int64_t start, stop, step;
    uint64_t length;
} Range;

static const ObjectType range_type;

static uint64_t range_length(int64_t start, int64_t stop, int64_t step)
{
    if (step > 0) {
        return stop > start ? ((uint64_t)stop - (uint64_t)start - 1) / (uint64_t)step + 1 : 0;
    }
    return start > stop ? ((uint64_t)start - (uint64_t)stop - 1) / (0 - (uint64_t)step) + 1 : 0;
}

Value range_new(Render *r, int64_t start, int64_t stop, int64_t step)
{
    Range *range = arena_alloc(r->arena, sizeof *range);
    *range = (Range){ { &range_type }, start, stop, step, range_length(start, stop, step) };
    return value_object(&range->base);
}

/* Uses wrapping arithmetic; the result is between start and stop. */
static int64_t range_at(const Range *range, uint64_t index)
{
    return (int64_t)((uint64_t)range->start + index * (uint64_t)range->step);
}

/* The index of `needle`, which may be any value that equals an integer. */
static bool range_position(const Range *range, Value needle, uint64_t *out)
{
    int64_t number;
    if (op_is_int(needle)) {
        number = op_int(needle);
    } else if (needle.kind == VALUE_FLOAT && needle.number >= -9223372036854775808.0 &&
               needle.number < 9223372036854775808.0 && needle.number == floor(needle.number)) {
        number = (int64_t)needle.number;
    } else {
        return false;
    }
    uint64_t distance, step;
    if (range->step > 0) {
        if (number < range->start) {
            return false;
        }
        distance = (uint64_t)number - (uint64_t)range->start;
        step = (uint64_t)range->step;
    } else {
        if (number > range->start) {
            return false;
        }
        distance = (uint64_t)range->start - (uint64_t)number;
        step = 0 - (uint64_t)range->step;
    }
    *out = distance / step;
    return distance % step == 0 && *out < range->length;
}

static bool range_count(Render *r, const Args *args, Value *out)
{
    uint64_t position;
    *out = value_int(range_position((Range *)args->values[0].object, args->values[1], &position));
    return true;
}

static bool range_index(Render *r, const Args *args, Value *out)
{
    uint64_t position;
    if (range_position((Range *)args->values[0].object, args->values[1], &position)) {
        *out = value_int((int64_t)position);
        return true;
    }
    Str repr;
    Buf buf = render_buf(r);
    if (!op_repr(r, args->values[1], &buf)) {
        return false;
    }
    repr = buf_str(&buf);
    return render_raise(r, FAULT_VALUE, "%" STR_FMT " is not in range", STR_ARG(repr));
}

static const Native range_methods[] = {
    { "count",
      range_count,
      { { "self" }, { "value" } },
      NATIVE_PLAIN,
      "Counts the occurrences of the value in the range.",
      "{{ range(5).count(3) }}",
      "1" },
    { "index",
      range_index,
      { { "self" }, { "value" } },
      NATIVE_PLAIN,
      "Returns the index of the value in the range.",
      "{{ range(2, 9).index(4) }}",
      "2" },
    { 0 },
};

static bool range_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    const Range *range = (const Range *)object;
    *found = true;
    if (str_eq(name, STR("start"))) {
        *out = value_int(range->start);
    } else if (str_eq(name, STR("stop"))) {
        *out = value_int(range->stop);
    } else if (str_eq(name, STR("step"))) {
        *out = value_int(range->step);
    } else {
        const Native *method = methods_search(range_methods, name);
        *found = method != NULL;
        if (*found) {
            *out = bound_method_new(r, value_object(object), method);
        }
    }
    return true;
}

static bool range_get_item(Render *r, Object *object, Value key, Value *out, bool *found)
{
    const Range *range = (const Range *)object;
    *found = false;
    if (!op_is_int(key)) {
        return true;
    }
    int64_t index = op_int(key);
    uint64_t pos = index < 0 ? range->length - (0 - (uint64_t)index) : (uint64_t)index;
    if (index < 0 && 0 - (uint64_t)index > range->length) {
        return true;
    }
    if (pos < range->length) {
        *out = value_int(range_at(range, pos));
        *found = true;
    }
    return true;
}

static bool range_next(Render *r, Iter *iter, Value *item)
{
    const Range *range = (const Range *)iter->owner.object;
    if (iter->position >= range->length || !render_charge(r, 1)) {
        return false;
    }
    *item = value_int(range_at(range, iter->position++));
    if (UNLIKELY(iter->secret)) {
        item->flags |= VALUE_SECRET;
    }
    return true;
}

static bool range_iterate(Render *r, Object *object, Iter *iter)
{
    iter->next = range_next;
    return true;
}

static bool range_size(Render *r, Object *object, int64_t *out)
{
    const Range *range = (const Range *)object;
    if (range->length > INT64_MAX) {
        return render_raise(r, FAULT_OVERFLOW, "Python int too large to convert to C ssize_t");
    }
    *out = (int64_t)range->length;
    return true;
}

static bool range_contains(Render *r, Object *object, Value needle, bool *out)
{
    uint64_t position;
    *out = range_position((const Range *)object, needle, &position);
    return true;
}

static bool range_slice(Render *r, Object *object, Value start, Value stop, Value step, Value *out)
{
    const Range *range = (const Range *)object;
    int64_t length = 0;
    Slice slice;
    if (!range_size(r, object, &length) || !slice_resolve(r, start, stop, step, length, &slice)) {
        return false;
    }
    /* The bound after the last item may not fit in 64 bits; the nearest one that does is
     * equivalent. */
    __int128 from = (__int128)range->start + (__int128)slice.start * range->step;
    __int128 to = (__int128)range->start + (__int128)slice.stop * range->step;
    __int128 by = (__int128)slice.step * range->step;
    from = from < INT64_MIN ? INT64_MIN : from > INT64_MAX ? INT64_MAX : from;
    to = to < INT64_MIN ? INT64_MIN : to > INT64_MAX ? INT64_MAX : to;
    by = by < INT64_MIN ? INT64_MIN : by > INT64_MAX ? INT64_MAX : by;
    *out = range_new(r, (int64_t)from, (int64_t)to, (int64_t)by);
    return true;
}

static bool range_equal(Render *r, Object *object, Value other, bool *out)
{
    *out = false;
    if (other.kind == VALUE_OBJECT && other.object->type == &range_type) {
        const Range *a = (const Range *)object, *b = (const Range *)other.object;
        *out = a->length == b->length && (a->length == 0 || a->start == b->start) &&
               (a->length <= 1 || a->step == b->step);
    }
    return true;
}

static bool range_truth(Render *r, Object *object, bool *out)
{
    *out = ((const Range *)object)->length > 0;
    return true;
}

static bool range_print(Render *r, Object *object, Buf *out)
{
    const Range *range = (const Range *)object;
    buf_put(out, STR("range("));
    buf_put_i64(out, range->start);
    buf_put(out, STR(", "));
    buf_put_i64(out, range->stop);
    if (range->step != 1) {
        buf_put(out, STR(", "));
        buf_put_i64(out, range->step);
    }
    buf_put_char(out, ')');
    return true;
}

static const ObjectType range_type = {
    .name = "range",
    .get_attr = range_get_attr,
    .get_item = range_get_item,
    .iterate = range_iterate,
    .length = range_size,
    .contains = range_contains,
    .slice = range_slice,
    .truth = range_truth,
    .equal = range_equal,
    .print = range_print,
    .sequence = true,
};
