/* Parsers for the output of rpm, dnf and zypper. Pure; malformed input is never an error. */
#pragma once

#include "modules/pkg/backend.h"

bool rpm_check_name(Str name, Error *err);
/* Finds the failure of a package's script, which rpm reports only as a warning. */
bool rpm_find_warning(Arena *arena, Str output, Str name, Str *words);

/* Parses lines of "name<TAB>epoch<TAB>version-release<TAB>architecture", followed by dependencies
 * that are separated by tabs. The database borrows the strings. */
void rpm_list_read(PackageDatabase *into, Str text);
/* Parses the same format for available packages and fills the offers that it mentions. */
void rpm_offers_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count);
/* Parses the same format for available upgrades, as {name: {old, new}}. */
void rpm_upgrades_read(Arena *arena, Str text, const PackageDatabase *database, Map *changes);
/* Reads version locks from versionlock.list. */
void dnf_locks_read(PackageDatabase *into, Str locks);

/* Parses "zypper --xmlout search --details" and fills the offers that it mentions. */
void zypper_search_read(Arena *arena, Str xml, PackageOffer *offers, uint32_t count);
/* Parses "zypper --xmlout list-updates" as {name: {old, new}}. */
void zypper_updates_read(Arena *arena, Str xml, Map *changes);
/* Reads version locks from /etc/zypp/locks. */
void zypper_locks_read(PackageDatabase *into, Str locks);
