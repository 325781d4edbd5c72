/* Selectors (model/selector.h) of objects, which only refer to names and labels. Pure. */
#pragma once

#include "base/error.h"
#include "model/selector.h"

/* Copies the text. Fails with ERROR_INVALID and a text such as "column 10: ...; write 'and'".
 * Expressions are rejected too, because they would evaluate facts that a node reports about itself
 * (membership/facts_selector.h). */
MUST_CHECK bool object_selector_parse(Arena *arena, Str text, const Selector **out, Error *err);
/* Like object_selector_parse, but adds problems with locations; the selector is the entire text of
 * a source with this name. */
MUST_CHECK bool object_selector_parse_as(Arena *arena, Str name, Str text, const Selector **out,
                                         Problems *problems);
/* Sets `err` to the first problem, as ERROR_INVALID. Always returns false. */
bool object_selector_error(const Problems *problems, Error *err);
/* `selector` NULL matches all. `labels` must be a map of strings; anything else counts as no
 * labels. */
bool object_selector_matches(const Selector *selector, Str name, Value labels);
