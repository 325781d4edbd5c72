/* Answers of the API and of commands as JSON text, written field by field; commas come by themselves.
 * Such an answer is made of many things and read by programs of others, so it has no table of fields
 * (lang/record.h), as what is stored or sent between programs of eden has. Pure. */
#pragma once

#include "base/buf.h"

/* {"format":"eden.ping/1" */
void json_out_start(Buf *out, const char *format);
/* Opens an object ('{') or a list ('['); `name` is NULL in a list. */
void json_out_open(Buf *out, const char *name, char bracket);
void json_out_close(Buf *out, char bracket);

void json_out_text(Buf *out, const char *name, Str text);
void json_out_int(Buf *out, const char *name, int64_t number);
void json_out_bool(Buf *out, const char *name, bool value);
void json_out_null(Buf *out, const char *name);
/* "2026-01-31T08:15:30Z" */
void json_out_time(Buf *out, const char *name, int64_t ms);
/* A text under `name`, or, when it is no UTF-8, in base64 under `name` with "_base64". */
void json_out_bytes(Buf *out, const char *name, Str bytes);
/* A text in a list. */
void json_out_item(Buf *out, Str text);
/* Only the name; whoever calls writes the value. */
void json_out_name(Buf *out, const char *name);
