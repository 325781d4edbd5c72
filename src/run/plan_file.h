/* A plan that was saved, to be applied only if nothing has moved since.
 *
 *     {"format":"eden.plan/1","at":..,"node":..,"node_given":bool,"site":DIGEST,"path":..,"root":..,"order":..,
 *      "jobs":[..],"labels":[..],"vars":[..],"defines":[..],"withheld":[NAME],
 *      "files":{PATH:DIGEST},"var_files":{PATH:DIGEST},
 *      "steps":[{"id":..,"result":..,"observed":DIGEST}],"shown":TEXT}
 *
 * `observed` stands for what the check of a step found and would change, `shown` is what people
 * were told. Paths are absolute, so that it can be applied from anywhere. Values given with -D are
 * in the file as they were given, except those of secret variables: of these it has the names, and
 * they are given again to apply it. It is for its owner alone. */
#pragma once

#include "run/command_line.h"
#include "run/run.h"

/* The plan of a run that was planned, and that people were `shown`. */
Value plan_file_value(Run *run, Str shown, Arena *arena);

/* Whether a file whose first PLAN_FILE_HEAD bytes these are looks like a saved plan. */
enum {
    PLAN_FILE_HEAD = 64
};
bool plan_file_is(Str head);
/* What it was made with, in place of what the command line would say. Fails with ERROR_INVALID. */
MUST_CHECK bool plan_file_config(Arena *arena, Str text, Value *plan, RunConfig *config,
                                 Error *err);
/* The options and the path that make it again; `config` is what plan_file_config found. */
void plan_file_command(Arena *arena, Value plan, const RunConfig *config, CommandWords *out);
/* Compares it with a run that was planned just now. Fails with ERROR_CONFLICT and names what has
 * moved first: a file of variables or of the site, or steps. */
MUST_CHECK bool plan_file_matches(Value plan, Run *run, Error *err);
