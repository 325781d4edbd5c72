/* Actions of modules as subjects of help, reference and `eden explain`. */
#pragma once

#include "cli/subject.h"

/* Every action of every module, in table order. */
void subjects_add_actions(Arena *arena, Subjects *out);

void subject_action_text(const Subject *subject, Buf *out);
void subject_action_markdown(const Subject *subject, Buf *out);
/* Adds keys to the description of the subject. */
void subject_action_describe(Arena *arena, const Subject *subject, Map *map);
