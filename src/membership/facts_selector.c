#include "membership/facts_selector.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cluster/facts_digest.h"
#include "cluster/object_selector.h"
#include "lang/json.h"

enum {
    /* Limits of one expression for one node; a request evaluates thousands. */
    STEPS_MAX = 2000,
    MEMORY_MAX = 64 << 10, /* maximum memory in bytes */
    BEGIN_STEPS = 50       /* approximate cost of starting an expression */
};

struct FactsSelector {
    Arena arena;
    Templates *templates;
    Sources sources;
    Rendered rendered;
    const Selector *selector;
    /* The node being evaluated: */
    Arena *node_arena;
    Value scope;
    Problems problems;
    uint64_t steps; /* number of steps of all expressions so far */
};

static DynamicOutcome evaluate(void *context, const Dynamic *expression, Value *out)
{
    FactsSelector *selector = context;
    DynamicOutcome outcome =
        dynamic_evaluate(expression, selector->scope, &selector->sources, &selector->rendered,
                         selector->node_arena, out, &selector->problems);
    selector->steps += BEGIN_STEPS + selector->rendered.steps;
    return outcome;
}

/* Returns false if an expression could not be evaluated. */
static bool match(FactsSelector *selector, Arena *arena, SelectorSubject subject, Value server,
                  bool *out)
{
    Map *scope = map_new(arena, 1);
    map_set_str(arena, scope, STR("server"), server);
    selector->node_arena = arena;
    selector->scope = value_map(scope);
    problems_init(&selector->problems, arena);
    subject.evaluate = evaluate;
    subject.context = selector;
    return selector_match(selector->selector, &subject, out);
}

/* The expression is evaluated for a node that has all facts, so any failure is a mistake in it.
 * Parts that are short-circuited are not checked. */
static bool try_on_sample(FactsSelector *selector, Str text, Arena *arena, Problems *problems)
{
    bool ignored;
    if (match(selector, arena, (SelectorSubject){ .name = STR("n") }, facts_digest_sample(arena),
              &ignored)) {
        return true;
    }
    Str why = selector->problems.count > 0 ? selector->problems.items[0].message : STR_EMPTY;
    problems_add(problems, "E0501", NULL, 0, 0,
                 "'%" STR_FMT "' cannot be evaluated for nodes: %" STR_FMT
                 "; 'server' has " FACTS_DIGEST_NAMES,
                 STR_ARG(text), STR_ARG(why));
    return false;
}

bool facts_selector_parse_as(Arena *arena, Str name, Str text, FactsSelector **out,
                             Problems *problems)
{
    AUTO(FactsSelector) *selector = memory_new(sizeof *selector);
    TemplateSettings settings = dynamic_template_settings();
    settings.limits.steps = STEPS_MAX;
    settings.limits.memory = MEMORY_MAX;
    arena_init(&selector->arena, ARENA_UNLIMITED);
    selector->templates = templates_new(&settings);
    selector->rendered = rendered_make(&settings.limits);
    if (text.len > SELECTOR_TEXT_MAX) {
        problems_add(problems, "E0501", NULL, 0, 0, "a selector must be at most %d bytes long",
                     SELECTOR_TEXT_MAX);
        return false;
    }
    /* Mistakes in a selector without expressions are reported in the usual way. */
    const Selector *plain;
    if (str_find(text, STR("server"), 0) == STR_NOT_FOUND &&
        !object_selector_parse_as(arena, name, text, &plain, problems)) {
        return false;
    }
    sources_init(&selector->sources, &selector->arena);
    Value value = value_string(arena_copy(&selector->arena, text));
    value.source = sources_add(&selector->sources, name, value_str(value));
    value.start = 0;
    value.span = (uint32_t)text.len;
    if (!selector_parse(&selector->arena, selector->templates, &selector->sources, value,
                        &selector->selector, problems) ||
        !try_on_sample(selector, text, arena, problems)) {
        return false;
    }
    *out = TAKE(selector);
    return true;
}

bool facts_selector_parse(Str text, FactsSelector **out, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    Problems problems;
    arena_init(&arena, ARENA_UNLIMITED);
    problems_init(&problems, &arena);
    return facts_selector_parse_as(&arena, STR("selector"), text, out, &problems) ||
           object_selector_error(&problems, err);
}

void facts_selector_free(FactsSelector *selector)
{
    if (selector != NULL) {
        rendered_clear(&selector->rendered);
        templates_free(selector->templates);
        arena_clear(&selector->arena);
        free(selector);
    }
}

const Selector *facts_selector_plain(const FactsSelector *selector)
{
    return selector->selector;
}

bool facts_selector_uses_facts(const FactsSelector *selector)
{
    return selector_has_expression(selector->selector);
}

bool facts_selector_matches(FactsSelector *selector, Str name, Value labels, Str digest)
{
    AUTO_CLEAR(Arena) arena;
    Value server;
    Error ignored;
    bool matches = false;
    arena_init(&arena, ARENA_UNLIMITED);
    if (digest.len == 0 || !json_parse_text(&arena, digest, NULL, &server, &ignored)) {
        server = value_map(map_new(&arena, 0));
    }
    SelectorSubject subject = { .name = name,
                                .labels = labels.kind == VALUE_MAP ? labels.map : NULL };
    return match(selector, &arena, subject, server, &matches) && matches;
}

uint64_t facts_selector_steps(const FactsSelector *selector)
{
    return selector->steps;
}
