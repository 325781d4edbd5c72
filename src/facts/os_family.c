/* What the operating system descends from, so that a step can be for all that work alike. */
#include "facts/os_release.h"

/* Names under which families are known, where those in os-release differ from each other. */
static const struct {
    const char *name, *family;
} families[] = {
    { "debian", "debian" }, { "ubuntu", "debian" }, { "rhel", "redhat" },   { "fedora", "redhat" },
    { "centos", "redhat" }, { "suse", "suse" },     { "opensuse", "suse" }, { "sles", "suse" },
    { "arch", "arch" },     { "alpine", "alpine" }, { "gentoo", "gentoo" }, { "amzn", "redhat" },
};

static Str family_of(Str name)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        if (str_eq_c(name, families[i].name)) {
            return str_from_c(families[i].family);
        }
    }
    return STR_EMPTY;
}

static bool read_os_family(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    Str id, like;
    if (!os_release_get(world, arena, "ID", &id, err) ||
        !os_release_get(world, arena, "ID_LIKE", &like, err)) {
        return false;
    }
    Str family = family_of(id), word, first = STR_EMPTY;
    while (family.len == 0 && fact_next_field(&like, &word)) {
        first = first.len == 0 ? word : first;
        family = family_of(word);
    }
    *out = fact_string(family.len > 0 ? family : first.len > 0 ? first : id);
    return true;
}

const Fact fact_os_family = {
    .name = "os_family",
    .help = "What it descends from: debian, redhat, suse, arch, alpine, gentoo, or its own name.",
    .example = "\"debian\"",
    .read = read_os_family,
};
