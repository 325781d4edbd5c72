/* What an extension module says of itself, as rows. Pure.
 *
 *     {"format": "eden.module/1", "help": "...", "id_param": "name", "actions": {
 *         "present": {"help": "...", "params": {"name": {"kind": "path", "required": true,
 *                     "help": "..."}}, "does": ["check", "apply"]}}}
 *
 * docs/extensions.md has all keys. The rows are as good as those of built-in modules: names are
 * names, kinds are kinds, fallbacks fit; whatever is not so is an error that says where. */
#pragma once

#include "lang/value.h"
#include "model/module.h"

enum {
    EXTENSION_ACTIONS_MAX = 64,
    EXTENSION_NAME_MAX = 64,
    EXTENSION_HELP_MAX = 500,
    EXTENSION_TEXT_MAX = 20000,
};

#define EXTENSION_FORMAT "eden.module/1"

/* What it is asked: "check", "apply", "react", "query". */
typedef enum ExtensionOp {
    EXTENSION_CHECK,
    EXTENSION_APPLY,
    EXTENSION_REACT,
    EXTENSION_QUERY,
    EXTENSION_OPS,
} ExtensionOp;
extern const char *const extension_op_names[EXTENSION_OPS];

/* What a row of built-in modules has no column for. */
typedef struct ExtensionAction {
    const char *name;
    bool does[EXTENSION_OPS];
    bool roots;         /* works below another root too */
    int64_t timeout_ms; /* of each call; 0: the usual one */
} ExtensionAction;

typedef struct ExtensionRows {
    Module module;
    Action *actions; /* the module's: functions are missing, `context` is for their owner */
    ExtensionAction *extras;
    uint32_t count;
} ExtensionRows;

/* Whether a module, action or parameter can be called that. */
bool extension_name_is(Str name);
/* `name` is that of the module. Strings of the description are copied. */
MUST_CHECK bool extension_rows_read(Arena *arena, const char *name, Value description,
                                    ExtensionRows *out, Error *err);
