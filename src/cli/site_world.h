/* A site as a node sees it, without its steps: who the node is, variables and macros, from the options
 * of a command. */
#pragma once

#include "cli/inputs.h"
#include "modules/extension.h"
#include "run/scope.h"
#include "run/secrets.h"
#include "run/site_files.h"
#include "sys/host.h"

/* Beside VARIABLE_OPTIONS. */
#define SITE_WORLD_OPTIONS                                                             \
    NODE_OPTIONS("facts and macros are about what lies below DIR",                     \
                 "where the agent keeps what the cluster says of this node; default: " \
                 "var/lib/eden in the root")

typedef struct SiteWorld {
    Invocation *invocation;
    Inputs inputs;
    Host *host;
    SiteFiles *files;
    Extensions extensions;
    Templates *templates;
    Renders renders;
    Secrets *secrets;
    Site *site;
    const char *config; /* the node's own folder */
    Node node;
    Scope *scope;
} SiteWorld;

/* False when something is wrong with it, which is in `inputs`. Cleared in either case. */
MUST_CHECK bool site_world_open(SiteWorld *world, Invocation *invocation, const char *path);
/* Tells all that is wrong, without secrets; the exit code. */
int site_world_report(SiteWorld *world);
void site_world_clear(SiteWorld *world);
