/* Parses and prints YAML 1.2.
 *
 * Parsing follows the core schema: `yes`, `on` and `0644` have no special meaning (a string, a
 * string, the integer 644), and the original spelling is available through value_original().
 * Anchors, aliases and merge keys (`<<`) are resolved; an aliased subtree is shared, so values must
 * not be changed in place. `!secret` marks a value and everything below it; tags other than this
 * and those of the schema are reported, and the value is parsed as if it had none. A sequence used
 * as a map key becomes a tuple. Duplicate keys are errors.
 *
 * Every value has its location. A container in block style extends to the end of its last child;
 * the range of a scalar includes quotes, but not the anchor or the tag. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/problems.h"
#include "base/source.h"
#include "lang/value.h"

/* --- Parsing ------------------------------------------------------------------------------- */

/* Input that exceeds one of these limits is reported as problem E0105. */
typedef struct YamlLimits {
    uint32_t size;     /* bytes of input */
    uint32_t scalar;   /* bytes of one scalar */
    uint32_t depth;    /* nesting depth of containers, including aliases; at most 256 */
    uint32_t nodes;    /* values as written */
    uint32_t aliases;  /* uses of anchors, including merge keys */
    uint32_t expanded; /* values that aliases expand to, as if each were a copy */
} YamlLimits;

typedef struct YamlOptions {
    YamlLimits limits;
    bool lint;        /* also report words and numbers that have a different meaning in YAML 1.1 */
    bool strict_tags; /* an unknown tag is an error instead of a warning */
} YamlOptions;

extern const YamlOptions yaml_options_default;

/* Parses the single document of a source; empty input is null, a second document is a problem. A
 * string that is verbatim in the input borrows from it, so the input must outlive the value;
 * value_copy() makes it independent. Returns false if errors were added to `problems`; `*out` is
 * then what could be parsed, or null, for callers that continue to check for problems. NULL options
 * select the defaults. */
MUST_CHECK bool yaml_load(Arena *arena, const Sources *sources, uint16_t source,
                          const YamlOptions *options, Value *out, Problems *problems);

/* The same for any number of documents, in order; empty input has none. */
MUST_CHECK bool yaml_load_all(Arena *arena, const Sources *sources, uint16_t source,
                              const YamlOptions *options, List **out, Problems *problems);

/* --- Printing ------------------------------------------------------------------------------ */

typedef enum YamlFlow {
    YAML_FLOW_EMPTY,  /* brackets only for empty containers */
    YAML_FLOW_LEAVES, /* also for containers of scalars only, like PyYAML */
    YAML_FLOW_ALL,    /* everything on one line, unless `width` breaks it */
} YamlFlow;

typedef struct YamlStyle {
    uint8_t indent; /* spaces per level, 2 to 8; 0 means 2 */
    uint16_t width; /* column after which long lines are broken where possible; 0: never */
    YamlFlow flow;
    bool flush_lists; /* a list below a key starts in the column of the key, as in PyYAML */
    bool sort_keys;   /* null, false, true, numbers, strings, tuples; each sorted */
    bool ascii;       /* escape non-ASCII characters */
    bool tag_secrets; /* print the mark of a secret as `!secret` */
    /* Returns a plain value in place of an object or undefined value; NULL: these are errors. */
    bool (*replace)(void *context, Value v, Value *out, Error *err);
    void *context;
} YamlStyle;

/* Appends the value as a YAML document, with a newline at its end. It parses to the same value,
 * here and in YAML 1.1 parsers: strings that either would interpret differently are quoted. Strings
 * of several lines become literal blocks. The same value and style produce the same bytes. Fails
 * with ERROR_INVALID for objects and undefined values, and with ERROR_LIMIT if the value is too
 * deep (or contains itself) or `out` overflows; `out` is then incomplete. A NULL style is block
 * style with 2 spaces. */
MUST_CHECK bool yaml_print(Buf *out, Value v, const YamlStyle *style, Error *err);
/* Prints several documents, separated by `---` lines. */
MUST_CHECK bool yaml_print_all(Buf *out, const List *documents, const YamlStyle *style, Error *err);
