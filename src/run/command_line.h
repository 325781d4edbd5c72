/* The command line that repeats a run from any directory: used to resume after a reboot, and to
 * recreate a plan that is out of date. */
#pragma once

#include "base/vec.h"
#include "run/run.h"

typedef struct CommandWord {
    const char *option; /* "root" for --root; NULL: a positional argument */
    Str value;          /* without data: the option is a flag */
} CommandWord;

typedef VEC(CommandWord) CommandWords;

/* Every option that affects the steps or what they see, with absolute paths; defaults are omitted.
 * The path of the site comes last. */
void command_line_put(Arena *arena, const RunConfig *config, CommandWords *out);

/* The name of the variable that a -D sets: for "name=text" and "name:=json". */
Str define_name(Str define);
