/* What rpm, dnf and zypper write, read. Pure; any text ends in an answer. */
#pragma once

#include "modules/pkg/backend.h"

bool rpm_check_name(Str name, Error *err);
/* The script of a package failed, which rpm takes lightly: in which words. */
bool rpm_find_warning(Arena *arena, Str output, Str name, Str *words);

/* Lines of "name<TAB>epoch<TAB>version-release<TAB>architecture", with what it needs behind further
 * tabs. Texts are borrowed. */
void rpm_list_read(PackageDatabase *into, Str text);
/* The same about what can be installed: fills the offers whose names it has. */
void rpm_offers_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count);
/* And about what is newer, as {name: {old, new}}. */
void rpm_upgrades_read(Arena *arena, Str text, const PackageDatabase *database, Map *changes);
/* versionlock.list: packages that keep their version. */
void dnf_locks_read(PackageDatabase *into, Str locks);

/* "zypper --xmlout search --details": fills the offers whose names it has. */
void zypper_search_read(Arena *arena, Str xml, PackageOffer *offers, uint32_t count);
/* "zypper --xmlout list-updates", as {name: {old, new}}. */
void zypper_updates_read(Arena *arena, Str xml, Map *changes);
/* /etc/zypp/locks: packages that keep their version. */
void zypper_locks_read(PackageDatabase *into, Str locks);
