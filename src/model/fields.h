/* Strict parsing of maps in documents: every key must be defined, have a value of the right type,
 * and occur once, under its name or an old spelling. A key without a value counts as absent.
 * */
#pragma once

#include "base/suggest.h"
#include "model/site.h"
#include "model/step_keys.h"

typedef enum FieldKind {
    FIELD_ANY,
    FIELD_TEXT,     /* not empty; numbers and booleans as they are spelled */
    FIELD_NAME,     /* string without templates */
    FIELD_INT,      /* not negative */
    FIELD_BOOL,     /* true or false */
    FIELD_DURATION, /* converted to an integer of milliseconds */
    FIELD_LIST,
    FIELD_MAP,
} FieldKind;

typedef struct Field {
    const char *name; /* NULL ends a list */
    FieldKind kind;
    bool required;
    const char *alias;     /* old spelling, accepted with a hint; NULL: none */
    const char *choices;   /* allowed strings: "a|b" */
    StepKey documentation; /* for keys of a step: documentation */
} Field;

typedef struct FieldSet {
    const char *what; /* "a step", for messages */
    const Field *fields;
    /* Called for keys that are not in the list. Returns true if it handled the key. May be NULL. */
    bool (*handle_key)(void *context, const MapEntry *entry);
    /* Offers additional names for "did you mean". May be NULL. */
    void (*suggest_names)(void *context, Suggest *suggest);
    /* Returns a hint for an unknown key whose meaning is certain; empty: none. May be NULL. */
    Str (*explain)(void *context, Str name);
    void *context;
    bool names_actions; /* a key may be an action, as in a step */
} FieldSet;

enum {
    FIELDS_MAX = 32
};

/* Fills `out` in the order of the fields: missing if a key is absent or invalid. Values that are
 * already in `out` count as set elsewhere (keys of a step outside of its `spec`). */
bool fields_read(const SiteLoad *load, const FieldSet *set, Value map, Value *out);
/* Initializes `out`: nothing is set. */
void fields_clear(const Field *fields, Value *out);
/* fields_clear(), fields_read(), and a check that all required fields are present. */
bool fields_read_all(const SiteLoad *load, const FieldSet *set, Value map, Value *out);

/* Compiles a value that may contain templates, or an expression (dynamic.h), and checks the names
 * in it. */
bool site_compile(const SiteLoad *load, Value value, Dynamic *out);
bool site_compile_expression(const SiteLoad *load, Value value, Dynamic *out);

/* Reports a problem of the document being read; `location` is the offending key or value. */
PRINTF_LIKE(4, 5)
Problem *site_problem(const SiteLoad *load, const char *code, Value location, const char *format,
                      ...);
/* A hint, which does not cause failure; NULL if hints are disabled. */
PRINTF_LIKE(4, 5)
Problem *site_hint(const SiteLoad *load, const char *code, Value location, const char *format, ...);
/* Suggests `text` as a replacement of the scalar that the problem is about, with the same
 * quotes. */
void site_fix(const SiteLoad *load, Problem *problem, Value location, Str text);
/* Adds "did you mean 'X'?", and X as the fix if the problem is about the scalar `location`. */
void site_suggest_for(const SiteLoad *load, Problem *problem, Value location,
                      const Suggest *suggest);

/* Adds the location of the other occurrence of a duplicate. */
void site_hint_duplicate(const SiteLoad *load, Problem *problem, Value other);
/* Hints at the correct form of a value that should be a list of maps with `key` or, with
 * `in_list`, an entry of such a list. */
void site_hint_entry(const SiteLoad *load, Problem *problem, const char *key, Value input,
                     bool in_list);

/* Type of a value for messages: "a list", "a string", "a number". */
const char *site_kind_name(Value v);
/* A key or scalar as a string: numbers and booleans as they are spelled. False for other types. */
bool site_text(const SiteLoad *load, Value v, Str *out);
/* Whether a string contains `{{`, `{%` or `{#`. */
bool site_has_template(Str text);
/* First line of the value; 0: no location. */
uint32_t site_line(const SiteLoad *load, Value location);
