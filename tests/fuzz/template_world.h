/* The environment of the template and the expression target: settings, variables and other
 * templates, all chosen by the input.
 *
 *     two bytes of options, see template_world.c; "@@" are the defaults
 *     the template or the expression
 *     any number of further parts: a line "=== NAME" and the text of the template of that name.
 *     The part named "context" is YAML, a map of variables that replaces the fixed ones.
 *
 * Limits are low, so that no input takes long. */
#pragma once

#include "base/problems.h"
#include "base/str_map.h"
#include "lang/template/template.h"

typedef struct TemplateWorld {
    Arena arena;
    Sources sources;
    Problems problems;
    StrMap templates; /* name -> Str, from the input */
    TemplateSettings settings;
    Str input;
    Str text; /* the template or the expression itself */
    Value variables;
    bool frozen; /* the variables are read-only */
} TemplateWorld;

/* `input` is borrowed. */
void template_world_init(TemplateWorld *world, Str input);
void template_world_clear(TemplateWorld *world);
DEFINE_AUTO_CLEAR(TemplateWorld, template_world_clear)

/* The variables for one render: shared if they are frozen, else a copy made in `arena`. */
Value template_world_variables(const TemplateWorld *world, Arena *arena);

/* An error has a message, and its position lies in the text it names. */
void check_fault(const TemplateWorld *world, const Fault *fault);
/* Ranges are sorted and lie within the text. There are no secrets outside them. */
void check_secrets(const TemplateWorld *world, const Rendered *rendered);
/* A text that was not marked as secret contains no secret. */
void check_no_secret(const TemplateWorld *world, Str text);
/* The memory held by the render stays near the limits. */
void check_memory(const TemplateWorld *world, const Rendered *rendered);
