/* Parsers for the files and output of dpkg and apt. Pure; malformed input is never an error. */
#pragma once

#include "modules/pkg/backend.h"

/* Reads dpkg's list of packages: `status` is the content of /var/lib/dpkg/status, `updates` are
 * newer records of an interrupted dpkg, in order. The database borrows the strings. */
void dpkg_status_read(PackageDatabase *into, Str status, const Str *updates, uint32_t update_count);
/* Reads apt's list of automatically installed packages and marks them in the database. */
void apt_states_read(PackageDatabase *into, Str states);
/* Parses "apt-cache policy" and fills the offers that it mentions. */
void apt_policy_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count);
/* Parses "apt-get --simulate": packages to be installed and removed, as {name: {old, new}}. */
void apt_simulation_read(Arena *arena, Str text, Map *changes);
/* Finds why this package could not be changed, as reported by dpkg, apt or a maintainer script.
 * Returns false if the failure is not about this package. */
bool apt_blame(Arena *arena, Str output, Str name, Str *words);
/* Returns true if apt stopped because it would have to remove packages; `names` is "'vim',
 * 'vim-common'". */
bool apt_find_removals(Arena *arena, Str output, Str *names);
