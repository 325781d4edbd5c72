/* "Did you mean" for variables: among what is defined where the missing one was used. */
#include "base/suggest.h"
#include "lang/template/ops.h"
#include "lang/template/runtime.h"

static void offer_map(Suggest *suggest, const Map *map)
{
    for (uint32_t i = 0; map != NULL && i < map->len && i < SUGGEST_OFFERS_MAX; i++) {
        if (value_is_string(map->entries[i].key) && !value_is_secret(map->entries[i].key)) {
            suggest_offer(suggest, value_str(map->entries[i].key));
        }
    }
}

/* Slots keep the variables of the template; what was looked for in vain has one too. */
static void offer_slots(Suggest *suggest, const Frame *frame)
{
    for (uint32_t i = 0; i < frame->function->slot_count; i++) {
        if (!value_is_missing(frame->slots[i])) {
            suggest_offer(suggest, frame->function->slot_names[i]);
        }
    }
}

/* The name may well exist, one level down: `company` for `vars.company`. */
static bool has_key(Render *r, Value owner, Str name)
{
    bool mapping =
        owner.kind == VALUE_MAP || (owner.kind == VALUE_OBJECT && owner.object->type->mapping);
    bool has = false;
    return mapping && !value_is_secret(owner) && op_contains(r, value_string(name), owner, &has) &&
           has;
}

static bool find_in_map(Render *r, const Map *map, Str name, Str *owner)
{
    for (uint32_t i = 0; map != NULL && i < map->len && i < SUGGEST_OFFERS_MAX; i++) {
        const MapEntry *entry = &map->entries[i];
        if (value_is_string(entry->key) && !value_is_secret(entry->key) &&
            has_key(r, entry->value, name)) {
            *owner = value_str(entry->key);
            return true;
        }
    }
    return false;
}

static bool find_owner(Render *r, const Frame *frame, Str name, Str *owner)
{
    for (const Frame *scope = frame; scope != NULL; scope = scope->outer) {
        for (uint32_t i = scope->function->slot_count; i-- > 0;) { /* loops have the later ones */
            if (has_key(r, scope->slots[i], name)) {
                *owner = scope->function->slot_names[i];
                return true;
            }
        }
    }
    for (const Context *context = frame->context; context != NULL; context = context->parent) {
        if (find_in_map(r, context->vars, name, owner) ||
            find_in_map(r, context->base, name, owner)) {
            return true;
        }
    }
    return false;
}

/* An imported template sees none of the variables, unless it is imported with context. */
static bool is_left_outside(const Render *r, const Frame *frame, Str name)
{
    for (const Context *context = frame->context; context != NULL; context = context->parent) {
        if (context->base != NULL) {
            return false;
        }
    }
    return r->variables != NULL && map_find_str(r->variables, name) != NULL;
}

void fault_suggest_name(Render *r, const Frame *frame)
{
    const Undefined *what = r->undefined;
    if (r->fault.class != FAULT_UNDEFINED || r->fault.hint.len > 0 || what == NULL ||
        what->hint.len > 0 || !value_is_missing(what->owner)) {
        return;
    }
    Str owner;
    if (find_owner(r, frame, what->name, &owner)) {
        render_did_you_mean(r, arena_format(r->arena, "%" STR_FMT ".%" STR_FMT, STR_ARG(owner),
                                            STR_ARG(what->name)));
        return;
    }
    if (is_left_outside(r, frame, what->name)) {
        render_hint(r, "this was imported without variables: write 'import ... with context'");
        return;
    }
    Suggest suggest = suggest_make(what->name);
    for (const Frame *scope = frame; scope != NULL; scope = scope->outer) {
        offer_slots(&suggest, scope);
    }
    for (const Context *context = frame->context; context != NULL; context = context->parent) {
        offer_map(&suggest, context->vars);
        offer_map(&suggest, context->base);
    }
    if (r->settings->globals.kind == VALUE_MAP) {
        offer_map(&suggest, r->settings->globals.map);
    }
    for (const Native *const *table = global_tables; *table != NULL; table++) {
        for (const Native *row = *table; row->name != NULL; row++) {
            suggest_offer(&suggest, str_from_c(row->name));
        }
    }
    Str nearest;
    if (suggest_found(&suggest, &nearest)) {
        render_did_you_mean(r, nearest);
    }
}
