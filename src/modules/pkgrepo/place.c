#include "modules/pkgrepo/place.h"

#include "modules/pkg/backend.h"

static const RepoPlace places[] = {
    { "apt", "/etc/apt/sources.list.d", ".sources", ".list", "/etc/apt/keyrings", "" },
    { "dnf", "/etc/yum.repos.d", ".repo", NULL, "/etc/pki/rpm-gpg", "RPM-GPG-KEY-" },
    { "zypper", "/etc/zypp/repos.d", ".repo", NULL, "/etc/pki/rpm-gpg", "RPM-GPG-KEY-" },
};

bool repo_place_choose(Call *call, const RepoPlace **out, Error *err)
{
    const PackageBackend *backend;
    Str provider = call_str(call, "provider");
    if (provider.len == 0) {
        if (!backend_choose(call, provider, &backend, err)) {
            return false;
        }
        provider = str_from_c(backend->name);
    }
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (str_eq_c(provider, places[i].provider)) {
            *out = &places[i];
            return true;
        }
    }
    return error_set(err, ERROR_UNAVAILABLE,
                     "the sources of '%" STR_FMT
                     "' are not files of their own; 'provider' can name "
                     "apt, dnf or zypper",
                     STR_ARG(provider));
}

Str repo_source_path(Arena *arena, const RepoPlace *place, Str name, const char *ending)
{
    return arena_format(arena, "%s/%" STR_FMT "%s", place->folder, STR_ARG(name), ending);
}

Str repo_key_path(Arena *arena, const RepoPlace *place, Str name, bool armored)
{
    const char *ending = place->key_start[0] != '\0' ? "" : armored ? ".asc" : ".gpg";
    return arena_format(arena, "%s/%s%" STR_FMT "%s", place->keys, place->key_start, STR_ARG(name),
                        ending);
}

void repo_claims(Arena *arena, Value name, Value provider, List *claims)
{
    if (!value_is_string(name) || name.len == 0) {
        return;
    }
    claims_add(arena, claims, "pkgrepo:", value_str(name));
    claims_add(arena, claims, "brings:package", STR_EMPTY);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const RepoPlace *place = &places[i];
        if (value_is_string(provider) && !str_eq_c(value_str(provider), place->provider)) {
            continue;
        }
        claims_add(arena, claims,
                   "path:", repo_source_path(arena, place, value_str(name), place->ending));
        if (place->other != NULL) {
            claims_add(arena, claims,
                       "path:", repo_source_path(arena, place, value_str(name), place->other));
        }
        claims_add(arena, claims, "path:", repo_key_path(arena, place, value_str(name), true));
        claims_add(arena, claims, "path:", repo_key_path(arena, place, value_str(name), false));
    }
}
