/* Names that the templates in a site can use. An undefined name is reported when the site is read,
 * instead of by the first run that evaluates it. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "model/dynamic.h"
#include "model/module.h"

/* The context of a template, which determines the names that it can use in addition to vars, server
 * and so on. */
typedef struct SiteNames {
    bool steps;               /* results of other steps */
    bool step;                /* its own result: `step` */
    bool item;                /* inside forEach */
    bool open;                /* the user of the template adds names: arguments of a macro */
    const char *context_name; /* "variables", in which there are no steps; for messages */
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
    const char *const *facts; /* the names of all facts, NULL-terminated; NULL: unknown */
    Str root;                 /* prefix of the names of template files, as in SiteReader */
    NameUses *open;           /* uses to check after the whole site is read; NULL: not collected */
} NamesCheck;

/* Returns false, with problems, for names that cannot exist. */
bool names_check(const NamesCheck *check, const Dynamic *dynamic);
/* Names that steps pass to the template files they use. */
typedef struct FileNames {
    StrMap passed;    /* names that a `context` of any step defines */
    StrMap assigned;  /* names that any template assigns: it may include others */
    StrMap steps;     /* the names of all steps */
    StrMap reachable; /* the template files that steps use, directly or indirectly */
    bool passed_known, steps_known;
} FileNames;

/* The same for a template file. A name that its user may add is not reported. */
bool names_check_file(const NamesCheck *check, const Template *template, const FileNames *names);

/* Whether it is a built-in macro. */
bool names_is_builtin_macro(ModuleTable modules, Str name);
/* Reports that the macro or name does not exist; for a variable, which may be defined outside of
 * the site, as a warning. `macros` and `variables` are those of the site. */
void names_report(const NamesCheck *check, const NameUse *use, ModuleTable modules,
                  const StrMap *macros, const StrMap *variables);
