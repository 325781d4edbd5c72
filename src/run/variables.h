/* The variables of a node: merged layers, and values that are rendered on demand.
 *
 * Layers, each of which takes precedence over the previous ones:
 *   - files of the site that variables/base.yaml selects for this node, in that order; for an entry
 *     with `paths` the first existing file, or with `merge: all` every existing one, where earlier
 *     files take precedence;
 *   - vars.d/ *.yaml in the settings directory, by name: data of the host, never templates;
 *   - files given with -v, which may contain templates like those of the site;
 *   - -D KEY=TEXT and KEY:=JSON: verbatim text, never templates.
 * Maps are merged recursively, other values are replaced. A key without a value counts as absent;
 * an explicit `null` is a value.
 *
 * Text that contains templates is rendered on first use, and the result is cached. Results are
 * never compiled again. A circular reference between variables is a fault that shows the cycle. */
#pragma once

#include "model/site.h"
#include "run/renders.h"

typedef struct Variables Variables;

typedef struct VariablesLoad {
    Arena *arena; /* holds the variables and their rendered values */
    Sources *sources;
    Templates *templates;
    Problems *problems;
    Site *site;                     /* NULL: no layers of a site */
    const SelectorSubject *subject; /* matched against the selectors of the base file */
    Value path_scope;               /* a map: the scope of templates in `paths` */
    const char *etc;                /* the node's etc/eden; NULL: no layers of the host */
    const char *const *files;       /* from -v */
    uint32_t file_count;
    const char *const *defines; /* from -D */
    uint32_t define_count;
    Renders *renders; /* shared with macros */
} VariablesLoad;

/* Reports all problems of all layers. */
MUST_CHECK bool variables_load(const VariablesLoad *load, Variables **out);

/* The scope of templates in values; a map that is read only when one is rendered. */
void variables_set_scope(Variables *variables, Value scope);
/* `vars`: a lazy object that lives as long as the variables. */
Value variables_value(Variables *variables);

/* Renders everything and reports failures. Values known only in a run are not failures. */
MUST_CHECK bool variables_check(Variables *variables);

/* The value at a path of keys, "network.interfaces.0" or "sysctl['net.ipv4.ip_forward']". Returns
 * false with a problem if there is none, or it cannot be rendered. */
MUST_CHECK bool variables_get(Variables *variables, Str path, Value *out);
/* All variables as one map; without those known only in a run. */
MUST_CHECK bool variables_all(Variables *variables, Value *out);

typedef enum LayerKind {
    LAYER_SITE,
    LAYER_HOST,
    LAYER_FILE,
    LAYER_DEFINE,
} LayerKind;
const char *layer_kind_name(LayerKind kind); /* "site", "host", "file", "define" */

typedef struct VariableLayer {
    LayerKind kind;
    Value document; /* a map */
    Value named_at; /* the entry of the base file; missing for other kinds */
} VariableLayer;

/* Lowest precedence first. */
const VariableLayer *variables_layers(const Variables *variables, uint32_t *count);

/* The definition of one layer for a path. */
typedef struct VariableDefinition {
    const VariableLayer *layer;
    Value key;   /* the last component, with its location */
    Value value; /* as written, with its location */
    /* It contributes to the value: the definition that takes precedence, and maps merged with
     * it. */
    bool is_effective;
    bool shadows; /* it does not contain the path, but something else on the way to it */
} VariableDefinition;

/* Every layer that sets something, lowest precedence first. Returns false with a problem if none
 * does, or the path is invalid. */
MUST_CHECK bool variables_explain(Variables *variables, Str path, VariableDefinition **out,
                                  uint32_t *count);
