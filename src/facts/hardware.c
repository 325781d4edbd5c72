/* Hardware facts, as reported by the running kernel. */
#include <stdio.h>

#include "facts/fact.h"

static bool read_arch(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    *out = fact_string(sources->arch(arena));
    return true;
}

const Fact fact_arch = {
    .name = "arch",
    .help = "The processor architecture.",
    .example = "\"x86_64\"",
    .read = read_arch,
};

/* --- Processors ------------------------------------------------------------------------------- */

/* Counts the processors in the kernel's list of ranges, "0-3,8". Reading /proc/cpuinfo instead
 * would take a millisecond or more on large machines. */

static bool count_range(Str range, int64_t *count)
{
    Str first;
    int64_t low, high;
    if (!str_split_next(&range, '-', &first) || !str_to_i64(first, &low)) {
        return false;
    }
    high = low;
    if (range.len > 0 && !str_to_i64(range, &high)) {
        return false;
    }
    *count += high - low + 1;
    return low >= 0 && high >= low && high < INT32_MAX;
}

static bool read_cpus(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    const char *path = "/sys/devices/system/cpu/online";
    Str list, rest, range;
    if (!fact_word(&sources->kernel, arena, path, &list, err)) {
        return false;
    }
    if (list.len == 0) {
        *out = value_null();
        return true;
    }
    int64_t count = 0;
    for (rest = list; str_split_next(&rest, ',', &range);) {
        if (!count_range(range, &count)) {
            return error_set(err, ERROR_INVALID, "%s: '%" STR_FMT "' is not a list of processors",
                             path, STR_ARG(list));
        }
    }
    *out = value_int(count);
    return true;
}

const Fact fact_cpus = {
    .name = "cpus",
    .help = "The number of online processors.",
    .example = "4",
    .read = read_cpus,
};

/* --- Memory ----------------------------------------------------------------------------------- */

/* Free memory changes all the time, so it is not a fact. */
static bool read_memory(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    static const struct {
        const char *key, *name;
    } wanted[] = { { "MemTotal:", "total" }, { "SwapTotal:", "swap" } };
    Str text;
    if (!fact_text(&sources->kernel, arena, "/proc/meminfo", &text, err)) {
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
        return error_set(err, ERROR_INVALID, "MemTotal is missing in /proc/meminfo");
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

/* --- Disks ------------------------------------------------------------------------------------ */

/* Block devices that can store data: no loop devices, RAM disks or empty drives. */

enum {
    SECTOR = 512, /* `size` is in these units, regardless of the sector size of the device */
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

static bool disk_attribute(const FactSources *sources, Arena *arena, Str disk,
                           const char *attribute, Str *out, Error *err)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/sys/block/%" STR_FMT "/%s", STR_ARG(disk), attribute);
    return fact_word(&sources->kernel, arena, path, out, err);
}

static bool read_disk(const FactSources *sources, Arena *arena, Str name, Map *disks, Error *err)
{
    Str size, rotational, removable, read_only, model;
    int64_t sectors;
    if (!disk_attribute(sources, arena, name, "size", &size, err)) {
        return false;
    }
    if (!str_to_i64(size, &sectors) || sectors <= 0 || sectors > INT64_MAX / SECTOR) {
        return true;
    }
    if (!disk_attribute(sources, arena, name, "queue/rotational", &rotational, err) ||
        !disk_attribute(sources, arena, name, "removable", &removable, err) ||
        !disk_attribute(sources, arena, name, "ro", &read_only, err) ||
        !disk_attribute(sources, arena, name, "device/model", &model, err)) {
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

static bool read_disks(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Map *disks = map_new(arena, 0);
    *out = value_map(disks);
    Str *names;
    uint32_t count;
    if (!fact_list(&sources->kernel, arena, "/sys/block", &names, &count, err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!is_virtual(names[i]) && !read_disk(sources, arena, names[i], disks, err)) {
            return false;
        }
    }
    return true;
}

const Fact fact_disks = {
    .name = "disks",
    .help = "Disks by name, with size in bytes, model, and type.",
    .example = "{\"sda\": {\"size\": 480103981056, \"model\": \"SSD 870\", \"rotational\": false, "
               "\"removable\": false, \"read_only\": false}}",
    .read = read_disks,
};

/* --- Containers and virtual machines ---------------------------------------------------------- */

/* Firmware vendors and products, most specific first. */
static const struct {
    const char *text, *name;
} vendors[] = {
    { "KVM", "kvm" },
    { "QEMU", "qemu" },
    { "VMware", "vmware" },
    { "VirtualBox", "virtualbox" },
    { "innotek", "virtualbox" },
    { "Xen", "xen" },
    { "Bochs", "bochs" },
    { "Parallels", "parallels" },
    { "BHYVE", "bhyve" },
    { "Amazon EC2", "amazon" },
    { "Google Compute Engine", "google" },
    { "Google", "google" },
    { "Microsoft Corporation Virtual", "hyperv" },
    { "OpenStack", "openstack" },
    { "Apple Virtualization", "apple" },
};

/* Containers of systemd and podman have a file that identifies them; others are detected
 * indirectly. */
static bool find_container(const FactSources *sources, Arena *arena, Str *out, Error *err)
{
    if (!fact_word(&sources->kernel, arena, "/run/systemd/container", out, err)) {
        return false;
    }
    if (out->len == 0 && tree_has(&sources->kernel, "/run/.containerenv")) {
        *out = STR("podman");
    }
    if (out->len == 0 && tree_has(&sources->kernel, "/.dockerenv")) {
        *out = STR("docker");
    }
    if (out->len == 0 && tree_has(&sources->kernel, "/proc/vz") &&
        !tree_has(&sources->kernel, "/proc/bc")) {
        *out = STR("openvz");
    }
    return true;
}

/* In a virtual machine every processor has the flag "hypervisor". /proc/cpuinfo has one block per
 * processor; checking the first one is sufficient. */
static bool has_hypervisor(Str cpuinfo)
{
    for (Str line; str_split_next(&cpuinfo, '\n', &line);) {
        if (str_starts(line, STR("flags"))) {
            for (Str flag; fact_next_field(&line, &flag);) {
                if (str_eq_c(flag, "hypervisor")) {
                    return true;
                }
            }
            return false;
        }
    }
    return false;
}

static bool find_machine(const FactSources *sources, Arena *arena, Str *out, Error *err)
{
    Str vendor, product, hypervisor;
    if (!fact_word(&sources->kernel, arena, "/sys/class/dmi/id/sys_vendor", &vendor, err) ||
        !fact_word(&sources->kernel, arena, "/sys/class/dmi/id/product_name", &product, err) ||
        !fact_word(&sources->kernel, arena, "/sys/hypervisor/type", &hypervisor, err)) {
        return false;
    }
    Str both = arena_format(arena, "%" STR_FMT " %" STR_FMT, STR_ARG(vendor), STR_ARG(product));
    for (size_t i = 0; i < COUNT_OF(vendors); i++) {
        if (str_find(both, str_from_c(vendors[i].text), 0) != STR_NOT_FOUND) {
            *out = str_from_c(vendors[i].name);
            return true;
        }
    }
    *out = hypervisor;
    if (out->len == 0 && both.len <= 1) {
        /* A microVM has no firmware. /proc/cpuinfo is slow to read, so it is the last resort. */
        Str cpuinfo;
        if (!fact_text(&sources->kernel, arena, "/proc/cpuinfo", &cpuinfo, err)) {
            return false;
        }
        *out = has_hypervisor(cpuinfo) ? STR("vm") : STR_EMPTY;
    }
    return true;
}

static bool read_virtualization(const FactSources *sources, Arena *arena, Value *out, Error *err)
{
    Str name;
    if (!find_container(sources, arena, &name, err) ||
        (name.len == 0 && !find_machine(sources, arena, &name, err))) {
        return false;
    }
    *out = value_string(name.len > 0 ? name : STR("none"));
    return true;
}

const Fact fact_virtualization = {
    .name = "virtualization",
    .help = "The virtualization of the machine (docker, lxc, kvm, vmware, amazon ...), vm if the "
            "type is unknown, or none.",
    .example = "\"kvm\"",
    .read = read_virtualization,
};
