/* Selectors (model/selector.h) of nodes by names, labels and what they say of themselves, as
 * `role=web and server.os == 'debian'`. An expression sees `server`, with the facts of
 * cluster/facts_digest.h. */
#pragma once

#include "base/error.h"
#include "model/selector.h"

typedef struct FactsSelector FactsSelector;

/* Keeps a copy of the text. Fails with ERROR_INVALID, also for an expression about what is not there. */
MUST_CHECK bool facts_selector_parse(Str text, FactsSelector **out, Error *err);
/* The same with problems at places of a source of this name that has nothing but the selector; these are
 * in the arena. */
MUST_CHECK bool facts_selector_parse_as(Arena *arena, Str name, Str text, FactsSelector **out,
                                        Problems *problems);
void facts_selector_free(FactsSelector *selector); /* NULL is allowed */
DEFINE_AUTO(FactsSelector, facts_selector_free)

/* Of names and labels: as long as this one. */
const Selector *facts_selector_plain(const FactsSelector *selector);
/* Whether it asks about facts at all. */
bool facts_selector_asks(const FactsSelector *selector);
/* `labels` are a map of texts, or anything else: none. `digest` is empty for a node that has sent none. An
 * expression about a fact that the node does not have selects nothing, also behind `!`. */
bool facts_selector_matches(FactsSelector *selector, Str name, Value labels, Str digest);
/* How much work its expressions were so far, in steps of templates. */
uint64_t facts_selector_steps(const FactsSelector *selector);
