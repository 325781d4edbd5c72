/* What zypper writes, read. Pure; any text ends in an answer. */
#pragma once

#include "modules/pkg/backend.h"

/* "zypper --xmlout search --details": fills the offers whose names it has. */
void zypper_search_read(Arena *arena, Str xml, PackageOffer *offers, uint32_t count);
/* "zypper --xmlout list-updates", as {name: {old, new}}. */
void zypper_updates_read(Arena *arena, Str xml, Map *changes);
/* /etc/zypp/locks: packages that keep their version. */
void zypper_locks_read(PackageDatabase *into, Str locks);
