/* The manual, from the rows: pages in mdoc(7), which man(1) shows. */
#pragma once

#include "base/buf.h"
#include "cli/command.h"

/* eden(1): what there is. */
void man_write_overview(Buf *out);
/* eden-COMMAND(1) */
void man_write_command(const Command *command, Buf *out);
/* "eden.1", "eden-render.1"; NULL is the overview. */
void man_write_name(const Command *command, Buf *out);
