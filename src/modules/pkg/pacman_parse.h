/* Parsers for the files and output of pacman. Pure; malformed input is never an error. */
#pragma once

#include "modules/pkg/backend.h"

/* Finds a field of a package's "desc": "%NAME%", its lines, an empty line. */
bool pacman_field(Str desc, const char *name, Str *lines);
/* Adds a package, given its entry and its "desc", which the database borrows. */
void pacman_entry_read(PackageDatabase *into, Str entry, Str desc);
/* Parses "pacman -Si" and fills the offers that it mentions. */
void pacman_info_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count);
/* Parses "pacman -Qu" as {name: {old, new}}, without held packages. */
void pacman_upgrades_read(Arena *arena, Str text, Map *changes);
/* Lists the values of "IgnorePkg" in pacman.conf, including patterns. */
void pacman_ignored_read(Arena *arena, Str config, List *names);
/* Returns the configuration with the package added to, or removed from, the ignored ones. */
Str pacman_ignored_write(Arena *arena, Str config, Str name, bool ignored);
