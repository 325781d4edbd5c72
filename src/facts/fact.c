#include "facts/fact.h"

bool fact_text(const Tree *tree, Arena *arena, const char *path, Str *out, Error *err)
{
    Error why;
    if (tree_read(tree, arena, path, FACT_FILE_MAX, out, &why)) {
        return true;
    }
    if (why.kind == ERROR_NOT_FOUND) {
        *out = STR_EMPTY;
        return true;
    }
    *err = why;
    return false;
}

bool fact_word(const Tree *tree, Arena *arena, const char *path, Str *out, Error *err)
{
    Str text;
    if (!fact_text(tree, arena, path, &text, err)) {
        return false;
    }
    *out = str_trim(text);
    return true;
}

bool fact_list(const Tree *tree, Arena *arena, const char *path, Str **names, uint32_t *count,
               Error *err)
{
    Error why;
    if (tree_list(tree, arena, path, FACT_ENTRIES_MAX, names, count, &why)) {
        return true;
    }
    if (why.kind == ERROR_NOT_FOUND) {
        *names = NULL;
        *count = 0;
        return true;
    }
    *err = why;
    return false;
}

Value fact_string(Str text)
{
    return text.len == 0 ? value_null() : value_string(text);
}

bool fact_next_field(Str *line, Str *field)
{
    size_t start = 0;
    while (start < line->len && ascii_is_space(line->data[start])) {
        start++;
    }
    size_t end = start;
    while (end < line->len && !ascii_is_space(line->data[end])) {
        end++;
    }
    *field = str_slice(*line, start, end);
    *line = str_from_offset(*line, end);
    return end > start;
}
