#include "modules/pkg/backend.h"

#include "base/bug.h"

/* In the order in which a machine is asked: Debian has a dnf to install, and Fedora an apt. */
const PackageBackend *const package_backends[] = {
    &backend_apt, &backend_zypper, &backend_dnf, &backend_pacman, &backend_packagekit, NULL,
};

uint32_t backend_number(const PackageBackend *backend)
{
    for (uint32_t i = 0; package_backends[i] != NULL; i++) {
        if (package_backends[i] == backend) {
            return i;
        }
    }
    BUG("no such backend '%s'", backend->name);
}

const VersionOrder *backend_order(Call *call, const PackageBackend *backend)
{
    return backend->find_order == NULL ? &backend->order : backend->find_order(call);
}

bool backend_choose(Call *call, Str provider, const PackageBackend **out, Error *err)
{
    for (uint32_t i = 0; package_backends[i] != NULL; i++) {
        const PackageBackend *backend = package_backends[i];
        if (provider.len > 0 ? str_eq_c(provider, backend->name) : backend->is_native(call)) {
            *out = backend;
            return !backend->live_only || host_is_live(call->host) ||
                   error_set(err, ERROR_UNAVAILABLE,
                             "'%s' needs the running machine, not the root '%s'", backend->name,
                             host_root(call->host));
        }
    }
    BUG_IF(provider.len > 0); /* the row has the choices */
    if (!host_is_live(call->host)) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "there is no package manager below the root '%s'; it must have its own",
                         host_root(call->host));
    }
    return error_set(
        err, ERROR_UNAVAILABLE,
        "this machine has no package manager that is known here; 'provider' names one");
}
