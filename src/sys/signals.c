#include "sys/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "sys/file_io.h"

/* Exits with the code that a shell shows for this signal: 130 for SIGINT. */
static void end_interrupted(int number)
{
    _exit(128 + number);
}

void signals_prepare(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigaction(SIGPIPE, &ignore, NULL);
    /* exceeding the file size limit makes write(2) fail instead */
    sigaction(SIGXFSZ, &ignore, NULL);
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
        struct sigaction end = { .sa_handler = end_interrupted };
        sigaction(SIGINT, &end, NULL);
    }
}

sigset_t signals_ending(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

bool signals_open(int *descriptor, Error *err)
{
    sigset_t set = signals_ending();
    *descriptor = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (*descriptor < 0) {
        return file_error(err, errno, "signalfd");
    }
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return true;
}

uint32_t signals_take(int descriptor, int *last)
{
    uint32_t count = 0;
    for (struct signalfd_siginfo info; read(descriptor, &info, sizeof info) == sizeof info;) {
        *last = (int)info.ssi_signo;
        count++;
    }
    return count;
}

void signals_close(int descriptor)
{
    sigset_t set = signals_ending();
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    close(descriptor);
}
