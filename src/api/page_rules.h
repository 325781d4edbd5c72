/* Content negotiation and caching headers for the pages. Pure. */
#pragma once

#include "base/str.h"

/* Whether gzip is acceptable. `accepted` is the value of Accept-Encoding; may be empty. */
bool page_accepts_gzip(Str accepted);
/* Whether `tag` is in `tags`, the value of If-None-Match: a list of strong or weak tags, or "*". */
bool page_is_cached(Str tags, Str tag);
