/* Names that templates of a site can use. A name that exists nowhere is told when the site is read,
 * and not by the first run that comes by it. */
#pragma once

#include "base/str_map.h"
#include "base/vec.h"
#include "model/dynamic.h"
#include "model/module.h"

/* Where a template stands, which decides what it sees besides vars, server and the like. */
typedef struct SiteNames {
    bool steps;       /* results of other steps */
    bool step;        /* its own result: `step` */
    bool item;        /* in forEach */
    bool open;        /* whoever uses it gives it names of his own: a macro's arguments */
    const char *here; /* "variables", where there are no steps; for messages */
} SiteNames;

/* A use of what may be there or not: a macro by its literal name, macros['x'], or a variable. All of
 * the site must be read before one can say. */
typedef struct NameUse {
    bool macro;
    Str name;
    uint32_t offset, span;
    const Template *template;
    Value document;  /* that the template is the text of */
    SiteNames names; /* of the place, for "did you mean" */
} NameUse;
typedef VEC(NameUse) NameUses;

typedef struct NamesCheck {
    Arena *arena;
    const Sources *sources;
    Problems *problems;
    const SiteNames *names;
    Str root;       /* put before the names of files of templates, as SiteReader has it */
    NameUses *open; /* what is to be settled when all of the site is read; NULL: not wanted */
} NamesCheck;

/* False with problems for names that cannot be there. */
bool names_check(const NamesCheck *check, const Dynamic *dynamic);
/* The same for a template that is a file: names may come from whoever uses it, so only those are
 * told that certainly belong to another tool and that no `context` of a step has (`given`). */
bool names_check_file(const NamesCheck *check, const Template *template, const StrMap *given);

/* Whether a macro of that name comes with the program. */
bool names_is_builtin_macro(ModuleTable modules, Str name);
/* Tells that there is no such macro or name. `macros` and `variables` are those of the site. */
void names_tell(const NamesCheck *check, const NameUse *use, ModuleTable modules,
                const StrMap *macros, const StrMap *variables);
