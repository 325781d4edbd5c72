/* Values with behavior: callables, iterators, namespaces, ranges, views, lazy maps.
 *
 * An ObjectType is a table of the operations that its objects support. A NULL function means that
 * the operation is unsupported: the operator then raises the TypeError that Python would raise, or
 * returns undefined. */
#pragma once

#include "lang/template/native.h"

typedef struct Iter Iter;

/* Printed where Python prints an address, so that output does not change between runs. */
#define OBJECT_ADDRESS "0x7f0000000000"

typedef struct ObjectType {
    const char *name; /* name of the type in Python, for messages */
    /* module in Jinja2, such as "jinja2.utils"; NULL for Python's builtin types */
    const char *module;
    /* Both set `found`; not found is not a failure. */
    bool (*get_attr)(Render *r, Object *object, Str name, Value *out, bool *found);
    bool (*get_item)(Render *r, Object *object, Value key, Value *out, bool *found);
    /* The callee in `owner[key](...)` or `owner.key(...)`, if it differs from the element itself.
     * NULL or not found: the element is called. */
    bool (*get_callee)(Render *r, Object *object, Value key, Value *out, bool *found);
    /* The plain value that a lazy object represents. Filters, tests and methods receive it, and
     * operators that have no function here use it. May be called repeatedly. */
    bool (*force)(Render *r, Object *object, Value *out);
    bool (*call)(Render *r, Object *object, const Args *args, Value *out);
    bool (*iterate)(Render *r, Object *object, Iter *iter);
    bool (*length)(Render *r, Object *object, int64_t *out);
    bool (*contains)(Render *r, Object *object, Value needle, bool *out);
    bool (*slice)(Render *r, Object *object, Value start, Value stop, Value step, Value *out);
    /* default: based on length, otherwise true */
    bool (*truth)(Render *r, Object *object, bool *out);
    bool (*equal)(Render *r, Object *object, Value other, bool *out); /* default: identity */
    bool (*print)(Render *r, Object *object, Buf *out); /* str(); default: <name object> */
    bool (*repr)(Render *r, Object *object, Buf *out);  /* default: print */
    /* Whether any of its values is secret; called by op_holds_secret. Default: no. */
    bool (*holds_secret)(Render *r, const Object *object);
    bool markup;     /* printed text is already safe for HTML */
    bool mapping;    /* is a mapping for the `mapping` test and for ** */
    bool sequence;   /* is a sequence for the `sequence` test */
    bool unhashable; /* lookups in a map fail */
} ObjectType;

struct Object {
    const ObjectType *type;
};

/* Iterates over any iterable.
 *
 *     Iter iter;
 *     if (!iter_start(r, value, &iter)) return false;      (TypeError: not iterable)
 *     while (iter_next(r, &iter, &item)) { ... }
 *     if (render_failed(r)) return false;
 *
 * Every item costs one step of the budget. Maps yield their keys, strings their characters. */
struct Iter {
    const List *list; /* of a list or tuple; otherwise NULL, and `next` is set */
    bool (*next)(Render *r, Iter *iter, Value *item); /* false at the end and on failure */
    Value owner;
    uint64_t position;
    int64_t stop, step; /* for ranges */
    bool secret;        /* items of a secret container are secret */
};

bool iter_start(Render *r, Value v, Iter *iter);
static inline bool iter_next(Render *r, Iter *iter, Value *item)
{
    const List *list = iter->list;
    if (list == NULL) {
        return iter->next(r, iter, item);
    }
    /* The list may grow during the iteration; every item is charged, so this terminates. */
    if (iter->position >= list->len || !render_charge(r, 1)) {
        return false;
    }
    *item = list->items[iter->position++];
    if (UNLIKELY(iter->secret)) {
        item->flags |= VALUE_SECRET;
    }
    return true;
}
/* Collects all items into a new list. */
bool iter_collect(Render *r, Value v, List **out);

/* A generator over the items of a list: single pass, no length, like Python's generators. `name` is
 * shown when it is printed, such as "sync_do_map". */
Value generator_new(Render *r, List *items, const char *name);

/* range(start, stop, step): lazy, with length and index. */
Value range_new(Render *r, int64_t start, int64_t stop, int64_t step);
/* dict.keys(), .values(), .items(): live views of the map. */
typedef enum ViewKind {
    VIEW_KEYS,
    VIEW_VALUES,
    VIEW_ITEMS
} ViewKind;
Value view_new(Render *r, Map *map, ViewKind kind);

/* A method bound to its owner: `text.upper` without the call. */
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
