/* Package managers, one row each. What they have in common (waiting for the lock, refreshing once
 * per run, attributing failures to packages) is implemented in transaction.c and index.c. */
#pragma once

#include "modules/pkg/database.h"
#include "modules/pkg/version.h"
#include "modules/tool.h"
#include "sys/lock_holder.h"

enum {
    PACKAGE_BACKENDS_MAX = 8
};

typedef enum PackageOperation {
    PACKAGES_INSTALL, /* installs the package, or replaces another installed version */
    PACKAGES_REMOVE,
    PACKAGES_UPGRADE, /* upgrades everything that has a newer version; `items` is ignored */
} PackageOperation;

typedef struct PackageItem {
    Str name;
    Str version; /* for PACKAGES_INSTALL; empty: the version that the package manager prefers */
} PackageItem;

/* A change for one invocation of the package manager, which may perform only part of it. */
typedef struct PackageChange {
    PackageOperation operation;
    const PackageItem *items;
    uint32_t count;
    bool purge; /* for PACKAGES_REMOVE: also remove configuration files */
    bool full;  /* for PACKAGES_UPGRADE: may remove packages to upgrade others */
    /* replace locally changed configuration files with the package's version */
    bool replace_conffiles;
    bool allow_downgrade;
    bool allow_removals; /* for PACKAGES_INSTALL: may remove conflicting packages */
    /* `recommends` is set; otherwise the configuration of the machine applies */
    bool set_recommends;
    bool recommends;    /* install recommended packages too */
    int64_t timeout_ms; /* 0: no timeout */
    int64_t lock_ms;    /* how long the package manager itself may wait for its lock */
} PackageChange;

/* The index entry of a package. */
typedef struct PackageOffer {
    Str name;
    bool known;    /* a repository contains the package or refers to it */
    Str candidate; /* version that would be installed; empty: none */
    Str *versions; /* all installable versions, the preferred one first */
    uint32_t version_count;
} PackageOffer;

/* The process that holds the package manager's lock. */
typedef struct PackageHolder {
    Str process;   /* "'apt-get upgrade' (process 812)" */
    Str lock_path; /* path of the lock */
} PackageHolder;

struct PackageBackend {
    const char *name;    /* as in the parameter `provider` */
    const char *program; /* program that is required for any change; NULL: none */
    bool live_only;      /* works only on the running system */
    VersionOrder order;
    const VersionOrder *(*find_order)(Call *call); /* the order of versions; NULL: always `order` */
    /* Returns true if it is this machine's own package manager. */
    bool (*is_native)(Call *call);
    /* Returns false and sets `err` if `name` is not a valid package name. */
    bool (*check_name)(Str name, Error *err);

    /* Computes the fingerprint of the files that `read` reads. */
    bool (*fingerprint)(Call *call, Fingerprint *out, Error *err);
    bool (*read)(Call *call, PackageDatabase *into, Error *err);
    /* Returns true if an installed package provides `name`, for backends where `read` cannot tell.
     * May be NULL. */
    bool (*is_provided)(Call *call, Str name);
    /* Lists the dependencies of an installed package. May be NULL. */
    void (*list_needs)(Arena *arena, const Package *package, List *names);

    /* Fills `offers`, whose names are set, with a single query. */
    bool (*find_offers)(Call *call, PackageOffer *offers, uint32_t count, Error *err);
    /* Lists the names of all installable packages, one per line. May be NULL. */
    bool (*list_names)(Call *call, Str *out, Error *err);
    /* Simulates the change and adds name, old and new version of each package to `changes`. NULL:
     * not supported. */
    bool (*simulate)(Call *call, const PackageChange *change, Map *changes, Error *err);
    /* The same for an upgrade of all packages. */
    bool (*find_upgrades)(Call *call, bool full, Map *changes, Error *err);
    /* When the index was last refreshed, in milliseconds since 1970; 0: never. */
    int64_t (*index_time)(Call *call);
    /* Fails with ERROR_CONFLICT if another process holds the lock. */
    bool (*refresh)(Call *call, int64_t timeout_ms, Error *err);

    /* Returns false if no process holds the lock. */
    bool (*find_holder)(Call *call, PackageHolder *out);
    /* Returns true if the program failed because another process held the lock. */
    bool (*was_locked)(Str output);
    /* Runs the program until it exits; `result->out` is its entire output. */
    bool (*change)(Call *call, const PackageChange *change, ProcessResult *result, Error *err);
    /* Completes an interrupted operation. */
    bool (*repair)(Call *call, const PackageChange *like, Error *err);
    /* Extracts from the output why `name` could not be changed. Returns false if the output is not
     * about this package. */
    bool (*blame)(Arena *arena, Str output, Str name, Str *words);
    /* Returns true if the change failed because conflicting packages must not be removed, and lists
     * them: "'a', 'b'". NULL: `blame` is sufficient. */
    bool (*find_removals)(Arena *arena, Str output, Str *names);

    /* Finds a failed script of `name` that the package manager reports only as a warning. NULL:
     * there are no such warnings. */
    bool (*find_warning)(Arena *arena, Str output, Str name, Str *words);

    /* Suffix of the new version of a changed configuration file, for package managers that save it
     * next to the old one instead of prompting. NULL: it prompts, and `change` answers. */
    const char *conffile_suffix;
    /* Appends the configuration files of those packages that are installed to `paths`. */
    bool (*list_conffiles)(Call *call, const PackageItem *items, uint32_t count, List *paths,
                           Error *err);

    /* Returns false if it cannot perform such a change at all. NULL: it supports all changes. */
    bool (*check_change)(const PackageChange *change, Error *err);
    /* Holds or releases packages. NULL: not supported. */
    bool (*hold)(Call *call, const Str *names, uint32_t count, bool held, Error *err);
    /* Marks packages as manually installed, so that they are not removed as unused dependencies.
     * NULL: not supported. */
    bool (*mark_manual)(Call *call, const Str *names, uint32_t count, Error *err);
};

/* All backends, terminated by NULL. */
extern const PackageBackend *const package_backends[];
uint32_t backend_number(const PackageBackend *backend);
const VersionOrder *backend_order(Call *call, const PackageBackend *backend);
/* Finds the backend named `provider`, or the machine's own if it is empty. Fails with
 * ERROR_UNAVAILABLE if there is none. */
MUST_CHECK bool backend_choose(Call *call, Str provider, const PackageBackend **out, Error *err);

extern const PackageBackend backend_apt;
extern const PackageBackend backend_dnf;
extern const PackageBackend backend_packagekit;
extern const PackageBackend backend_pacman;
extern const PackageBackend backend_zypper;

/* --- Package managers that are programs ------------------------------------------------------ */

/* Runs the program until it exits; `result->out` is its entire output. `env` is as in Tool. */
MUST_CHECK bool package_program_run(Call *call, ToolArgs *args, const char *const *env,
                                    int64_t timeout_ms, ProcessResult *result, Error *err);
bool package_program_is_done(
    const ProcessResult
        *result); /* Returns true if the program exited with code 0 and was not killed. */

/* Adds "--" and the packages of the change, with `between` between name and version. NULL: versions
 * are not passed. */
void package_program_add_items(Call *call, ToolArgs *args, const PackageChange *change,
                               const char *between);
/* Adds "--" and the names of the offers. */
void package_program_add_offers(Call *call, ToolArgs *args, const PackageOffer *offers,
                                uint32_t count);
/* Adds only the names. */
void package_program_add_names(Call *call, ToolArgs *args, const Str *names, uint32_t count);

/* Converts the result of a refresh. ERROR_CONFLICT means that another process held the lock. */
MUST_CHECK bool package_refresh_result(Call *call, const PackageBackend *backend,
                                       const ProcessResult *result, int64_t timeout_ms, Error *err);
/* Runs a refresh with these arguments and returns its result. */
MUST_CHECK bool package_program_refresh(Call *call, const PackageBackend *backend, ToolArgs *args,
                                        int64_t timeout_ms, Error *err);

typedef bool LockHolderFind(Host *host, Arena *arena, Str path, LockHolder *out);
/* Finds the process that holds one of the locks; `find` is a function of lock_holder.h. */
bool package_holder_find(Call *call, const Str *paths, size_t count, LockHolderFind *find,
                         PackageHolder *out);
