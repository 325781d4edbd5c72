/* A folder for the time of one call: files that a program is given or leaves, for the owner alone.
 * Secrets reach programs this way, since arguments can be seen by everybody. */
#pragma once

#include "modules/call.h"

typedef struct Scratch {
    Call *call;
    Str path; /* empty: there is none */
} Scratch;

/* Made in /tmp of the call's host. What others left who were killed is taken away. */
MUST_CHECK bool scratch_make(Call *call, Scratch *out, Error *err);
/* Gives the path of the new file. */
MUST_CHECK bool scratch_put(Scratch *scratch, const char *name, Str content, Str *path, Error *err);
Str scratch_path(const Scratch *scratch, const char *name);
/* An executable file of its own, for `uid` alone, whom no folder of ours would let in. The caller removes
 * it. */
MUST_CHECK bool scratch_put_program(Call *call, Str content, uint32_t uid, uint32_t gid, Str *path,
                                    Error *err);
void scratch_remove(Scratch *scratch); /* with all that is in it; none is fine */
DEFINE_AUTO_CLEAR(Scratch, scratch_remove)
