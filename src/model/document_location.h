/* Problems at locations in documents: at a value, or at a position within a string, which the
 * document may contain quoted, escaped, indented or folded. */
#pragma once

#include "base/problems.h"
#include "lang/template/fault.h"
#include "lang/value.h"

/* At `value`, underlined. Computed values have no location. */
PRINTF_LIKE(6, 7)
Problem *document_problem(Problems *problems, const Sources *sources, Severity severity,
                          const char *code, Value value, const char *format, ...);

/* The offset in its source of byte `pos` of `string`. Exact except for whitespace, for which it may
 * be the next character. */
uint32_t document_offset(const Sources *sources, Value string, size_t pos);

/* Adds a fault of the template that is (a part of) the string `document`, and the faults that
 * follow it. A fault in another template is shown there, with the document as the call site. */
void document_add_fault(Problems *problems, const Sources *sources, const Fault *fault,
                        Value document);

/* Suggests `text` as a replacement of the scalar `location`, with the same quotes; does nothing if
 * `text` would need quotes. */
void document_fix(Arena *arena, Problem *problem, const Sources *sources, Value location, Str text);
