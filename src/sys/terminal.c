#include "sys/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"
#include "sys/file.h"
#include "sys/file_io.h"

enum {
    KEY_INTERRUPT = 3,
    KEY_END = 4,
    KEY_ERASE = 8,
    KEY_ERASE_LINE = 21,
    KEY_DELETE = 127,
};

bool terminal_is_available(void)
{
    return isatty(STDIN_FILENO) == 1;
}

bool terminal_is_raw(void)
{
    struct termios now;
    return tcgetattr(STDIN_FILENO, &now) == 0 && (now.c_lflag & ICANON) == 0;
}

/* Processes keys one by one, including the interrupt key, so that the terminal is always restored.
 * Returns false if this key ends the input. */
static bool take_key(char key, char *out, size_t max, size_t *len, Error *err)
{
    if (key == '\r' || key == '\n') {
        return false;
    }
    if (key == KEY_INTERRUPT) {
        return error_set(err, ERROR_CONFLICT, "interrupted");
    }
    if (key == KEY_END) {
        return *len > 0 ? false : error_set(err, ERROR_NOT_FOUND, "no answer");
    }
    if (key == KEY_DELETE || key == KEY_ERASE) {
        *len -= *len > 0;
    } else if (key == KEY_ERASE_LINE) {
        *len = 0;
    } else if (*len + 1 >= max) {
        return error_set(err, ERROR_LIMIT, "the answer is longer than %zu bytes", max - 1);
    } else {
        out[(*len)++] = key;
    }
    return true;
}

/* Waits for a key, or for a signal on the descriptor `signals` (-1: none). */
static bool read_key(int signals, char *key, Error *err)
{
    struct pollfd both[] = { { .fd = STDIN_FILENO, .events = POLLIN },
                             { .fd = signals, .events = POLLIN } };
    while (poll(both, 2, -1) < 0) {
        if (errno != EINTR) {
            return error_set(err, ERROR_NOT_FOUND, "no answer");
        }
    }
    if (both[1].revents != 0) {
        return error_set(err, ERROR_CONFLICT, "interrupted");
    }
    ssize_t count;
    do {
        count = read(STDIN_FILENO, key, 1);
    } while (count < 0 && errno == EINTR);
    return count > 0 || error_set(err, ERROR_NOT_FOUND, "no answer");
}

/* Returns true if the interrupt key was pressed. */
static bool read_answer(int signals, char *out, size_t max, size_t *len, Error *err)
{
    char key = '\0';
    while (read_key(signals, &key, err) && take_key(key, out, max, len, err)) {
    }
    return err->kind == ERROR_CONFLICT && key == KEY_INTERRUPT;
}

/* Blocks signals that would terminate the program, so that the terminal can be restored first.
 * Returns -1 if that failed. */
static int hold_signals(sigset_t *before)
{
    static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigset_t held;
    sigemptyset(&held);
    for (size_t i = 0; i < COUNT_OF(ending); i++) {
        struct sigaction now;
        if (sigaction(ending[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN) {
            sigaddset(&held, ending[i]);
        }
    }
    pthread_sigmask(SIG_BLOCK, &held, before);
    return signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A pending signal now has its usual effect: it was detected, but not consumed. */
static void release_signals(int signals, const sigset_t *before)
{
    if (signals >= 0) {
        close(signals);
    }
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

static bool ask(const char *question, int signals, char *out, size_t max, bool *is_key, Error *err)
{
    size_t len = 0;
    Error ignored;
    *err = (Error){ 0 };
    (void)!file_write_all(STDERR_FILENO, str_from_c(question), &ignored);
    *is_key = read_answer(signals, out, max, &len, err);
    out[len] = '\0';
    if (err->kind != ERROR_NONE) {
        explicit_bzero(out, max);
    }
    return err->kind == ERROR_NONE;
}

static bool ask_hidden(const char *question, const struct termios *before, char *out, size_t max,
                       bool *is_key, Error *err)
{
    struct termios quiet = *before;
    sigset_t mask;
    Error ignored;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    int signals = hold_signals(&mask);
    /* Before the prompt: discards input that was typed ahead, which is not an answer to it. */
    if (tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) != 0) {
        int number = errno;
        release_signals(signals, &mask);
        return file_error(err, number, "cannot set up the terminal");
    }
    bool answered = ask(question, signals, out, max, is_key, err);
    /* Input after a rejected answer may be the rest of a secret: the shell must not receive it. */
    tcsetattr(STDIN_FILENO, answered ? TCSANOW : TCSAFLUSH, before);
    (void)!file_write_all(STDERR_FILENO, STR("\n"), &ignored);
    release_signals(signals, &mask);
    return answered;
}

bool terminal_ask(const char *question, bool hidden, char *out, size_t max, Error *err)
{
    struct termios before;
    bool is_key = false;
    if (tcgetattr(STDIN_FILENO, &before) != 0) {
        return error_set(err, ERROR_NOT_FOUND, "standard input is not a terminal");
    }
    bool answered = hidden ? ask_hidden(question, &before, out, max, &is_key, err)
                           : ask(question, -1, out, max, &is_key, err);
    if (is_key) {
        raise(SIGINT); /* has the usual effect of that key */
    }
    return answered;
}
