/* Finds out which kernel modules can be loaded. */
#pragma once

#include "modules/call.h"

/* Sets `out` if modprobe would find a module file or an alias of this name; '-' and '_' are
 * equivalent. */
MUST_CHECK bool kmod_can_be_loaded(Call *call, Str name, bool *out, Error *err);
