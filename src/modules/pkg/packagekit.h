/* Packages as PackageKit names them. Pure; packagekit.c speaks with it. */
#pragma once

#include "modules/pkg/backend.h"

typedef struct PkPackage {
    Str id; /* "vim;2:9.0;amd64;debian" */
    Str name, version, arch;
    uint32_t info;
    bool installed;
} PkPackage;

typedef VEC(PkPackage) PkPackages;

/* False for what is no id. */
bool pk_package_read(Str id, uint32_t info, PkPackage *out);
/* The first of that name and version (empty: any), installed or not; NULL: there is none. */
const PkPackage *pk_package_find(const PkPackages *packages, Str name, Str version, bool installed);
/* Fills the offers out of what a search found; it may name a package twice. */
void pk_offers_fill(Arena *arena, const VersionOrder *order, const PkPackages *packages,
                    PackageOffer *offers, uint32_t count);
