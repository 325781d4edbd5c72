/* Runs a program and waits for it.
 *
 * The child gets its own session, so that it has no terminal to prompt on and can be killed
 * together with its descendants: at the timeout, or if the run is canceled, the process group gets
 * SIGTERM and, after a grace period, SIGKILL. When the program itself exits, processes that it left
 * in the background are not waited for, even if they keep the output open. Thread-safe. */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/own.h"
#include "base/str.h"
#include "sys/host.h"

typedef void (*ProcessLine)(void *context, Str line);
/* Receives a piece of output. Returning false kills the program. */
typedef bool (*ProcessSink)(void *context, Str piece);

typedef struct ProcessSpec {
    const char *const *argv; /* ends with NULL; argv[0] without '/' is searched for in PATH */
    int program;             /* from program_seal(): executed instead of argv[0]; 0: none */
    const char *const *env;  /* "NAME=value", ends with NULL; NULL: inherited */
    Str input;               /* standard input; empty: none */
    int input_file;          /* a descriptor to read from its start instead; 0: none */
    const char *root;        /* NULL: this process's; otherwise chroot, before everything else */
    const char *directory;   /* working directory; NULL: inherited, or "/" with another root */
    /* The host that `directory` is on; NULL: unknown. A program that runs as root then follows only
     * links that the host follows; other users go where permissions allow. */
    const Host *host;
    bool as_user; /* with the IDs below; otherwise as this process */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    uint32_t group_count;
    bool set_umask;
    mode_t umask;
    int64_t timeout_ms; /* 0: no limit */
    /* Limit on its address space, in bytes; 0: no limit. Programs with AddressSanitizer have
     * none. */
    size_t memory_max;
    size_t data_max;             /* the same for memory without files that are mapped to be read */
    size_t file_max;             /* limit on each file that it writes, in bytes; 0: no limit */
    size_t output_max;           /* limit for each of the two; the excess is dropped */
    bool kill_at_max;            /* kill the program when it writes more */
    bool merge_output;           /* both in `out`, in the order they were written */
    const atomic_bool *canceled; /* may be NULL */
    ProcessLine line;            /* receives each line of output as it arrives; may be NULL */
    void *line_context;
    /* Receives standard output as it arrives, which is then not stored; may be NULL. Earlier output
     * to standard error has been passed to `line` by then. */
    ProcessSink sink;
    void *sink_context;
} ProcessSpec;

typedef enum ProcessEnding {
    PROCESS_EXITED,          /* exit_code is set */
    PROCESS_KILLED,          /* by signal_number, which we did not send */
    PROCESS_TIMED_OUT,       /* killed by us */
    PROCESS_CANCELED,        /* killed by us */
    PROCESS_OUTPUT_LIMIT,    /* killed by us; see kill_at_max */
    PROCESS_OUTPUT_REJECTED, /* killed by us; see ProcessSink */
} ProcessEnding;

typedef struct ProcessResult {
    ProcessEnding ending;
    int exit_code;
    int signal_number;
    Str out, error_out; /* in the arena */
    bool out_truncated, error_truncated;
} ProcessResult;

/* Fails only if the program could not be started, with ERROR_NOT_FOUND, ERROR_DENIED or ERROR_OS
 * and a message that names the program or directory. A program that was started is a success here,
 * however it exits. */
MUST_CHECK bool process_run(Arena *arena, const ProcessSpec *spec, ProcessResult *out, Error *err);

/* Summarizes the output of a program in one line: all of it if it is short, otherwise its beginning
 * and its last line, or only the latter. Lines are separated by " | "; lines that only mark a
 * position in the previous one are left out. */
Str process_summary(Arena *arena, Str text);
/* Describes a failed program in one line: "exited with 3: no such table". `timeout_ms` is the
 * timeout that it had. Always false. */
bool process_failure(Arena *arena, const ProcessResult *result, int64_t timeout_ms, Error *err);

/* The environment of this process, in which the variables of `extra` ("NAME=value", ends with NULL)
 * replace those with the same name. For ProcessSpec.env. */
const char *const *process_environment(Arena *arena, const char *const *extra);
/* The same for a program that runs as `uid`. Another user gets PATH, locale, time zone, terminal
 * and proxies of this process, and nothing that may be a secret. */
const char *const *process_environment_as(Arena *arena, uid_t uid, const char *const *extra);

int64_t process_own_pid(void);
uid_t process_own_user(void);
/* "SIGKILL", or "signal 40". */
Str process_signal_name(Arena *arena, int number);
