/* Which kernel modules can be loaded. */
#pragma once

#include "modules/call.h"

/* Sets `out` to whether modprobe would find a module by its file or an alias; '-' and '_' are
 * equivalent. */
MUST_CHECK bool kmod_can_be_loaded(Call *call, Str name, bool *out, Error *err);
