/* Parser for the description of an extension module, as rows. Pure.
 *
 *     {"format": "eden.module/1", "help": "...", "id_param": "name", "actions": {
 *         "present": {"help": "...", "params": {"name": {"kind": "path", "required": true,
 *                     "help": "..."}}, "does": ["check", "apply"]}}}
 *
 * docs/extensions.md lists all keys. The rows are validated so that they are as reliable as those
 * of built-in modules: names, kinds and fallbacks are valid; anything else is an error with its
 * location. */
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

/* Operations of a request: "check", "apply", "react", "query". */
typedef enum ExtensionOp {
    EXTENSION_CHECK,
    EXTENSION_APPLY,
    EXTENSION_REACT,
    EXTENSION_QUERY,
    EXTENSION_OPS,
} ExtensionOp;
extern const char *const extension_op_names[EXTENSION_OPS];

/* Properties for which the rows of built-in modules have no column. */
typedef struct ExtensionAction {
    const char *name;
    bool does[EXTENSION_OPS];
    bool roots;         /* the action supports other roots */
    int64_t timeout_ms; /* timeout of each call; 0: default */
} ExtensionAction;

typedef struct ExtensionRows {
    Module module;
    Action *actions; /* rows without functions; the caller sets `context` */
    ExtensionAction *extras;
    uint32_t count;
} ExtensionRows;

/* Returns true if it is a valid name of a module, action or parameter. */
bool extension_name_is(Str name);
/* `name` is that of the module. Strings of the description are copied. */
MUST_CHECK bool extension_rows_read(Arena *arena, const char *name, Value description,
                                    ExtensionRows *out, Error *err);
