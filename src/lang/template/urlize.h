/* Finds URLs and mail addresses in HTML text and makes links of them. */
#pragma once

#include "lang/template/render.h"

typedef struct UrlizeRules {
    Str rel;
    Str target;
    int64_t text_limit; /* characters of the URL to show; below 0: all */
    List *schemes;      /* further beginnings of URLs like "tel:"; strings; may be NULL */
} UrlizeRules;

/* "git://", "tel:": a name, a colon, up to two slashes. */
bool urlize_is_scheme(Str scheme);

/* `text` is escaped already. Fails only when the budget is used up. */
MUST_CHECK bool urlize(Render *r, Str text, const UrlizeRules *rules, Buf *out);
