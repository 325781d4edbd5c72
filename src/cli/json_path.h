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

/* Fails with ERROR_INVALID, saying where in the expression, or ERROR_LIMIT for what never ends. */
MUST_CHECK bool json_path_print(Arena *arena, Str expression, Value value, Buf *out, Error *err);
