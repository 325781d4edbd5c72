/* What dnf and zypper have in common: rpm, and its list of packages. */
#pragma once

#include "modules/pkg/backend.h"

bool rpm_has_database(Call *call);
bool rpm_check_name(Str name, Error *err);
bool rpm_fingerprint(Call *call, Fingerprint *out, Error *err);
bool rpm_read(Call *call, PackageDatabase *into, Error *err);
void rpm_list_needs(Arena *arena, const Package *package, List *names);
bool rpm_is_provided(Call *call, Str name);
bool rpm_list_conffiles(Call *call, const PackageItem *items, uint32_t count, List *paths,
                        Error *err);
/* Whoever changes packages by rpm itself. */
bool rpm_find_holder(Call *call, PackageHolder *out);
/* The script of a package failed, which rpm takes lightly: in which words. */
bool rpm_find_warning(Arena *arena, Str output, Str name, Str *words);

/* --- Texts; pure ---------------------------------------------------------------------------- */

/* Lines of "name<TAB>epoch<TAB>version-release<TAB>architecture", with what it needs behind further
 * tabs. Texts are borrowed. */
void rpm_list_read(PackageDatabase *into, Str text);
/* The same about what can be installed: fills the offers whose names it has. */
void rpm_offers_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count);
/* And about what is newer, as {name: {old, new}}. */
void rpm_upgrades_read(Arena *arena, Str text, const PackageDatabase *database, Map *changes);
/* Adds a version to an offer, which keeps them sorted, the newest first and its candidate. */
void rpm_offer_add(Arena *arena, PackageOffer *offer, Str version);
