/* JSON for filters: json.h with Python's faults and its `indent` argument. */
#pragma once

#include "lang/json.h"
#include "lang/template/render.h"

/* `indent` is a number of spaces, a text, or none or missing for all on one line. Raises
 * TypeError for what JSON cannot hold. */
MUST_CHECK bool value_json_put(Render *r, Value v, JsonStyle style, Value indent, Buf *out);
