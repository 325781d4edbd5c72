/* Changing a part of a file: what file.line, file.block and the modules for files of the system
 * share. */
#pragma once

#include "base/vec.h"
#include "modules/file/target.h"

#define FILE_EDIT_PARAMS                                                                           \
    { "state", PARAM_STRING, .fallback = "present", .choices = "present|absent",                   \
      .help = "whether it shall be in the file" },                                                 \
        { "after", PARAM_STRING, .help = "a pattern; a new one goes behind the last line of it" }, \
        { "before", PARAM_STRING,                                                                  \
          .help = "a pattern; a new one goes before the first line of it" },                       \
        { "create", PARAM_BOOL, .fallback = "false",                                               \
          .help = "make the file when it is not there" },                                          \
        FILE_WRITE_PARAMS

typedef VEC(Str) EditLines; /* without their line ends */

typedef struct Edit {
    Call *call;
    Target *target;
    EditLines lines;
    bool ends_line; /* the file ends with a line end, or is empty */
    bool crlf;      /* all its lines end with "\r\n", and so do new ones */
    bool skipped;   /* there is no file, and none is wanted or known yet */
} Edit;

/* Reads the file. With `skipped` there is nothing more to do in this check. */
MUST_CHECK bool edit_begin(Call *call, Outcome *outcome, Edit *edit, Error *err);
/* The same for a file of the system that is known by its path: the parameters say nothing about it,
 * and an absent one is as good as an empty one. */
MUST_CHECK bool edit_begin_system(Call *call, Str path, Edit *edit, Error *err);
/* The words of a line, up to a '#'. Returns how many there are, at most `max`. */
uint32_t edit_words(Str line, Str *out, uint32_t max);
bool edit_wants_absence(const Edit *edit);
/* Where a new line goes, by `after`, `before`, or at the end. */
MUST_CHECK bool edit_find_place(Edit *edit, uint32_t *out, Error *err);
void edit_insert(Edit *edit, uint32_t at, Str line);
void edit_remove(Edit *edit, uint32_t at, uint32_t count);
/* Compares what became of the lines with the file. `secret`: what was put there is. */
MUST_CHECK bool edit_end(Edit *edit, bool secret, Outcome *outcome, Error *err);
/* The same with the whole text, for editors that do not work by lines. */
MUST_CHECK bool edit_end_text(Edit *edit, Str text, bool secret, Outcome *outcome, Error *err);
