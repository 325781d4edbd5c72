/* The buffers of renders inside one another: a variable that asks for another, a macro that calls
 * one. Each needs a Rendered of its own while it lasts; they are kept for the next time. */
#pragma once

#include "lang/template/template.h"

enum {
    RENDERS_MAX = 100 /* inside one another */
};

typedef struct Renders {
    TemplateLimits limits;
    Rendered *items[RENDERS_MAX]; /* NULL where none was needed so far */
    uint32_t depth;
} Renders;

void renders_init(Renders *renders, const TemplateLimits *limits);
void renders_clear(Renders *renders);
DEFINE_AUTO_CLEAR(Renders, renders_clear)

/* One that is free, until the matching renders_pop; NULL when there are too many. */
Rendered *renders_push(Renders *renders);
void renders_pop(Renders *renders);
