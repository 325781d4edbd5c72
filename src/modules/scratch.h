/* A private temporary directory for one call: files that are passed to a program or that it writes.
 * Secrets are passed this way, since arguments are visible to all users. */
#pragma once

#include "modules/call.h"

typedef struct Scratch {
    Call *call;
    Str path; /* empty: none */
} Scratch;

/* Created in /tmp of the call's host. Directories left by killed processes are removed. */
MUST_CHECK bool scratch_make(Call *call, Scratch *out, Error *err);
/* Writes a file and sets `path` to its path. */
MUST_CHECK bool scratch_put(Scratch *scratch, const char *name, Str content, Str *path, Error *err);
Str scratch_path(const Scratch *scratch, const char *name);
/* Writes a separate executable file for `uid`, who cannot access our private directory. The caller
 * removes it. */
MUST_CHECK bool scratch_put_program(Call *call, Str content, uint32_t uid, uint32_t gid, Str *path,
                                    Error *err);
void scratch_remove(
    Scratch *scratch); /* removes all files in it; does nothing if there is no directory */
DEFINE_AUTO_CLEAR(Scratch, scratch_remove)
