/* What the template and the expression target render in: settings, variables and other templates,
 * all chosen by the input.
 *
 *     two bytes of options, see template_world.c; "@@" are the defaults
 *     the template or the expression
 *     any number of further parts: a line "=== NAME" and the text of the template of that name.
 *     The part named "context" is YAML, a map of variables instead of the fixed ones.
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
    StrMap templates; /* name -> Str, those of the input */
    TemplateSettings settings;
    Str input;
    Str text; /* the template or the expression itself */
    Value variables;
    bool frozen; /* the variables are nobody's to change */
} TemplateWorld;

/* `input` is borrowed. */
void template_world_init(TemplateWorld *world, Str input);
void template_world_clear(TemplateWorld *world);
DEFINE_AUTO_CLEAR(TemplateWorld, template_world_clear)

/* The variables for one render: shared when they are frozen, else a copy made in `arena`. */
Value template_world_variables(const TemplateWorld *world, Arena *arena);

/* A fault says what is wrong, and its place lies in the text it names. */
void check_fault(const TemplateWorld *world, const Fault *fault);
/* Ranges are in order and inside of the text. No secret stands anywhere else. */
void check_secrets(const TemplateWorld *world, const Rendered *rendered);
/* A text that nobody marked as secret has none of the secrets in it. */
void check_no_secret(const TemplateWorld *world, Str text);
/* What the render holds stays near the limits. */
void check_memory(const TemplateWorld *world, const Rendered *rendered);
