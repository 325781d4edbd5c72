/* A saved plan, applied only if nothing has changed since.
 *
 *     {"format":"eden.plan/1","at":..,"node":..,"node_given":bool,"site":DIGEST,"path":..,"root":..,"order":..,
 *      "jobs":[..],"labels":[..],"vars":[..],"defines":[..],"withheld":[NAME],
 *      "files":{PATH:DIGEST},"var_files":{PATH:DIGEST},
 *      "steps":[{"id":..,"result":..,"observed":DIGEST}],"shown":TEXT}
 *
 * `observed` is a digest of what the check of a step found and would change, `shown` is the printed
 * plan. Paths are absolute, so it can be applied from any directory. Values given with -D are
 * stored verbatim, except those of secret variables: only their names are stored, and they have to
 * be given again. The file is private. */
#pragma once

#include "run/command_line.h"
#include "run/run.h"

/* The plan of a planned run; `shown` is what was printed. */
Value plan_file_value(Run *run, Str shown, Arena *arena);

/* Whether a file that starts with these PLAN_FILE_HEAD bytes looks like a saved plan. */
enum {
    PLAN_FILE_HEAD = 64
};
bool plan_file_is(Str head);
/* The configuration that the plan was made with. Fails with ERROR_INVALID. */
MUST_CHECK bool plan_file_config(Arena *arena, Str text, Value *plan, RunConfig *config,
                                 Error *err);
/* Whether it decides only how a plan is shown: saved as well, to recreate the plan as it was. */
bool plan_file_is_shown_option(Str name);
/* The options and the path that recreate it; `config` is from plan_file_config(). */
void plan_file_command(Arena *arena, Value plan, const RunConfig *config, CommandWords *out);
/* Compares it with a newly planned run. Fails with ERROR_CONFLICT, naming the first change: a
 * variables file, a file of the site, or steps. */
MUST_CHECK bool plan_file_matches(Value plan, Run *run, Error *err);
