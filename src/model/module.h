/* Action modules as tables: the actions a site can use, and their parameters.
 *
 * A module is one file (or directory) in src/modules and one line in modules.def. Validation, help,
 * `eden explain`, requisite lookup and the runner use only the rows defined here; the arguments of
 * the functions are defined in modules/call.h, because this directory has no side effects.
 *
 * Running a step: resolve parameters, call `check`, and if that found a change and this is not a
 * plan, call `apply`. Both receive the same Call; `apply` also receives what `check` found. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/value.h"

typedef enum ParamKind {
    PARAM_STRING, /* string; numbers and booleans as they are spelled */
    PARAM_INT,    /* 64 bits; strings of digits are accepted */
    PARAM_BOOL,   /* true, false, and the strings yes, no, on, off, true, false */
    /* "15s", "1h30m", or a number of seconds; converted to an integer of milliseconds */
    PARAM_DURATION,
    PARAM_MODE, /* 0644, quoted or not; converted to an integer */
    /* absolute; converted to a form without "//", "/./" and "/../", and without a trailing "/" */
    PARAM_PATH,
    PARAM_DESTINATION, /* the same, but keeps a trailing "/", which means: into this directory */
    PARAM_FILE,        /* the same, but of a file: a trailing "/" is an error */
    PARAM_STRINGS,     /* list of strings; one string is a list of one */
    PARAM_MAP,         /* string keys to any values; a list of one-key maps is accepted */
    /* names, each with or without a version: a list of strings and one-key maps, or one map;
     * converted to a map of strings, null if there is no version */
    PARAM_VERSIONS,
    PARAM_COMMAND, /* string, or a list of strings, which is run without a shell */
    PARAM_ANY,
    /* These three are resolved before the module receives them. */
    PARAM_SITE_FILE, /* path in the site's files/; replaced with the content */
    /* path in templates/; replaced with the rendered text, with `context` in scope */
    PARAM_SITE_TEMPLATE,
    PARAM_PUBLISHED, /* [{file: STEP}]: replaced with a list of {path, mode, content} maps */
} ParamKind;

typedef struct ParamSpec {
    const char *name; /* NULL ends a list */
    ParamKind kind;
    bool required;
    const char *fallback; /* default, as a site would write it; NULL: value_missing() */
    const char *choices;  /* allowed strings, "started|stopped"; NULL: any */
    const char *help;     /* one sentence */
    const char *claims;   /* "path", "needs:user": its values are claims of that kind; NULL: none */
    /* The aspect of the action's `resource` that it sets, for contradiction.h; NULL: none.
     * "state!restarted": except with that value. "!content": the content is undecided while the
     * parameter is false. "?kind": the kind is undecided while the parameter has a value.
     * "content@copy": content from a source outside of the site; only the source is compared with
     * other steps. "uid#": only one resource can have a given value or, for a boolean, the value
     * true. "members%": the order of the list does not matter. "rules=": without the parameter
     * there are none. "+name": additional names of the
     * resource. "enabled^mask state": excludes the other setting, unless it is false or
     * "stopped". */
    const char *aspect;
} ParamSpec;

enum {
    ACTION_PARAMS_MAX = 32
};

/* The value with that name; values are in the order of their specifications. */
Value params_get(const ParamSpec *specs, const Value *values, const char *name);
/* The same as a string; empty if it is unknown or not a string. */
Str params_text(const ParamSpec *specs, const Value *values, const char *name);

typedef struct Action Action;
typedef struct Call Call;       /* modules/call.h */
typedef struct Outcome Outcome; /* modules/call.h */

/* Returns false if the step fails, with `err` set. Parameters are in the Call. */
typedef bool (*ActionFunction)(Call *call, Outcome *outcome, Error *err);
/* Pushes the resources that the step manages, such as "path:/etc/motd", "pkg:vnstat", "unit:ssh",
 * "user:web", "group:web", onto `claims`, a list of strings. Pure: sees only the parameters, in the
 * row's order; unknown ones are missing.
 *
 * Steps that claim the same resource keep their file order in every mode. Prefixes refine this:
 * "needs:user:web" does not manage the user but follows the step that does, wherever that is; a
 * path implicitly needs its parent directories. "drops:path:/srv/old" manages it by removing it: it
 * keeps file order also with steps for paths below it, instead of running before them.
 * "fills:/srv/app" manages everything below it as well: other steps do not clean up there.
 *
 * One more prefix is for plans only: "provides:user", "provides:path:/mnt/", "provides:*" declare
 * what may exist after the step although it does not manage it: any user, something under /mnt,
 * anything. */
typedef void (*ActionClaims)(Arena *arena, const Value *params, List *claims);
void claims_add(Arena *arena, List *claims, const char *prefix, Str name);
/* The same for a parameter; does nothing if it is unknown, empty or not a string. */
void claims_add_param(Arena *arena, List *claims, const char *prefix, Value param);
/* Last start of what the step manages, in milliseconds since 1970; 0: unknown. Read-only. A
 * reaction that is owed from an earlier run is not needed if the start was after the change. */
typedef bool (*ActionLastStart)(Call *call, int64_t *out_ms, Error *err);
/* Checks parameters independently of the machine, at load time. Unknown ones are missing. On
 * failure, names the offending parameter of the row. Pure. */
typedef bool (*ActionVerify)(Arena *arena, const Action *action, const Value *params,
                             const char **pos, Error *err);
/* Describes what `react` does, for plans: "restart", "reload"; NULL: nothing, with these
 * parameters. */
typedef const char *(*ActionReaction)(const Action *action, const Value *params);
/* One of several steps that are applied together. `outcome` contains what its check found. */
typedef struct MergedCall {
    Call *call;
    Outcome *outcome;
    bool failed; /* set by the action, with `error` */
    Error *error;
} MergedCall;
/* `apply` of several ready steps of this action in one transaction. Each gets its own outcome, as
 * from `apply`; if one fails, only those that depend on it fail too. */
typedef void (*ActionMerge)(MergedCall *calls, uint32_t count);

/* Hint for mode genius in addition to the cost. */
typedef enum ActionStage {
    STAGE_ANY,
    STAGE_SOURCES,  /* sources of packages: repositories, their keys */
    STAGE_PACKAGES, /* waits for all steps of STAGE_SOURCES that do not depend on it */
} ActionStage;

/* How the parts of a resource are identified. */
typedef enum PartKind {
    PART_TEXT,
    PART_DATA_PATH, /* "a.b", "/a/b" and [a, b] are the same */
    PART_LINE,      /* a line and a pattern that matches it */
    PART_KEY,       /* a public key, with or without type, options and comment */
} PartKind;

struct Action {
    const char *name; /* "managed" of file.managed; NULL ends a list */
    const char *help; /* one sentence */
    const ParamSpec *params;
    ActionFunction check; /* inspects; describes in `outcome` what apply would change */
    ActionFunction apply; /* makes the change; `outcome` contains what check found */
    ActionFunction react; /* effect of watch and listen; NULL: watch is the same as require */
    ActionFunction query; /* returns a read-only value in outcome->value, callable as a macro */
    ActionClaims claims;
    ActionMerge merge;
    ActionVerify verify;        /* NULL: checking the types of the parameters is sufficient */
    ActionVerify verify_all;    /* the same, but only called if all parameters that are set are
     * known */
    ActionReaction reaction;    /* NULL: "react" */
    ActionLastStart last_start; /* NULL: it manages nothing that runs, or nothing else starts it */
    /* What steps must agree on, for contradiction.h; NULL: nothing. */
    /* "path name": a class, and the parameter with the name; "a|b": the first one given */
    const char *resource;
    /* "section option": the parameters that name a part of it, for which others are decided
     * separately; NULL: the whole */
    const char *part;
    const char *desired_state; /* "state=absent": what the action itself sets for the whole */
    PartKind part_kind;
    bool writes_whole_files; /* writes the files whose paths it claims as a whole */
    const char *id_param;    /* parameter by which requisites find a step; NULL: the module's */
    bool always_changes;     /* always reports a change, like a plain command */
    bool may_sleep;          /* may sleep for long: shown as waiting, does not occupy a worker */
    ActionStage stage;       /* mode genius runs earlier stages first */
    uint32_t cost_ms;        /* typical duration of an apply, for mode genius; 0: negligible */
    const char *text;        /* paragraphs for `eden explain`; may be NULL */
    const char *example;     /* a step in YAML; the tests load it */
    const void *context;     /* for functions shared by many rows; may be NULL */
};

typedef struct Module {
    const char *name;     /* "file" */
    const char *help;     /* one sentence */
    const char *id_param; /* "name"; "name|pkgs": each entry or key of any of these is an ID */
    const Action *actions;
    const char *unusable_reason; /* reason why it cannot be used; NULL: it can be used */
} Module;

/* All modules of a program; ends with NULL. Passed as an argument, because this directory is below
 * modules. */
typedef const Module *const *ModuleTable;

/* Finds "file.managed". Returns false if it does not exist; `out_module` may be set then. */
bool module_table_find(ModuleTable table, Str name, const Module **out_module,
                       const Action **out_action);
const Module *module_table_find_module(ModuleTable table, Str name); /* NULL if there is none */
/* The closest action name, for "did you mean"; false if nothing is close. */
bool module_table_suggest(ModuleTable table, Str name, Arena *arena, Str *out);

/* The index of a parameter in the row; -1 if there is none. */
int action_param_index(const Action *action, Str name);
/* Whether it always finishes quickly, so that progress need not be shown. */
bool action_is_quick(const Action *action, const Value *params);
uint32_t action_param_count(const Action *action);
const char *param_kind_name(ParamKind kind);
bool param_is_path(const ParamSpec *spec); /* an absolute path on the machine */

/* The parameters that contain IDs: the action's or its module's, separated by '|'; NULL if there
 * are none. */
const char *action_id_params(const Module *module, const Action *action);
bool id_params_include(const char *id_params, Str name); /* `id_params` may be NULL */

/* Converts a rendered value to the form that its type requires. Fails with ERROR_INVALID and a
 * message such as "must be a duration such as '15s', not 'soon'". `sources` (may be NULL) contain
 * the original spelling of numbers. PARAM_ANY and the resolved types are unchanged. */
MUST_CHECK bool param_convert(Arena *arena, const Sources *sources, const ParamSpec *spec,
                              Value input, Value *out, Error *err);
