/* Determines the files that a command may create, for plans.
 *
 * A command is parsed into the programs that it runs. A program that is known to write nothing,
 * such as echo, creates nothing. A program that is known to change files, accounts, packages or the
 * kernel may create anything of that kind. Any other program, and any command that only a shell can
 * parse, may create anything; with `creates`, only these paths, other entries of their directories,
 * and anything below them. */
#pragma once

#include "model/module.h"

/* Adds "provides:" claims for `command` (PARAM_COMMAND; missing: not known yet), run by `shell`
 * (empty: /bin/sh). `creates`: list of paths; missing: none. */
void command_provides(Arena *arena, Value command, Str shell, Value creates, List *claims);
/* The same for a script; empty: not known. */
void command_provides_script(Arena *arena, Str script, Value creates, List *claims);
