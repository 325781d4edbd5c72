/* Content negotiation and caching headers for the pages. Pure. */
#pragma once

#include "base/str.h"

/* `accepted`: of Accept-Encoding; empty: it does not say. Whether gzip is among them, and wanted. */
bool page_accepts_gzip(Str accepted);
/* `known`: of If-None-Match, a list of tags or "*". Whether `tag` is among them, be they weak or not. */
bool page_is_known(Str known, Str tag);
