#include "run/renders.h"

#include <stdlib.h>

#include "base/bug.h"
#include "base/memory.h"

void renders_init(Renders *renders, const TemplateLimits *limits)
{
    *renders = (Renders){ .limits = *limits };
}

void renders_clear(Renders *renders)
{
    for (uint32_t i = 0; i < RENDERS_MAX && renders->items[i] != NULL; i++) {
        rendered_clear(renders->items[i]);
        free(renders->items[i]);
        renders->items[i] = NULL;
    }
}

Rendered *renders_push(Renders *renders)
{
    if (renders->depth == RENDERS_MAX) {
        return NULL;
    }
    Rendered **item = &renders->items[renders->depth++];
    if (*item == NULL) {
        *item = memory_new(sizeof **item);
        **item = rendered_make(&renders->limits);
    }
    return *item;
}

void renders_pop(Renders *renders)
{
    BUG_IF(renders->depth == 0);
    renders->depth--;
}
