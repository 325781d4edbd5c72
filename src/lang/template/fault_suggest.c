/* "Did you mean" for variables: among what is defined where the missing one was used. */
#include "base/suggest.h"
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

void fault_suggest_name(Render *r, const Frame *frame)
{
    const Undefined *what = r->undefined;
    if (r->fault.class != FAULT_UNDEFINED || r->fault.hint.len > 0 || what == NULL ||
        what->hint.len > 0 || !value_is_missing(what->owner)) {
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
        render_hint(r, "did you mean '%" STR_FMT "'?", STR_ARG(nearest));
    }
}
