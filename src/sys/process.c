#include "sys/process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/vec.h"
#include "sys/clock.h"
#include "sys/file_io.h"
#include "sys/vfork_child.h"

/* --- Child side ---------------------------------------------------------------------------- */

/* The step of the preparation that failed, for the message. */
typedef enum ChildStage {
    STAGE_ROOT,
    STAGE_DIRECTORY,
    STAGE_USER,
    STAGE_EXEC,
    STAGE_OTHER,
} ChildStage;

/* Everything the child needs, prepared by the parent: they share memory until exec, so the child
 * makes only raw system calls and stores its failure here. */
typedef struct Child {
    const ProcessSpec *spec;
    const char *const *candidates; /* paths to try with exec; ends with NULL */
    const char *const *env;
    int descriptors[3];
    int directory; /* opened by the parent; -1: chdir to its path */
    int report;    /* pipe that reports the failure of a child with separate memory; otherwise -1 */
    struct {
        ChildStage stage;
        int number; /* errno; 0: success */
    } failure;
} Child;

NO_SANITIZE static bool child_fail(Child *child, ChildStage stage)
{
    child->failure.stage = stage;
    child->failure.number = errno;
    return false;
}

/* glibc's wrappers would make every thread of the parent change its IDs too. */
NO_SANITIZE static bool child_become_user(Child *child)
{
    const ProcessSpec *spec = child->spec;
    if (spec->uid == geteuid() && spec->uid != 0) {
        return true; /* an unprivileged process has nothing to change */
    }
    return (syscall(SYS_setgroups, (size_t)spec->group_count, spec->groups) == 0 &&
            syscall(SYS_setresgid, spec->gid, spec->gid, spec->gid) == 0 &&
            syscall(SYS_setresuid, spec->uid, spec->uid, spec->uid) == 0) ||
           child_fail(child, STAGE_USER);
}

/* The interpreter of a script opens it again, so it stays open across exec. */
#define PROGRAM_DESCRIPTOR 3
#define PROGRAM_PATH       "/proc/self/fd/3"
#define REPORT_DESCRIPTOR  4

NO_SANITIZE static bool child_take_program(Child *child)
{
    int program = child->spec->program;
    long taken = program == PROGRAM_DESCRIPTOR ? syscall(SYS_fcntl, program, F_SETFD, 0)
                                               : syscall(SYS_dup3, program, PROGRAM_DESCRIPTOR, 0);
    return taken >= 0 || child_fail(child, STAGE_OTHER);
}

NO_SANITIZE static bool child_limit(Child *child, int resource, size_t max)
{
    struct rlimit limit = { max, max };
    return max == 0 || syscall(SYS_prlimit64, 0, resource, &limit, NULL) == 0 ||
           child_fail(child, STAGE_OTHER);
}

#ifdef POISON_WORKS
#define MEMORY_MAX(spec) ((size_t)0) /* AddressSanitizer reserves terabytes of addresses */
#define DATA_MAX(spec)   ((size_t)0)
#else
#define DATA_MAX(spec)   ((spec)->data_max)
#define MEMORY_MAX(spec) ((spec)->memory_max)
#endif

NO_SANITIZE static bool child_prepare(Child *child)
{
    const ProcessSpec *spec = child->spec;
    setsid();
    if (child->directory >= 0 && fchdir(child->directory) != 0) {
        return child_fail(child, STAGE_DIRECTORY);
    }
    for (int i = 0; i < 3; i++) {
        /* The two are never equal: the parent has moved its own above these. */
        if (syscall(SYS_dup3, child->descriptors[i], i, 0) < 0) {
            return child_fail(child, STAGE_OTHER);
        }
    }
    if (spec->program != 0 && !child_take_program(child)) {
        return false;
    }
    if (child->report >= 0) {
        if (syscall(SYS_dup3, child->report, REPORT_DESCRIPTOR, O_CLOEXEC) < 0) {
            return child_fail(child, STAGE_OTHER);
        }
        child->report = REPORT_DESCRIPTOR; /* close_range closes the original */
    }
    if (spec->program == 0) {
        syscall(SYS_close_range, PROGRAM_DESCRIPTOR, PROGRAM_DESCRIPTOR, 0u);
    }
    syscall(SYS_close_range, REPORT_DESCRIPTOR + (child->report >= 0 ? 1u : 0u), ~0u, 0u);
    bool stays = child->directory >= 0;
    if (spec->root != NULL && (chroot(spec->root) != 0 || (!stays && chdir("/") != 0))) {
        return child_fail(child, STAGE_ROOT);
    }
    if (spec->set_umask) {
        umask(spec->umask);
    }
    if (spec->as_user && !child_become_user(child)) {
        return false;
    }
    /* As the user: the directory must be accessible for that user. */
    if (!stays && spec->directory != NULL && chdir(spec->directory) != 0) {
        return child_fail(child, STAGE_DIRECTORY);
    }
    return child_limit(child, RLIMIT_AS, MEMORY_MAX(spec)) &&
           child_limit(child, RLIMIT_DATA, DATA_MAX(spec)) &&
           child_limit(child, RLIMIT_FSIZE, spec->file_max);
}

NO_SANITIZE static void child_end(const Child *child)
{
    if (child->report >= 0) {
        syscall(SYS_write, child->report, &child->failure, sizeof child->failure);
    }
    _exit(127);
}

NO_SANITIZE static int child_main(void *argument)
{
    Child *child = argument;
    vfork_child_reset_signals();
    if (!child_prepare(child)) {
        child_end(child);
    }
    int failure = ENOENT;
    for (const char *const *path = child->candidates; *path != NULL; path++) {
        execve(*path, (char *const *)child->spec->argv, (char *const *)child->env);
        /* A file that is not executable does not hide one with the same name later in PATH, but is
         * the error to report if there is no other. */
        if (errno != ENOENT && errno != ENOTDIR) {
            failure = errno;
        }
        if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) {
            break;
        }
    }
    errno = failure;
    child_fail(child, STAGE_EXEC);
    child_end(child);
    return 127;
}

/* --- Preparation ---------------------------------------------------------------------------- */

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static Str find_variable(const char *const *env, Str name)
{
    for (; *env != NULL; env++) {
        Str entry = str_from_c(*env);
        if (str_starts(entry, name) && entry.len > name.len && entry.data[name.len] == '=') {
            return str_from_offset(entry, name.len + 1);
        }
    }
    return STR_EMPTY;
}

typedef VEC(const char *) Texts;

static const char *const *list_candidates(Arena *arena, const ProcessSpec *spec,
                                          const char *const *env)
{
    const char *program = spec->argv[0];
    bool sealed = spec->program != 0;
    Texts paths = { 0 };
    if (sealed || strchr(program, '/') != NULL) {
        VEC_PUSH(arena, &paths, sealed ? PROGRAM_PATH : program);
    } else {
        Str rest = find_variable(env, STR("PATH")), part;
        rest = rest.len > 0 ? rest : STR(DEFAULT_PATH);
        while (str_split_next(&rest, ':', &part)) {
            if (part.len > 0) {
                Str path = arena_format(arena, "%" STR_FMT "/%s", STR_ARG(part), program);
                VEC_PUSH(arena, &paths, arena_copy_c(arena, path));
            }
        }
    }
    VEC_PUSH(arena, &paths, NULL);
    return paths.items;
}

/* Whether other users may see this variable. */
static bool is_harmless(Str name)
{
    static const char *const names[] = {
        "PATH",      "LANG",      "LANGUAGE",   "TZ",          "TERM",
        "ftp_proxy", "all_proxy", "http_proxy", "https_proxy", "no_proxy",
    };
    bool found = str_starts(name, STR("LC_"));
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        bool is_proxy = strchr(names[i], '_') != NULL;
        found = found || (is_proxy ? str_eq_ignore_case(name, str_from_c(names[i]))
                                   : str_eq_c(name, names[i]));
    }
    return found;
}

static const char *const *list_environment(Arena *arena, bool is_other_user,
                                           const char *const *extra)
{
    Texts env = { 0 };
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        Str name = str_from_c(*entry);
        name = str_slice(name, 0, str_find(name, STR("="), 0));
        bool dropped = is_other_user && !is_harmless(name);
        for (const char *const *other = extra; other != NULL && *other != NULL; other++) {
            Str text = str_from_c(*other);
            dropped = dropped ||
                      (str_starts(text, name) && text.len > name.len && text.data[name.len] == '=');
        }
        if (!dropped) {
            VEC_PUSH(arena, &env, *entry);
        }
    }
    for (; extra != NULL && *extra != NULL; extra++) {
        VEC_PUSH(arena, &env, *extra);
    }
    VEC_PUSH(arena, &env, NULL);
    return env.items;
}

const char *const *process_environment(Arena *arena, const char *const *extra)
{
    return list_environment(arena, false, extra);
}

const char *const *process_environment_as(Arena *arena, uid_t uid, const char *const *extra)
{
    return list_environment(arena, uid != geteuid(), extra);
}

/* A low descriptor would be overwritten when the child sets up its own. */
static int move_above(int descriptor, int last)
{
    if (descriptor < 0 || descriptor > last) {
        return descriptor;
    }
    int lifted = fcntl(descriptor, F_DUPFD_CLOEXEC, last + 1);
    int number = errno;
    close(descriptor);
    errno = number;
    return lifted;
}

static int move_above_standard(int descriptor)
{
    return move_above(descriptor, 2);
}

/* Input is a file in memory: no one has to feed it, and a child that does not read it breaks no
 * pipe. */
static int open_input(Str input, int file)
{
    if (file != 0) {
        /* Reopened, so that the program has its own file offset. */
        char path[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        return move_above_standard(open(path, O_RDONLY | O_CLOEXEC));
    }
    if (input.len == 0) {
        return move_above_standard(open("/dev/null", O_RDONLY | O_CLOEXEC));
    }
    int descriptor = move_above_standard(memfd_create("input", MFD_CLOEXEC));
    for (size_t at = 0; descriptor >= 0 && at < input.len;) {
        ssize_t put = pwrite(descriptor, input.data + at, input.len - at, (off_t)at);
        if (put < 0 && errno != EINTR) {
            int number = errno;
            close(descriptor);
            errno = number;
            return -1;
        }
        at += put > 0 ? (size_t)put : 0;
    }
    return descriptor;
}

/* --- Output --------------------------------------------------------------------------------- */

enum {
    READ_PIECE = 32 << 10,
    LINE_MAX_SHOWN = 4096
};

typedef struct Output {
    int descriptor; /* -1: end of file */
    Buf text;
    bool truncated;
    bool taken; /* passed to spec->sink instead of being stored */
    bool rejected;
    Buf line; /* incomplete line, for spec->line */
} Output;

static void report_lines(const ProcessSpec *spec, Output *output, Str piece)
{
    Str part;
    while (spec->line != NULL && piece.len > 0) {
        size_t end = str_find(piece, STR("\n"), 0);
        part = str_slice(piece, 0, end);
        buf_put(&output->line, str_slice(part, 0, LINE_MAX_SHOWN - output->line.len));
        if (end == STR_NOT_FOUND) {
            return;
        }
        spec->line(spec->line_context, buf_str(&output->line));
        buf_reset(&output->line);
        piece = str_from_offset(piece, end + 1);
    }
}

/* Returns the number of bytes read; 0 if there is nothing to read now, or ever. */
static size_t output_read(const ProcessSpec *spec, Output *output)
{
    char piece[READ_PIECE];
    ssize_t got = read(output->descriptor, piece, sizeof piece);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (got <= 0) {
        close(output->descriptor);
        output->descriptor = -1;
        return 0;
    }
    if (output->taken) {
        output->rejected =
            output->rejected || !spec->sink(spec->sink_context, str_from(piece, (size_t)got));
        return (size_t)got;
    }
    size_t room = output->text.max - output->text.len;
    output->truncated = output->truncated || (size_t)got > room;
    buf_put(&output->text, str_slice(str_from(piece, (size_t)got), 0, room));
    report_lines(spec, output, str_from(piece, (size_t)got));
    return (size_t)got;
}

/* Reads what is in the pipe now, and no more: a background process may continue to write. */
static void output_finish(const ProcessSpec *spec, Output *output)
{
    int left = 0;
    if (output->descriptor >= 0 && ioctl(output->descriptor, FIONREAD, &left) != 0) {
        left = 0;
    }
    for (size_t got = 1; got > 0 && left > 0; left -= (int)got) {
        got = output_read(spec, output);
    }
    if (spec->line != NULL && output->line.len > 0) {
        spec->line(spec->line_context, buf_str(&output->line));
    }
    if (output->descriptor >= 0) {
        close(output->descriptor);
    }
    buf_clear(&output->line);
}

/* Moves the text to the arena. A truncated character at the end is removed. */
static Str output_take(Arena *arena, Output *output)
{
    Str text = buf_str(&output->text);
    if (output->truncated) {
        size_t len = text.len;
        while (len > 0 && ((unsigned char)text.data[len - 1] & 0xc0) == 0x80) {
            len--;
        }
        len -= len > 0 && (unsigned char)text.data[len - 1] >= 0xc0;
        text.len = text.len - len < 4 ? len : text.len;
    }
    Str taken = arena_copy(arena, text);
    buf_clear(&output->text);
    return taken;
}

/* --- Lifecycle ------------------------------------------------------------------------------ */

enum {
    CANCEL_POLL_MS = 50,
    GRACE_MS = 2000
};

typedef struct RunningProgram {
    pid_t pid;
    int pidfd;
    int64_t deadline_us;
    bool is_timed_out; /* it was killed before exec */
    Output outputs[2];
} RunningProgram;

static bool report_failure(const Child *child, Error *err)
{
    const ProcessSpec *spec = child->spec;
    int number = child->failure.number;
    switch (child->failure.stage) {
    case STAGE_ROOT: return file_error(err, number, spec->root);
    case STAGE_DIRECTORY: return file_error(err, number, spec->directory);
    case STAGE_USER:
        return error_set(err, ERROR_DENIED, "cannot run '%s' as user %u: %s", spec->argv[0],
                         spec->uid, strerror(number));
    case STAGE_EXEC: file_error(err, number, spec->argv[0]); return error_wrap(err, "cannot run");
    case STAGE_OTHER: break;
    }
    return error_set(err, ERROR_OS, "cannot run '%s': %s", spec->argv[0], strerror(number));
}

static bool is_canceled(const ProcessSpec *spec)
{
    return spec->canceled != NULL && atomic_load_explicit(spec->canceled, memory_order_relaxed);
}

static int wait_ms(const ProcessSpec *spec, int64_t deadline_us)
{
    int64_t left_ms = (deadline_us - clock_monotonic_us() + 999) / 1000;
    int64_t wait = left_ms < 0 ? 0 : left_ms > INT_MAX ? INT_MAX : left_ms;
    return (int)(spec->canceled != NULL && wait > CANCEL_POLL_MS ? CANCEL_POLL_MS : wait);
}

/* Waits until the child has called exec, has failed, or has run out of time. */
static void await_report(Child *child, RunningProgram *running, int report)
{
    struct pollfd polled = { .fd = report, .events = POLLIN };
    int found = 0;
    while (found <= 0 && !running->is_timed_out) {
        found = poll(&polled, 1, wait_ms(child->spec, running->deadline_us));
        running->is_timed_out = found <= 0 && (is_canceled(child->spec) ||
                                               clock_monotonic_us() >= running->deadline_us);
    }
    if (running->is_timed_out) {
        kill(running->pid, SIGKILL);
    } else {
        /* The whole struct or, at the end of the pipe, nothing. */
        (void)!read(report, &child->failure, sizeof child->failure);
    }
}

/* The calling thread is suspended until the child has called exec or exited. */
static int start_shared(Child *child, RunningProgram *running)
{
    int flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD;
    return vfork_child_start(child_main, child, flags, &running->pid, &running->pidfd);
}

/* After the child has switched to another user, that user can stop it before exec, and a parent
 * suspended by vfork would hang forever. So such a child gets its own memory, and the parent waits
 * for it no longer than for the program itself. */
static int start_separate(Child *child, RunningProgram *running)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        return errno;
    }
    child->report = move_above(report[1], REPORT_DESCRIPTOR);
    int number = child->report < 0 ? errno
                                   : vfork_child_start(child_main, child, CLONE_PIDFD,
                                                       &running->pid, &running->pidfd);
    if (child->report >= 0) {
        close(child->report);
    }
    if (number == 0) {
        await_report(child, running, report[0]);
    }
    close(report[0]);
    return number;
}

static bool start(Child *child, RunningProgram *running, Error *err)
{
    const ProcessSpec *spec = child->spec;
    bool is_others = spec->as_user && spec->uid != geteuid();
    int number = is_others ? start_separate(child, running) : start_shared(child, running);
    if (number != 0) {
        return error_set(err, ERROR_OS, "cannot start a process: %s", strerror(number));
    }
    if (child->failure.number != 0) {
        siginfo_t info;
        waitid(P_PIDFD, (id_t)running->pidfd, &info, WEXITED);
        close(running->pidfd);
        return report_failure(child, err);
    }
    return true;
}

/* Signals the whole process group, including processes left after the program itself has exited. */
static void signal_group(const RunningProgram *running, int signal_number)
{
    kill(-running->pid, signal_number);
}

/* Waits for output or exit, until `deadline_us` at most. Returns true if the program has exited. */
static bool poll_once(const ProcessSpec *spec, RunningProgram *running, int64_t deadline_us)
{
    struct pollfd polled[3] = { { .fd = running->pidfd, .events = POLLIN },
                                { .fd = running->outputs[0].descriptor, .events = POLLIN },
                                { .fd = running->outputs[1].descriptor, .events = POLLIN } };
    if (poll(polled, 3, wait_ms(spec, deadline_us)) <= 0) {
        return false;
    }
    /* Standard error first: it was polled last, so anything written to it before the output is
     * available by now. */
    for (int i = 1; i >= 0; i--) {
        if (polled[i + 1].revents != 0) {
            output_read(spec, &running->outputs[i]);
        }
    }
    return polled[0].revents != 0;
}

static bool exceeds_output_limit(const ProcessSpec *spec, const RunningProgram *running)
{
    return spec->kill_at_max && (running->outputs[0].truncated || running->outputs[1].truncated);
}

static int64_t deadline_of(const ProcessSpec *spec)
{
    int64_t start_us = clock_monotonic_us();
    return spec->timeout_ms <= 0 || spec->timeout_ms > (INT64_MAX - start_us) / 1000
               ? INT64_MAX
               : start_us + spec->timeout_ms * 1000;
}

/* Runs until the program has exited or was killed. */
static ProcessEnding wait_for_exit(const ProcessSpec *spec, RunningProgram *running)
{
    int64_t deadline_us = running->deadline_us;
    if (running->is_timed_out) {
        return is_canceled(spec) ? PROCESS_CANCELED : PROCESS_TIMED_OUT;
    }
    while (!is_canceled(spec) && !exceeds_output_limit(spec, running) &&
           !running->outputs[0].rejected && clock_monotonic_us() < deadline_us) {
        if (poll_once(spec, running, deadline_us)) {
            return PROCESS_EXITED;
        }
    }
    ProcessEnding ending = exceeds_output_limit(spec, running) ? PROCESS_OUTPUT_LIMIT
                           : running->outputs[0].rejected      ? PROCESS_OUTPUT_REJECTED
                           : is_canceled(spec)                 ? PROCESS_CANCELED
                                                               : PROCESS_TIMED_OUT;
    signal_group(running, SIGTERM);
    ProcessSpec rest = *spec;
    rest.canceled = NULL;
    deadline_us = clock_monotonic_us() + GRACE_MS * 1000;
    while (clock_monotonic_us() < deadline_us && !poll_once(&rest, running, deadline_us)) {
    }
    signal_group(running, SIGKILL);
    return ending;
}

static void finish(Arena *arena, const ProcessSpec *spec, RunningProgram *running,
                   ProcessEnding ending, ProcessResult *out)
{
    siginfo_t info = { 0 };
    while (waitid(P_PIDFD, (id_t)running->pidfd, &info, WEXITED) != 0 && errno == EINTR) {
    }
    close(running->pidfd);
    for (int i = 0; i < 2; i++) {
        output_finish(spec, &running->outputs[i]);
    }
    *out = (ProcessResult){ .ending = ending,
                            .out_truncated = running->outputs[0].truncated,
                            .error_truncated = running->outputs[1].truncated };
    out->out = output_take(arena, &running->outputs[0]);
    out->error_out = output_take(arena, &running->outputs[1]);
    if (info.si_code == CLD_EXITED) {
        out->exit_code = info.si_status;
    } else {
        out->signal_number = info.si_status;
        out->ending = ending == PROCESS_EXITED ? PROCESS_KILLED : ending;
    }
}

static void close_all(int *descriptors, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (descriptors[i] >= 0) {
            close(descriptors[i]);
        }
    }
}

/* Only root must check where other users' links point: for others the kernel enforces
 * permissions. */
static bool open_directory(const ProcessSpec *spec, int *out, Error *err)
{
    *out = -1;
    return spec->host == NULL || spec->directory == NULL || (spec->as_user && spec->uid != 0) ||
           host_open_directory(spec->host, str_from_c(spec->directory), out, err);
}

static bool open_ends(const ProcessSpec *spec, int ends[5], Error *err)
{
    ends[0] = open_input(spec->input, spec->input_file);
    bool ok = ends[0] >= 0;
    for (int i = 1; ok && i < 5; i += 2) {
        ok = pipe2(&ends[i], O_CLOEXEC) == 0;
        ends[i] = move_above_standard(ends[i]);
        ends[i + 1] = move_above_standard(ends[i + 1]);
        ok = ok && ends[i] >= 0 && ends[i + 1] >= 0 && fcntl(ends[i], F_SETFL, O_NONBLOCK) == 0;
    }
    return ok || error_set(err, ERROR_OS, "cannot run '%s': %s", spec->argv[0], strerror(errno));
}

bool process_run(Arena *arena, const ProcessSpec *spec, ProcessResult *out, Error *err)
{
    /* Standard input, then the read and write ends of the two pipes. */
    int ends[5] = { -1, -1, -1, -1, -1 }, directory;
    if (!open_directory(spec, &directory, err) || !open_ends(spec, ends, err)) {
        close_all(ends, COUNT_OF(ends));
        close_all(&directory, 1);
        return false;
    }
    const char *const *env = spec->env != NULL ? spec->env : process_environment(arena, NULL);
    Child child = { .spec = spec,
                    .candidates = list_candidates(arena, spec, env),
                    .env = env,
                    .directory = directory,
                    .report = -1,
                    .descriptors = { ends[0], ends[2], spec->merge_output ? ends[2] : ends[4] } };
    RunningProgram running = { .deadline_us = deadline_of(spec) };
    bool ok = start(&child, &running, err);
    int given[] = { ends[0], ends[2], ends[4], directory };
    close_all(given, COUNT_OF(given));
    if (!ok) {
        close(ends[1]);
        close(ends[3]);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        running.outputs[i] = (Output){ .descriptor = ends[1 + 2 * i],
                                       .taken = i == 0 && spec->sink != NULL,
                                       .text = buf_make(spec->output_max),
                                       .line = buf_make(LINE_MAX_SHOWN) };
    }
    finish(arena, spec, &running, wait_for_exit(spec, &running), out);
    return true;
}

int64_t process_own_pid(void)
{
    return getpid();
}

uid_t process_own_user(void)
{
    return geteuid();
}

Str process_signal_name(Arena *arena, int number)
{
    const char *name = sigabbrev_np(number);
    return name != NULL ? arena_format(arena, "SIG%s", name)
                        : arena_format(arena, "signal %d", number);
}

enum {
    SUMMARY_MAX = 320 /* bytes, so that messages have space for context */
};

/* The last line usually has the reason; indented lines after it belong to it. */
static Str last_line(Arena *arena, Str text)
{
    Str rest = str_trim(text), line;
    size_t start = rest.len;
    do {
        start = str_find_last(str_slice(rest, 0, start), STR("\n"));
    } while (start != STR_NOT_FOUND && ascii_is_space(rest.data[start + 1]));
    rest = start == STR_NOT_FOUND ? rest : str_from_offset(rest, start + 1);
    Buf joined = buf_make_in(arena, BUF_UNLIMITED);
    while (rest.len > 0 && str_split_next(&rest, '\n', &line)) {
        line = str_trim(line);
        buf_put_c(&joined, joined.len > 0 && line.len > 0 ? " " : "");
        buf_put(&joined, line);
    }
    return buf_str(&joined);
}

/* Lines such as "    ^~~" and "^ here" below an excerpt. */
static bool is_position_marker(Str line)
{
    return line.len > 0 && (line.data[0] == '^' || line.data[0] == '~');
}

Str process_summary(Arena *arena, Str text)
{
    Str rest = text, line, first = STR_EMPTY, last = last_line(arena, text);
    Buf all = buf_make_in(arena, BUF_UNLIMITED);
    while (rest.len > 0 && str_split_next(&rest, '\n', &line) && all.len <= SUMMARY_MAX) {
        bool goes_on = line.len > 0 && ascii_is_space(line.data[0]);
        line = str_trim(line);
        if (line.len > 0 && !is_position_marker(line)) {
            first = first.len == 0 ? line : first;
            buf_put_c(&all, all.len == 0 ? "" : goes_on ? " " : " | ");
            buf_put(&all, line);
        }
    }
    if (all.len <= SUMMARY_MAX) {
        return buf_str(&all);
    }
    return first.len + last.len > SUMMARY_MAX
               ? last
               : arena_format(arena, "%" STR_FMT " ... %" STR_FMT, STR_ARG(first), STR_ARG(last));
}

bool process_failure(Arena *arena, const ProcessResult *result, int64_t timeout_ms, Error *err)
{
    Str messages = last_line(arena, result->error_out);
    Str colon = messages.len > 0 ? STR(": ") : STR_EMPTY;
    switch (result->ending) {
    case PROCESS_EXITED:
        return error_set(err, ERROR_OS, "exited with %d%" STR_FMT "%" STR_FMT, result->exit_code,
                         STR_ARG(colon), STR_ARG(messages));
    case PROCESS_KILLED: {
        Str name = process_signal_name(arena, result->signal_number);
        return error_set(err, ERROR_OS, "was killed by %" STR_FMT "%" STR_FMT "%" STR_FMT,
                         STR_ARG(name), STR_ARG(colon), STR_ARG(messages));
    }
    case PROCESS_TIMED_OUT:
        return error_set(err, ERROR_TIMEOUT, "timed out after %g s and was killed",
                         (double)timeout_ms / 1000);
    case PROCESS_OUTPUT_REJECTED:
        return error_set(err, ERROR_INVALID, "was killed because its output was rejected");
    case PROCESS_OUTPUT_LIMIT:
        return error_set(err, ERROR_LIMIT, "wrote too much output and was killed");
    case PROCESS_CANCELED: break;
    }
    return error_set(err, ERROR_UNAVAILABLE, "was killed because the run was canceled");
}
