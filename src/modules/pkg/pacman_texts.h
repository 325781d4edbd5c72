/* What pacman writes and keeps, read. Pure; any text ends in an answer. */
#pragma once

#include "modules/pkg/backend.h"

/* "%NAME%", its lines, an empty line: the lines of a field of a package's "desc". */
bool pacman_field(Str desc, const char *name, Str *lines);
/* Adds a package by its entry and its "desc", which is borrowed. */
void pacman_entry_read(PackageDatabase *into, Str entry, Str desc);
/* "pacman -Si": fills the offers whose names it has. */
void pacman_info_read(Arena *arena, Str text, PackageOffer *offers, uint32_t count);
/* "pacman -Qu", as {name: {old, new}}; without those that are held. */
void pacman_upgrades_read(Arena *arena, Str text, Map *changes);
/* The names behind "IgnorePkg" of pacman.conf, patterns among them, as a list of texts. */
void pacman_ignored_read(Arena *arena, Str config, List *names);
/* The configuration with the package ignored, or not. */
Str pacman_ignored_write(Arena *arena, Str config, Str name, bool ignored);
