/* YAML 1.2 texts to values and back.
 *
 * Reading follows the core schema: `yes`, `on` and `0644` have no special meaning (a string, a
 * string, the integer 644), and the spelling in the text stays available through
 * value_original(). Anchors, aliases and merge keys (`<<`) are resolved; an aliased subtree is
 * shared, so values are not to be changed in place. `!secret` marks a value and all beneath it;
 * other tags than this and the schema's are told of, and the value is read as if it had none.
 * A sequence as map key becomes a tuple. Duplicate keys are errors.
 *
 * Every value carries its place. A container in block style spans up to the end of its last
 * child; a scalar's span is its spelling, quotes included, without anchor and tag. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/problems.h"
#include "base/source.h"
#include "lang/value.h"

/* --- Reading ------------------------------------------------------------------------------- */

/* A text that goes past one of these ends in problem E0105. */
typedef struct YamlLimits {
    uint32_t size;     /* bytes of text */
    uint32_t scalar;   /* bytes of one scalar */
    uint32_t depth;    /* containers inside each other, through aliases too; at most 256 */
    uint32_t nodes;    /* values as written */
    uint32_t aliases;  /* uses of anchors, merge keys included */
    uint32_t expanded; /* values that aliases stand for, as if each was a copy */
} YamlLimits;

typedef struct YamlOptions {
    YamlLimits limits;
    bool lint;        /* also hint at words and numbers that YAML 1.1 reads otherwise */
    bool strict_tags; /* a tag that means nothing here is an error instead of a warning */
} YamlOptions;

extern const YamlOptions yaml_options_default;

/* Reads the one document of a source; an empty text is null, a second document a problem.
 * A string that stands in the text as it is borrows it, so the text must outlive the value;
 * value_copy() cuts that tie. False when errors were added to `problems`; `*out` is then
 * what could be read, or null, for callers that go on looking for problems.
 * NULL options are the default ones. */
MUST_CHECK bool yaml_load(Arena *arena, const Sources *sources, uint16_t source,
                          const YamlOptions *options, Value *out, Problems *problems);

/* The same for any number of documents, in order; an empty text has none. */
MUST_CHECK bool yaml_load_all(Arena *arena, const Sources *sources, uint16_t source,
                              const YamlOptions *options, List **out, Problems *problems);

/* --- Printing ------------------------------------------------------------------------------ */

typedef enum YamlFlow {
    YAML_FLOW_EMPTY,  /* brackets only for empty containers */
    YAML_FLOW_LEAVES, /* also for containers that hold scalars only, as PyYAML may do */
    YAML_FLOW_ALL,    /* everything on one line, unless `width` breaks it */
} YamlFlow;

typedef struct YamlStyle {
    uint8_t indent; /* spaces per level, 2 to 8; 0 means 2 */
    uint16_t width; /* columns after which a long line is broken where it can be; 0: never */
    YamlFlow flow;
    bool flush_lists; /* a list under a key starts in the column of the key, as in PyYAML */
    bool sort_keys;   /* null, false, true, numbers, strings, tuples; each in its order */
    bool ascii;       /* other characters as escapes */
    bool tag_secrets; /* the mark of a secret as `!secret` */
    /* Gives the plain value that stands for an object or undefined; NULL: these are errors. */
    bool (*replace)(void *context, Value v, Value *out, Error *err);
    void *context;
} YamlStyle;

/* Appends the value as a YAML document, with a line end. It reads back as the same value, here
 * and in readers of YAML 1.1: what either would take for something else than a string is quoted.
 * Strings of several lines stand as literal blocks. The same value and style give the same bytes.
 * Fails with ERROR_INVALID for objects and undefined, and with ERROR_LIMIT when the value is too
 * deep (or holds itself) or `out` overflows; `out` then has a part of it. NULL style: block style
 * with 2 spaces. */
MUST_CHECK bool yaml_print(Buf *out, Value v, const YamlStyle *style, Error *err);
/* Several documents, with a line `---` between them. */
MUST_CHECK bool yaml_print_all(Buf *out, const List *documents, const YamlStyle *style, Error *err);
