#include "base/json_out.h"

#include "base/base64.h"
#include "base/json_text.h"
#include "base/utc.h"
#include "base/utf8.h"

/* Behind whatever is no opening bracket. */
static void put_comma(Buf *out)
{
    char last = out->len > 0 ? out->data[out->len - 1] : '{';
    if (last != '{' && last != '[') {
        buf_put_char(out, ',');
    }
}

void json_out_name(Buf *out, const char *name)
{
    put_comma(out);
    json_text_put(out, str_from_c(name));
    buf_put_char(out, ':');
}

void json_out_start(Buf *out, const char *format)
{
    buf_put_char(out, '{');
    json_out_text(out, "format", str_from_c(format));
}

void json_out_open(Buf *out, const char *name, char bracket)
{
    if (name == NULL) {
        put_comma(out);
    } else {
        json_out_name(out, name);
    }
    buf_put_char(out, bracket);
}

void json_out_close(Buf *out, char bracket)
{
    buf_put_char(out, bracket);
}

void json_out_text(Buf *out, const char *name, Str text)
{
    json_out_name(out, name);
    json_text_put(out, text);
}

void json_out_item(Buf *out, Str text)
{
    put_comma(out);
    json_text_put(out, text);
}

void json_out_int(Buf *out, const char *name, int64_t number)
{
    json_out_name(out, name);
    buf_put_i64(out, number);
}

void json_out_bool(Buf *out, const char *name, bool value)
{
    json_out_name(out, name);
    buf_put_c(out, value ? "true" : "false");
}

void json_out_null(Buf *out, const char *name)
{
    json_out_name(out, name);
    buf_put_c(out, "null");
}

void json_out_time(Buf *out, const char *name, int64_t ms)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    json_out_text(out, name, utc_text(&arena, ms));
}

void json_out_bytes(Buf *out, const char *name, Str bytes)
{
    if (utf8_is_valid(bytes)) {
        json_out_text(out, name, bytes);
        return;
    }
    put_comma(out);
    buf_put_format(out, "\"%s_base64\":\"", name);
    base64_put(out, bytes);
    buf_put_char(out, '"');
}
