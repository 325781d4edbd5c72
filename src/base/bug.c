#include "base/bug.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void bug_report(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "eden: bug at %s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    abort();
}

void memory_exhausted(size_t wanted)
{
    fprintf(stderr, "eden: out of memory (wanted %zu bytes)\n", wanted);
    abort();
}
