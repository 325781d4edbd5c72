/* Runs that go on when the machine is up again.
 *
 * A run in which a step asked for a restart leaves a note in the folder `resume` of the state
 * directory, one for each site: which steps asked, during which boot, and the command that goes on.
 * A unit that starts with the machine runs `eden apply --resume`, which carries these commands out.
 * In the continued run a step that is in the note asks no second time: the boot is another one.
 * When such a run ends without a new wish, note and unit are gone.
 *
 * The note is on the disk before the machine goes down. Where that does not happen, because the
 * process is killed in between, the boot is still the same, and the next run asks again. */
#pragma once

#include "lang/value.h"
#include "sys/directory.h"
#include "sys/host.h"

typedef struct ResumeStep {
    Str id;
    Str boot; /* during which it asked */
    int64_t asked_ms;
} ResumeStep;

typedef struct Resume {
    Str site;     /* its name; empty: it has none, and its place stands for it */
    Str home;     /* where it lies */
    bool resumes; /* goes on by itself */
    Str *argv;    /* of the command, without the program */
    uint32_t argc;
    ResumeStep *steps;
    uint32_t step_count;
    Value unknown; /* what a newer eden noted beside that */
} Resume;

/* The note of a site, also one by its place, as earlier versions wrote it. False when there is none,
 * or none that can be read. */
bool resume_load(const char *state, Arena *arena, Str site, Str home, Resume *out);
/* All notes that go on by themselves. A state directory that is not there has none. */
MUST_CHECK bool resume_list(const char *state, Arena *arena, Resume **out, uint32_t *count,
                            Error *err);
/* Writes the note, durably; one without steps is removed. */
MUST_CHECK bool resume_save(const Directory *state, const Resume *resume, Error *err);

/* The step's entry; NULL when it has not asked. */
const ResumeStep *resume_find(const Resume *resume, Str id);

/* Has the machine run `eden apply --resume` when it starts, or no longer. `state` is absolute. */
MUST_CHECK bool resume_unit_put(Host *host, Arena *arena, Str state, Error *err);
MUST_CHECK bool resume_unit_remove(Host *host, Error *err);
