/* Selectors (model/selector.h) of objects: about their names and labels, and nothing else. Pure. */
#pragma once

#include "base/error.h"
#include "model/selector.h"

/* Keeps a copy of the text. Fails with ERROR_INVALID and a text as "column 10: ...; write 'and'", for
 * expressions too: what they would ask is what a node says of itself (membership/facts_selector.h). */
MUST_CHECK bool object_selector_parse(Arena *arena, Str text, const Selector **out, Error *err);
/* The same with problems at places of a source of this name that has nothing but the selector. */
MUST_CHECK bool object_selector_parse_as(Arena *arena, Str name, Str text, const Selector **out,
                                         Problems *problems);
/* The first of them, as an ERROR_INVALID; always false. */
bool object_selector_tell(const Problems *problems, Error *err);
/* `selector` may be NULL, and matches all then. `labels` are a map of texts, or anything else: none. */
bool object_selector_matches(const Selector *selector, Str name, Value labels);
