/* Printing values and text. */
#pragma once

#include "cli/inputs.h"

typedef enum OutputLayout {
    OUTPUT_LINE,  /* JSON on one line */
    OUTPUT_LINES, /* JSON with one line per value */
} OutputLayout;

/* Prints a value to standard output in the format that `-o` selects (json, yaml or jsonpath=). YAML
 * shows secrets with their tags, which JSON cannot represent. A value that cannot be printed is a
 * problem. Returns the exit code. */
int output_value(Inputs *inputs, const Invocation *invocation, OutputLayout layout, Value value);
/* The same for a value from the program or server, with one line per value. */
int output_response(const Invocation *invocation, Value value);
/* The same, always as YAML. */
int output_yaml(const Invocation *invocation, Value value);
/* Validates `-o` before anything is done. Returns false after reporting an error. */
bool output_check(const Invocation *invocation);
/* Whether `-o` requests a value: JSON, YAML, or parts of it (jsonpath=, see cli/json_path.h). */
bool output_wants_value(const Invocation *invocation);
/* Prints several documents: YAML separated by "---", JSON in sequence. */
int output_documents(Inputs *inputs, const Invocation *invocation, const List *documents);

/* Prints JSON built by the program, which cannot fail. Returns EXIT_OK. */
int output_json(const Invocation *invocation, Value value);

/* Returns "1 key", "7 keys", "0 keys". */
Str output_count(Arena *arena, int64_t count, const char *one, const char *several);
/* Prints one line of text. Control characters in the arguments are escaped, so a server or file
 * cannot move the cursor or forge further lines (base/visible.h). */
PRINTF_LIKE(2, 3) void output_line(Stream *to, const char *format, ...);
/* Prints raw content, byte for byte; on a terminal, control characters except newlines and tabs are
 * escaped. */
void output_text(Stream *to, Str text);
/* The same for JSON, which stays valid: control and invisible characters, which can only be in
 * strings, become \u escapes. */
void output_json_text(Stream *to, Str json);
