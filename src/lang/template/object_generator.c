/* A generator over items that are there already: what makes it one is that it is walked once. */
#include "lang/template/ops.h"

typedef struct Generator {
    Object base;
    List *items;
    uint32_t position;
    const char *name;
} Generator;

static bool generator_next(Render *r, Iter *iter, Value *item)
{
    Generator *generator = (Generator *)iter->owner.object;
    if (generator->position >= generator->items->len || !render_charge(r, 1)) {
        return false;
    }
    *item = generator->items->items[generator->position++];
    if (UNLIKELY(iter->secret)) {
        item->flags |= VALUE_SECRET;
    }
    return true;
}

static bool generator_iterate(Render *r, Object *object, Iter *iter)
{
    iter->next = generator_next;
    return true;
}

static bool generator_print(Render *r, Object *object, Buf *out)
{
    buf_put_format(out, "<generator object %s at " OBJECT_ADDRESS ">",
                   ((const Generator *)object)->name);
    return true;
}

static bool generator_holds_secret(Render *r, const Object *object)
{
    return op_holds_secret(r, value_list(((const Generator *)object)->items));
}

static const ObjectType generator_type = {
    .name = "generator",
    .iterate = generator_iterate,
    .print = generator_print,
    .holds_secret = generator_holds_secret,
};

Value generator_new(Render *r, List *items, const char *name)
{
    Generator *generator = arena_alloc(r->arena, sizeof *generator);
    *generator = (Generator){ { &generator_type }, items, 0, name };
    return value_object(&generator->base);
}
