/* Keeps secrets out of problems about malformed files. */
#pragma once

#include "base/problems.h"

/* Masks excerpt, hint and quoted words of every problem whose line belongs to a secret value: a
 * line with the tag `!secret` or with a name that is marked as secret in any source, and the
 * indented lines below it. Since the file may be malformed, this works on lines and errs on the
 * side of hiding too much. */
void hide_secrets(Problems *problems, const Sources *sources);
