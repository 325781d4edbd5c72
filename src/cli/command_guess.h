/* Guesses which command or verb a mistyped or foreign word stands for. Pure. */
#pragma once

#include "base/arena.h"
#include "cli/command.h"

/* Returns "nodes ping" for 'ping', "doctor" for 'status', "help codes" for 'codes', "plan" for
 * 'plam'; empty if nothing is similar or several commands match. */
Str command_guess(Arena *arena, Str word);
/* Returns "show" for 'get', "list" for 'lsit', of a command that has verbs; empty if nothing is
 * similar. */
Str verb_guess(const Command *command, Str word);
