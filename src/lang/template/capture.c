/* Captured output. */
#include "lang/template/runtime.h"

void capture_begin(Render *r)
{
    Rendered *rendered = r->rendered;
    if (r->capture_depth == rendered->capture_cap) {
        rendered_add_capture(rendered);
    }
    Buf *buf = &rendered->captures[r->capture_depth++];
    buf_reset(buf);
    buf->max = r->settings->limits.memory;
    r->out = buf;
    /* Whether the capture around holds a secret is kept beside it, in a bit nobody else uses. */
    rendered->capture_secrets[r->capture_depth - 1] = r->capture_secret;
    r->capture_secret = false;
}

void capture_drop(Render *r)
{
    r->capture_depth--;
    r->capture_secret = r->rendered->capture_secrets[r->capture_depth] || r->capture_secret;
    r->out =
        r->capture_depth == 0 ? &r->rendered->text : &r->rendered->captures[r->capture_depth - 1];
}

bool capture_end(Render *r, Value *out)
{
    Buf *buf = r->out;
    bool secret = r->capture_secret;
    capture_drop(r);
    r->capture_secret = r->rendered->capture_secrets[r->capture_depth];
    if (buf->overflow || !render_room(r, buf->len)) {
        return render_out_of_memory(r);
    }
    *out = value_string(arena_copy(r->arena, buf_str(buf)));
    if (r->autoescape) {
        out->flags |= VALUE_MARKUP;
    }
    if (secret) {
        out->flags |= VALUE_SECRET;
    }
    return true;
}
