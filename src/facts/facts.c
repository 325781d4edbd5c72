#include "facts/facts.h"

#include "base/suggest.h"
#include "sys/machine.h"

#define FACT(name) extern const Fact fact_##name;
#include "facts/facts.def"
#undef FACT

const Fact *const facts[] = {
#define FACT(name) &fact_##name,
#include "facts/facts.def"
#undef FACT
    NULL,
};

bool fact_sources_open(const char *root, FactSources *out, Error *err)
{
    *out = (FactSources){
        .root = { .descriptor = -1 },
        .kernel = { .descriptor = -1 },
        .live = strcmp(root, "/") == 0,
        .addresses = network_addresses,
        .host_name = machine_host_name,
        .arch = machine_arch,
    };
    if (!tree_open(root, &out->root, err) || !tree_open("/", &out->kernel, err)) {
        fact_sources_close(out);
        return false;
    }
    return true;
}

void fact_sources_close(FactSources *sources)
{
    tree_close(&sources->root);
    tree_close(&sources->kernel);
}

const Fact *fact_find(Str name)
{
    for (size_t i = 0; facts[i] != NULL; i++) {
        if (str_eq_c(name, facts[i]->name)) {
            return facts[i];
        }
    }
    return NULL;
}

const char *const *fact_names(Arena *arena)
{
    const char **names = ARENA_ARRAY(arena, const char *, COUNT_OF(facts));
    for (size_t i = 0; i < COUNT_OF(facts); i++) {
        names[i] = facts[i] == NULL ? NULL : facts[i]->name;
    }
    return names;
}

bool fact_suggest(Str name, Str *out)
{
    Suggest suggest = suggest_make(name);
    for (size_t i = 0; facts[i] != NULL; i++) {
        suggest_offer(&suggest, str_from_c(facts[i]->name));
    }
    return suggest_found(&suggest, out);
}

Value fact_collect(const Fact *fact, const FactSources *sources, Arena *arena, Problems *problems)
{
    Value value = value_null();
    Error err;
    if (!fact->read(sources, arena, &value, &err)) {
        problems_add_severity(problems, SEVERITY_WARNING, "E0580", NULL, 0, 0, "fact '%s': %s",
                              fact->name, err.text);
        return value_null();
    }
    return value;
}

Value facts_collect(const FactSources *sources, Arena *arena, const Fact *const *wanted,
                    uint32_t count, Problems *problems)
{
    if (count == 0) {
        wanted = facts;
        while (facts[count] != NULL) {
            count++;
        }
    }
    Map *map = map_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        map_set_str(arena, map, str_from_c(wanted[i]->name),
                    fact_collect(wanted[i], sources, arena, problems));
    }
    return value_map(map);
}
