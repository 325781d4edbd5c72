/* One value in a JSON or YAML text.
 *
 * The text is changed where the value stands: order, comments, indentation and quotes of the rest
 * stay. After each change the text is read again, and it must say what was asked for and nothing
 * else; so an edit that a layout, an anchor or an alias does not allow ends in ERROR_CONFLICT and
 * never in a wrong text. */
#pragma once

#include "lang/edit/data_path.h"

typedef struct DocumentFormat DocumentFormat;
extern const DocumentFormat document_json, document_yaml;

typedef struct DocumentWish {
    DataPath path; /* that ends with "-": an item of a list, wherever it stands there */
    bool absent;
    Value value; /* missing: none; with `absent` only for a path that ends with "-" */
} DocumentWish;

typedef struct DocumentChange {
    Str text;  /* the old one itself when nothing is to be done */
    Value old; /* what stood there; missing: nothing did */
} DocumentChange;

enum {
    DOCUMENT_MAX = 16 << 20, /* bytes of a text */
    DOCUMENT_EDITS_MAX = 64, /* a value with more differences is written anew */
};

/* Fails with ERROR_INVALID when the wish makes no sense, whatever the text. */
MUST_CHECK bool document_wish_check(const DocumentWish *wish, Error *err);
/* `name` is what messages call the text. An empty text has no value yet. The wish is a
 * checked one. Fails with ERROR_INVALID when the text cannot be read, else see above. */
MUST_CHECK bool document_edit(Arena *arena, const DocumentFormat *format, Str name, Str text,
                              const DocumentWish *wish, DocumentChange *out, Error *err);
