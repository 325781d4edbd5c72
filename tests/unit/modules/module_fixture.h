/* A Call as the runner creates it, under a separate root in /tmp. */
#pragma once

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "modules/call.h"
#include "modules/modules.h"
#include "unit.h"

typedef struct Fixture {
    Arena arena;
    char root[64];
    Host *host;
    CallServices services;
    Call call;
    Outcome outcome;
    Error err;
    uint32_t kept;     /* number of journal records */
    const char *claim; /* a path managed by another step */
    Value params[ACTION_PARAMS_MAX];
} Fixture;

static bool fixture_keep(void *context, Call *call, Str path, Error *err)
{
    ((Fixture *)context)->kept++;
    return true;
}

static bool fixture_is_claimed(void *context, Call *call, Str path)
{
    Fixture *fixture = context;
    return fixture->claim != NULL && str_eq_c(path, fixture->claim);
}

/* For services.may_be_provided: no step creates what is missing. Without it, a step may create anything. */
static inline bool nothing_comes(void *context, Call *call, const char *class, Str name, Str *why)
{
    return false;
}

/* Selects the action "module.action", without parameters. */
static inline void use_action(Fixture *fixture, const char *name)
{
    const char *dot = strchr(name, '.');
    Str module_name = str_from(name, (size_t)(dot - name));
    for (const Module *const *module = modules; *module != NULL; module++) {
        for (const Action *action = (*module)->actions; action->name != NULL; action++) {
            if (str_eq_c(module_name, (*module)->name) && strcmp(action->name, dot + 1) == 0) {
                fixture->call.action = action;
            }
        }
    }
    assert_non_null(fixture->call.action);
    for (uint32_t i = 0; i < ACTION_PARAMS_MAX; i++) {
        fixture->params[i] = value_missing();
    }
}

static inline void set_param(Fixture *fixture, const char *name, Value value)
{
    const ParamSpec *specs = fixture->call.action->params;
    for (uint32_t i = 0; specs[i].name != NULL; i++) {
        if (strcmp(specs[i].name, name) == 0) {
            fixture->params[i] = value;
            return;
        }
    }
    fail_msg("no parameter '%s'", name);
}

static inline void set_text(Fixture *fixture, const char *name, const char *text)
{
    set_param(fixture, name, value_string(str_from_c(text)));
}

static inline bool check(Fixture *fixture)
{
    fixture->outcome = (Outcome){ 0 };
    fixture->err = (Error){ 0 };
    fixture->call.planning = false;
    return fixture->call.action->check(&fixture->call, &fixture->outcome, &fixture->err);
}

static inline bool plan(Fixture *fixture)
{
    fixture->outcome = (Outcome){ 0 };
    fixture->err = (Error){ 0 };
    fixture->call.planning = true;
    return fixture->call.action->check(&fixture->call, &fixture->outcome, &fixture->err);
}

/* Check, and apply if that finds a change: like in a run. */
static inline bool run(Fixture *fixture)
{
    if (!check(fixture)) {
        return false;
    }
    if (!fixture->outcome.changed) {
        return true;
    }
    fixture->outcome.changed = false;
    return fixture->call.action->apply(&fixture->call, &fixture->outcome, &fixture->err);
}

static inline bool react(Fixture *fixture)
{
    fixture->outcome = (Outcome){ 0 };
    fixture->call.planning = false;
    return fixture->call.action->react(&fixture->call, &fixture->outcome, &fixture->err);
}

static int set_up(void **state)
{
    Fixture *fixture = calloc(1, sizeof *fixture);
    arena_init(&fixture->arena, ARENA_UNLIMITED);
    strcpy(fixture->root, "/tmp/test_module.XXXXXX");
    *state = fixture;
    if (mkdtemp(fixture->root) == NULL || chmod(fixture->root, 0755) != 0 ||
        !host_open(fixture->root, &fixture->host, &fixture->err)) {
        return -1;
    }
    fixture->services = (CallServices){ fixture, fixture_keep, fixture_is_claimed, NULL };
    fixture->call = (Call){ .params = fixture->params,
                            .arena = &fixture->arena,
                            .host = fixture->host,
                            .services = &fixture->services };
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    Fixture *fixture = *state;
    host_close(fixture->host);
    int failed = nftw(fixture->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_clear(&fixture->arena);
    free(fixture);
    return failed;
}

#define IN_ROOT(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
