/* The input and output of the functions of a module.
 *
 * A Call belongs to one step of one run and to the worker thread that runs it: modules may block
 * and share nothing. They access the machine only through `host`, so that the same module works on
 * the running system, in another root and in a temporary overlay.
 *
 * check before effect: `apply` runs only after `check` has set `changed`. Before it overwrites or
 * removes anything, it calls call_journal(), which journals the previous content. */
#pragma once

#include <stdatomic.h>

#include "model/module.h"
#include "sys/clock.h"
#include "sys/host.h"

/* Services that the runner provides to modules. A table of functions, because this directory must
 * not depend on the runner. */
typedef struct CallServices {
    void *context;
    /* Durably journals the current content of `path` (a file's content by hash, a symlink's target,
     * or its absence), with owner and mode. Called by call_journal(). */
    bool (*journal)(void *context, Call *call, Str path, Error *err);
    /* Returns true if a step of this run manages `path` or something below it. May be NULL: none
     * does. */
    bool (*is_claimed)(void *context, Call *call, Str path);
    /* Returns true if an earlier step of this plan may create what a check finds missing; `why`
     * names that step. May be NULL: always true. */
    bool (*may_be_provided)(void *context, Call *call, const char *class, Str name, Str *why);
    /* Reports what the running step is waiting for; see call_report_wait. May be NULL. */
    void (*report_wait)(void *context, Call *call, Str why);
    /* Reports the progress of the running step; see call_progress. May be NULL. */
    void (*progress)(void *context, Call *call, Str line);
    /* Redacts the secrets of the run; see call_scrub. May be NULL: there are none. */
    Str (*scrub)(void *context, Call *call, Str text);
    /* Returns true if the machine has rebooted since this step requested it (Outcome.shutdown), in
     * this run or the one that it continues; sets the time of the request. May be NULL: it has
     * not. */
    bool (*has_rebooted)(void *context, Call *call, int64_t *requested_ms);
} CallServices;

typedef enum ShutdownKind {
    SHUTDOWN_KEXEC, /* into another kernel, without going through the firmware */
    SHUTDOWN_REBOOT,
    SHUTDOWN_POWEROFF, /* later constants take precedence if several steps request one */
} ShutdownKind;

/* How the machine should reboot or shut down. */
typedef struct ShutdownRequest {
    ShutdownKind kind;
    bool resumes;                     /* the run continues after the reboot */
    int64_t delay_ms;                 /* after everything else is done */
    Str message;                      /* shown to logged-in users; empty: none */
    Str kernel, initrd, command_line; /* for SHUTDOWN_KEXEC; the last may be empty: unchanged */
} ShutdownRequest;

struct Call {
    const Action *action;
    const Value *params; /* in the order of the action's table; value_missing() if not set */
    Arena *arena;        /* lives as long as the step's result */
    Host *host;
    uint32_t step; /* index, for the services */
    const CallServices *services;
    int64_t timeout_ms;          /* for the entire action; 0: no limit */
    const atomic_bool *canceled; /* set: stop as soon as it is safe; may be NULL */
    /* Only a check will run (a plan, or the first check of prereq): nothing may be changed, not
     * even temporarily, and nothing is waited for. What an earlier step would create may be
     * missing. */
    bool planning;
    /* This is the check that prereq runs first; the step is checked again later. */
    bool is_prereq_check;
    /* For a reaction: the time of the last change that triggered it (milliseconds since 1970; 0: in
     * an earlier run), and whether `apply` of this step has run since then. */
    int64_t change_ms;
    bool ran_after_change;
    const char *blamed; /* the parameter that caused a failure, or NULL; see call_blame() */
    Str provided_by; /* steps that will create what a check found missing; see call_report_missing() */
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
    Value value;      /* of a query, and of a step that only reads; null for others */
    List *files;      /* published by file.content: maps {path, mode, content}; NULL: none */
    void *check_data; /* passed from check to apply; defined by the action */
    /* Set by apply if the machine must reboot before the step is complete; NULL: no reboot. No
     * further step starts. Once everything is saved, the machine reboots and the run continues: the
     * step is checked again, and call_has_rebooted() returns true. */
    const ShutdownRequest *shutdown;
    bool keeps_diff; /* after a failure, keep the diff: it shows the content that was rejected */
    bool secret;     /* set by the runner: nothing is shown, because the step is secret */
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
bool call_is_preserved(Call *call, Str path);

/* Finds which of these mutually exclusive parameters (terminated by NULL) is set; NULL: none. Fails
 * with ERROR_INVALID if more than one is set. */
MUST_CHECK bool call_choose(const Call *call, const char *const *names, const char **out,
                            Error *err);

/* The part of a check that depends only on the parameters, not on the host or the services. */
typedef bool (*CallRead)(Call *call, Error *err);
/* Implements ActionVerify: runs `read` and attributes its error to the parameter passed to
 * call_blame(), or otherwise to the one that the message begins with. */
MUST_CHECK bool call_verify(Arena *arena, const Action *action, const Value *params, CallRead read,
                            const char **at, Error *err);
/* Defines an ActionVerify function `name` that calls call_verify(). */
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
 * path that ends with "/" means anything below it. If several things would be sufficient, call this
 * for each of them. */
bool call_report_missing(Call *call, const char *param, const char *class, Str name);
/* The same for a program that the step runs. */
bool call_report_missing_program(Call *call, const char *program);

/* Journals the current content of `path` before it is changed. */
MUST_CHECK bool call_journal(Call *call, Str path, Error *err);
/* During a plan, records the future content of `path` for the checks of later steps. */
void call_plan(Call *call, Str path, const PlannedFile *file);
/* Returns true if another step manages it, so that cleaning up must not remove it. */
bool call_is_claimed(Call *call, Str path);
/* Reports progress as a line that is shown immediately. Do not pass output of programs: each line
 * is redacted separately, so a secret that spans several lines would not be found. */
void call_progress(Call *call, Str line);
/* Redacts secrets from the output of a program; the result is in the call's arena. Redact output
 * before truncating it, because a partial secret is not found. */
Str call_scrub(Call *call, Str text);
/* Reports what the step is waiting for, in a few words that may be shown immediately. Empty: it is
 * no longer waiting. */
void call_report_wait(Call *call, Str why);
/* See CallServices. */
bool call_has_rebooted(Call *call, int64_t *requested_ms);
bool call_canceled(const Call *call);
/* The smaller of `own_ms` and the timeout of the call; 0: none. */
int64_t call_limit_ms(const Call *call, int64_t own_ms);
/* Sleeps; fails if the run is canceled in the meantime. */
MUST_CHECK bool call_sleep(Call *call, int64_t duration_ms, Error *err);

/* Adds the digest of a secret to `observed`. */
void outcome_observe(Call *call, Outcome *outcome, Str secret);

/* Adds a change: what["old"] and what["new"]; missing values are omitted. */
void outcome_change(Call *call, Outcome *outcome, const char *what, Value old_value,
                    Value new_value);
