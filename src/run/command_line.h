/* The command line that repeats a run from any directory: what resumes it after a restart of the
 * machine, and what makes a plan again that no longer fits. */
#pragma once

#include "base/vec.h"
#include "run/run.h"

typedef struct CommandWord {
    const char *option; /* "root" of --root; NULL: an argument */
    Str value;
} CommandWord;

typedef VEC(CommandWord) CommandWords;

/* Every option that decides what the steps are and what they see, with absolute paths; what has its
 * default is left out. The path of the site comes last. */
void command_line_put(Arena *arena, const RunConfig *config, CommandWords *out);

/* The name of the variable that a -D sets: of "name=text" and "name:=json". */
Str define_name(Str define);
