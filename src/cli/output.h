/* How commands print values. */
#pragma once

#include "cli/inputs.h"

typedef enum OutputLayout {
    OUTPUT_LINE,  /* JSON on one line, for scripts */
    OUTPUT_LINES, /* JSON with a line per value, for people */
} OutputLayout;

/* Prints to standard output as `-o` says (json or yaml). YAML shows the marks of secrets as tags,
 * JSON has no form for them. What cannot be printed is a problem.
 * Returns the exit code. With `jsonpath=` it is parts of the value. */
int output_value(Inputs *inputs, const Invocation *invocation, OutputLayout layout, Value value);
/* The same for what cannot have problems, with a line per value. */
int output_answer(const Invocation *invocation, Value value);
/* The same as YAML, whatever `-o` says. */
int output_yaml(const Invocation *invocation, Value value);
/* Before anything is done: whether `-o` can be understood; if not, what is wrong was told. */
bool output_check(const Invocation *invocation);
/* Whether `-o` asks for a value: JSON, YAML, or parts of it (jsonpath=, see cli/json_path.h). */
bool output_wants_value(const Invocation *invocation);
/* Several documents: YAML with "---" between them, JSON one after the other. */
int output_documents(Inputs *inputs, const Invocation *invocation, const List *documents);

/* JSON made by the program itself, which always can be printed. Returns EXIT_OK. */
int output_json(const Invocation *invocation, Value value);

/* "1 key", "7 keys", "0 keys". */
Str output_count(Arena *arena, int64_t count, const char *one, const char *several);
/* One line for people. What a server or a file says in it is text and nothing else: it cannot move
 * the cursor, nor make up further lines (base/visible.h). */
PRINTF_LIKE(2, 3) void output_line(Stream *to, const char *format, ...);
/* What the store or a file has, to the byte; to a terminal with control characters as escapes, but for
 * line ends and tabs. */
void output_text(Stream *to, Str text);
/* The same for JSON, which stays what it is: characters that a terminal would obey or that hide what
 * is there, all of them in texts, come out as \u escapes. */
void output_json_text(Stream *to, Str json);
