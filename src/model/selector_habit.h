/* Mistakes in a part of a selector that has no sense as it is: what other tools write, what was typed
 * wrongly, and what to write instead. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

typedef struct SelectorMistake {
    size_t at; /* in the term, and how many bytes of it */
    size_t length;
    Str message;
    Str hint; /* may be empty */
    Str term; /* what to write in place of the term; empty: the hint is advice only */
} SelectorMistake;

/* `term` is what stands between 'and', 'or' and parentheses. Without `expressions` only names and
 * labels can be meant, and so more is a mistake. False: nothing is known against it. */
bool selector_mistake_find(Arena *arena, Str term, bool expressions, SelectorMistake *out);
/* What stands where 'and' or 'or' should, `rest` begins with it; places are in `rest`. */
void selector_mistake_between(Arena *arena, Str rest, SelectorMistake *out);

/* Whether it is made of what names, labels and their patterns are made of. */
bool selector_is_plain(Str text);
