/* PackageKit's package IDs. Pure; packagekit.c talks to the service. */
#pragma once

#include "modules/pkg/backend.h"

typedef struct PkPackage {
    Str id; /* "vim;2:9.0;amd64;debian" */
    Str name, version, arch;
    uint32_t info;
    bool installed;
} PkPackage;

typedef VEC(PkPackage) PkPackages;

/* Returns false if `id` is not a package ID. */
bool pk_package_read(Str id, uint32_t info, PkPackage *out);
/* Returns the first package of that name and version (empty: any version), installed or not; NULL
 * if there is none. */
const PkPackage *pk_package_find(const PkPackages *packages, Str name, Str version, bool installed);
/* Fills the offers with the results of a search, which may list a package twice. */
void pk_offers_fill(Arena *arena, const VersionOrder *order, const PkPackages *packages,
                    PackageOffer *offers, uint32_t count);
