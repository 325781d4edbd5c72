/* The byte ranges of rendered text that came from secrets. */
#include <stdlib.h>

#include "base/bug.h"
#include "lang/template/render.h"

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
