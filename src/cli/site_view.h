/* A site as a node sees it, without its steps: identity, variables and macros, from the options of
 * a command. */
#pragma once

#include "cli/inputs.h"
#include "modules/extension.h"
#include "run/scope.h"
#include "run/secrets.h"
#include "run/site_files.h"
#include "sys/host.h"

/* Used together with VARIABLE_OPTIONS. */
#define SITE_WORLD_OPTIONS                                                                        \
    NODE_OPTIONS("root directory for facts and macros", "state directory of the agent; default: " \
                                                        "var/lib/eden under --root")

typedef struct SiteView {
    Invocation *invocation;
    Inputs inputs;
    Host *host;
    SiteFiles *files;
    Extensions extensions;
    Templates *templates;
    Renders renders;
    Secrets *secrets;
    Site *site;
    const char *config; /* configuration directory of the node */
    Node node;
    Scope *scope;
} SiteView;

/* On failure, `inputs` has the problems. Must be cleared in either case. */
MUST_CHECK bool site_view_open(SiteView *view, Invocation *invocation, const char *path);
/* Prints all problems, without secrets. Returns the exit code. */
int site_view_report(SiteView *view);
void site_view_clear(SiteView *view);
