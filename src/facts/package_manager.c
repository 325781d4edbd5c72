/* Which program installs packages, by what is there. */
#include "facts/fact.h"

static bool read_package_manager(const FactWorld *world, Arena *arena, Value *out, Error *err)
{
    /* Where several are installed, the one that the system was built with comes first: Debian also
     * has a dnf to install, and Fedora an apt. */
    static const struct {
        const char *path, *name;
    } known[] = {
        { "/var/lib/dpkg/status", "apt" }, { "/usr/bin/dnf", "dnf" },
        { "/usr/bin/dnf5", "dnf" },        { "/usr/bin/microdnf", "dnf" },
        { "/usr/bin/zypper", "zypper" },   { "/usr/bin/yum", "yum" },
        { "/usr/bin/pacman", "pacman" },   { "/sbin/apk", "apk" },
        { "/usr/bin/emerge", "portage" },  { "/usr/bin/xbps-install", "xbps" },
        { "/usr/bin/apt-get", "apt" },
    };
    *out = value_null();
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (tree_has(&world->root, known[i].path)) {
            *out = value_string(str_from_c(known[i].name));
            break;
        }
    }
    return true;
}

const Fact fact_package_manager = {
    .name = "package_manager",
    .help = "What installs packages: apt, dnf, yum, zypper, pacman, apk, portage, xbps.",
    .example = "\"apt\"",
    .read = read_package_manager,
};
