/* Suggests a command or verb for a mistyped word or a term of another tool. Pure. */
#pragma once

#include "base/arena.h"
#include "cli/command.h"

/* Returns "nodes ping" for 'ping', "doctor" for 'status', "help codes" for 'codes', "plan" for
 * 'plam'; empty if nothing is similar or several commands match. */
Str command_guess(Arena *arena, Str word);
/* Returns "show" for 'get', "list" for 'lsit', of a command that has verbs; empty if nothing is
 * similar. */
Str verb_guess(const Command *command, Str word);
