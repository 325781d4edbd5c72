#include "lang/template/native_describe.h"

void native_put_signature(const Native *native, bool without_first, Buf *out)
{
    buf_put_c(out, native->name);
    uint32_t count = native_param_count(native);
    uint32_t from = without_first ? 1 : 0;
    bool open = (native->flags & (NATIVE_VARIADIC | NATIVE_KEYWORDS)) != 0;
    if (count <= from && !open && without_first) {
        return;
    }
    const char *between = "(";
    for (uint32_t i = from; i < count; i++) {
        const Param *param = &native->params[i];
        buf_put_format(out, "%s%s", between, param->name);
        if (param->fallback != NULL) {
            buf_put_format(out, "=%s", param->fallback);
        }
        between = ", ";
    }
    if ((native->flags & NATIVE_VARIADIC) != 0) {
        buf_put_format(out, "%s...", between);
        between = ", ";
    }
    if ((native->flags & NATIVE_KEYWORDS) != 0) {
        buf_put_format(out, "%sname=...", between);
        between = ", ";
    }
    buf_put_c(out, between[0] == '(' ? "()" : ")");
}

/* Every line of `text` behind `lead`, the later ones behind as many spaces. */
static void put_lines(const char *lead, const char *text, Buf *out)
{
    Str rest = str_from_c(text);
    Str line;
    bool first = true;
    while (str_split_next(&rest, '\n', &line)) {
        if (rest.len == 0 && line.len == 0 && !first) {
            return; /* the end of the last line */
        }
        if (first) {
            buf_put_c(out, lead);
        } else {
            buf_put_repeat(out, ' ', strlen(lead));
        }
        buf_put(out, line);
        buf_put_char(out, '\n');
        first = false;
    }
}

void native_describe(const Native *native, bool without_first, Buf *out)
{
    native_put_signature(native, without_first, out);
    buf_put_char(out, '\n');
    put_lines("    ", native->help, out);
    put_lines("    ", native->example, out);
    put_lines("    -> ", native->shows, out);
}
