/* What `render` and `eval` share: settings from options, templates from files, faults as problems. */
#pragma once

#include "cli/inputs.h"
#include "lang/template/template.h"

#define LIMIT_OPTIONS                                                       \
    { .name = "undefined",                                                  \
      .argument = "MODE",                                                   \
      .choices = "strict|default|chainable|debug",                          \
      .fallback = "strict",                                                 \
      .help = "what an undefined variable does" },                          \
        { .name = "autoescape", .help = "escape HTML in what is printed" }, \
        { .name = "max-template",                                           \
          .argument = "SIZE",                                               \
          .fallback = "4M",                                                 \
          .help = "limit on the text of one template" },                    \
        { .name = "max-output",                                             \
          .argument = "SIZE",                                               \
          .fallback = "16M",                                                \
          .help = "limit on the rendered text" },                           \
        { .name = "max-memory",                                             \
          .argument = "SIZE",                                               \
          .fallback = "32M",                                                \
          .help = "limit on values made while rendering" },                 \
        { .name = "max-steps",                                              \
          .argument = "COUNT",                                              \
          .fallback = "50M",                                                \
          .help = "limit on the work done while rendering" },               \
    {                                                                       \
        .name = "max-depth", .argument = "COUNT", .fallback = "250",        \
        .help = "limit on macros and includes inside one another"           \
    }

/* Jinja2's settings with the invocation's changes; EXIT_USAGE when an option is wrong. */
int template_settings_get(const Invocation *invocation, TemplateSettings *out);

/* Finds templates in a directory, and remembers why one could not be read. */
typedef struct TemplateLoader {
    const char *root;
    size_t max; /* bytes of a template */
    Str failed; /* why the last one could not be read although it is there; else empty */
} TemplateLoader;

/* Makes include, import and extends look into `root`. */
void template_loader_attach(TemplateLoader *loader, const char *root, TemplateSettings *settings);

/* A template's fault as a problem. `main` is the name of the template that was asked for; others
 * came from the loader (NULL: there is none) and are shown with its directory. */
void inputs_add_fault(Inputs *inputs, const Fault *fault, Str main, const TemplateLoader *loader);
