/* Secrets in values, and the byte ranges of rendered text that come from them. */
#include <stdlib.h>

#include "base/memory.h"
#include "lang/scrub.h"
#include "lang/template/ops.h"

static void range_add(Rendered *rendered, SecretRange range)
{
    if (rendered->secret_count == rendered->secret_cap) {
        uint32_t cap = rendered->secret_cap == 0 ? 16 : rendered->secret_cap * 2;
        SecretRange *grown = realloc(rendered->secrets, cap * sizeof *grown);
        if (grown == NULL) {
            memory_exhausted(cap * sizeof *grown);
        }
        rendered->secrets = grown;
        rendered->secret_cap = cap;
    }
    rendered->secrets[rendered->secret_count++] = range;
}

void render_mark_secret(Render *r, const Buf *out, size_t start)
{
    Rendered *rendered = r->ranges;
    if (rendered == NULL || out != r->out || out->len == start) {
        return;
    }
    SecretRange *last =
        rendered->secret_count == 0 ? NULL : &rendered->secrets[rendered->secret_count - 1];
    if (last != NULL && last->end >= start) {
        last->end = out->len;
        return;
    }
    range_add(rendered, (SecretRange){ start, out->len });
}

void render_computed_secret(Render *r, Value v)
{
    if (value_holds_secret(v)) {
        templates_report_secret(r->templates, v, true);
    }
}

/* Reports secrets that were printed in pieces which are each too short to search for: together with
 * the little text between them. */
void render_report_ranges(Render *r)
{
    enum {
        BETWEEN_MAX = 16 /* in bytes */
    };
    const Rendered *rendered = r->rendered;
    for (uint32_t i = 0; i < rendered->secret_count && r->settings->secrets.found != NULL; i++) {
        SecretRange range = rendered->secrets[i];
        bool is_short = range.end - range.start < SCRUB_LENGTH_MIN;
        while (is_short && i + 1 < rendered->secret_count &&
               rendered->secrets[i + 1].start - range.end <= BETWEEN_MAX) {
            range.end = rendered->secrets[++i].end;
        }
        Str text = str_slice(buf_str(&rendered->text), range.start, range.end);
        templates_report_secret(r->templates, value_with_secret(value_string(text)), true);
    }
}

static bool list_holds_secret(Render *r, const List *list)
{
    for (uint32_t i = 0; i < list->len; i++) {
        if (op_holds_secret(r, list->items[i])) {
            return true;
        }
    }
    return false;
}

static bool map_holds_secret(Render *r, const Map *map)
{
    for (uint32_t i = 0; i < map->len; i++) {
        if (op_holds_secret(r, map->entries[i].key) || op_holds_secret(r, map->entries[i].value)) {
            return true;
        }
    }
    return false;
}

static bool container_holds_secret(Render *r, Value v)
{
    switch ((ValueKind)v.kind) {
    case VALUE_LIST:
    case VALUE_TUPLE: return v.list->frozen ? value_holds_secret(v) : list_holds_secret(r, v.list);
    case VALUE_MAP: return v.map->frozen ? value_holds_secret(v) : map_holds_secret(r, v.map);
    default:
        if (op_is_lazy(v)) {
            return !op_force(r, v, &v) || op_holds_secret(r, v);
        }
        return v.object->type->holds_secret != NULL && v.object->type->holds_secret(r, v.object);
    }
}

bool op_holds_secret(Render *r, Value v)
{
    if (LIKELY(!r->secrets) || value_is_secret(v)) {
        return r->secrets;
    }
    if (v.kind < VALUE_LIST || v.kind == VALUE_UNDEFINED) {
        return false;
    }
    const void *container = v.kind == VALUE_MAP      ? (const void *)v.map
                            : v.kind == VALUE_OBJECT ? (const void *)v.object
                                                     : (const void *)v.list;
    if (render_is_inside(r, container)) {
        return false; /* contains itself, which adds nothing */
    }
    Nest nest;
    /* If it is too deep or too large to search, it counts as secret; the fault is raised. */
    if (!render_charge(r, 1) || !render_enter(r, &nest, container)) {
        return true;
    }
    bool found = container_holds_secret(r, v);
    render_leave(r, &nest);
    return found;
}
