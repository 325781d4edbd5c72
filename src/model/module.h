/* Action modules as rows: what a site can ask for, with which parameters.
 *
 * A module is one file (or folder) in src/modules and one line in modules.def. The rows here are
 * all that validation, help, `eden explain`, requisite lookup and the runner know of it; what its
 * functions get is defined in modules/call.h, because this folder does nothing to the world.
 *
 * A step is run as: resolve parameters, `check`, and when that found a change and this is not a
 * plan, `apply`. The two see the same Call; `apply` also sees what `check` found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/value.h"

typedef enum ParamKind {
    PARAM_STRING,   /* text; a number or boolean counts as it is spelled */
    PARAM_INT,      /* 64 bits; text of digits counts */
    PARAM_BOOL,     /* true, false, and the texts yes, no, on, off, true, false */
    PARAM_DURATION, /* "15s", "1h30m", a number of seconds; arrives as an integer of milliseconds */
    PARAM_MODE,     /* 0644 however it is quoted; arrives as an integer */
    PARAM_PATH,     /* absolute; arrives without "//", "/./" and "/../", nor "/" at its end */
    PARAM_PLACE,    /* the same, but "/" at its end stays: into this directory */
    PARAM_STRINGS,  /* a list of texts; one text counts as a list of one */
    PARAM_MAP,      /* text keys to any values; a list of one-key maps counts */
    PARAM_VERSIONS, /* names, each with a version or without: a list of texts and one-key maps, or
                     * one map; arrives as a map of texts, null where no version is given */
    PARAM_COMMAND,  /* text, or a list of texts that is run without a shell */
    PARAM_ANY,
    /* The three that follow are resolved before the module sees them. */
    PARAM_SITE_FILE,     /* a path below files/ of the site; arrives as the content */
    PARAM_SITE_TEMPLATE, /* a path below templates/; arrives rendered, with `context` in scope */
    PARAM_PUBLISHED,     /* [{file: STEP}]: arrives as a list of {path, mode, content} maps */
} ParamKind;

typedef struct ParamSpec {
    const char *name; /* NULL ends a list */
    ParamKind kind;
    bool required;
    const char *fallback; /* as a site would write it; NULL: arrives as value_missing() */
    const char *choices;  /* "started|stopped": the texts allowed; NULL: anything */
    const char *help;     /* one sentence */
    const char *claims;   /* "path", "needs:user": its texts are claims of that; NULL: none */
    /* The aspect of the action's `thing` that it decides, for contradiction.h; NULL: none.
     * "state!restarted": not with that value; "!content": while it is false, nothing decides that;
     * "?kind": while it is given, nothing does. */
    const char *decides;
} ParamSpec;

enum {
    ACTION_PARAMS_MAX = 32
};

/* Of values in the order of their specifications, the one with that name. */
Value params_get(const ParamSpec *specs, const Value *values, const char *name);
/* The same as text; empty where it is none or not known. */
Str params_text(const ParamSpec *specs, const Value *values, const char *name);

typedef struct Action Action;
typedef struct Call Call;       /* modules/call.h */
typedef struct Outcome Outcome; /* modules/call.h */

/* False: the step fails with `err`. Parameters are the Call's. */
typedef bool (*ActionFunction)(Call *call, Outcome *outcome, Error *err);
/* The names of what it manages, such as "path:/etc/motd", "pkg:vnstat", "unit:ssh", "user:web",
 * "group:web"; pushed onto `claims`, a list of strings. Pure: sees only the parameters, in the
 * row's order; what is not known yet is missing.
 *
 * Steps that claim the same name keep their file order in every mode. Two prefixes say more:
 * "needs:user:web" does not manage the user but follows the step that does, wherever that stands;
 * a path needs the directories above it without saying so. "drops:path:/srv/old" manages it by
 * taking it away: it keeps file order also with what lies below, instead of going before it.
 * "fills:/srv/app" says that everything below is its business too, whatever it is called: others do
 * not clean up there.
 *
 * A third one is for plans alone: "brings:user", "brings:path:/mnt/", "brings:*" say what may be
 * there after the step without being managed by it: any user, something below /mnt, anything. */
typedef void (*ActionClaims)(Arena *arena, const Value *params, List *claims);
void claims_add(Arena *arena, List *claims, const char *prefix, Str name);
/* The same of a parameter; nothing for one that is not a text, is empty or is not known yet. */
void claims_add_param(Arena *arena, List *claims, const char *prefix, Value param);
/* When what the step manages was started last, in milliseconds since 1970; 0: not known. Only looks.
 * A reaction that is owed from an earlier run is not needed when that came after the change. */
typedef bool (*ActionSince)(Call *call, int64_t *out_ms, Error *err);
/* What is wrong with parameters whatever the machine is like, told at load. Those that are not known
 * yet are missing. False with the name of the one at fault, a parameter of the row. Pure. */
typedef bool (*ActionVerify)(Arena *arena, const Action *action, const Value *params,
                             const char **at, Error *err);
/* What `react` does, for plans: "restart", "reload"; NULL: nothing, with these parameters. */
typedef const char *(*ActionReaction)(const Action *action, const Value *params);
/* One of several steps that are applied together. `outcome` holds what its check found. */
typedef struct MergedCall {
    Call *call;
    Outcome *outcome;
    bool failed; /* set by the action, with `error` */
    Error *error;
} MergedCall;
/* `apply` of several ready steps of this action in one transaction. Each gets its own outcome, as
 * from `apply`; one that fails takes only those with it that could not be done without it. */
typedef void (*ActionMerge)(MergedCall *calls, uint32_t count);

/* What mode genius knows of an action beside its cost. */
typedef enum ActionStage {
    STAGE_ANY,
    STAGE_SOURCES,  /* where packages come from: repositories, their keys */
    STAGE_PACKAGES, /* waits for all steps of STAGE_SOURCES that do not need it */
} ActionStage;

struct Action {
    const char *name; /* "managed" of file.managed; NULL ends a list */
    const char *help; /* one sentence */
    const ParamSpec *params;
    ActionFunction check; /* observes; describes in `outcome` what apply would change */
    ActionFunction apply; /* does it; `outcome` holds what check found */
    ActionFunction react; /* what watch and listen cause; NULL: watch equals require */
    ActionFunction query; /* a read-only value into outcome->value, callable as a macro */
    ActionClaims claims;
    ActionMerge merge;
    ActionVerify verify;     /* NULL: what the kinds of the parameters promise is enough */
    ActionReaction reaction; /* NULL: "react" */
    ActionSince since;       /* NULL: it does not run, or nobody else starts it */
    /* What steps must agree on, for contradiction.h; NULL: nothing. */
    const char *thing; /* "path name": a class, and the parameter that names it; "a|b": the first */
    const char *part;  /* "section option": the parameters that name a part of it, which others
                          decide about; NULL: they decide about the whole */
    const char *wants; /* "state=absent": what the action itself wants of the whole */
    const char *id_param; /* by which requisites find a step; NULL: the module's */
    bool repeats;         /* never unchanged, as a plain command */
    bool waits;           /* may sleep long: shown as waiting, takes no share of the workers */
    ActionStage stage;    /* mode genius takes earlier stages first */
    uint32_t cost_ms;     /* about how long an apply takes, for mode genius; 0: next to nothing */
    const char *text;     /* paragraphs for `eden explain`; may be NULL */
    const char *example;  /* a step in YAML; the tests load it */
    const void *context;  /* for functions that serve many rows; NULL: they do not */
};

typedef struct Module {
    const char *name;     /* "file" */
    const char *help;     /* one sentence */
    const char *id_param; /* "name"; "name|pkgs": each entry or key of any of these is an id */
    const Action *actions;
    const char *refused; /* why nobody may use it, though it is there; NULL: it can be used */
} Module;

/* All modules of a program: ends with NULL. Passed down, because this folder is below them. */
typedef const Module *const *ModuleTable;

/* "file.managed" to its rows. False when there is none; `out_module` may be set then. */
bool module_table_find(ModuleTable table, Str name, const Module **out_module,
                       const Action **out_action);
const Module *module_table_find_module(ModuleTable table, Str name); /* NULL: there is none */
/* The closest action name, for "did you mean"; false when nothing is close. */
bool module_table_suggest(ModuleTable table, Str name, Arena *arena, Str *out);

/* The position of a parameter in the row; -1 when there is none. */
int action_param_index(const Action *action, Str name);
/* Whether it is over in a moment, whatever the machine is like: then nobody has to watch it. */
bool action_is_brief(const Action *action, const Value *params);
uint32_t action_param_count(const Action *action);
const char *param_kind_name(ParamKind kind);

/* The parameters that hold ids: the action's or its module's, one or several with '|' between
 * them; NULL when there are none. */
const char *action_id_params(const Module *module, const Action *action);
bool id_params_hold(const char *id_params, Str name); /* `id_params` may be NULL */

/* Brings a rendered value into the form that its kind promises. Fails with ERROR_INVALID and a
 * text such as "must be a duration such as '15s', not 'soon'". `sources` (may be NULL) tell how a
 * number was spelled. What has no form of its own (PARAM_ANY, the resolved kinds) stays as it is. */
MUST_CHECK bool param_convert(Arena *arena, const Sources *sources, const ParamSpec *spec,
                              Value given, Value *out, Error *err);
