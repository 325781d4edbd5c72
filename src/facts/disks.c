/* Block devices that can hold data: no loops, RAM disks or empty drives. */
#include <stdio.h>

#include "facts/fact.h"

enum {
    SECTOR = 512, /* the unit of `size`, whatever the device's own sectors are */
    PATH_BYTES = 320,
};

static bool is_virtual(Str name)
{
    static const char *const prefixes[] = { "loop", "ram", "zram", "sr", "fd", "nbd" };
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        Str prefix = str_from_c(prefixes[i]);
        if (str_starts(name, prefix) && name.len > prefix.len &&
            ascii_is_digit(name.data[prefix.len])) {
            return true;
        }
    }
    return false;
}

static bool read_attribute(const FactWorld *world, Arena *arena, Str disk, const char *attribute,
                           Str *out, Error *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/sys/block/%" STR_FMT "/%s", STR_ARG(disk), attribute);
    return fact_word(&world->kernel, arena, path, out, err);
}

static bool read_disk(const FactWorld *world, Arena *arena, Str name, Map *disks, Error *err)
{
    Str size, rotational, removable, read_only, model;
    int64_t sectors;
    if (!read_attribute(world, arena, name, "size", &size, err)) {
        return false;
    }
    if (!str_to_i64(size, &sectors) || sectors <= 0 || sectors > INT64_MAX / SECTOR) {
        return true;
    }
    if (!read_attribute(world, arena, name, "queue/rotational", &rotational, err) ||
        !read_attribute(world, arena, name, "removable", &removable, err) ||
        !read_attribute(world, arena, name, "ro", &read_only, err) ||
        !read_attribute(world, arena, name, "device/model", &model, err)) {
        return false;
    }
    Map *disk = map_new(arena, 5);
    map_set_str(arena, disk, STR("size"), value_int(sectors * SECTOR));
    map_set_str(arena, disk, STR("model"), fact_string(model));
    map_set_str(arena, disk, STR("rotational"), value_bool(str_eq_c(rotational, "1")));
    map_set_str(arena, disk, STR("removable"), value_bool(str_eq_c(removable, "1")));
    map_set_str(arena, disk, STR("read_only"), value_bool(str_eq_c(read_only, "1")));
    map_set_str(arena, disks, name, value_map(disk));
    return true;
}

static bool read_disks(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Map *disks = map_new(arena, 0);
    *out = value_map(disks);
    Str *names;
    uint32_t count;
    Error why;
    if (!tree_list(&world->kernel, arena, "/sys/block", FACT_ENTRIES_MAX, &names, &count, &why)) {
        if (why.kind == ERROR_NOT_FOUND) {
            return true;
        }
        *err = why;
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_virtual(names[i]) && !read_disk(world, arena, names[i], disks, err)) {
            return false;
        }
    }
    return true;
}

const Fact fact_disks = {
    .name = "disks",
    .help = "Disks by name, with size in bytes, model, and what kind they are.",
    .example = "{\"sda\": {\"size\": 480103981056, \"model\": \"SSD 870\", \"rotational\": false, "
               "\"removable\": false, \"read_only\": false}}",
    .read = read_disks,
};
