/* A few modules that do nothing, for tests of sites. */
#pragma once

#include "model/module.h"
#include "unit.h"

static bool test_function(Call *call, Outcome *outcome, Error *err)
{
    return true;
}

static void test_claim_path(Arena *arena, const Value *params, List *claims)
{
    if (value_is_string(params[0])) {
        list_push(
            arena, claims,
            value_string(arena_format(arena, "path:%" STR_FMT, STR_ARG(value_str(params[0])))));
    }
}

static const ParamSpec test_file_params[] = {
    { "name", PARAM_PATH, .required = true, .help = "path" },
    { "content", PARAM_STRING, .help = "what is in it" },
    { "mode", PARAM_MODE, .fallback = "0644", .help = "permissions" },
    { "owner", PARAM_STRING, .help = "user" },
    { "template", PARAM_SITE_TEMPLATE, .help = "template" },
    { "source", PARAM_SITE_FILE, .help = "file" },
    { "from", PARAM_PUBLISHED, .help = "published" },
    { 0 },
};
static const Action test_file_actions[] = {
    { "managed", "A file.", test_file_params, test_function, test_function,
      .claims = test_claim_path },
    { "content", "Reads a file.", test_file_params, test_function, test_function },
    { 0 },
};
static const Module test_file = { "file", "Files.", "name", test_file_actions };

static const ParamSpec test_cmd_params[] = {
    { "cmd", PARAM_COMMAND, .required = true, .help = "what to run" },
    { "timeout", PARAM_DURATION, .help = "limit" },
    { "env", PARAM_MAP, .help = "environment" },
    { 0 },
};
static const Action test_cmd_actions[] = {
    { "run", "A command.", test_cmd_params, test_function, test_function, .react = test_function,
      .always_changes = true },
    { 0 },
};
static const Module test_cmd = { "cmd", "Commands.", "cmd", test_cmd_actions };

static const ParamSpec test_pkg_params[] = {
    { "name", PARAM_STRING, .help = "package" },
    { "pkgs", PARAM_VERSIONS, .help = "packages" },
    { "refresh", PARAM_BOOL, .fallback = "false", .help = "index first" },
    { 0 },
};
static const Action test_pkg_actions[] = {
    { "installed", "Packages.", test_pkg_params, test_function, test_function },
    { 0 },
};
static const Module test_pkg = { "pkg", "Packages.", "name|pkgs", test_pkg_actions };

static const ParamSpec test_service_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "unit" },
    { "state", PARAM_STRING, .choices = "started|stopped", .help = "wanted" },
    { 0 },
};
static const Action test_service_actions[] = {
    { "ensure", "A service.", test_service_params, test_function, test_function,
      .react = test_function },
    { 0 },
};
static const Module test_service = { "service", "Services.", "name", test_service_actions };

static const ParamSpec test_time_params[] = {
    { "time", PARAM_DURATION, .required = true, .help = "how long" },
    { 0 },
};
static const Action test_time_actions[] = {
    { "sleep", "Waits.", test_time_params, test_function, test_function },
    { "sleep_rand", "Waits.", test_time_params, test_function, test_function },
    { 0 },
};
static const Module test_time = { "time", "Time.", NULL, test_time_actions };

static const Module *const test_modules[] = { &test_file,    &test_cmd,  &test_pkg,
                                              &test_service, &test_time, NULL };
