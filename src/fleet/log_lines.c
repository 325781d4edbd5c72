/* Keeps the unread part of the file in a buffer. An incomplete last line is read again later,
 * because the writer may replace it. */
#include "fleet/log_lines.h"

#include <string.h>

#include "base/json_out.h"
#include "lang/json.h"

enum {
    READ_BYTES = 256 << 10,
};

/* --- Format ---------------------------------------------------------------------------------- */

void log_line_put_prefix(Buf *out, Str node)
{
    buf_put(out, STR("{\"node\":"));
    json_text_put(out, node);
    buf_put_char(out, ',');
}

bool log_line_split(Str line, Str *node, Str *event)
{
    const Str start = STR("{\"node\":\"");
    size_t end = str_find(line, STR("\",\"n\":"), start.len);
    if (!str_starts(line, start) || end == STR_NOT_FOUND) {
        return false;
    }
    *node = str_slice(line, start.len, end); /* names of nodes need no escapes */
    *event = str_from_offset(line, end + 2);
    return true;
}

/* --- Events of a node ------------------------------------------------------------------------ */

void log_sender_init(LogSender *sender, Str node)
{
    *sender = (LogSender){ .node = node, .prefix = buf_make(BUF_UNLIMITED) };
    arena_init(&sender->scratch, ARENA_UNLIMITED);
    log_line_put_prefix(&sender->prefix, node);
}

void log_sender_clear(LogSender *sender)
{
    buf_clear(&sender->prefix);
    arena_clear(&sender->scratch);
}

/* Finds this member after another one at the top level of the event, not in a nested value: the
 * offset of the comma before it. */
static size_t find_member(Str event, Str member)
{
    uint32_t depth = 0;
    bool in_string = false;
    bool may_have_member = str_find(event, member, 0) != STR_NOT_FOUND;
    for (size_t i = 0; may_have_member && i < event.len; i++) {
        char c = event.data[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
            continue;
        }
        if (c == ',' && depth == 1 && str_starts(str_from_offset(event, i + 1), member)) {
            return i;
        }
        in_string = c == '"';
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
    }
    return STR_NOT_FOUND;
}

/* `"node":"web1"` */
static Str node_member(const LogSender *sender)
{
    Str prefix = buf_str(&sender->prefix);
    return str_slice(prefix, 1, prefix.len - 1);
}

/* An event may name its node, but no other one: readers would mistake that for the sender. The name
 * is removed from the line, so it must be spelled exactly as eden writes it. */
static bool check_node(const LogSender *sender, const RunEventLine *event, Value value, Error *err)
{
    const Value *named = value_get(value, STR("node"));
    return named == NULL ||
           (value_is_string(*named) && str_eq(value_str(*named), sender->node) &&
            find_member(event->text, node_member(sender)) != STR_NOT_FOUND) ||
           error_set(err, ERROR_INVALID, "event %llu belongs to a different node",
                     (unsigned long long)event->n);
}

bool log_sender_check(LogSender *sender, Str line, uint64_t expected, RunEventLine *out, Error *err)
{
    size_t at = 0;
    Value value;
    Error ignored;
    if (!run_event_next(line, &at, out) || at != line.len) {
        return error_set(err, ERROR_INVALID, "not an event line");
    }
    if (out->n != expected) {
        return error_set(err, ERROR_INVALID, "event %llu follows %llu", (unsigned long long)out->n,
                         (unsigned long long)expected - 1);
    }
    JsonOptions options = json_options_default;
    options.limits.size = RUN_EVENT_MAX;
    arena_reset(&sender->scratch);
    if (!json_parse_text(&sender->scratch, out->text, &options, &value, &ignored)) {
        return error_set(err, ERROR_INVALID, "event %llu is not JSON", (unsigned long long)out->n);
    }
    return check_node(sender, out, value, err);
}

/* The line already contains the name of the node, so it is removed from the event. */
void log_sender_put(const LogSender *sender, const RunEventLine *event, Buf *out)
{
    Str text = event->text, member = node_member(sender);
    size_t at = find_member(text, member);
    buf_put(out, buf_str(&sender->prefix));
    buf_put(out, str_slice(text, 1, at));
    if (at != STR_NOT_FOUND) {
        buf_put(out, str_from_offset(text, at + 1 + member.len));
    }
}

/* --- Files ----------------------------------------------------------------------------------- */

void log_lines_clear(LogLines *lines)
{
    file_reader_close(lines->file);
    buf_clear(&lines->chunk);
}

bool log_lines_seek(LogLines *lines, int64_t offset, Error *err)
{
    buf_reset(&lines->chunk);
    lines->used = 0;
    lines->offset = offset;
    return file_reader_seek(lines->file, offset, err);
}

bool log_lines_next(LogLines *lines, int64_t until, Str *line, Error *err)
{
    size_t searched = lines->used, end, received;
    *line = (Str){ 0 };
    while ((end = str_find(buf_str(&lines->chunk), STR("\n"), searched)) == STR_NOT_FOUND) {
        if (lines->used > 0) {
            memmove(lines->chunk.data, lines->chunk.data + lines->used,
                    lines->chunk.len - lines->used);
            lines->chunk.len -= lines->used;
            lines->used = 0;
        }
        searched = lines->chunk.len;
        (void)buf_reserve(&lines->chunk, READ_BYTES);
        if (!file_reader_next(lines->file, lines->chunk.data + searched, READ_BYTES, &received,
                              err)) {
            return false;
        }
        if (received == 0) {
            /* the bytes after the last line may be replaced */
            return searched == 0 || log_lines_seek(lines, lines->offset, err);
        }
        lines->chunk.len += received;
    }
    if (lines->offset + (int64_t)(end + 1 - lines->used) > until) {
        return log_lines_seek(lines, lines->offset, err);
    }
    *line = str_slice(buf_str(&lines->chunk), lines->used, end);
    lines->offset += (int64_t)(end + 1 - lines->used);
    lines->used = end + 1;
    return true;
}

bool log_line_is_torn(Str line)
{
    return line.len > 0 && memchr(line.data, '\0', line.len) != NULL;
}
