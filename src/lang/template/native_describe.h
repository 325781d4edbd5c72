/* What a row says about itself, for help, `explain` and the reference. */
#pragma once

#include "base/buf.h"
#include "lang/template/native.h"

/* "indent(width=4, first=false, blank=false)". With `without_first` the filtered value is left
 * out, as the template does not write it there; a name without further parameters stands alone. */
void native_put_signature(const Native *native, bool without_first, Buf *out);

/* Signature, help, example and what it shows, in that order, each on its own lines:
 *
 *     indent(width=4, first=false, blank=false)
 *         Indents every line of a text but the first.
 *         {{ 'a\nb' | indent(2) }}
 *         -> a
 *              b
 */
void native_describe(const Native *native, bool without_first, Buf *out);
