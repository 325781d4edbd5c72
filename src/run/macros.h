/* Macros of a site, and built-in macros: named queries and expressions.
 *
 *     uptime:                                  an action that returns a value
 *       action: cmd.run
 *       parameters:
 *         - cmd: cat /proc/uptime
 *     motd:                                    the short form
 *       file.contents: [{name: /etc/motd}]
 *     masters:                                 an expression
 *       expression: macros['servers_get_by_label']('role=master') | length
 *     url:                                     with named arguments
 *       args: [host, {port: 80}]
 *       expression: "'http://' ~ host ~ ':' ~ port"
 *       memo: false
 *
 * `macros['x']` is the value; `macros['x'](a, b=1)` passes arguments, which the macro accesses as
 * `args[0]`, `args.b`, and by name as `b`. Positional arguments have the names listed in `args`.
 * The value for the same arguments is cached until the end of the run, unless the macro sets `memo:
 * false` or a condition is evaluated again (retry). Macros have access to the scope of variables,
 * but not to the results of steps.
 *
 * Built-in macros are `servers_get_by_label(selector)` and every action that has a query, under its
 * own name: macros['pkg.uptodate'](). A site macro with such a name replaces it. */
#pragma once

#include "model/site.h"
#include "run/renders.h"

typedef struct Macros Macros;

/* How actions are queried; supplied by the runner, which owns the machine. */
typedef struct MacroQuery {
    void *context;
    /* Calls the query of `action`. `params` are evaluated and converted, in the order of the row.
     * The result is in `arena`. ERROR_UNAVAILABLE: known only in a run (FAULT_UNKNOWN). NULL: there
     * are no actions, and querying one is an error. */
    bool (*ask)(void *context, const Action *action, const Value *params, Arena *arena, Value *out,
                Error *err);
} MacroQuery;

typedef struct MacrosLoad {
    Arena *arena; /* holds the macros and cached results */
    Sources *sources;
    Templates *templates;
    Problems *problems;
    Site *site;                     /* NULL: only the built-in macros */
    const SelectorSubject *subject; /* matched against the selectors of the base file */
    ModuleTable modules;
    MacroQuery ask;
    Value servers; /* list, each like `server`; servers_get_by_label selects from it */
    Renders *renders;
} MacrosLoad;

/* Reports all problems of all macros. */
MUST_CHECK bool macros_load(const MacrosLoad *load, Macros **out);

/* The scope of macros besides their arguments: a map. */
void macros_set_scope(Macros *macros, Value scope);
/* While `fresh` is set, every macro is evaluated again; otherwise results are cached. */
void macros_set_fresh(Macros *macros, bool fresh);
/* `macros`: an object that lives as long as they do. */
Value macros_value(Macros *macros);
/* servers_get_by_label, for `eden`. */
Value macros_servers_get_by_label(Macros *macros);

/* Calls the query of an action on a machine. For MacroQuery; `context` is a Host. */
bool macro_query_host(void *context, const Action *action, const Value *params, Arena *arena,
                      Value *out, Error *err);
