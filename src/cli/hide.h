/* Keeping secrets out of what is told about a file that could not be read as it should. */
#pragma once

#include "base/problems.h"

/* Masks excerpt, hint and quoted words of every problem whose line belongs to a secret value of its
 * source: a line with the tag `!secret`, or with a name that a line of any source marks so, and what is
 * indented below it. The file may be malformed, so this goes by lines and hides rather too much. */
void hide_secrets(Problems *problems, const Sources *sources);
