/* Shared by `render` and `eval`: settings from options, templates from files, errors as
 * problems. */
#pragma once

#include "cli/inputs.h"
#include "lang/template/template.h"

#define LIMIT_OPTIONS                                                 \
    { .name = "undefined",                                            \
      .argument = "MODE",                                             \
      .choices = "strict|default|chainable|debug",                    \
      .fallback = "strict",                                           \
      .help = "how to treat undefined variables" },                   \
        { .name = "autoescape", .help = "escape HTML in output" },    \
        { .name = "max-template",                                     \
          .argument = "SIZE",                                         \
          .fallback = "4M",                                           \
          .help = "maximum size of a template" },                     \
        { .name = "max-output",                                       \
          .argument = "SIZE",                                         \
          .fallback = "16M",                                          \
          .help = "maximum size of the output" },                     \
        { .name = "max-memory",                                       \
          .argument = "SIZE",                                         \
          .fallback = "32M",                                          \
          .help = "maximum size of values created while rendering" }, \
        { .name = "max-steps",                                        \
          .argument = "COUNT",                                        \
          .fallback = "50M",                                          \
          .help = "maximum number of operations while rendering" },   \
    {                                                                 \
        .name = "max-depth", .argument = "COUNT", .fallback = "250",  \
        .help = "maximum nesting of macros and includes"              \
    }

/* Returns Jinja2's defaults with the options applied; EXIT_USAGE if an option is invalid. */
int template_settings_get(const Invocation *invocation, TemplateSettings *out);

/* Finds templates in a directory, and records why one could not be read. */
typedef struct TemplateLoader {
    const char *root;
    size_t max; /* size limit of a template, in bytes */
    Str failed; /* why an existing template could not be read; may be empty */
} TemplateLoader;

/* Makes include, import and extends search in `root`. */
void template_loader_attach(TemplateLoader *loader, const char *root, TemplateSettings *settings);

/* Adds an error of a template as a problem. `main` is the template given by the user; others came
 * from the loader (may be NULL) and are shown with its directory. */
void inputs_add_fault(Inputs *inputs, const Fault *fault, Str main, const TemplateLoader *loader);
