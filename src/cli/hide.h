/* Keeping secrets out of what is told about a file that could not be read as it should. */
#pragma once

#include "base/problems.h"

/* Masks excerpt, hint and quoted words of every problem whose line belongs to a `!secret` value of
 * its source: the line of the tag and what is indented below it. The file may be malformed, so
 * this goes by lines and hides rather too much. */
void hide_secrets(Problems *problems, const Sources *sources);
