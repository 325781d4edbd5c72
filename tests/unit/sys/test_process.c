#include "sys/process.h"

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "sys/clock.h"
#include "sys/program.h"
#include "unit.h"

typedef struct Fixture {
    Arena arena;
    Error err;
    ProcessResult result;
    char directory[64];
} Fixture;

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->directory, "/tmp/test_process.XXXXXX");
    *state = fixture;
    return mkdtemp(fixture->directory) == NULL || chmod(fixture->directory, 0755) != 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    int failed = nftw(fixture->directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&fixture->arena);
    free(fixture);
    return failed;
}

static bool run(Fixture *fixture, const ProcessSpec *spec)
{
    return process_run(&fixture->arena, spec, &fixture->result, &fixture->err);
}

static ProcessSpec shell(Fixture *fixture, const char *text)
{
    const char **argv = ARENA_ARRAY(&fixture->arena, const char *, 4);
    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = text;
    argv[3] = NULL;
    return (ProcessSpec){ .argv = argv, .output_max = 1 << 20 };
}

static void returns_output_and_exit_code(void **state)
{
    Fixture *fixture = *state;
    ProcessSpec spec = shell(fixture, "echo out; echo err >&2; exit 3");
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_EXITED);
    assert_int_equal(fixture->result.exit_code, 3);
    assert_str(fixture->result.out, "out\n");
    assert_str(fixture->result.error_out, "err\n");
    spec.merge_output = true;
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "out\nerr\n");
    assert_str(fixture->result.error_out, "");
    spec = shell(fixture, "kill -9 $$");
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_KILLED);
    assert_int_equal(fixture->result.signal_number, SIGKILL);
    assert_str(process_signal_name(&fixture->arena, SIGKILL), "SIGKILL");
}

static void a_program_is_found_in_the_path(void **state)
{
    Fixture *fixture = *state;
    const char *argv[] = { "true", NULL };
    ProcessSpec spec = { .argv = argv };
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.exit_code, 0);
    argv[0] = "no-such-program-here";
    assert_false(run(fixture, &spec));
    assert_int_equal(fixture->err.kind, ERROR_NOT_FOUND);
    assert_string_equal(fixture->err.text,
                        "cannot run: no-such-program-here: No such file or directory");
    argv[0] = "/etc/passwd";
    assert_false(run(fixture, &spec));
    assert_int_equal(fixture->err.kind, ERROR_DENIED);
    const char *env[] = { "PATH=/nowhere", NULL };
    argv[0] = "true";
    spec.env = env;
    assert_false(run(fixture, &spec));
}

static void accepts_input_of_any_length(void **state)
{
    Fixture *fixture = *state;
    static char text[300000];
    memset(text, 'x', sizeof text);
    ProcessSpec spec = shell(fixture, "wc -c");
    spec.input = str_from(text, sizeof text);
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "300000\n");
    spec = shell(fixture, "true"); /* reads none of it */
    spec.input = str_from(text, sizeof text);
    assert_true(run(fixture, &spec));
    spec = shell(fixture, "cat");
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "");
}

static void output_is_bounded(void **state)
{
    Fixture *fixture = *state;
    ProcessSpec spec = shell(fixture, "head -c 500000 /dev/zero | tr '\\0' x; echo fine >&2");
    spec.output_max = 1000;
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.exit_code, 0);
    assert_int_equal(fixture->result.out.len, 1000);
    assert_true(fixture->result.out_truncated);
    assert_false(fixture->result.error_truncated);
    assert_str(fixture->result.error_out, "fine\n");
    spec = shell(fixture, "printf 'ab\\303\\244'");
    spec.output_max = 3;
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "ab");
}

static void has_its_own_directory_environment_and_umask(void **state)
{
    Fixture *fixture = *state;
    const char *extra[] = { "GREETING=hello", "HOME=/there", NULL };
    ProcessSpec spec = shell(fixture, "pwd; echo $GREETING $HOME; umask");
    spec.directory = "/usr";
    spec.env = process_environment(&fixture->arena, extra);
    spec.set_umask = true;
    spec.umask = 027;
    mode_t before = umask(022);
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "/usr\nhello /there\n0027\n");
    assert_int_equal(umask(before), 022);
    spec.directory = "/nowhere";
    assert_false(run(fixture, &spec));
    assert_string_equal(fixture->err.text, "/nowhere: No such file or directory");
}

/* For links of another user see test_host_follow.c. */
static void directory_of_a_host_is_entered_as_the_host_finds_it(void **state)
{
    Fixture *fixture = *state;
    AUTO(Host) *host = NULL;
    char inside[PATH_MAX];
    snprintf(inside, sizeof inside, "%s/inside", fixture->directory);
    assert_int_equal(mkdir(inside, 0755), 0);
    assert_true(host_open(fixture->directory, &host, &fixture->err));
    ProcessSpec spec = shell(fixture, "basename $(pwd); ls /proc/self/fd");
    spec.directory = "/inside";
    spec.host = host;
    assert_true(run(fixture, &spec));
    /* The last one is that of the directory that ls reads. */
    assert_str(fixture->result.out, "inside\n0\n1\n2\n3\n");
    spec.directory = "/nowhere";
    assert_false(run(fixture, &spec));
    assert_string_equal(fixture->err.text, "/nowhere: No such file or directory");
}

static void environment_of_another_user_has_no_variables_of_ours(void **state)
{
    Fixture *fixture = *state;
    static const char *const extra[] = { "GREETING=hello", "TZ=UTC", NULL };
    setenv("EDEN_TOKEN", "secret", 1);
    setenv("TZ", "CET", 1);
    setenv("LC_TIME", "C", 1);
    setenv("Https_Proxy", "p", 1);
    setenv("PATHS", "x", 1);
    ProcessSpec spec = shell(fixture, "env | grep -v -e ^PATH= -e ^LANG -e ^TERM= -e proxy= "
                                      "-e PROXY= -e ^LC_ALL= -e ^PWD= -e ^_= -e ^SHLVL= | sort");
    spec.env = process_environment_as(&fixture->arena, geteuid() + 1, extra);
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "GREETING=hello\nHttps_Proxy=p\nLC_TIME=C\nTZ=UTC\n");
    spec = shell(fixture, "echo $EDEN_TOKEN $GREETING $PATHS $TZ");
    spec.env = process_environment_as(&fixture->arena, geteuid(), extra);
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "secret hello x UTC\n");
    unsetenv("EDEN_TOKEN");
    unsetenv("TZ");
    unsetenv("LC_TIME");
    unsetenv("Https_Proxy");
    unsetenv("PATHS");
}

static void runs_as_another_user(void **state)
{
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        fail_msg("this test needs the rights of root, to become somebody else");
    }
    gid_t groups[] = { 4001, 4002 };
    ProcessSpec spec = shell(fixture, "id -u; id -g; id -G");
    spec.as_user = true;
    spec.uid = 4000;
    spec.gid = 4001;
    spec.groups = groups;
    spec.group_count = 2;
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "4000\n4001\n4001 4002\n");
    assert_int_equal(geteuid(), 0);
}

/* Also if the child has its own memory. */
static void failure_to_run_as_another_user_is_reported(void **state)
{
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        fail_msg("this test needs the rights of root, to become somebody else");
    }
    const char *const argv[] = { "/nowhere/program", NULL };
    ProcessSpec spec = { .argv = argv, .as_user = true, .uid = 4000, .gid = 4000 };
    assert_false(run(fixture, &spec));
    assert_string_equal(fixture->err.text,
                        "cannot run: /nowhere/program: No such file or directory");
    spec = shell(fixture, "true");
    spec.as_user = true;
    spec.uid = spec.gid = 4000;
    spec.directory = "/nowhere";
    assert_false(run(fixture, &spec));
    assert_string_equal(fixture->err.text, "/nowhere: No such file or directory");
}

/* With the permissions of the user that the child has become. */
static void *stop_children(void *flag)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/children", getpid());
    while (!atomic_load((atomic_bool *)flag)) {
        FILE *children = fopen(path, "re");
        if (fgets(text, sizeof text, children) != NULL) {
            kill((pid_t)strtol(text, NULL, 10), SIGSTOP);
        }
        fclose(children);
    }
    return NULL;
}

/* To the directory, on a path that takes the kernel some time: each link goes through the previous
 * one. */
static const char *make_long_way(Fixture *fixture)
{
    enum {
        LINKS = 35,
        ROUNDS = 700
    };
    Str way = arena_format(&fixture->arena, "%s/d", fixture->directory), before = STR(".");
    assert_int_equal(mkdir(way.data, 0755), 0);
    for (int i = 0; i < LINKS; i++) {
        AUTO_CLEAR(Buf) target = buf_make(BUF_UNLIMITED);
        buf_put(&target, before);
        for (int k = 0; k < ROUNDS; k++) {
            buf_put_c(&target, "/d/..");
        }
        before = arena_format(&fixture->arena, "l%d", i);
        way = arena_format(&fixture->arena, "%s/l%d", fixture->directory, i);
        assert_int_equal(symlink(buf_c(&target), way.data), 0);
    }
    return way.data;
}

static void a_process_stopped_before_exec_times_out(void **state)
{
    Fixture *fixture = *state;
    atomic_bool over = false;
    pthread_t thread;
    if (geteuid() != 0) {
        fail_msg("this test needs the rights of root, to become somebody else");
    }
    const char *way = make_long_way(fixture);
    assert_int_equal(pthread_create(&thread, NULL, stop_children, &over), 0);
    for (int i = 0; i < 20; i++) {
        ProcessSpec spec = shell(fixture, "exec sleep 1000");
        spec.as_user = true;
        spec.uid = spec.gid = 4000;
        spec.directory = way;
        spec.timeout_ms = 30;
        assert_true(run(fixture, &spec));
        assert_int_equal(fixture->result.ending, PROCESS_TIMED_OUT);
    }
    atomic_store(&over, true);
    pthread_join(thread, NULL);
}

static void changes_its_root(void **state)
{
    Fixture *fixture = *state;
    if (geteuid() != 0) {
        fail_msg("this test needs the rights of root, to become somebody else");
    }
    ProcessSpec spec = shell(fixture, "true");
    spec.root = fixture->directory;
    assert_false(run(fixture, &spec));
    assert_string_equal(fixture->err.text, "cannot run: /bin/sh: No such file or directory");
    /* Its directory is that of the host, also in another root. */
    AUTO(Host) *host = NULL;
    assert_true(host_open("/", &host, &fixture->err));
    spec = shell(fixture, "pwd");
    spec.root = "/";
    spec.host = host;
    spec.directory = fixture->directory;
    assert_true(run(fixture, &spec));
    assert_true(str_eq(str_trim(fixture->result.out), str_from_c(fixture->directory)));
    spec.directory = NULL;
    assert_true(run(fixture, &spec));
    assert_str(fixture->result.out, "/\n");
}

typedef struct Chat {
    int answers; /* a byte for each line but the first */
    uint32_t lines;
} Chat;

static void wait_for_the_next_line(void *context, Str line)
{
    Chat *chat = context;
    char byte;
    assert_int_equal(read(chat->answers, &byte, 1), 1);
    chat->lines++;
}

/* It starts when the program has exited, and writes more than fits into a pipe. A reader gets
 * everything up to the end: the next line always exists before one is consumed. */
static void output_of_background_processes_is_ignored(void **state)
{
    enum {
        LINES = 20000
    };
    Fixture *fixture = *state;
    Chat chat = { 0 };
    char path[128];
    snprintf(path, sizeof path, "%s/answers", fixture->directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    chat.answers = open(path, O_RDWR | O_CLOEXEC);
    assert_true(chat.answers >= 0);
    Str text = arena_format(&fixture->arena,
                            "echo first; (while [ -e /proc/$$/fd/0 ]; do :; done; exec 3> %s; i=0;"
                            " while [ $i -lt %d ]; do echo again; printf x >&3; i=$((i + 1)); done;"
                            " printf x >&3) 2> /dev/null & exit 0%c",
                            path, LINES, '\0');
    ProcessSpec spec = shell(fixture, text.data);
    spec.line = wait_for_the_next_line;
    spec.line_context = &chat;
    assert_true(run(fixture, &spec));
    close(chat.answers);
    assert_true(chat.lines < LINES);
}

static void cancel_when_ready(void *context, Str line)
{
    if (str_eq(line, STR("ready"))) {
        atomic_store((atomic_bool *)context, true);
    }
}

static void the_entire_group_is_killed(void **state)
{
    Fixture *fixture = *state;
    atomic_bool canceled = false;
    ProcessSpec spec = shell(fixture, "sh -c 'trap \"\" TERM; echo $$ > pid; echo ready; while :; "
                                      "do sleep 1; done' & wait");
    spec.directory = fixture->directory;
    spec.canceled = &canceled;
    spec.line = cancel_when_ready;
    spec.line_context = &canceled;
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_CANCELED);
    assert_int_equal(fixture->result.signal_number, SIGTERM);
    char path[128];
    snprintf(path, sizeof path, "%s/pid", fixture->directory);
    FILE *file = fopen(path, "r");
    int pid = 0;
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &pid), 1);
    fclose(file);
    /* It became a child of this process, so its exit status does not depend on which process reaps
     * orphans. */
    int status = 0;
    struct pollfd ended = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
    assert_true(ended.fd >= 0);
    assert_int_equal(poll(&ended, 1, 60000), 1);
    close(ended.fd);
    assert_int_equal(waitpid(pid, &status, WNOHANG), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
}

static void is_killed_at_the_timeout(void **state)
{
    Fixture *fixture = *state;
    ProcessSpec spec = shell(fixture, "exec sleep 1000");
    spec.timeout_ms = 1;
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_TIMED_OUT);
}

static void background_processes_are_not_waited_for(void **state)
{
    Fixture *fixture = *state;
    ProcessSpec spec = shell(fixture, "sleep 1000 & echo $!");
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_EXITED);
    kill(atoi(arena_copy_c(&fixture->arena, fixture->result.out)), SIGKILL);
}

static void *set_flag(void *flag)
{
    atomic_store((atomic_bool *)flag, true);
    return NULL;
}

static void is_killed_when_canceled(void **state)
{
    Fixture *fixture = *state;
    atomic_bool canceled = false;
    pthread_t thread;
    ProcessSpec spec = shell(fixture, "sleep 1000");
    spec.canceled = &canceled;
    assert_int_equal(pthread_create(&thread, NULL, set_flag, &canceled), 0);
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_CANCELED);
    pthread_join(thread, NULL);
}

static void count_line(void *context, Str line)
{
    Buf *buf = context;
    buf_put_char(buf, '[');
    buf_put(buf, line);
    buf_put_char(buf, ']');
}

static void reports_lines_as_they_arrive(void **state)
{
    Fixture *fixture = *state;
    AUTO_CLEAR(Buf) lines = buf_make(1000);
    ProcessSpec spec = shell(fixture, "printf 'one\\n\\ntw'; printf 'o\\nthree'");
    spec.line = count_line;
    spec.line_context = &lines;
    assert_true(run(fixture, &spec));
    assert_str(buf_str(&lines), "[one][][two][three]");
}

static void signals_and_descriptors_are_not_inherited(void **state)
{
    Fixture *fixture = *state;
    signal(SIGPIPE, SIG_IGN);
    int open_one = open("/dev/null", O_RDONLY);
    ProcessSpec spec = shell(fixture, "grep SigIgn /proc/self/status; ls /proc/self/fd | wc -l");
    assert_true(run(fixture, &spec));
    /* ls has its own besides the three. */
    assert_str(fixture->result.out, "SigIgn:\t0000000000000000\n4\n");
    close(open_one);
    signal(SIGPIPE, SIG_DFL);
}

static void *run_many(void *unused)
{
    Arena arena;
    Error err;
    ProcessResult result;
    bool ok = true;
    arena_init(&arena, ARENA_UNLIMITED);
    for (int i = 0; ok && i < 20; i++) {
        const char *argv[] = { "/bin/echo", "hi", NULL };
        ProcessSpec spec = { .argv = argv, .output_max = 100, .timeout_ms = 60000 };
        ok = process_run(&arena, &spec, &result, &err) && str_eq(result.out, STR("hi\n"));
    }
    arena_clear(&arena);
    return ok ? NULL : (void *)"failed";
}

static void threads_run_programs_concurrently(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

static void runs_a_program_from_memory(void **state)
{
    Fixture *fixture = *state;
    int program;
    assert_true(program_seal("probe", STR("#!/bin/sh\necho \"$1 $(cat)\"\n: > \"$0\"\n"), &program,
                             &fixture->err));
    for (int i = 0; i < 2; i++) { /* the first run cannot corrupt it for the second */
        ProcessSpec spec = { .argv = (const char *const[]){ "probe", "one", NULL },
                             .program = program,
                             .input = STR("two"),
                             .output_max = 1 << 20 };
        assert_true(run(fixture, &spec));
        assert_str(fixture->result.out, "one two\n");
    }
    program_close(program);
}

static void kills_a_process_that_writes_too_much(void **state)
{
    Fixture *fixture = *state;
    ProcessSpec spec = shell(fixture, "yes");
    spec.kill_at_max = true;
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_OUTPUT_LIMIT);
    assert_int_equal(fixture->result.out.len, 1 << 20);
    assert_false(process_failure(&fixture->arena, &fixture->result, 0, &fixture->err));
    assert_string_equal(fixture->err.text, "wrote too much output and was killed");
}

static void reports_the_end_of_the_output_on_failure(void **state)
{
    Fixture *fixture = *state;
    static const struct {
        const char *written, *reported;
    } cases[] = {
        { "", "exited with 3" },
        { "one\\ntwo\\n\\n", "exited with 3: two" },
        { "mount: no such device.\\n    dmesg may know more.\\n",
          "exited with 3: mount: no such device. dmesg may know more." },
        { "a:\\n  b\\nc:\\n\\n\\td\\n", "exited with 3: c: d" },
        { "  x\\n  y", "exited with 3: x y" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str script = arena_format(&fixture->arena, "printf '%s' >&2; exit 3", cases[i].written);
        ProcessSpec spec = shell(fixture, arena_copy_c(&fixture->arena, script));
        assert_true(run(fixture, &spec));
        assert_false(process_failure(&fixture->arena, &fixture->result, 0, &fixture->err));
        assert_string_equal(fixture->err.text, cases[i].reported);
    }
}

static void summarizes_output_in_one_line(void **state)
{
    Fixture *fixture = *state;
    static const char padding[] = "this line is long enough to fill the message when there are ten";
    static const struct {
        const char *written, *reported;
    } cases[] = {
        { "", "" },
        { "\n\n", "" },
        { "one\n", "one" },
        { "one\n  more\n\ntwo", "one more | two" },
        { "x:1:27: syntax error\n%a ALL=(ALL\n        ^~\n", "x:1:27: syntax error | %a ALL=(ALL" },
        { "^ here", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        Str reported = process_summary(&fixture->arena, str_from_c(cases[i].written));
        assert_str(reported, cases[i].reported);
    }
    Buf text = buf_make_in(&fixture->arena, BUF_UNLIMITED);
    buf_put_c(&text, "ERROR! no such module\n");
    for (int i = 0; i < 10; i++) {
        buf_put_format(&text, "%s\n", padding);
    }
    buf_put_c(&text, "bye\n");
    assert_str(process_summary(&fixture->arena, buf_str(&text)), "ERROR! no such module ... bye");
    for (int i = 0; i < 10; i++) {
        buf_put_format(&text, "  %s\n", padding);
    }
    Str reported = process_summary(&fixture->arena, buf_str(&text));
    assert_true(str_starts(reported, STR("bye this line")));
}

/* Accumulates its input, and stops after some of it. */
typedef struct Taken {
    size_t bytes, enough;
} Taken;

static bool take(void *context, Str chunk)
{
    Taken *taken = context;
    taken->bytes += chunk.len;
    return taken->bytes < taken->enough;
}

static void output_is_delivered_as_it_arrives(void **state)
{
    Fixture *fixture = *state;
    Taken taken = { .enough = SIZE_MAX };
    ProcessSpec spec = shell(fixture, "head -c 3000000 /dev/zero; echo words >&2");
    spec.sink = take;
    spec.sink_context = &taken;
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_EXITED);
    assert_int_equal(taken.bytes, 3000000);
    assert_int_equal(fixture->result.out.len, 0);
    assert_str(fixture->result.error_out, "words\n");
}

static void the_receiver_can_stop_it(void **state)
{
    Fixture *fixture = *state;
    Taken taken = { .enough = 100000 };
    ProcessSpec spec = shell(fixture, "yes");
    spec.sink = take;
    spec.sink_context = &taken;
    assert_true(run(fixture, &spec));
    assert_int_equal(fixture->result.ending, PROCESS_OUTPUT_REJECTED);
    assert_true(taken.bytes >= taken.enough);
}

static void input_can_be_a_file(void **state)
{
    Fixture *fixture = *state;
    char path[100];
    snprintf(path, sizeof path, "%s/input", fixture->directory);
    int file = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(write(file, "some text", 9), 9);
    for (int i = 0; i < 2; i++) { /* from the start, whatever was read before */
        ProcessSpec spec = shell(fixture, "cat");
        spec.input_file = file;
        assert_true(run(fixture, &spec));
        assert_str(fixture->result.out, "some text");
    }
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(returns_output_and_exit_code),
        IN_DIRECTORY(a_program_is_found_in_the_path),
        IN_DIRECTORY(accepts_input_of_any_length),
        IN_DIRECTORY(output_is_bounded),
        IN_DIRECTORY(has_its_own_directory_environment_and_umask),
        IN_DIRECTORY(directory_of_a_host_is_entered_as_the_host_finds_it),
        IN_DIRECTORY(environment_of_another_user_has_no_variables_of_ours),
        IN_DIRECTORY(runs_as_another_user),
        IN_DIRECTORY(failure_to_run_as_another_user_is_reported),
        IN_DIRECTORY(a_process_stopped_before_exec_times_out),
        IN_DIRECTORY(changes_its_root),
        IN_DIRECTORY(the_entire_group_is_killed),
        IN_DIRECTORY(is_killed_at_the_timeout),
        IN_DIRECTORY(background_processes_are_not_waited_for),
        IN_DIRECTORY(output_of_background_processes_is_ignored),
        IN_DIRECTORY(is_killed_when_canceled),
        IN_DIRECTORY(reports_lines_as_they_arrive),
        IN_DIRECTORY(signals_and_descriptors_are_not_inherited),
        IN_DIRECTORY(threads_run_programs_concurrently),
        IN_DIRECTORY(output_is_delivered_as_it_arrives),
        IN_DIRECTORY(the_receiver_can_stop_it),
        IN_DIRECTORY(input_can_be_a_file),
        cmocka_unit_test_setup_teardown(runs_a_program_from_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(kills_a_process_that_writes_too_much, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_the_end_of_the_output_on_failure, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(summarizes_output_in_one_line, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
