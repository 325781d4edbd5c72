/* Help as plain text, from the rows. Everything appends to `out`. */
#pragma once

#include "base/buf.h"
#include "cli/subject.h"

/* Two lines for who called eden without a command. */
void help_write_usage(Buf *out);
/* The commands by group, and the topics. */
void help_write_overview(Buf *out);
/* All about one command, or one verb of it. */
void help_write_command(const Command *command, Buf *out);
void help_write_verb(const Command *command, const Verb *verb, Buf *out);
/* Everything of one kind, a line or two each. */
void help_write_topic(Arena *arena, const SubjectTopic *topic, Buf *out);
/* All about one thing that has a row. */
void help_write_subject(const Subject *subject, Buf *out);

/* "-o, --output FORMAT" */
void help_write_option_name(const Option *option, Buf *out);
/* "how to print it (text|json) [text]; may be repeated" */
void help_write_option_help(const Option *option, Buf *out);
/* The title of a group of options: "options of list and show", "options of every verb"; "options" if
 * the command has no verbs. */
void help_write_group(const Command *command, uint32_t verbs, Buf *out);
/* Writes every line of `text` behind `lead`; no line has white space at its end. */
void help_write_indented(Str text, const char *lead, Buf *out);
