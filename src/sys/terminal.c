#include "sys/terminal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/str.h"
#include "sys/file.h"
#include "sys/file_error.h"

enum {
    KEY_INTERRUPT = 3,
    KEY_END = 4,
    KEY_ERASE = 8,
    KEY_ERASE_LINE = 21,
    KEY_DELETE = 127,
};

bool terminal_is_there(void)
{
    return isatty(STDIN_FILENO) == 1;
}

/* Key by key, so that an interrupt is one too, and comes back here: the terminal must not stay as it
 * is made for this. False: this key ends the answer. */
static bool take_key(char key, char *out, size_t max, size_t *len, Error *err)
{
    if (key == '\r' || key == '\n') {
        return false;
    }
    if (key == KEY_INTERRUPT) {
        return error_set(err, ERROR_CONFLICT, "interrupted");
    }
    if (key == KEY_END) {
        return *len > 0 ? false : error_set(err, ERROR_NOT_FOUND, "nobody answers");
    }
    if (key == KEY_DELETE || key == KEY_ERASE) {
        *len -= *len > 0;
    } else if (key == KEY_ERASE_LINE) {
        *len = 0;
    } else if (*len + 1 >= max) {
        return error_set(err, ERROR_LIMIT, "an answer longer than %zu bytes", max - 1);
    } else {
        out[(*len)++] = key;
    }
    return true;
}

static void read_answer(char *out, size_t max, size_t *len, Error *err)
{
    char key;
    do {
        ssize_t count;
        do {
            count = read(STDIN_FILENO, &key, 1);
        } while (count < 0 && errno == EINTR);
        if (count <= 0) {
            error_set(err, ERROR_NOT_FOUND, "nobody answers");
            return;
        }
    } while (take_key(key, out, max, len, err));
}

bool terminal_ask(const char *question, bool hidden, char *out, size_t max, Error *err)
{
    struct termios before, quiet;
    size_t len = 0;
    Error ignored;
    *err = (Error){ 0 };
    if (tcgetattr(STDIN_FILENO, &before) != 0) {
        return error_set(err, ERROR_NOT_FOUND, "there is no terminal to ask at");
    }
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ECHONL | ICANON | ISIG);
    quiet.c_cc[VMIN] = 1;
    quiet.c_cc[VTIME] = 0;
    /* Before the question: what was typed ahead of it is thrown away, and is no answer. */
    if (hidden && tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet) != 0) {
        return file_error(err, errno, "the terminal");
    }
    (void)!file_write_all(STDERR_FILENO, str_from_c(question), &ignored);
    read_answer(out, max, &len, err);
    if (hidden) {
        /* What follows an answer that was not taken may be the rest of a secret: not for the shell. */
        tcsetattr(STDIN_FILENO, err->kind == ERROR_NONE ? TCSANOW : TCSAFLUSH, &before);
        (void)!file_write_all(STDERR_FILENO, STR("\n"), &ignored);
    }
    out[len] = '\0';
    if (err->kind != ERROR_NONE) {
        explicit_bzero(out, max);
        if (err->kind == ERROR_CONFLICT) {
            raise(SIGINT); /* the key means what it means to any program */
        }
        return false;
    }
    return true;
}
