/* Detects mistakes in a term of a selector that is not valid, such as syntax from other tools
 * and typos, and suggests what to write instead. Pure. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

typedef struct SelectorMistake {
    size_t pos; /* range of bytes in the term */
    size_t length;
    Str message;
    Str hint; /* may be empty */
    Str term; /* replacement of the term; empty: the hint is only advice */
} SelectorMistake;

/* `term` is what is between 'and', 'or' and parentheses. Without `expressions` only names and
 * labels are possible, so more terms are mistakes. Returns false if no mistake was found. */
bool selector_mistake_find(Arena *arena, Str term, bool expressions, SelectorMistake *out);
/* Handles input that is not 'and' or 'or' where one is expected, at the start of `rest`; positions
 * are relative to `rest`. */
void selector_mistake_between(Arena *arena, Str rest, SelectorMistake *out);

/* Whether it contains only characters of names, labels and their patterns. */
bool selector_is_plain(Str text);
