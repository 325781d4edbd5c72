/* Values with behavior: callables, iterators, namespaces, ranges, views, lazy maps.
 *
 * An ObjectType is a table of what its objects can do. A missing function means that the object
 * cannot: the operator then raises the TypeError that Python would, or gives undefined. */
#pragma once

#include "lang/template/native.h"

typedef struct Iter Iter;

/* What stands for an address where Python prints one: output does not change between runs. */
#define OBJECT_ADDRESS "0x7f0000000000"

typedef struct ObjectType {
    const char *name;   /* Python's name of the type, for messages */
    const char *module; /* where Jinja2 has it: "jinja2.utils"; NULL for Python's own types */
    /* Each of the two sets `found`; not found is no failure. */
    bool (*get_attr)(Render *r, Object *object, Str name, Value *out, bool *found);
    bool (*get_item)(Render *r, Object *object, Value key, Value *out, bool *found);
    /* Where `owner[key](...)` or `owner.key(...)` calls: what is called, if that is another thing
     * than the element is elsewhere. Missing or not found: as everywhere. */
    bool (*get_callee)(Render *r, Object *object, Value key, Value *out, bool *found);
    /* The plain value that a lazy object stands for. It is what filters, tests and methods get, and
     * what an operator works on that has no function here. May be asked more than once. */
    bool (*force)(Render *r, Object *object, Value *out);
    bool (*call)(Render *r, Object *object, const Args *args, Value *out);
    bool (*iterate)(Render *r, Object *object, Iter *iter);
    bool (*length)(Render *r, Object *object, int64_t *out);
    bool (*contains)(Render *r, Object *object, Value needle, bool *out);
    bool (*slice)(Render *r, Object *object, Value start, Value stop, Value step, Value *out);
    bool (*truth)(Render *r, Object *object, bool *out); /* default: length, else true */
    bool (*equal)(Render *r, Object *object, Value other, bool *out); /* default: identity */
    bool (*print)(Render *r, Object *object, Buf *out); /* str(); default: <name object> */
    bool (*repr)(Render *r, Object *object, Buf *out);  /* default: print */
    /* Whether anything it gives out is secret; asks op_holds_secret. Default: no. */
    bool (*holds_secret)(Render *r, const Object *object);
    bool markup;     /* printing gives text that is safe for HTML already */
    bool mapping;    /* counts as a mapping for the `mapping` test and for ** */
    bool sequence;   /* counts as a sequence for the `sequence` test */
    bool unhashable; /* cannot even be looked for in a map */
} ObjectType;

struct Object {
    const ObjectType *type;
};

/* Walks over any iterable.
 *
 *     Iter iter;
 *     if (!iter_start(r, value, &iter)) return false;      (TypeError: not iterable)
 *     while (iter_next(r, &iter, &item)) { ... }
 *     if (render_failed(r)) return false;
 *
 * Every item costs one step of the budget. Maps give their keys, strings their characters. */
struct Iter {
    const List *list; /* of a list or tuple; else NULL, and there is `next` */
    bool (*next)(Render *r, Iter *iter, Value *item); /* false: at the end, or failed */
    Value owner;
    uint64_t position;
    int64_t stop, step; /* for ranges */
    bool secret;        /* items taken from a secret are secret */
};

bool iter_start(Render *r, Value v, Iter *iter);
static inline bool iter_next(Render *r, Iter *iter, Value *item)
{
    const List *list = iter->list;
    if (list == NULL) {
        return iter->next(r, iter, item);
    }
    /* The list may grow while it is walked over; every item is paid for, so this ends. */
    if (iter->position >= list->len || !render_charge(r, 1)) {
        return false;
    }
    *item = list->items[iter->position++];
    if (UNLIKELY(iter->secret)) {
        item->flags |= VALUE_SECRET;
    }
    return true;
}
/* All items as a new list. */
bool iter_collect(Render *r, Value v, List **out);

/* A generator over the items of a list: one pass, no length, as Python's generators. `name` is
 * what it says when printed, like "sync_do_map". */
Value generator_new(Render *r, List *items, const char *name);

/* range(start, stop, step): lazy, sized, indexable. */
Value range_new(Render *r, int64_t start, int64_t stop, int64_t step);
/* dict.keys(), .values(), .items(): views that follow the map. */
typedef enum ViewKind {
    VIEW_KEYS,
    VIEW_VALUES,
    VIEW_ITEMS
} ViewKind;
Value view_new(Render *r, Map *map, ViewKind kind);

/* A method with its owner: `text.upper` without the call. */
Value bound_method_new(Render *r, Value owner, const Native *native);
/* A global function as a value. */
Value function_new(Render *r, const Native *native);

Value namespace_new(Render *r, Map *attributes);
bool value_is_namespace(Value v);
/* The attributes of a namespace, for {% set ns.x = ... %}. */
Map *namespace_attributes(Value v);
Value cycler_new(Render *r, List *items);
Value joiner_new(Render *r, Value separator);

/* The class of a value, for `value.__class__.__name__`. */
Value class_new(Render *r, Value v);

/* True for values that value_call accepts. */
bool value_is_callable(Value v);
