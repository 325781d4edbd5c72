/* Buffers for nested renders: a variable that uses another, a macro that calls one. Each nested
 * render needs a separate Rendered; they are reused. */
#pragma once

#include "lang/template/template.h"

enum {
    RENDERS_MAX = 100 /* nesting depth */
};

typedef struct Renders {
    TemplateLimits limits;
    Rendered *items[RENDERS_MAX]; /* NULL if not used so far */
    uint32_t depth;
} Renders;

void renders_init(Renders *renders, const TemplateLimits *limits);
void renders_clear(Renders *renders);
DEFINE_AUTO_CLEAR(Renders, renders_clear)

/* An unused one, until the matching renders_pop(); NULL if there are too many. */
Rendered *renders_push(Renders *renders);
void renders_pop(Renders *renders);
