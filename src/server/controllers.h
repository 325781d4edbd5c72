/* Work that one server does for the whole cluster: it runs on the leader (cluster/leader.h),
 * starts when that is elected, stops when it is deposed, and writes with its fence. Loop thread. */
#pragma once

#include "cluster/leader.h"
#include "membership/admission.h"
#include "membership/authority.h"
#include "membership/roster.h"

typedef struct Controllers Controllers;

typedef struct ControllersOptions {
    ClusterStore at; /* with a state that is ready */
    Str server;      /* name of this one */
    Admission *admission;
    Authority *authority;
} ControllersOptions;

/* What the options point to is borrowed until controllers_free. */
Controllers *controllers_new(const ControllersOptions *options);
/* Stops them, and lets another server lead at once; `done` is called when the store knows, perhaps
 * within. */
void controllers_stop(Controllers *controllers, LoopRun *done, void *context);
/* Before what the options name, the state, and the store. NULL is allowed. */
void controllers_free(Controllers *controllers);
DEFINE_AUTO(Controllers, controllers_free)

/* On this server. NULL is allowed. */
bool controllers_are_running(const Controllers *controllers);
/* A node is silent from now on: if this server leads it writes since when. NULL is fine. */
void controllers_node_silent(const Controllers *controllers, const RosterNode *node);
