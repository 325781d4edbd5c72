/* Input: a template. Invariants: the result is a text or an error, and always the same; secrets
 * appear only in marked ranges; a scrubbed text contains none. */
#include <stdlib.h>

#include "base/bug.h"
#include "lang/scrub.h"
#include "template_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The result of one render. */
typedef struct Outcome {
    bool ok;
    Str text;
    uint32_t secret_count;
    FaultClass class;
    Str message;
    uint32_t line, column;
} Outcome;

static Outcome render(const TemplateWorld *world, const Template *template, Rendered *rendered,
                      Arena *arena)
{
    Fault fault;
    Value variables = template_world_variables(world, arena);
    Outcome outcome = { .ok = template_render(template, variables, rendered, &fault) };
    outcome.text = arena_copy(arena, buf_str(&rendered->text));
    outcome.secret_count = rendered->secret_count;
    if (!outcome.ok) {
        check_fault(world, &fault);
        outcome.class = fault.class;
        outcome.message = arena_copy(arena, fault.message);
        outcome.line = fault.line;
        outcome.column = fault.column;
    }
    check_secrets(world, rendered);
    check_memory(world, rendered);
    return outcome;
}

/* Memory is counted in blocks that an earlier render may have left, so the limit is not always hit
 * at the same point. */
static void check_same(const Outcome *a, const Outcome *b)
{
    if (a->class == FAULT_LIMIT || b->class == FAULT_LIMIT) {
        return;
    }
    BUG_IF(a->ok != b->ok || a->class != b->class || a->secret_count != b->secret_count);
    BUG_IF(a->line != b->line || a->column != b->column);
    BUG_IF(!str_eq(a->message, b->message));
    if (!str_eq(a->text, b->text)) {
        BUG("first:\n%" STR_FMT "\nthen:\n%" STR_FMT, STR_ARG(a->text), STR_ARG(b->text));
    }
}

/* Scrubbing the rendered text removes the secrets of the variables. */
static void scrub(const TemplateWorld *world, Str text, Arena *arena)
{
    SecretSet set;
    secret_set_init(&set, arena);
    Error err;
    if (!secret_set_add_value(&set, world->variables, &err)) {
        return;
    }
    AUTO(Scrubber) *scrubber = NULL;
    if (!scrubber_new(&set, &scrubber, &err)) {
        return;
    }
    AUTO_CLEAR(Buf) clean = buf_make(BUF_UNLIMITED);
    scrubber_apply(scrubber, text, &clean);
    uint32_t at = 0;
    for (StrMapEntry *entry; (entry = str_map_next(&set.texts, &at)) != NULL;) {
        /* The replacement text between two halves could complete what looks like a secret. */
        if (str_find(entry->key, STR("secret"), 0) == STR_NOT_FOUND) {
            BUG_IF(str_find(buf_str(&clean), entry->key, 0) != STR_NOT_FOUND);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(TemplateWorld) world;
    template_world_init(&world, str_from((const char *)data, size));
    AUTO(Templates) *templates = templates_new(&world.settings);
    const Template *template;
    Fault fault;
    if (!templates_compile(templates, STR("fuzz"), world.text, &template, &fault)) {
        check_fault(&world, &fault);
        return 0;
    }
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    AUTO_CLEAR(Rendered) rendered = rendered_make(&world.settings.limits);
    Outcome first = render(&world, template, &rendered, &arena);
    Outcome second = render(&world, template, &rendered, &arena);
    check_same(&first, &second);
    scrub(&world, first.text, &arena);
    return 0;
}
