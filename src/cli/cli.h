/* Entry points of the command line. */
#pragma once

#include "sys/stream.h"

/* Runs one command line (argv[0] is the program) and returns the exit code. Does not flush the
 * streams. */
int cli_run(int argc, char **argv, Stream *out, Stream *err);
/* Like cli_run(), on standard output and standard error, flushed at the end. */
int cli_main(int argc, char **argv);
