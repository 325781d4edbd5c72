/* What a plan can know of a command before it runs: whether its program is there and can be executed. An
 * obstacle that an earlier step may remove is none. */
#pragma once

#include "modules/call.h"

/* The program that a command certainly starts with; empty when only a shell can tell. */
Str command_program(Call *call, Value command);
/* A program by its path; one that a shell or PATH leads to is not looked at. `param` is blamed, or NULL. */
MUST_CHECK bool command_check_program(Call *call, const char *param, Str program, Error *err);
/* The program of `command`; a list of words is looked for in PATH, as `env` has it, or as this process. */
MUST_CHECK bool command_check(Call *call, const char *param, Value command, Value env, Error *err);
