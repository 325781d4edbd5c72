/* What is meant by a word that is not a command, or not a verb of one. Pure. */
#pragma once

#include "base/arena.h"
#include "cli/command.h"

/* "nodes ping" for 'ping', "doctor" for 'status', "help codes" for 'codes', "plan" for 'plam'; empty if
 * nothing is near, or if it could be several commands. */
Str command_guess(Arena *arena, Str word);
/* "show" for 'get', "list" for 'lsit', of a command that has verbs; empty if nothing is near. */
Str verb_guess(const Command *command, Str word);
