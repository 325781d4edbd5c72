/* Help as Markdown, for docs/reference. */
#pragma once

#include "base/buf.h"
#include "cli/subject.h"

/* A page about one topic. */
void help_markdown_topic(Arena *arena, const SubjectTopic *topic, Buf *out);
/* Escapes text for a paragraph or table cell: a bar would start a new cell, '<' a tag. */
void help_markdown_cell(Str text, Buf *out);
/* A section about a verb. */
void help_markdown_verb(const Command *command, const Verb *verb, Buf *out);
/* A section about one subject. */
void help_markdown_subject(const Subject *subject, Buf *out);
