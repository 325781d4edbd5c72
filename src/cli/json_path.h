/* Parts of a value as text, by an expression such as kubectl's `-o jsonpath=` takes:
 *
 *     {.status.state}                                          one
 *     {.items[*].metadata.name}                                all, with blanks between them
 *     {range .items[*]}{.metadata.name}={.status.state}{"\n"}{end}
 *
 * A path is made of .name, ['any name'], [0], [-1], [*] and .*; without braces the whole expression is
 * one. Texts are printed as they are, all else as JSON; what is not there is nothing. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "lang/value.h"

/* Whether it is an expression. Fails with ERROR_INVALID, saying where in it, or ERROR_LIMIT when it is
 * too long. */
MUST_CHECK bool json_path_check(Arena *arena, Str expression, Error *err);
/* Fails in the same way, and with ERROR_LIMIT for what leads to too much. */
MUST_CHECK bool json_path_print(Arena *arena, Str expression, Value value, Buf *out, Error *err);
