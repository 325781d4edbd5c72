/* Writes the JSON of API responses and command output field by field; commas are added
 * automatically. For JSON that combines data from several sources; records that are stored or sent
 * between processes of eden have a table of fields instead (lang/record.h). Pure. */
#pragma once

#include "base/buf.h"

/* {"format":"eden.ping/1" */
void json_out_start(Buf *out, const char *format);
/* Opens an object ('{') or a list ('['); `name` is NULL inside a list. */
void json_out_open(Buf *out, const char *name, char bracket);
void json_out_close(Buf *out, char bracket);

void json_out_text(Buf *out, const char *name, Str text);
void json_out_int(Buf *out, const char *name, int64_t number);
void json_out_bool(Buf *out, const char *name, bool value);
void json_out_null(Buf *out, const char *name);
/* "2026-01-31T08:15:30Z" */
void json_out_time(Buf *out, const char *name, int64_t ms);
/* A string under `name`, or, if it is not UTF-8, base64 under `name` with "_base64" appended. */
void json_out_bytes(Buf *out, const char *name, Str bytes);
/* A string in a list. */
void json_out_item(Buf *out, Str text);
/* Only the name; the caller writes the value. */
void json_out_name(Buf *out, const char *name);

/* A bare string in double quotes. Invalid UTF-8 becomes U+FFFD, so the result is always valid JSON
 * on one line. */
void json_text_put(Buf *out, Str s);
