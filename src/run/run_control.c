#include "run/run_control.h"

#include "base/json_out.h"
#include "lang/json.h"
#include "sys/fifo.h"

void run_control_put_start(Buf *out, const Str *defines, uint32_t count)
{
    json_out_open(out, NULL, '{');
    json_out_text(out, "control", STR("start"));
    json_out_open(out, "defines", '[');
    for (uint32_t i = 0; i < count; i++) {
        json_out_item(out, defines[i]);
    }
    json_out_close(out, ']');
    json_out_close(out, '}');
    buf_put_char(out, '\n');
}

void run_control_put_cancel(Buf *out, bool now)
{
    json_out_open(out, NULL, '{');
    json_out_text(out, "control", STR("cancel"));
    json_out_bool(out, "now", now);
    json_out_close(out, '}');
    buf_put_char(out, '\n');
}

RunControl run_control_make(int descriptor)
{
    return (RunControl){ .descriptor = descriptor, .text = buf_make(2 * FIFO_BYTES_MAX) };
}

void run_control_clear(RunControl *control)
{
    buf_clear(&control->text);
}

/* Takes the next complete line. */
static bool next_line(RunControl *control, Arena *arena, Str *out)
{
    Buf *text = &control->text;
    size_t end = str_find(buf_str(text), STR("\n"), 0);
    if (text->overflow) { /* no message is that long */
        buf_reset(text);
        return false;
    }
    if (end == STR_NOT_FOUND) {
        return false;
    }
    *out = arena_copy(arena, str_slice(buf_str(text), 0, end));
    memmove(text->data, text->data + end + 1, text->len - end - 1);
    text->len -= end + 1;
    return true;
}

static bool is_message(Arena *arena, Str line, const char *name, Value *out)
{
    Error ignored;
    return json_parse_text(arena, line, NULL, out, &ignored) &&
           str_eq_c(value_get_text(*out, "control"), name);
}

bool run_control_start(RunControl *control, Arena *arena, RunStart *out, Error *err)
{
    Str line;
    Value message;
    fifo_read(control->descriptor, &control->text);
    if (!next_line(control, arena, &line) || !is_message(arena, line, "start", &message)) {
        return error_set(err, ERROR_INVALID, "standard input does not begin with a start message");
    }
    const List *defines = value_get_list(message, "defines");
    *out = (RunStart){ .defines = ARENA_ARRAY(arena, const char *, defines->len + 1) };
    for (uint32_t i = 0; i < defines->len; i++) {
        if (!value_is_string(defines->items[i])) {
            return error_set(err, ERROR_INVALID, "a variable in the start message is not a string");
        }
        out->defines[out->define_count++] = arena_copy_c(arena, value_str(defines->items[i]));
    }
    return true;
}

uint32_t run_control_take(RunControl *control)
{
    AUTO_CLEAR(Arena) arena;
    Str line;
    Value message;
    uint32_t count = 0;
    arena_init(&arena, ARENA_UNLIMITED);
    fifo_read(control->descriptor, &control->text);
    while (next_line(control, &arena, &line)) {
        if (is_message(&arena, line, "cancel", &message)) {
            count += value_get_bool(message, "now") ? 2 : 1;
        }
    }
    return count;
}
