/* Page tokens of lists ("continue"). They are encrypted, since a position may contain the name of
 * an object that the client must not see, and binary, since only servers read them and their size
 * must not depend on names. Pure. */
#pragma once

#include "base/buf.h"
#include "sys/seal.h"

enum {
    CURSOR_TEXT_MAX = 2048
};

/* The list that a token belongs to; the token is invalid for any other list. */
typedef struct CursorList {
    Str store;    /* id of the store */
    Str kind;     /* of the objects */
    Str selector; /* of the request; may be empty */
    Str scope;    /* limits from the caller's roles; may be empty */
} CursorList;

typedef struct Cursor {
    int64_t revision; /* of the store when the token was issued */
    Str after;
} Cursor;

/* Safe in URLs: letters, digits, '-' and '_'. Padded, so that its length does not reveal the
 * name. */
Str cursor_write(Arena *arena, const SealKey *key, const CursorList *list, const Cursor *cursor);
/* Fails with ERROR_INVALID and a message for the client. */
MUST_CHECK bool cursor_read(Arena *arena, const SealKey *key, const CursorList *list, Str text,
                            Cursor *out, Error *err);
