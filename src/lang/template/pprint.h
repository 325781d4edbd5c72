/* Python's pprint.pformat(): a value over several lines when it does not fit into one. */
#pragma once

#include "lang/template/ops.h"

MUST_CHECK bool pprint_put(Render *r, Value v, Buf *out);
