/* Page tokens of lists ("continue"). They are sealed: a position may
 * contain the name of an object that its holder must not know. Binary and not a
 * JSON record: only servers open them, and their size must not show names. Pure. */
#pragma once

#include "base/buf.h"
#include "sys/seal.h"

enum {
    CURSOR_TEXT_MAX = 2048
};

/* The list that a token belongs to; it is valid for no other. */
typedef struct CursorList {
    Str store;    /* its id */
    Str kind;     /* of the objects */
    Str selector; /* of the request; empty: none */
    Str scope;    /* of the caller: to which objects their roles limit the list; empty: to none */
} CursorList;

typedef struct Cursor {
    int64_t revision; /* of the store when it was given away */
    Str after;
} Cursor;

/* Letters, digits, '-' and '_': it is part of an address as it is. Short names do not show in its
 * length. */
Str cursor_write(Arena *arena, const SealKey *key, const CursorList *list, const Cursor *cursor);
/* Fails with ERROR_INVALID and a text for whoever has shown it. */
MUST_CHECK bool cursor_read(Arena *arena, const SealKey *key, const CursorList *list, Str text,
                            Cursor *out, Error *err);
