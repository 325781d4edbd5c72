/* What can follow on an unfinished command line, from the rows. The scripts for shells ask for it with
 * `eden complete line`. */
#pragma once

#include "cli/invocation.h"

/* Appends one line, "words", "files" or "directories", which says what the last of `words` is, and
 * behind "words" a line for each candidate: the word, and with a tab its help. Candidates do not
 * depend on how much of the last word was typed. `words` begins with "eden"; "--output=json" may be
 * three of them, as bash splits it. `invocation` chooses the server whose names are offered. */
void completion_write(const Invocation *invocation, const char **words, uint32_t count, Buf *out);
/* Appends the names of this kind that the server or the user's contexts have, a line each. */
void completion_put_live(const Invocation *invocation, WordKind word, Buf *out);
