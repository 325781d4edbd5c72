/* Help from the command rows. */
#pragma once

#include <stdio.h>

#include "cli/command.h"

/* Appends help for one command, or the list of all. */
void help_write_command(const Command *command, Buf *out);
void help_write_overview(Buf *out);

/* The same printed; the first returns EXIT_OK. */
int help_print_command(const Command *command);
void help_print_overview(FILE *stream);

/* "-o, --output FORMAT" */
void help_write_option_name(const Option *option, Buf *out);
