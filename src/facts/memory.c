/* How much memory there is. How much is free changes by the moment and is no fact. */
#include "facts/fact.h"

static bool read_memory(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    static const struct {
        const char *key, *name;
    } wanted[] = { { "MemTotal:", "total" }, { "SwapTotal:", "swap" } };
    Str text;
    if (!fact_text(&world->kernel, arena, "/proc/meminfo", &text, err)) {
        return false;
    }
    Map *map = map_new(arena, COUNT_OF(wanted));
    Str rest = text;
    for (Str line; map->len < COUNT_OF(wanted) && str_split_next(&rest, '\n', &line);) {
        Str key, number;
        int64_t kib;
        if (!fact_next_field(&line, &key) || !fact_next_field(&line, &number)) {
            continue;
        }
        for (size_t i = 0; i < COUNT_OF(wanted); i++) {
            if (str_eq_c(key, wanted[i].key) && str_to_i64(number, &kib) && kib >= 0 &&
                kib < INT64_MAX / 1024) {
                map_set_str(arena, map, str_from_c(wanted[i].name), value_int(kib * 1024));
            }
        }
    }
    if (text.len > 0 && map_find_str(map, STR("total")) == NULL) {
        return error_set(err, ERROR_INVALID, "/proc/meminfo does not say MemTotal");
    }
    *out = map->len > 0 ? value_map(map) : value_null();
    return true;
}

const Fact fact_memory = {
    .name = "memory",
    .help = "Main memory and swap, in bytes.",
    .example = "{\"total\": 8364916736, \"swap\": 1023406080}",
    .read = read_memory,
};
