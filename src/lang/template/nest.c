/* Which containers the running operator is inside of. */
#include "lang/template/render.h"

bool render_enter(Render *r, Nest *nest, const void *container)
{
    *nest = (Nest){ container, r->nest, r->nest == NULL ? 1 : r->nest->depth + 1 };
    if (nest->depth > NEST_MAX) {
        return render_raise(r, FAULT_RECURSION, "maximum recursion depth exceeded");
    }
    r->nest = nest;
    return true;
}

void render_leave(Render *r, const Nest *nest)
{
    r->nest = nest->outer;
}

bool render_is_inside(const Render *r, const void *container)
{
    for (const Nest *nest = r->nest; nest != NULL; nest = nest->outer) {
        if (nest->container == container) {
            return true;
        }
    }
    return false;
}
