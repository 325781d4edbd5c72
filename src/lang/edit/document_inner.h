/* What the formats behind document.h offer. Not for others. */
#pragma once

#include "base/buf.h"
#include "lang/edit/document.h"
#include "lang/edit/tree.h"

/* The bytes from `start` to `end` become `text`. */
typedef struct Splice {
    size_t start, end;
    Str text;
} Splice;

enum {
    SPLICES_MAX = 4
};

/* In the order of the text, not overlapping. */
typedef struct Splices {
    Splice items[SPLICES_MAX];
    uint32_t count;
} Splices;

typedef struct Document {
    Arena *arena; /* lives until the next change */
    Str name;
    Str text;
    Value root; /* missing: the text is empty */
} Document;

/* Ways to change the text are numbered from 0 and tried in order; false: there is no such way. What
 * they propose need not be right: it is read again. */
struct DocumentFormat {
    const char *name;
    bool text_keys; /* all keys are strings */
    bool (*load)(Document *document, Error *err);
    /* A value as it is after it was written and read. */
    bool (*normalize)(Arena *arena, Value value, Value *out, Error *err);
    bool (*replace)(const Document *document, const Spot *spot, Value value, unsigned way,
                    Splices *out);
    /* Into the map or list at the spot, which is not empty, as its last. */
    bool (*insert)(const Document *document, const Spot *spot, Value key, Value value, unsigned way,
                   Splices *out);
    /* One of several. */
    bool (*remove)(const Document *document, const Spot *spot, unsigned way, Splices *out);
};

static inline void splices_add(Splices *splices, size_t start, size_t end, Str text)
{
    splices->items[splices->count++] = (Splice){ start, end, text };
}

static inline size_t node_end(Value v)
{
    return (size_t)v.start + v.span;
}

/* "name:3:5: message", from the first problem. Always false. */
bool document_refuse(Str name, const Problems *problems, Error *err);
/* "\r\n" when the first line ends so, else "\n". */
Str document_line_end(Str text);
