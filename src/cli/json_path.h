/* Extracts parts of a value as text, with the expressions of kubectl's `-o jsonpath=`:
 *
 *     {.status.state}                                          one value
 *     {.items[*].metadata.name}                                all values, separated by spaces
 *     {range .items[*]}{.metadata.name}={.status.state}{"\n"}{end}
 *
 * A path consists of .name, ['any name'], [0], [-1], [*] and .*; without braces the entire
 * expression is a path. Strings are printed verbatim, other values as JSON, and missing values are
 * omitted. Pure. */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "lang/value.h"

/* Validates an expression. Fails with ERROR_INVALID and the position, or ERROR_LIMIT if it is too
 * long. */
MUST_CHECK bool json_path_check(Arena *arena, Str expression, Error *err);
/* Fails like json_path_check(), or with ERROR_LIMIT if too many values are selected. */
MUST_CHECK bool json_path_print(Arena *arena, Str expression, Value value, Buf *out, Error *err);
