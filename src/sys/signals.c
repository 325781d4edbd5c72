#include "sys/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

/* The number a shell would show for it, as an exit code of our own: 130 for SIGINT. */
static void end_interrupted(int number)
{
    _exit(128 + number);
}

void signals_prepare(void)
{
    struct sigaction ignore = { .sa_handler = SIG_IGN };
    sigaction(SIGPIPE, &ignore, NULL);
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == SIG_DFL) {
        struct sigaction end = { .sa_handler = end_interrupted };
        sigaction(SIGINT, &end, NULL);
    }
}
