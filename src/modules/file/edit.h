/* Edits part of a file; shared by file.line, file.block and the modules that edit system files. */
#pragma once

#include "base/vec.h"
#include "modules/file/target.h"

#define FILE_EDIT_PARAMS                                                                      \
    { "state",                                                                                \
      PARAM_STRING,                                                                           \
      .aspect = "state",                                                                      \
      .fallback = "present",                                                                  \
      .choices = "present|absent",                                                            \
      .help = "whether it should be in the file" },                                           \
        { "after", PARAM_STRING, .help = "pattern; insert after the last matching line" },    \
        { "before", PARAM_STRING, .help = "pattern; insert before the first matching line" }, \
        { "create", PARAM_BOOL, .fallback = "false",                                          \
          .help = "create the file if it does not exist" },                                   \
        FILE_WRITE_PARAMS

typedef VEC(Str) EditLines; /* without line endings */

typedef struct Edit {
    Call *call;
    Target *target;
    EditLines lines;
    bool ends_line; /* the file ends with a newline, or is empty */
    bool crlf;      /* all lines end with "\r\n", and new lines will too */
    bool skipped;   /* the file does not exist, and is not needed or not known yet */
} Edit;

/* Reads the file. If this sets `skipped`, the check is complete. */
MUST_CHECK bool edit_begin(Call *call, Outcome *outcome, Edit *edit, Error *err);
/* The same for a system file with a fixed path, which has no parameters; a missing file is treated
 * as empty. */
MUST_CHECK bool edit_begin_system(Call *call, Str path, Edit *edit, Error *err);
/* Splits a line into words, up to a '#'. Returns their number, at most `max`. */
uint32_t edit_words(Str line, Str *out, uint32_t max);
bool edit_is_absent(const Edit *edit);
/* Finds the position of a new line: according to `after` or `before`, or at the end. */
MUST_CHECK bool edit_find_position(Edit *edit, uint32_t *out, Error *err);
void edit_insert(Edit *edit, uint32_t at, Str line);
void edit_remove(Edit *edit, uint32_t at, uint32_t count);
/* Compares the edited lines with the file. `secret`: the new content is secret. */
MUST_CHECK bool edit_end(Edit *edit, bool secret, Outcome *outcome, Error *err);
/* The same for actions that edit the entire content instead of lines. */
MUST_CHECK bool edit_end_text(Edit *edit, Str text, bool secret, Outcome *outcome, Error *err);
