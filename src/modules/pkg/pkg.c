/* pkg.*: packages of the system. The checks of installed, latest and removed are one (check.c), and so is
 * their apply (transaction.c); held and uptodate are in files of their own. */
#include "modules/pkg/actions.h"
#include "modules/pkg/transaction.h"

#define INSTALL_PARAMS                                                                             \
    { "conffiles", PARAM_STRING, .fallback = "keep", .choices = "keep|replace",                    \
      .help = "whose configuration file stays when both the machine and the package changed it" }, \
        { "recommends", PARAM_BOOL,                                                                \
          .help = "also what the packages recommend; otherwise as the machine is set up" },        \
        { "allow_removals", PARAM_BOOL, .fallback = "false",                                       \
          .help =                                                                                  \
              "let packages go that are in the way; otherwise the step fails and names them" },    \
        PACKAGE_PROVIDER, PACKAGE_LOCK

static const ParamSpec installed_params[] = {
    { "name", PARAM_STRING, .help = "a package" },
    { "version", PARAM_STRING, .decides = "version",
      .help = "of 'name': '1.2-3', a pattern '1.2*', or comparisons '>=1.2, <2'" },
    { "pkgs", PARAM_VERSIONS, .help = "several packages, each as NAME or as 'NAME: VERSION'" },
    { "refresh", PARAM_BOOL,
      .help = "true: read the index of packages again first; false: never; otherwise when needed" },
    { "allow_downgrade", PARAM_BOOL, .fallback = "false",
      .help = "go back to an older version when that is the one wanted" },
    INSTALL_PARAMS,
    { 0 },
};

static const ParamSpec latest_params[] = {
    PACKAGE_NAMES,
    { "refresh", PARAM_BOOL,
      .help = "true: read the index of packages again first; false: never; otherwise by its age" },
    { "index_age", PARAM_DURATION, .fallback = "1h",
      .help = "how old the index may be when 'refresh' is not given" },
    INSTALL_PARAMS,
    { 0 },
};

static bool installed_check(Call *call, Outcome *outcome, Error *err)
{
    return package_step_check(call, ARENA_NEW(call->arena, PackageStep), outcome, err);
}

static void installed_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", installed_params, params, claims);
    package_brings(arena, claims);
    if (value_is_true(params_get(installed_params, params, "refresh"))) {
        claims_add(arena, claims, "brings:package", STR_EMPTY);
    }
}

static bool latest_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    step->latest = true;
    return package_step_check(call, step, outcome, err);
}

static void latest_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "pkg:", latest_params, params, claims);
    package_brings(arena, claims);
    claims_add(arena, claims, "brings:package", STR_EMPTY); /* with a new index */
}

static const ParamSpec removed_params[] = {
    PACKAGE_NAMES,
    { "purge", PARAM_BOOL, .fallback = "false", .help = "remove their configuration too" },
    PACKAGE_PROVIDER,
    PACKAGE_LOCK,
    { 0 },
};

static bool removed_check(Call *call, Outcome *outcome, Error *err)
{
    PackageStep *step = ARENA_NEW(call->arena, PackageStep);
    step->removes = true;
    return package_step_check(call, step, outcome, err);
}

static void removed_claims(Arena *arena, const Value *params, List *claims)
{
    package_claims(arena, "drops:pkg:", removed_params, params, claims);
}

static const Action actions[] = {
    { "installed", "Ensure that packages are installed.", installed_params, installed_check,
      packages_apply, .claims = installed_claims, .merge = packages_merge, .stage = STAGE_PACKAGES,
      .cost_ms = 5000, .thing = "package name|pkgs", .wants = "state=installed",
      .text =
          "A version is exact ('1.2-3'), a pattern ('1.2*'), or comparisons that all must hold\n"
          "('>=1.2, <2'), in the order of the machine's own package manager. Without one, any\n"
          "version that is there will do. Going back to an older one takes 'allow_downgrade'.\n"
          "\n"
          "The package index is refreshed when 'refresh' is true, when it does not exist, when\n"
          "the sources changed in this run, and when it does not know the package or version;\n"
          "at most once a run, however many steps ask, and again after the sources changed. When\n"
          "nothing is to be installed it is not needed. Without 'refresh' a source that cannot\n"
          "be reached is no failure as long as the packages are known.\n"
          "\n"
          "Nothing is ever asked. Where both the machine and the package have changed a\n"
          "configuration file, 'conffiles' says which of them stays. While another process\n"
          "changes packages the step waits and says for whom. What was interrupted (a package\n"
          "manager that was killed, packages left half configured) is brought to an end first.\n"
          "\n"
          "With --order genius the packages of all steps that are ready are installed in one\n"
          "transaction. When that fails, those that are not to blame are installed all the same.\n"
          "What other packages are in the way of (conflicts) is not installed, unless\n"
          "'allow_removals' lets those be removed.\n"
          "The changes name every package with its versions, also those that came along.\n",
      .example = "- name: install the web server\n"
                 "  pkg.installed:\n"
                 "    - pkgs:\n"
                 "        - nginx\n"
                 "        - openssl: '>=3.0'\n"
                 "    - refresh: true\n" },
    { "latest", "Ensure that packages are installed in their newest version.", latest_params,
      latest_check, packages_apply, .claims = latest_claims, .merge = packages_merge,
      .stage = STAGE_PACKAGES, .cost_ms = 5000, .thing = "package name|pkgs",
      .wants = "state=installed version=latest",
      .text = "The newest is what the package manager prefers: pins and priorities count. The\n"
              "index is read again once a run, when it is older than 'index_age' or 'refresh' is\n"
              "true. A plan does not do that, and tells by the index that is there.\n",
      .example = "- name: the newest certificates\n"
                 "  pkg.latest:\n"
                 "    - name: ca-certificates\n" },
    { "removed", "Ensure that packages are not installed.", removed_params, removed_check,
      packages_apply, .claims = removed_claims, .merge = packages_merge, .stage = STAGE_PACKAGES,
      .cost_ms = 3000, .thing = "package name|pkgs", .wants = "state=absent",
      .text = "Packages that need them go too. The changes name them; with apt those of a plan do\n"
              "so already.\n",
      .example = "- name: no telnet\n"
                 "  pkg.removed:\n"
                 "    - name: telnetd\n"
                 "    - purge: true\n" },
    { "held", "Ensure that packages keep the version they have.", held_params, held_check,
      held_apply, .claims = held_claims, .stage = STAGE_PACKAGES, .cost_ms = 100,
      .thing = "package name|pkgs",
      .text = "A package that is held is changed by no other step: that step fails and says so.\n",
      .example = "- name: keep the kernel\n"
                 "  pkg.held:\n"
                 "    - name: linux-image-amd64\n" },
    { "uptodate", "Ensure that all packages are in their newest version.", uptodate_params,
      uptodate_check, uptodate_apply, .query = uptodate_query, .claims = uptodate_claims,
      .stage = STAGE_PACKAGES, .cost_ms = 20000,
      .text = "As a macro it is true when there is nothing newer, by the index that is there:\n"
              "macros['pkg.uptodate']().\n",
      .example = "- name: bring everything up to date\n"
                 "  pkg.uptodate:\n"
                 "    - refresh: true\n" },
    { 0 },
};

const Module modules_pkg = {
    .name = "pkg",
    .help = "Packages of the system.",
    .id_param = "name|pkgs",
    .actions = actions,
};
