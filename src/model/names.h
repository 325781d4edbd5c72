/* Names that the templates of a site can use. An undefined name is reported when the site is read,
 * instead of by the first run that evaluates it. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "model/dynamic.h"
#include "model/module.h"

/* The context of a template, which determines the names that it can use in addition to vars, server
 * and so on. */
typedef struct SiteNames {
    bool steps;       /* results of other steps */
    bool step;        /* its own result: `step` */
    bool item;        /* inside forEach */
    bool open;        /* the user of the template adds names: arguments of a macro */
    const char *here; /* "variables", in which there are no steps; for messages */
} SiteNames;

/* The use of a name that may or may not exist: a macro or variable by its literal name, macros['x']
 * or vars.x, or any other. It can be checked only after the whole site is read. */
typedef struct NameUse {
    bool macro, variable;
    Str name;
    uint32_t offset, span;
    const Template *template;
    Value document;  /* the string that contains the template */
    SiteNames names; /* of the context, for "did you mean" */
} NameUse;
typedef VEC(NameUse) NameUses;

typedef struct NamesCheck {
    Arena *arena;
    const Sources *sources;
    Problems *problems;
    const SiteNames *names;
    Str root;       /* prefix of the names of template files, as in SiteReader */
    NameUses *open; /* uses to check after the whole site is read; NULL: not collected */
} NamesCheck;

/* Returns false, with problems, for names that cannot exist. */
bool names_check(const NamesCheck *check, const Dynamic *dynamic);
/* The same for a template file: its user may add names, so only those are reported that certainly
 * belong to another tool and that no `context` of a step defines (`given`). */
bool names_check_file(const NamesCheck *check, const Template *template, const StrMap *given,
                      const StrMap *steps); /* the names of all steps; NULL: unknown */

/* Whether it is a built-in macro. */
bool names_is_builtin_macro(ModuleTable modules, Str name);
/* Reports that the macro or name does not exist; for a variable, which may be defined outside of the
 * site, as a warning. `macros` and `variables` are those of the site. */
void names_report(const NamesCheck *check, const NameUse *use, ModuleTable modules,
                  const StrMap *macros, const StrMap *variables);
