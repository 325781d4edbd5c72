/* Facts about the machine, by name.
 *
 *     FactSources sources;
 *     if (!fact_sources_open("/", &sources, &err)) ...
 *     Value facts = facts_collect(&sources, arena, NULL, 0, &problems);
 *     fact_sources_close(&sources);
 */
#pragma once

#include "base/problems.h"
#include "facts/fact.h"

/* In the order of facts.def; ends with NULL. */
extern const Fact *const facts[];
/* Returns NULL if there is no such fact. */
const Fact *fact_find(Str name);
/* The names of all facts; ends with NULL. */
const char *const *fact_names(Arena *arena);
/* The closest name, for "did you mean"; returns false if none is close. */
bool fact_suggest(Str name, Str *out);

/* The value of a fact; null if its source does not exist. If reading fails, adds a warning (E0580)
 * and returns null as well. */
Value fact_collect(const Fact *fact, const FactSources *sources, Arena *arena, Problems *problems);
/* Returns a map from names to values of these facts, in this order, or of all facts if `count` is
 * 0. */
Value facts_collect(const FactSources *sources, Arena *arena, const Fact *const *wanted,
                    uint32_t count, Problems *problems);
