/* Kinds of objects as subjects of help, reference and `eden explain`. */
#pragma once

#include "cli/subject.h"

/* In table order. */
void subjects_add_object_kinds(Arena *arena, Subjects *out);

void subject_kind_text(const Subject *subject, Buf *out);
void subject_kind_markdown(const Subject *subject, Buf *out);
/* Adds keys to the description of the subject. */
void subject_kind_describe(Arena *arena, const Subject *subject, Map *map);
