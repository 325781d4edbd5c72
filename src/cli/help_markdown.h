/* Help as Markdown: docs/reference is made of this. */
#pragma once

#include "base/buf.h"
#include "cli/subject.h"

/* A page about everything of one kind. */
void help_markdown_topic(Arena *arena, const SubjectTopic *topic, Buf *out);
/* Running text, also in a table: a bar would start the next cell there, and '<' a tag. */
void help_markdown_cell(Str text, Buf *out);
/* A section about one verb of a command. */
void help_markdown_verb(const Command *command, const Verb *verb, Buf *out);
/* A section about one thing. */
void help_markdown_subject(const Subject *subject, Buf *out);
