#include "lang/template/inside.h"

bool render_raise_inside(Render *r, const Fault *fault, Value document)
{
    if (render_failed(r)) {
        return false;
    }
    Fault *kept = &r->fault;
    *kept = *fault;
    kept->message = arena_copy(r->arena, fault->message);
    kept->hint = arena_copy(r->arena, fault->hint);
    kept->fix = arena_copy(r->arena, fault->fix);
    kept->next = NULL;
    kept->origin = NULL;
    FaultOrigin **end = &kept->origin;
    for (const FaultOrigin *origin = fault->origin; origin != NULL; origin = origin->next) {
        *end = ARENA_NEW(r->arena, FaultOrigin);
        **end = *origin;
        (*end)->next = NULL;
        if (origin->document.kind == VALUE_NULL) {
            (*end)->document = document;
        }
        end = &(*end)->next;
    }
    kept->loops = NULL;
    FaultLoop **last = &kept->loops;
    for (const FaultLoop *loop = fault->loops; loop != NULL; loop = loop->next) {
        *last = ARENA_NEW(r->arena, FaultLoop);
        **last = *loop;
        (*last)->item = arena_copy(r->arena, loop->item);
        (*last)->next = NULL;
        last = &(*last)->next;
    }
    if (kept->document.kind == VALUE_NULL) {
        kept->document = document;
    }
    return false;
}
