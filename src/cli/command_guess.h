/* What somebody means who types a word that is no command. Pure. */
#pragma once

#include "base/arena.h"

/* "nodes ping" for 'ping', "doctor" for 'status', "help codes" for 'codes', "plan" for 'plam'; empty when
 * nothing is near. What several commands could be is none. */
Str command_guess(Arena *arena, Str word);
