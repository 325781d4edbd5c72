/* Basics of every unit test: cmocka with the headers that it needs before it, a comparison of
 * slices that shows both texts if they differ, and a check that something ends in BUG(). */
#pragma once

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/str.h"

static inline void check_str(Str actual, const char *expected, const char *file, int line)
{
    if (!str_eq_c(actual, expected)) {
        print_error("got      \"%" STR_FMT "\"\nexpected \"%s\"\n", STR_ARG(actual), expected);
        _fail(file, line);
    }
}

/* `actual` is a Str, `expected` a C string. */
#define assert_str(actual, expected) check_str((actual), (expected), __FILE__, __LINE__)

static inline bool child_aborted(pid_t child)
{
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
           WTERMSIG(status) == SIGABRT;
}

/* Runs the statements in a child process, quietly, and expects that they abort. */
#define assert_bug(...)                                                                   \
    do {                                                                                  \
        pid_t child_ = fork();                                                            \
        if (child_ == 0) {                                                                \
            signal(SIGABRT, SIG_DFL); /* cmocka's handler would report it as a failure */ \
            dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);                             \
            __VA_ARGS__;                                                                  \
            _exit(0);                                                                     \
        }                                                                                 \
        assert_true(child_aborted(child_));                                               \
    } while (0)
