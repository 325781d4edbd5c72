/* The command line as a whole. */
#pragma once

#include "sys/stream.h"

/* Runs one command line (argv[0] is the program) and returns the exit code. Flushes nothing. */
int cli_run(int argc, char **argv, Stream *out, Stream *err);
/* The same for the process: on standard output and standard error. */
int cli_main(int argc, char **argv);
