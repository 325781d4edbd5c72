/* Facts about the machine, by name.
 *
 *     FactWorld world;
 *     if (!fact_world_open("/", &world, &err)) ...
 *     Value facts = facts_collect(&world, arena, NULL, 0, &problems);
 *     fact_world_close(&world);
 */
#pragma once

#include "base/problems.h"
#include "facts/fact.h"

/* Ends with NULL; in the order of facts.def. */
extern const Fact *const facts[];
/* NULL when there is none of that name. */
const Fact *fact_find(Str name);
/* The closest name, for "did you mean"; false when nothing is close. */
bool fact_suggest(Str name, Str *out);

/* What one fact says; null when its source is absent. A source that fails adds a warning (E0580)
 * and gives null too. */
Value fact_collect(const Fact *fact, const FactWorld *world, Arena *arena, Problems *problems);
/* A map from names to values: of these facts, in this order, or of all when `count` is 0. */
Value facts_collect(const FactWorld *world, Arena *arena, const Fact *const *wanted, uint32_t count,
                    Problems *problems);
