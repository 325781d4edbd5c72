/* Maps of a document read strictly: every key is known, has the right kind of value and stands
 * there once, under its name or an old spelling of it. A key without value equals an absent key.
 */
#pragma once

#include "base/suggest.h"
#include "model/site.h"
#include "model/step_keys.h"

typedef enum FieldKind {
    FIELD_ANY,
    FIELD_TEXT,     /* not empty; numbers and booleans as they are spelled */
    FIELD_NAME,     /* text without templates */
    FIELD_INT,      /* not negative */
    FIELD_BOOL,     /* true or false */
    FIELD_DURATION, /* arrives as an integer of milliseconds */
    FIELD_LIST,
    FIELD_MAP,
} FieldKind;

typedef struct Field {
    const char *name; /* NULL ends a list */
    FieldKind kind;
    bool required;
    const char *alias;   /* another spelling, accepted with a hint; NULL: none */
    const char *choices; /* of texts: "a|b" */
    StepKey about;       /* of a step's keys: for people */
} Field;

typedef struct FieldSet {
    const char *what; /* "a step", for messages */
    const Field *fields;
    /* For keys that are not in the list. True: taken care of. May be NULL. */
    bool (*take)(void *context, const MapEntry *entry);
    /* Offers further names for "did you mean". May be NULL. */
    void (*offer)(void *context, Suggest *suggest);
    /* What a key that nobody knows certainly was meant as; empty: nothing. May be NULL. */
    Str (*explain)(void *context, Str name);
    void *context;
    bool names_actions; /* a key may be one: of a step */
} FieldSet;

enum {
    FIELDS_MAX = 32
};

/* Sets `out`, in the order of the fields: missing where a key is absent or wrong. What is in `out`
 * already counts as given elsewhere (a step's keys beside its `spec`). */
bool fields_read(const SiteLoad *load, const FieldSet *set, Value map, Value *out);
/* Starts `out` with nothing given. */
void fields_clear(const Field *fields, Value *out);
/* All three. */
bool fields_read_all(const SiteLoad *load, const FieldSet *set, Value map, Value *out);

/* Compiles a value that may hold templates, or one that is an expression (dynamic.h), and checks the
 * names in it. */
bool site_compile(const SiteLoad *load, Value value, Dynamic *out);
bool site_compile_expression(const SiteLoad *load, Value value, Dynamic *out);

/* Problems of a document that is being read; `place` is the key or value at fault. */
PRINTF_LIKE(4, 5)
Problem *site_problem(const SiteLoad *load, const char *code, Value place, const char *format, ...);
/* A hint, which does not fail anything; NULL when hints are not wanted. */
PRINTF_LIKE(4, 5)
Problem *site_hint(const SiteLoad *load, const char *code, Value place, const char *format, ...);
/* Says that `text` belongs in the place of the scalar that the problem is about, quoted as it is. */
void site_fix(const SiteLoad *load, Problem *problem, Value place, Str text);
/* Adds "did you mean 'X'?", and X as the fix where the problem is about the scalar `place`. */
void site_suggest_for(const SiteLoad *load, Problem *problem, Value place, const Suggest *suggest);

/* Adds where the other one is, for what stands there twice. */
void site_hint_other(const SiteLoad *load, Problem *problem, Value other);
/* Adds how to write what stands where a list of maps with `key` belongs: in its place or,
 * `in_list`, as an entry of a list that is there already. */
void site_hint_entry(const SiteLoad *load, Problem *problem, const char *key, Value given,
                     bool in_list);

/* "a list", "text", "a number": what a value is, in words. */
const char *site_kind_words(Value v);
/* A key or scalar as text: numbers and booleans as they are spelled. False for the rest. */
bool site_text(const SiteLoad *load, Value v, Str *out);
/* Whether a text holds `{{`, `{%` or `{#`. */
bool site_has_template(Str text);
/* The line that the value starts on; 0: no place. */
uint32_t site_line(const SiteLoad *load, Value place);
