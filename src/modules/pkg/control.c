#include "modules/pkg/control.h"

static Str next_line(Str *rest)
{
    const char *end = rest->len == 0 ? NULL : memchr(rest->data, '\n', rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data);
    Str line = str_slice(*rest, 0, len);
    *rest = str_from_offset(*rest, len + (end != NULL));
    return line;
}

static bool is_blank(Str line)
{
    return str_trim(line).len == 0;
}

bool control_next_paragraph(Str *rest, Str *paragraph)
{
    Str at = *rest, line = STR_EMPTY;
    while (at.len > 0 && is_blank(line)) {
        *rest = at;
        line = next_line(&at);
    }
    if (is_blank(line)) {
        *rest = STR_EMPTY;
        return false;
    }
    const char *start = rest->data;
    const char *end = line.data + line.len;
    while (at.len > 0) {
        line = next_line(&at);
        if (is_blank(line)) {
            break;
        }
        end = line.data + line.len;
    }
    *paragraph = str_from(start, (size_t)(end - start));
    *rest = at;
    return true;
}

static bool is_continued(Str rest)
{
    return rest.len > 0 && (rest.data[0] == ' ' || rest.data[0] == '\t');
}

bool control_next_field(Str *rest, Str *name, Str *value)
{
    while (rest->len > 0) {
        const char *start = rest->data;
        Str line = next_line(rest);
        const char *end = line.data + line.len;
        bool is_field = !is_continued(line) && line.len > 0 && line.data[0] != '#';
        while (is_continued(*rest)) {
            Str more = next_line(rest);
            end = more.data + more.len;
        }
        const char *colon = is_field ? memchr(line.data, ':', line.len) : NULL;
        if (colon != NULL && colon > start) {
            *name = str_trim(str_from(start, (size_t)(colon - start)));
            *value = str_trim(str_from(colon + 1, (size_t)(end - colon - 1)));
            return true;
        }
    }
    return false;
}

bool control_find(Str paragraph, Str name, Str *value)
{
    Str found;
    while (control_next_field(&paragraph, &found, value)) {
        if (str_eq_ignore_case(found, name)) {
            return true;
        }
    }
    return false;
}

static bool is_name(char c)
{
    return ascii_is_digit(c) || ascii_is_alpha(c) || c == '+' || c == '-' || c == '.' || c == '_';
}

bool control_next_name(Str *rest, Str *name)
{
    Str at = *rest;
    size_t skipped = 0;
    while (skipped < at.len && !is_name(at.data[skipped])) {
        skipped++;
    }
    at = str_from_offset(at, skipped);
    size_t len = 0;
    while (len < at.len && is_name(at.data[len])) {
        len++;
    }
    if (len == 0) {
        *rest = STR_EMPTY;
        return false;
    }
    *name = str_slice(at, 0, len);
    /* Skip to the next alternative; anything before it is a condition that belongs to this name. */
    while (len < at.len && at.data[len] != ',' && at.data[len] != '|') {
        len++;
    }
    *rest = str_from_offset(at, len);
    return true;
}
