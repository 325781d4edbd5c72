/* Selectors (model/selector.h) of nodes by names, labels and reported facts, such as `role=web and
 * server.os == 'debian'`. Expressions see `server`, with the facts of cluster/facts_digest.h. */
#pragma once

#include "base/error.h"
#include "model/selector.h"

typedef struct FactsSelector FactsSelector;

/* Copies the text. Fails with ERROR_INVALID, including for an expression that uses an unknown
 * fact. */
MUST_CHECK bool facts_selector_parse(Str text, FactsSelector **out, Error *err);
/* Like facts_selector_parse, but adds problems with locations; the selector is the entire text of a
 * source with this name. They are allocated in the arena. */
MUST_CHECK bool facts_selector_parse_as(Arena *arena, Str name, Str text, FactsSelector **out,
                                        Problems *problems);
void facts_selector_free(FactsSelector *selector); /* NULL is allowed */
DEFINE_AUTO(FactsSelector, facts_selector_free)

/* The part that refers to names and labels; valid as long as this selector is. */
const Selector *facts_selector_plain(const FactsSelector *selector);
/* Whether the selector refers to facts. */
bool facts_selector_uses_facts(const FactsSelector *selector);
/* `labels` must be a map of strings; anything else counts as no labels. `digest` is empty for a
 * node without facts. An expression about a fact that the node does not have matches nothing, even
 * after `!`. */
bool facts_selector_matches(FactsSelector *selector, Str name, Value labels, Str digest);
/* Total cost of its expressions so far, in template steps. */
uint64_t facts_selector_steps(const FactsSelector *selector);
