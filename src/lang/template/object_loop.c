/* Loops in progress, and the attributes of the `loop` variable. */
#include "lang/template/ops.h"
#include "lang/template/runtime.h"

bool loop_start(Render *r, Value iterable, Loop **out)
{
    Loop *loop = ARENA_NEW(r->arena, Loop);
    *loop = (Loop){ .object = { &loop_type },
                    .index = -1,
                    .owner = iterable,
                    .changed = value_missing(),
                    .secret = value_is_secret(iterable) };
    *out = loop;
    if (value_is_sequence(iterable)) {
        loop->list = iterable.list;
        return true;
    }
    if (iterable.kind == VALUE_OBJECT && iterable.object->type->sequence &&
        iterable.object->type->length != NULL) {
        return op_length(r, iterable, &loop->count) && iter_start(r, iterable, &loop->iter);
    }
    return iter_collect(r, iterable, &loop->list);
}

static int64_t loop_length(const Loop *loop)
{
    return loop->list != NULL ? loop->list->len : loop->count;
}

bool loop_advance_slow(Render *r, Loop *loop, Value *item)
{
    if (loop->list == NULL) {
        if (!iter_next(r, &loop->iter, item)) {
            return false;
        }
    } else {
        if (loop->index + 1 >= loop->list->len) {
            return false;
        }
        *item = loop->list->items[loop->index + 1];
    }
    loop->index++;
    if (UNLIKELY(loop->secret)) {
        *item = value_with_secret(*item);
    }
    return true;
}

static bool item_at(Render *r, Loop *loop, int64_t index, Value *out)
{
    if (loop->list == NULL) {
        return op_get_item(r, loop->owner, value_int(index), out);
    }
    *out = loop->list->items[index];
    if (loop->secret) {
        *out = value_with_secret(*out);
    }
    return true;
}

typedef struct LoopMethod {
    Object object;
    Loop *loop;
} LoopMethod;

static bool call_cycle(Render *r, Object *object, const Args *args, Value *out)
{
    Loop *loop = ((LoopMethod *)object)->loop;
    if (args->count == 0) {
        return render_raise(r, FAULT_TYPE, "no items for cycling given");
    }
    *out = args->values[loop->index % args->count];
    return true;
}

static bool call_changed(Render *r, Object *object, const Args *args, Value *out)
{
    Loop *loop = ((LoopMethod *)object)->loop;
    List *values = list_new(r->arena, args->count);
    for (uint32_t i = 0; i < args->count; i++) {
        list_push(r->arena, values, args->values[i]);
    }
    bool same = false;
    if (!value_is_missing(loop->changed) &&
        !op_equal(r, loop->changed, value_tuple(values), &same)) {
        return false;
    }
    if (!same) {
        r->escapes++;
        loop->changed = value_tuple(values);
    }
    *out = value_bool(!same);
    return true;
}

static const ObjectType cycle_type = { .name = "method", .call = call_cycle };
static const ObjectType changed_type = { .name = "method", .call = call_changed };

static Value loop_method(Render *r, Loop *loop, const ObjectType *type)
{
    LoopMethod *method = ARENA_NEW(r->arena, LoopMethod);
    *method = (LoopMethod){ { type }, loop };
    return value_object(&method->object);
}

static const struct {
    Str name;
    LoopAttribute attribute;
} attributes[] = {
    { STR("index"), LOOP_INDEX },         { STR("index0"), LOOP_INDEX0 },
    { STR("first"), LOOP_FIRST },         { STR("last"), LOOP_LAST },
    { STR("length"), LOOP_LENGTH },       { STR("revindex"), LOOP_REVINDEX },
    { STR("revindex0"), LOOP_REVINDEX0 }, { STR("cycle"), LOOP_CYCLE },
    { STR("depth"), LOOP_DEPTH },         { STR("depth0"), LOOP_DEPTH0 },
    { STR("previtem"), LOOP_PREVIOUS },   { STR("nextitem"), LOOP_NEXT },
    { STR("changed"), LOOP_CHANGED },
};

LoopAttribute loop_attribute_from_name(Str name)
{
    for (size_t i = 0; i < COUNT_OF(attributes); i++) {
        if (str_eq(attributes[i].name, name)) {
            return attributes[i].attribute;
        }
    }
    return LOOP_NO_ATTRIBUTE;
}

bool loop_attribute(Render *r, Loop *loop, LoopAttribute attribute, Value *out)
{
    int64_t length = loop_length(loop);
    switch (attribute) {
    case LOOP_NO_ATTRIBUTE: break;
    case LOOP_INDEX: *out = value_int(loop->index + 1); return true;
    case LOOP_INDEX0: *out = value_int(loop->index); return true;
    case LOOP_REVINDEX: *out = value_int(length - loop->index); return true;
    case LOOP_REVINDEX0: *out = value_int(length - loop->index - 1); return true;
    case LOOP_FIRST: *out = value_bool(loop->index == 0); return true;
    case LOOP_LAST: *out = value_bool(loop->index + 1 >= length); return true;
    case LOOP_LENGTH: *out = value_int(length); return true;
    case LOOP_DEPTH: *out = value_int((int64_t)loop->depth0 + 1); return true;
    case LOOP_DEPTH0: *out = value_int(loop->depth0); return true;
    case LOOP_PREVIOUS:
        if (loop->index <= 0) {
            *out = undefined_hint(r, "there is no previous item");
            return true;
        }
        return item_at(r, loop, loop->index - 1, out);
    case LOOP_NEXT:
        if (loop->index + 1 >= length) {
            *out = undefined_hint(r, "there is no next item");
            return true;
        }
        return item_at(r, loop, loop->index + 1, out);
    case LOOP_CYCLE: *out = loop_method(r, loop, &cycle_type); return true;
    case LOOP_CHANGED: *out = loop_method(r, loop, &changed_type); return true;
    }
    return true;
}

static bool loop_get_attr(Render *r, Object *object, Str name, Value *out, bool *found)
{
    LoopAttribute attribute = loop_attribute_from_name(name);
    *found = attribute != LOOP_NO_ATTRIBUTE;
    return !*found || loop_attribute(r, (Loop *)object, attribute, out);
}

static bool loop_object_length(Render *r, Object *object, int64_t *out)
{
    *out = loop_length((Loop *)object);
    return true;
}

static bool loop_print(Render *r, Object *object, Buf *out)
{
    const Loop *loop = (Loop *)object;
    buf_put_format(out, "<LoopContext %lld/%lld>", (long long)loop->index + 1,
                   (long long)loop_length(loop));
    return true;
}

static bool loop_call_object(Render *r, Object *object, const Args *args, Value *out)
{
    return loop_call(r, (Loop *)object, args, false, out);
}

const ObjectType loop_type = {
    .name = "jinja2.runtime.LoopContext",
    .get_attr = loop_get_attr,
    .length = loop_object_length,
    .print = loop_print,
    .call = loop_call_object,
};

bool loop_render(Render *r, const Function *function, Frame *outer, Value iterable, uint32_t depth0)
{
    FrameMark mark;
    Frame *frame = frame_open(r, function, outer, outer->context, &mark);
    frame->depth0 = depth0;
    frame->slots[function->loop_slot] = iterable;
    bool ok = interpret(r, frame, NULL);
    frame_close(r, mark);
    return ok;
}

bool loop_call(Render *r, Loop *loop, const Args *args, bool emit, Value *out)
{
    if (loop->function == NULL) {
        return render_raise(r, FAULT_TYPE,
                            "The loop must have the 'recursive' marker to be called recursively.");
    }
    if (args->count != 1 || args->named != NULL) {
        return render_raise(r, FAULT_TYPE, "loop() takes exactly one argument");
    }
    if (emit) {
        return loop_render(r, loop->function, loop->frame, args->values[0], loop->depth0 + 1);
    }
    capture_begin(r);
    if (!loop_render(r, loop->function, loop->frame, args->values[0], loop->depth0 + 1)) {
        capture_drop(r);
        return false;
    }
    return capture_end(r, out);
}
