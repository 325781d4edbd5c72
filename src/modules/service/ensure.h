/* What service.ensure wants of a unit, and what it takes to get there. Deciding is apart from
 * doing: ensure_decide.c looks at what was found and at nothing else. */
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
    Str name; /* complete */
    WantedState state;
    bool has_enabled, enabled;
    bool has_masked, masked;
    bool reload; /* as a reaction */
    JobPatience patience;
} Wanted;

typedef struct Found {
    UnitStatus unit; /* `load` is empty: it was not looked at */
    Str file_state;  /* see manager_file_state */
} Found;

typedef struct Todo {
    bool changes_file[6]; /* by UnitFileChange, in this order */
    bool reloads;         /* the links are as they shall be, but systemd has not read them */
    bool acts;
    UnitJob job;
} Todo;

/* The parameters; ERROR_INVALID for wishes that contradict one another. */
MUST_CHECK bool ensure_read(Call *call, Wanted *out, Error *err);
/* What is to be done. Fails when it cannot be: ERROR_NOT_FOUND where there is no such unit. In a
 * plan that may come, and so is no failure. */
MUST_CHECK bool ensure_decide(const Wanted *wanted, const Found *found, bool planning, Todo *out,
                              Error *err);
bool todo_is_empty(const Todo *todo);
/* Changes, comment and the state that the unit will be in. */
void ensure_describe(Call *call, const Wanted *wanted, const Found *found, const Todo *todo,
                     Outcome *outcome);

/* Whether a file in that state is enabled; masked. */
bool file_state_is_enabled(Str state);
bool file_state_is_masked(Str state);
