/* YAML 1.2 texts to values and back.
 *
 * Reading follows the core schema: `yes`, `on` and `0644` have no special meaning (a string, a
 * string, the integer 644), and the spelling in the text stays available through
 * value_original(). Anchors, aliases and merge keys (`<<`) are resolved; an aliased subtree is
 * shared, so values are not to be changed in place. `!secret` marks a value and all beneath it.
 * A sequence as map key becomes a tuple. Duplicate keys are errors.
 *
 * Every value carries its place. A container in block style spans up to the end of its last
 * child; a scalar's span is its spelling, quotes included, without anchor and tag. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/problems.h"
#include "base/source.h"
#include "lang/value.h"

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
    bool lint; /* also hint at words and numbers that YAML 1.1 reads otherwise */
} YamlOptions;

extern const YamlOptions yaml_options_default;

/* Reads the one document of a source; an empty text is null, a second document a problem.
 * Strings are copied into `arena`. False when errors were added to `problems`; `*out` is then
 * what could be read, or null, for callers that go on looking for problems.
 * NULL options are the default ones. */
MUST_CHECK bool yaml_load(Arena *arena, const Sources *sources, uint16_t source,
                          const YamlOptions *options, Value *out, Problems *problems);

/* The same for any number of documents, in order; an empty text has none. */
MUST_CHECK bool yaml_load_all(Arena *arena, const Sources *sources, uint16_t source,
                              const YamlOptions *options, List **out, Problems *problems);
