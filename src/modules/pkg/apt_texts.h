/* What dpkg and apt write, read. Pure; any text ends in an answer. */
#pragma once

#include "modules/pkg/backend.h"

/* dpkg's list of packages. `status` is /var/lib/dpkg/status, then each of `updates`, newer, in
 * order: what an interrupted dpkg did not get to. Texts are borrowed by the database. */
void dpkg_status_read(PackageDatabase *into, Str status, const Str *updates, uint32_t update_count);
/* apt's list of packages that nobody asked for. */
void apt_states_read(PackageDatabase *into, Str states);
/* "apt-cache policy": fills the offers whose names it has. */
void apt_policy_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count);
/* "apt-get --simulate": what would be installed and removed, as {name: {old, new}}. */
void apt_simulation_read(Arena *arena, Str text, Map *changes);
/* Why this package could not be changed, in the words of dpkg, apt or a script of the package.
 * False: what went wrong is not about this one. */
bool apt_blame(Arena *arena, Str output, Str name, Str *words);
/* Whether it stopped because it would have to remove packages: "'vim', 'vim-common'". */
bool apt_find_removals(Arena *arena, Str output, Str *names);
