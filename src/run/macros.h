/* Macros of a site, and those that are built in: questions with a name.
 *
 *     uptime:                                  by an action that has an answer
 *       action: cmd.run
 *       parameters:
 *         - cmd: cat /proc/uptime
 *     motd:                                    the short form
 *       file.contents: [{name: /etc/motd}]
 *     masters:                                 by an expression
 *       expression: macros['servers_get_by_label']('role=master') | length
 *     url:                                     with arguments that have names
 *       args: [host, {port: 80}]
 *       expression: "'http://' ~ host ~ ':' ~ port"
 *       memo: false
 *
 * `macros['x']` is the answer; `macros['x'](a, b=1)` asks with arguments, which the macro sees as
 * `args[0]`, `args.b`, and by name as `b`. Positional ones have names if `args` lists some. Asked
 * again with the same arguments, the same answer is given until the end of the run, unless the
 * macro says `memo: false` or a condition is asked once more (retry). Macros see the scope of variables, never the results of steps.
 *
 * Built in are `servers_get_by_label(selector)` and every action that has a query, under its own
 * name: macros['pkg.uptodate'](). A macro of the site with such a name takes its place. */
#pragma once

#include "model/site.h"
#include "run/renders.h"

typedef struct Macros Macros;

/* How actions are asked; the runner's, because it owns the machine that they look at. */
typedef struct MacroAsk {
    void *context;
    /* Calls the query of `action`. `params` are evaluated and converted, in the order of the row.
     * The answer lives in `arena`. ERROR_UNAVAILABLE: only the run can tell (FAULT_UNKNOWN). NULL:
     * there are no actions, and asking one is an error. */
    bool (*ask)(void *context, const Action *action, const Value *params, Arena *arena, Value *out,
                Error *err);
} MacroAsk;

typedef struct MacrosLoad {
    Arena *arena; /* holds the macros and answers that are kept */
    Sources *sources;
    Templates *templates;
    Problems *problems;
    Site *site;                     /* NULL: only what is built in */
    const SelectorSubject *subject; /* what selectors of the base file match */
    ModuleTable modules;
    MacroAsk ask;
    Value servers; /* list: each as `server` is; what servers_get_by_label chooses from */
    Renders *renders;
} MacrosLoad;

/* All that is wrong with any macro is told. */
MUST_CHECK bool macros_load(const MacrosLoad *load, Macros **out);

/* What macros see beside their arguments: a map. */
void macros_set_scope(Macros *macros, Value scope);
/* From `fresh` on every macro is asked anew; then answers are kept again. */
void macros_set_fresh(Macros *macros, bool fresh);
/* `macros`: an object as long-lived as they are. */
Value macros_value(Macros *macros);
/* servers_get_by_label, for `eden`. */
Value macros_servers_get_by_label(Macros *macros);

/* Asks the query of an action on a machine. For MacroAsk; `context` is a Host. */
bool macro_ask_host(void *context, const Action *action, const Value *params, Arena *arena,
                    Value *out, Error *err);
