/* What a module's functions get and give.
 *
 * A Call belongs to one step of one run and to the worker that runs it: modules block as they
 * like and share nothing. Everything outside is reached through `host`, so that the same module
 * works on this machine, below another root and inside a throwaway overlay.
 *
 * Check before effect: `apply` runs only after `check` set `changed`. Before it overwrites or
 * removes anything, it calls call_keep(), which journals what was there. */
#pragma once

#include <stdatomic.h>

#include "model/module.h"
#include "sys/clock.h"
#include "sys/host.h"

/* What the runner offers to modules; a table, because the runner lies above this folder. */
typedef struct CallServices {
    void *context;
    /* Keeps what stands at `path` (a file's content by hash, a link's target, or its absence), with
     * owner and mode, in the journal, durably. Called by call_keep. */
    bool (*keep)(void *context, Call *call, Str path, Error *err);
    /* Whether a step of this run manages `path` or something below it. May be NULL: none does. */
    bool (*is_claimed)(void *context, Call *call, Str path);
    /* Whether an earlier step of this plan may bring what a check finds missing; `why` names it. May
     * be NULL: it may. */
    bool (*may_come)(void *context, Call *call, const char *class, Str name, Str *why);
    /* What the step waits for while it runs; see call_waits. May be NULL. */
    void (*waits)(void *context, Call *call, Str why);
    /* How far the step is while it runs; see call_progress. May be NULL. */
    void (*progress)(void *context, Call *call, Str line);
    /* A text without the secrets that the run knows; see call_scrub. May be NULL: there are none. */
    Str (*scrub)(void *context, Call *call, Str text);
    /* Whether the machine was started anew since this step asked for it (Outcome.leave), in this
     * run or the one that it continues; and when it asked. May be NULL: it was not. */
    bool (*came_back)(void *context, Call *call, int64_t *asked_ms);
} CallServices;

typedef enum LeaveKind {
    LEAVE_KEXEC, /* into another kernel, past the firmware */
    LEAVE_REBOOT,
    LEAVE_POWEROFF, /* the later ones win when several steps ask */
} LeaveKind;

/* How the machine shall go down. */
typedef struct Leave {
    LeaveKind kind;
    bool resumes;                     /* the run goes on when the machine is up again */
    int64_t delay_ms;                 /* after everything else is done */
    Str message;                      /* for those who are logged in; empty: none */
    Str kernel, initrd, command_line; /* of LEAVE_KEXEC; the last may be empty: as it is now */
} Leave;

struct Call {
    const Action *action;
    const Value *params; /* in the order of the row; value_missing() when absent */
    Arena *arena;        /* lives as long as the step's result */
    Host *host;
    uint32_t step; /* for the services */
    const CallServices *services;
    int64_t timeout_ms;           /* of the whole action; 0: none */
    const atomic_bool *cancelled; /* set: stop as soon as it is safe; may be NULL */
    /* Only a check follows (a plan, or the first look of prereq): nothing may be touched, not even
     * for a moment, and nothing is waited for. What an earlier step would make may be missing. */
    bool planning;
    /* The first look of prereq: the same step is checked once more later. */
    bool first_look;
    /* Of a reaction: when the last change was made that it answers to (milliseconds since 1970;
     * 0: in an earlier run), and whether `apply` of this very step came after that. */
    int64_t change_ms;
    bool ran_since;
    const char *blamed; /* the parameter that a failure is about; NULL: none; see call_blame */
    Str comes;          /* what a check found missing, and which step brings it; see call_lacks */
};

/* What check found and apply did. Zeroed before check; apply continues what check filled in.
 * Everything is in the Call's arena.
 *
 * The runner clears `changed` before apply, which sets it once something is different: so it is
 * right also when apply fails half way. The comment of check counts when apply went well and has
 * none of its own. */
struct Outcome {
    bool changed;       /* check: would change; apply and react: has changed */
    bool unknown;       /* check: cannot be told before it runs */
    Map *changes;       /* what: {"old": .., "new": ..}, or any readable value; NULL: none */
    Str diff;           /* unified; empty: none */
    Str comment;        /* one line for people: "created", "already present" */
    Str state;          /* "present", "absent", "running"; empty: the result's name */
    Str out, error_out; /* what a command wrote, each cut at its limit */
    int exit_code;
    bool has_exit_code;
    Value value; /* of a query, and of a step that only looks; null for the rest */
    List *files; /* what file.content publishes: maps {path, mode, content}; NULL: none */
    void *found; /* whatever check wants to hand to apply */
    /* Set by apply when the machine has to go down and come back before the step is done; NULL: it
     * has not. No further step starts; once everything is written down, the machine restarts, and
     * the run is continued: the step is asked again then, and call_came_back() tells it. */
    const Leave *leave;
    bool secret; /* set by the runner: nothing of it is shown, because the step is secret */
    /* Stands for what was found and is wanted where changes and diff may not tell, so that a saved
     * plan notices when it moves; see outcome_observe. Never shown. */
    Str observed;
};

/* The parameter of that name as it arrived; value_missing() when absent. The name must be in the
 * row: asking for another is a bug. */
Value call_param(const Call *call, const char *name);
bool call_has(const Call *call, const char *name);
Str call_str(const Call *call, const char *name);                       /* empty when absent */
bool call_bool(const Call *call, const char *name);                     /* false when absent */
int64_t call_int(const Call *call, const char *name, int64_t fallback); /* also durations, modes */
/* Whether one of the patterns of the parameter 'keep' is for this path. */
bool call_keeps(Call *call, Str path);

/* Which of these parameters (NULL ends them) was given; NULL: none. Fails with ERROR_INVALID when
 * there are two: they are ways to say the same. */
MUST_CHECK bool call_choose(const Call *call, const char *const *names, const char **out,
                            Error *err);

/* A failure is about this parameter, and told at its place. Always false. */
bool call_blame(Call *call, const char *param);
/* The machine lacks what `param` asks for. False: the step fails, with the caller's error. True: this
 * is a check only, and an earlier step may bring it, so that the check goes on as if it were there.
 * `class` and `name` as in a claim ("user", "web"); a path that ends in "/" is anything below. Where
 * several things would do, each is asked for. */
bool call_lacks(Call *call, const char *param, const char *class, Str name);
/* A program that the step runs. */
bool call_lacks_program(Call *call, const char *program);

/* Journals what is at `path` before it is changed. */
MUST_CHECK bool call_keep(Call *call, Str path, Error *err);
/* In a plan: what would stand at `path`, for the checks of later steps. */
void call_plan(Call *call, Str path, const PlannedFile *file);
/* Whether another step takes care of what is there, so that cleaning up leaves it alone. */
bool call_is_claimed(Call *call, Str path);
/* How far it is, in a line that is shown at once. Not for what programs write: secrets are taken out
 * of each line by itself, and so those of several lines are not found. */
void call_progress(Call *call, Str line);
/* What a program wrote, without secrets, in the call's arena. For texts of which a part is shown: they
 * are scrubbed as a whole, before anything is cut off, because half a secret is not found. */
Str call_scrub(Call *call, Str text);
/* The step waits for somebody or something outside: a few words that may be shown at once. Empty:
 * it goes on. */
void call_waits(Call *call, Str why);
/* See CallServices.came_back. */
bool call_came_back(Call *call, int64_t *asked_ms);
bool call_cancelled(const Call *call);
/* The time limit `own_ms`, or that of the call where it is shorter; 0: none. */
int64_t call_limit_ms(const Call *call, int64_t own_ms);
/* Fails when the run was cancelled meanwhile. */
MUST_CHECK bool call_sleep(Call *call, int64_t duration_ms, Error *err);

/* Adds a secret to `observed`, of which its digest alone is kept. */
void outcome_observe(Call *call, Outcome *outcome, Str secret);

/* Notes one change: what["old"] and what["new"]; missing values are left out. */
void outcome_change(Call *call, Outcome *outcome, const char *what, Value old_value,
                    Value new_value);
