/* Loaded macros; shared by macros.c and macros_load.c. */
#pragma once

#include "lang/template/object.h"
#include "run/macros.h"

enum {
    MACRO_ARGS_MAX = 16,
    MACRO_RESULTS_MAX = 10000 /* cached results; beyond that, they are computed each time */
};

typedef struct MacroArg {
    Str name;
    Value fallback; /* missing: required */
} MacroArg;

typedef struct Macro {
    Object object; /* what `macros['x']` is when called */
    Macros *owner;
    Str name;
    Value place; /* location of its name; empty for built-in macros */
    MacroArg *args;
    uint32_t arg_count;
    bool memo;
    bool secret;          /* its result is secret */
    bool is_action;       /* an action under its own name: arguments are its parameters */
    bool is_label_query;  /* servers_get_by_label */
    const Action *action; /* NULL: uses `expression` */
    Dynamic *params;      /* by position in the action's row */
    uint64_t params_set;
    Dynamic expression;
} Macro;

/* A macro that is being evaluated. */
typedef struct MacroCall {
    const Macro *macro;
    Str key; /* the arguments as text */
    struct MacroCall *caller;
} MacroCall;

struct Macros {
    Object object;
    MacrosLoad load;
    Map *names; /* from name to the object of the Macro */
    Value scope;
    Map *results;      /* from text of macro and arguments to value */
    bool bypass_cache; /* results are neither reused nor cached */
    Map *selectors;    /* from text to index in `parsed` */
    const Selector **parsed;
    uint32_t parsed_cap;
    MacroCall *active_call;
};

extern const ObjectType macro_callable_type;

/* Adds the built-in macros, then those of the site, to `names`. */
bool macros_read(Macros *macros);
