/* Finds URLs and email addresses in HTML text and turns them into links. */
#pragma once

#include "lang/template/render.h"

typedef struct UrlizeRules {
    Str rel;
    Str target;
    int64_t text_limit; /* maximum characters of the URL to show; no limit if negative */
    List *schemes;      /* additional URL prefixes such as "tel:"; strings; may be NULL */
} UrlizeRules;

/* "git://", "tel:": a name, a colon, up to two slashes. */
bool urlize_is_scheme(Str scheme);

/* `text` must already be escaped. Fails only if the budget is exhausted. */
MUST_CHECK bool urlize(Render *r, Str text, const UrlizeRules *rules, Buf *out);
