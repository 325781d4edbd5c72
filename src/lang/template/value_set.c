#include "lang/template/value_set.h"

#include "lang/template/filter.h"

ValueSet value_set_make(Render *r)
{
    return (ValueSet){ map_new(r->arena, 0), list_new(r->arena, 0) };
}

bool value_set_has(Render *r, const ValueSet *set, Value v, bool *has)
{
    if (value_is_key(v)) {
        *has = map_find(set->keys, v) != NULL;
        return op_charge_key(r, v);
    }
    *has = false;
    if (!render_charge(r, set->others->len)) {
        return false;
    }
    for (uint32_t i = 0; i < set->others->len && !*has; i++) {
        if (!op_equal(r, set->others->items[i], v, has)) {
            return false;
        }
    }
    return true;
}

bool value_set_add(Render *r, ValueSet *set, Value v, bool *added)
{
    bool has;
    if (!value_set_has(r, set, v, &has)) {
        return false;
    }
    *added = !has;
    if (!has) {
        return value_is_key(v) ? append_entry(r, set->keys, v, value_null())
                               : push_item(r, set->others, v);
    }
    return true;
}

bool value_set_add_all(Render *r, ValueSet *set, Value items)
{
    Iter iter;
    Value item;
    bool added;
    if (!iter_start(r, items, &iter)) {
        return false;
    }
    while (iter_next(r, &iter, &item)) {
        if (!charge_iteration(r) || !value_set_add(r, set, item, &added)) {
            return false;
        }
    }
    return !render_failed(r);
}
