/* What signals do to a command. */
#pragma once

/* A reader that went away becomes a failed write instead of the end of the process, and an
 * interrupt (Ctrl-C) ends it with exit code 130. An interrupt that the caller ignores stays
 * ignored. */
void signals_prepare(void);
