/* Problems at places of documents: at a value, and at a place within the text of a string, which
 * the document may hold quoted, escaped, indented or folded. */
#pragma once

#include "base/problems.h"
#include "lang/template/fault.h"
#include "lang/value.h"

/* At `value`, underlined as it is written. Computed values have no place. */
PRINTF_LIKE(6, 7)
Problem *document_problem(Problems *problems, const Sources *sources, Severity severity,
                          const char *code, Value value, const char *format, ...);

/* The offset in its source of the byte `at` of the text of `string`. Exact for characters that
 * are not white space; for white space it may be the character behind it. */
uint32_t document_offset(const Sources *sources, Value string, size_t at);

/* A fault of the template that is (a part of) the text of `document`, and those that follow it.
 * What happened in another template is shown there, with the document as the way to it. */
void document_add_fault(Problems *problems, const Sources *sources, const Fault *fault,
                        Value document);

/* Says that `text` belongs in the place of the scalar `place`, quoted as it is; nothing for a text
 * that would need quotes. */
void document_fix(Arena *arena, Problem *problem, const Sources *sources, Value place, Str text);
