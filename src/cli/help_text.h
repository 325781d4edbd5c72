/* Help as plain text, from the rows. All functions append to `out`. */
#pragma once

#include "base/buf.h"
#include "cli/subject.h"

/* Brief usage, printed if no command was given. */
void help_write_usage(Buf *out);
/* All commands by group, and topics. */
void help_write_overview(Buf *out);
/* Help for a command or one of its verbs. */
void help_write_command(const Command *command, Buf *out);
void help_write_verb(const Command *command, const Verb *verb, Buf *out);
/* All subjects of a topic, a line or two each. */
void help_write_topic(Arena *arena, const SubjectTopic *topic, Buf *out);
/* Everything about one subject. */
void help_write_subject(const Subject *subject, Buf *out);

/* "-o, --output FORMAT" */
void help_write_option_name(const Option *option, Buf *out);
/* "how to print it (text|json) [text]; may be repeated" */
void help_write_option_help(const Option *option, Buf *out);
/* The title of a group of options: "options for list and show", "options for all verbs"; "options"
 * if the command has no verbs. */
void help_write_group(const Command *command, uint32_t verbs, Buf *out);
/* Writes every line of `text` after `lead`, without trailing whitespace. */
void help_write_indented(Str text, const char *lead, Buf *out);
