/* Contexts, and the blocks of templates in an inheritance chain. */
#include "lang/template/ops.h"
#include "lang/template/runtime.h"

Context *context_new(Render *r, const Template *template, Context *parent, Map *base)
{
    Context *context = ARENA_NEW(r->arena, Context);
    context->template = template;
    context->parent = parent;
    context->base = base;
    context->autoescape = r->settings->autoescape;
    return context;
}

static const Value *find(const Map *map, const Name *name)
{
    if (map == NULL) {
        return NULL;
    }
    const MapEntry *entry = map_find_str_hashed(map, name->text, name->hash);
    return entry == NULL ? NULL : &entry->value;
}

bool context_lookup(Render *r, const Context *context, const Name *name, Value *out)
{
    const Value *found = NULL;
    for (; context != NULL && found == NULL; context = context->parent) {
        found = find(context->vars, name);
        if (found == NULL) {
            found = find(context->base, name);
        }
    }
    if (found == NULL && r->settings->globals.kind == VALUE_MAP) {
        found = find(r->settings->globals.map, name);
    }
    if (found != NULL) {
        *out = *found;
        if (UNLIKELY(op_is_lazy(*found))) {
            render_note_lazy(r);
        }
        return true;
    }
    if (name->global != NULL) {
        r->escapes++; /* its slot outlives the statement */
        *out = function_new(r, name->global);
        return true;
    }
    return false;
}

void context_export(Render *r, Context *context, Str name, Value value)
{
    if (context->vars == NULL) {
        context->vars = map_new(r->arena, 4);
    }
    map_set_str(r->arena, context->vars, name, value);
}

Context *context_snapshot(Render *r, const Context *context)
{
    Context *copy = context_new(r, context->template, NULL, NULL);
    copy->vars = map_new(r->arena, 8);
    for (; context != NULL; context = context->parent) {
        for (uint32_t i = 0; context->vars != NULL && i < context->vars->len; i++) {
            render_charge(r, 1);
            const MapEntry *entry = &context->vars->entries[i];
            if (map_find(copy->vars, entry->key) == NULL) {
                map_append(r->arena, copy->vars, entry->key, entry->value);
            }
        }
        if (context->base != NULL) {
            copy->base = context->base;
        }
    }
    return copy;
}

BlockChain *block_table_find(BlockTable *table, Str name)
{
    const MapEntry *entry =
        table == NULL || table->index == NULL ? NULL : map_find_str(table->index, name);
    return entry == NULL ? NULL : table->chains[entry->value.integer];
}

static void chain_add(Render *r, BlockChain *chain, const Function *version)
{
    if (chain->count == chain->cap) {
        uint32_t cap = chain->cap == 0 ? 4 : chain->cap * 2;
        chain->versions = arena_grow(r->arena, chain->versions, chain->cap * sizeof(Function *),
                                     cap * sizeof(Function *));
        chain->cap = cap;
    }
    chain->versions[chain->count++] = version;
}

void block_table_add(Render *r, BlockTable *table, const Template *template)
{
    for (uint32_t i = 0; i < template->block_count; i++) {
        BlockChain *chain = block_table_find(table, template->blocks[i].name);
        if (chain == NULL) {
            if (table->count == table->cap) {
                uint32_t cap = table->cap == 0 ? 8 : table->cap * 2;
                table->chains =
                    arena_grow(r->arena, table->chains, table->cap * sizeof(BlockChain *),
                               cap * sizeof(BlockChain *));
                table->cap = cap;
            }
            if (table->index == NULL) {
                table->index = map_new(r->arena, template->block_count);
            }
            map_append(r->arena, table->index, value_string(template->blocks[i].name),
                       value_int(table->count));
            chain = ARENA_NEW(r->arena, BlockChain);
            chain->name = template->blocks[i].name;
            table->chains[table->count++] = chain;
        }
        chain_add(r, chain, template->blocks[i].function);
    }
}
