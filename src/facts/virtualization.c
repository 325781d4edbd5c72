/* What the machine runs in: a container, a virtual machine, or neither. */
#include "facts/fact.h"

/* What firmware says of itself, most telling first. */
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

/* Systemd's containers and podman's say it in a file; the others leave a trace. */
static bool find_container(const FactWorld *world, Arena *arena, Str *out, Error *err)
{
    if (!fact_word(&world->kernel, arena, "/run/systemd/container", out, err)) {
        return false;
    }
    if (out->len == 0 && tree_has(&world->kernel, "/run/.containerenv")) {
        *out = STR("podman");
    }
    if (out->len == 0 && tree_has(&world->kernel, "/.dockerenv")) {
        *out = STR("docker");
    }
    if (out->len == 0 && tree_has(&world->kernel, "/proc/vz") &&
        !tree_has(&world->kernel, "/proc/bc")) {
        *out = STR("openvz");
    }
    return true;
}

/* The processor tells every guest that there is a hypervisor. The flags of one processor do; the
 * file has one block for each. */
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

static bool find_machine(const FactWorld *world, Arena *arena, Str *out, Error *err)
{
    Str vendor, product, hypervisor;
    if (!fact_word(&world->kernel, arena, "/sys/class/dmi/id/sys_vendor", &vendor, err) ||
        !fact_word(&world->kernel, arena, "/sys/class/dmi/id/product_name", &product, err) ||
        !fact_word(&world->kernel, arena, "/sys/hypervisor/type", &hypervisor, err)) {
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
        /* A tiny machine monitor shows no firmware; only then is the slow file worth reading. */
        Str cpuinfo;
        if (!fact_text(&world->kernel, arena, "/proc/cpuinfo", &cpuinfo, err)) {
            return false;
        }
        *out = has_hypervisor(cpuinfo) ? STR("vm") : STR_EMPTY;
    }
    return true;
}

static bool read_virtualization(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str name;
    if (!find_container(world, arena, &name, err) ||
        (name.len == 0 && !find_machine(world, arena, &name, err))) {
        return false;
    }
    *out = value_string(name.len > 0 ? name : STR("none"));
    return true;
}

const Fact fact_virtualization = {
    .name = "virtualization",
    .help = "What the machine runs in (docker, lxc, kvm, vmware, amazon ...), vm when it does not "
            "say, or none.",
    .example = "\"kvm\"",
    .read = read_virtualization,
};
