/* The desired state of a unit for service.ensure, and the actions to get there. Decisions are pure:
 * ensure_decide.c uses only the collected state. */
#pragma once

#include "modules/service/job.h"

typedef enum WantedState {
    WANT_ANY,
    WANT_STARTED,
    WANT_STOPPED,
    WANT_RESTARTED,
    WANT_RELOADED,
} WantedState;

typedef struct Wanted {
    Str name; /* full name with suffix */
    WantedState state;
    bool has_enabled, enabled;
    bool has_masked, masked;
    bool reload; /* reload in reaction to a change */
    JobTimeouts patience;
} Wanted;

typedef struct Found {
    UnitStatus unit; /* `load` is empty: not queried */
    Str file_state;  /* see manager_file_state */
} Found;

typedef struct Todo {
    bool changes_file[6]; /* indexed by UnitFileChange, in this order */
    bool reloads;         /* the unit files are as desired, but systemd has not reloaded them */
    bool acts;
    UnitJob job;
} Todo;

/* Reads the parameters. Fails with ERROR_INVALID if they contradict each other. */
MUST_CHECK bool ensure_read(Call *call, Wanted *out, Error *err);
/* Decides what to do. Fails if that is impossible, with ERROR_NOT_FOUND if there is no such unit;
 * during a plan, an earlier step may still create it. */
MUST_CHECK bool ensure_decide(const Wanted *wanted, const Found *found, bool planning, Todo *out,
                              Error *err);
bool todo_is_empty(const Todo *todo);
/* Sets changes, comment and the resulting state. */
void ensure_describe(Call *call, const Wanted *wanted, const Found *found, const Todo *todo,
                     Outcome *outcome);

/* Returns true if a unit file in that state is enabled, or masked. */
bool file_state_is_enabled(Str state);
bool file_state_is_masked(Str state);
