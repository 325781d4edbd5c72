/* The input and output of the functions of a module.
 *
 * A Call belongs to one step of one run and to the worker thread that runs it: modules may block
 * and share nothing. They access the machine only through `host`, so that the same module works on
 * the running system, in another root and in a temporary overlay.
 *
 * check before effect: `apply` runs only after `check` has set `changed`. Before it overwrites or
 * removes anything, it calls call_keep(), which journals the previous content. */
#pragma once

#include <stdatomic.h>

#include "model/module.h"
#include "sys/clock.h"
#include "sys/host.h"

/* Services of the runner for modules; a table of functions, because the runner is above this
 * directory. */
typedef struct CallServices {
    void *context;
    /* Durably journals the current content of `path` (a file's content by hash, a symlink's target,
     * or its absence), with owner and mode. Called by call_keep. */
    bool (*keep)(void *context, Call *call, Str path, Error *err);
    /* Returns true if a step of this run manages `path` or something below it. May be NULL: none
     * does. */
    bool (*is_claimed)(void *context, Call *call, Str path);
    /* Returns true if an earlier step of this plan may create what a check finds missing; `why`
     * names it. May be NULL: always true. */
    bool (*may_come)(void *context, Call *call, const char *class, Str name, Str *why);
    /* Reports what the running step waits for; see call_report_wait. May be NULL. */
    void (*waits)(void *context, Call *call, Str why);
    /* Reports the progress of the running step; see call_progress. May be NULL. */
    void (*progress)(void *context, Call *call, Str line);
    /* Redacts the secrets of the run; see call_scrub. May be NULL: there are none. */
    Str (*scrub)(void *context, Call *call, Str text);
    /* Returns true if the machine has rebooted since this step requested it (Outcome.leave), in
     * this run or the one that it continues; sets the time of the request. May be NULL: it has
     * not. */
    bool (*has_rebooted)(void *context, Call *call, int64_t *asked_ms);
} CallServices;

typedef enum LeaveKind {
    LEAVE_KEXEC, /* into another kernel, without going through the firmware */
    LEAVE_REBOOT,
    LEAVE_POWEROFF, /* later constants take precedence if several steps request one */
} LeaveKind;

/* How the machine should reboot or shut down. */
typedef struct Leave {
    LeaveKind kind;
    bool resumes;                     /* the run continues after the reboot */
    int64_t delay_ms;                 /* after everything else is done */
    Str message;                      /* for logged-in users; empty: none */
    Str kernel, initrd, command_line; /* for LEAVE_KEXEC; the last may be empty: unchanged */
} Leave;

struct Call {
    const Action *action;
    const Value *params; /* in the order of the action's table; value_missing() if not set */
    Arena *arena;        /* lives as long as the step's result */
    Host *host;
    uint32_t step; /* index, for the services */
    const CallServices *services;
    int64_t timeout_ms;          /* for the entire action; 0: none */
    const atomic_bool *canceled; /* set: stop as soon as it is safe; may be NULL */
    /* Only a check will run (a plan, or the first check of prereq): nothing may be changed, not
     * even temporarily, and nothing is waited for. What an earlier step would create may be
     * missing. */
    bool planning;
    /* The first check of prereq: the same step is checked again later. */
    bool first_look;
    /* For a reaction: when the last change that triggered it was made (milliseconds since 1970; 0:
     * in an earlier run), and whether `apply` of this same step ran after it. */
    int64_t change_ms;
    bool ran_since;
    const char *blamed; /* the parameter that caused a failure; NULL: none; see call_blame */
    Str comes;          /* what a check found missing, and which step creates it; see call_lacks */
};

/* The result of check and apply. Zeroed before check; apply continues with what check has set.
 * Everything is in the Call's arena.
 *
 * The runner clears `changed` before apply, which sets it as soon as something has changed, so that
 * it is correct even if apply fails partway. If apply succeeds without setting a comment, that of
 * check is used. */
struct Outcome {
    bool changed;       /* check: would change; apply and react: has changed */
    bool unknown;       /* check: cannot be predicted */
    Map *changes;       /* what: {"old": .., "new": ..}, or any printable value; NULL: none */
    Str diff;           /* unified; empty: none */
    Str comment;        /* one line for users: "created", "already present" */
    Str state;          /* "present", "absent", "running"; empty: name of the result */
    Str out, error_out; /* output of a command, each truncated at its limit */
    int exit_code;
    bool has_exit_code;
    Value value; /* of a query, and of a step that only reads; null for others */
    List *files; /* published by file.content: maps {path, mode, content}; NULL: none */
    void *found; /* arbitrary data that check passes to apply */
    /* Set by apply if the machine must reboot before the step is complete; NULL: no reboot. No
     * further step starts. Once everything is saved, the machine reboots and the run continues: the
     * step is checked again, and call_has_rebooted() returns true. */
    const Leave *leave;
    bool refused; /* of a failure: the diff shows new content that is wrong, and stays */
    bool secret;  /* set by the runner: nothing is shown, because the step is secret */
    /* Represents the found and desired state where changes and diff must not reveal it, so that a
     * saved plan detects when it changes; see outcome_observe. Never shown. */
    Str observed;
};

/* The value of the parameter; value_missing() if not set. Using a name that the action does not
 * have is a bug. */
Value call_param(const Call *call, const char *name);
bool call_has(const Call *call, const char *name);
Str call_str(const Call *call, const char *name);                       /* empty if not set */
bool call_bool(const Call *call, const char *name);                     /* false if not set */
int64_t call_int(const Call *call, const char *name, int64_t fallback); /* also durations, modes */
/* Returns true if a pattern in the parameter 'keep' matches this path. */
bool call_is_kept(Call *call, Str path);

/* Sets `out` to the one of these parameters (terminated by NULL) that is set; NULL: none. Fails
 * with ERROR_INVALID if more than one is, since they are alternatives. */
MUST_CHECK bool call_choose(const Call *call, const char *const *names, const char **out,
                            Error *err);

/* The part of a check that uses only the parameters, neither the host nor the services. */
typedef bool (*CallRead)(Call *call, Error *err);
/* For ActionVerify: runs `read` and attributes its error to the parameter passed to call_blame, or
 * to the one that the message begins with. */
MUST_CHECK bool call_verify(Arena *arena, const Action *action, const Value *params, CallRead read,
                            const char **at, Error *err);
/* Defines such an ActionVerify called `name`. */
#define CALL_VERIFY(name, read)                                                                \
    static bool name(Arena *arena, const Action *action, const Value *params, const char **at, \
                     Error *err)                                                               \
    {                                                                                          \
        return call_verify(arena, action, params, read, at, err);                              \
    }

/* Attributes a failure to this parameter, so that its location is reported. Always returns
 * false. */
bool call_blame(Call *call, const char *param);
/* Reports that the machine lacks what `param` refers to. Returns false if the step must fail, with
 * the caller's error. Returns true if this is only a check and an earlier step may create it; then
 * the check continues as if it existed. `class` and `name` are as in a claim ("user", "web"); a
 * path that ends with "/" means anything below it. If several things would be sufficient, call it
 * for each. */
bool call_lacks(Call *call, const char *param, const char *class, Str name);
/* The same for a program that the step runs. */
bool call_lacks_program(Call *call, const char *program);

/* Journals what is at `path` before it is changed. */
MUST_CHECK bool call_keep(Call *call, Str path, Error *err);
/* During a plan, records the future content of `path` for the checks of later steps. */
void call_plan(Call *call, Str path, const PlannedFile *file);
/* Returns true if another step manages it, so that cleaning up must not remove it. */
bool call_is_claimed(Call *call, Str path);
/* Reports progress, as a line that is shown immediately. Not for output of programs: each line is
 * redacted separately, so a secret that spans several lines would not be found. */
void call_progress(Call *call, Str line);
/* Redacts secrets from the output of a program; the result is in the call's arena. Output of which
 * only a part is shown must be redacted as a whole before it is truncated, because a partial secret
 * is not found. */
Str call_scrub(Call *call, Str text);
/* Reports that the step waits for something external, in a few words that may be shown immediately.
 * Empty: it continues. */
void call_report_wait(Call *call, Str why);
/* See CallServices.has_rebooted. */
bool call_has_rebooted(Call *call, int64_t *asked_ms);
bool call_canceled(const Call *call);
/* The smaller of `own_ms` and the timeout of the call; 0: none. */
int64_t call_limit_ms(const Call *call, int64_t own_ms);
/* Fails if the run was canceled in the meantime. */
MUST_CHECK bool call_sleep(Call *call, int64_t duration_ms, Error *err);

/* Adds a secret to `observed`; only its digest is stored. */
void outcome_observe(Call *call, Outcome *outcome, Str secret);

/* Adds a change: what["old"] and what["new"]; missing values are omitted. */
void outcome_change(Call *call, Outcome *outcome, const char *what, Value old_value,
                    Value new_value);
