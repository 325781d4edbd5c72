/* Interface between document.c and the formats. Private to this directory. */
#pragma once

#include "base/buf.h"
#include "lang/edit/document.h"
#include "lang/edit/tree.h"

/* Replaces the bytes from `start` to `end` with `text`. */
typedef struct Splice {
    size_t start, end;
    Str text;
} Splice;

enum {
    SPLICES_MAX = 4
};

/* In text order, not overlapping. */
typedef struct Splices {
    Splice items[SPLICES_MAX];
    uint32_t count;
} Splices;

typedef struct Document {
    Arena *arena; /* valid until the next change */
    Str name;
    Str text;
    Value root; /* missing: the text is empty */
} Document;

/* Each change has one or more variants, numbered from 0 and tried in order; the functions return
 * false if there are no more. A proposal may be wrong: document.c parses and verifies the
 * result. */
struct DocumentFormat {
    const char *name;
    bool string_keys; /* all keys are strings */
    bool (*load)(Document *document, Error *err);
    /* Prints and parses the value, which yields the form it will have in the document. */
    bool (*normalize)(Arena *arena, Value value, Value *out, Error *err);
    bool (*replace)(const Document *document, const TreeLocation *location, Value value,
                    unsigned variant, Splices *out);
    /* Appends to the non-empty map or list at the location. */
    bool (*insert)(const Document *document, const TreeLocation *location, Value key, Value value,
                   unsigned variant, Splices *out);
    /* Removes an entry or item that is not the only one in its container. */
    bool (*remove)(const Document *document, const TreeLocation *location, unsigned variant,
                   Splices *out);
};

static inline void splices_add(Splices *splices, size_t start, size_t end, Str text)
{
    splices->items[splices->count++] = (Splice){ start, end, text };
}

static inline size_t node_end(Value v)
{
    return (size_t)v.start + v.span;
}

/* Sets "name:3:5: message" from the first problem. Always returns false. */
bool document_set_error(Str name, const Problems *problems, Error *err);
/* "\r\n" if the first line ends with it, otherwise "\n". */
Str document_line_end(Str text);
