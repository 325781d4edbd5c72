/* Running a program to its end.
 *
 * The child gets a session of its own, so that it has no terminal to ask questions on and can be
 * ended together with everything that it started: at the timeout, or when the run is cancelled,
 * its whole group gets SIGTERM and, after a moment, SIGKILL. A program that leaves something
 * running in the background and exits is not waited for any longer, even when that something keeps
 * the output open. Many threads may run programs at once. */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"
#include "sys/host.h"

typedef void (*ProcessLine)(void *context, Str line);
/* False ends the program. */
typedef bool (*ProcessTake)(void *context, Str piece);

typedef struct ProcessSpec {
    const char *const *argv; /* ends with NULL; argv[0] without '/' is looked for in PATH */
    int program;             /* of program_seal(): executed in place of argv[0]; 0: none */
    const char *const *env;  /* "NAME=value", ends with NULL; NULL: as this process has it */
    Str input;               /* standard input; empty: none */
    int input_file;          /* a descriptor, read from its start, instead; 0: none */
    const char *root;        /* NULL: this process's; else changed to before all that follows */
    const char *directory;   /* NULL: as it is, or "/" in another root */
    /* Whose directory that is, NULL: nothing is known. What runs as root then follows only the links
     * that the host follows; another user goes wherever they may go. */
    const Host *host;
    bool as_user; /* with the ids below; otherwise as this process */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    uint32_t group_count;
    bool set_umask;
    mode_t umask;
    int64_t timeout_ms;           /* 0: none */
    size_t output_max;            /* of each of the two; what lies beyond is dropped */
    bool end_at_max;              /* who writes more than that is ended */
    bool join_output;             /* both as one text, `out`, in the order they were written */
    const atomic_bool *cancelled; /* may be NULL */
    ProcessLine line;             /* told every line of output as it comes; may be NULL */
    void *line_context;
    /* Given standard output as it comes, which is not kept then; may be NULL. `line` was told before
     * what the program wrote to standard error before that. */
    ProcessTake take;
    void *take_context;
} ProcessSpec;

typedef enum ProcessEnding {
    PROCESS_EXITED,    /* exit_code is set */
    PROCESS_KILLED,    /* by signal_number, not by us */
    PROCESS_TIMED_OUT, /* ended by us */
    PROCESS_CANCELLED, /* ended by us */
    PROCESS_TOO_LOUD,  /* ended by us: see end_at_max */
    PROCESS_REFUSED,   /* ended by us: see ProcessTake */
} ProcessEnding;

typedef struct ProcessResult {
    ProcessEnding ending;
    int exit_code;
    int signal_number;
    Str out, error_out; /* in the arena */
    bool out_cut, error_cut;
} ProcessResult;

/* False when it could not be started: ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS, with the program
 * or directory in the text. However it ends after that is no failure here. */
MUST_CHECK bool process_run(Arena *arena, const ProcessSpec *spec, ProcessResult *out, Error *err);

/* What a program wrote, in a line: all of it when it is short, else how it starts and its last words,
 * else these alone. Lines are set apart by " | "; those that only point at the one above are left
 * out. */
Str process_words(Arena *arena, Str text);
/* What went wrong with one that ended, in a line: "exited with 3: no such table". `timeout_ms` is
 * what it was given. Always false. */
bool process_failure(Arena *arena, const ProcessResult *result, int64_t timeout_ms, Error *err);

/* The environment of this process, with the variables of `extra` ("NAME=value", ends with NULL) in
 * place of those of the same name. For ProcessSpec.env. */
const char *const *process_environment(Arena *arena, const char *const *extra);
/* The same for a program that runs as `uid`. Another user gets PATH, languages, time zone, terminal and
 * proxies of this process, and nothing that may be a secret of ours. */
const char *const *process_environment_as(Arena *arena, uid_t uid, const char *const *extra);

int64_t process_own_number(void);
uid_t process_own_user(void);
/* "SIGKILL", or "signal 40". */
Str process_signal_name(Arena *arena, int number);
