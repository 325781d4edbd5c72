#include "facts/host_name.h"

bool host_name_read(const FactWorld *world, Arena *arena, Str *out, Error *err)
{
    if (world->live) {
        *out = world->host_name(arena);
        return true;
    }
    Str text, line;
    if (!fact_text(&world->root, arena, "/etc/hostname", &text, err)) {
        return false;
    }
    *out = STR_EMPTY;
    while (out->len == 0 && str_split_next(&text, '\n', &line)) {
        line = str_trim(line);
        *out = str_starts(line, STR("#")) ? STR_EMPTY : line;
    }
    return true;
}

Str host_name_short(Str name)
{
    return str_slice(name, 0, str_find(name, STR("."), 0));
}
