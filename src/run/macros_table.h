/* Macros as they are once loaded; between macros.c and macros_load.c. */
#pragma once

#include "lang/template/object.h"
#include "run/macros.h"

enum {
    MACRO_ARGS_MAX = 16,
    MACRO_ANSWERS_MAX = 10000 /* kept in all; what goes beyond is asked again each time */
};

typedef struct MacroArg {
    Str name;
    Value fallback; /* missing: required */
} MacroArg;

typedef struct Macro {
    Object object; /* what `macros['x']` is where it is called */
    Macros *owner;
    Str name;
    Value place; /* of its name; without one for what is built in */
    MacroArg *args;
    uint32_t arg_count;
    bool memo;
    bool secret;          /* what it answers is */
    bool direct;          /* an action under its own name: arguments are its parameters */
    bool by_label;        /* servers_get_by_label */
    const Action *action; /* NULL: `expression` */
    Dynamic *params;      /* by position in the action's row */
    uint64_t params_set;
    Dynamic expression;
} Macro;

/* One that is being asked. */
typedef struct MacroCall {
    const Macro *macro;
    Str key; /* the arguments as text */
    struct MacroCall *outer;
} MacroCall;

struct Macros {
    Object object;
    MacrosLoad load;
    Map *names; /* name -> object of the Macro */
    Value scope;
    Map *answers;   /* text of macro and arguments -> value */
    bool fresh;     /* answers are neither used again nor kept */
    Map *selectors; /* text -> position in `parsed` */
    const Selector **parsed;
    uint32_t parsed_cap;
    MacroCall *asked;
};

extern const ObjectType macro_callable_type;

/* Puts what is built in, then what the site has, into `names`. */
bool macros_read(Macros *macros);
