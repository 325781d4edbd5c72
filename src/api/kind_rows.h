/* The rows of all kinds, each in its own file. */
#pragma once

#include "api/kind.h"

#define KIND(constant, name, plural, row) extern const Kind row;
#include "api/kinds.def"
#undef KIND
