/* Runs that continue after a reboot.
 *
 * A run in which a step requested a reboot leaves a note in the subdirectory `resume` of the state
 * directory, one per site: which steps requested it, during which boot, and the command that
 * continues the run. A unit that starts at boot runs `eden apply --resume`, which runs these
 * commands. In the continued run, a step in the note does not request a reboot again, because the
 * boot ID has changed. When such a run ends without another request, note and unit are removed.
 *
 * The note is on disk before the machine goes down. If the process is killed in between, the boot
 * ID is still the same, and the next run requests the reboot again. */
#pragma once

#include "lang/value.h"
#include "sys/directory.h"
#include "sys/host.h"

typedef struct ResumeStep {
    Str id;
    Str boot; /* the boot during which it was requested */
    int64_t asked_ms;
} ResumeStep;

typedef struct Resume {
    Str site;     /* name of the site; if empty, its path identifies it */
    Str home;     /* path of the site */
    bool resumes; /* continues automatically */
    Str *argv;    /* arguments of the command, without the program */
    uint32_t argc;
    ResumeStep *steps;
    uint32_t step_count;
    Value unknown; /* fields written by a newer version */
} Resume;

/* The note of a site, possibly by its path, as earlier versions wrote it. Returns false if there is
 * none that can be read. */
bool resume_load(const char *state, Arena *arena, Str site, Str home, Resume *out);
/* All notes of runs that continue automatically. A missing state directory has none. */
MUST_CHECK bool resume_list(const char *state, Arena *arena, Resume **out, uint32_t *count,
                            Error *err);
/* Writes the note durably; one without steps is removed. */
MUST_CHECK bool resume_save(const Directory *state, const Resume *resume, Error *err);

/* The entry of the step; NULL if it has not requested a reboot. */
const ResumeStep *resume_find(const Resume *resume, Str id);

/* Makes the machine run `eden apply --resume` at boot, or no longer. `state` is absolute. */
MUST_CHECK bool resume_unit_put(Host *host, Arena *arena, Str state, Error *err);
MUST_CHECK bool resume_unit_remove(Host *host, Error *err);
