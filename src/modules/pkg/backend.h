/* Package managers, one row each. What they have in common (waiting for their lock, one refresh a
 * run, whom to blame) is done above them, in transaction.c and index.c. */
#pragma once

#include "modules/pkg/database.h"
#include "modules/pkg/version.h"
#include "modules/tool.h"

enum {
    PACKAGE_BACKENDS_MAX = 8
};

typedef enum PackageOperation {
    PACKAGES_INSTALL, /* also of another version than is there */
    PACKAGES_REMOVE,
    PACKAGES_UPGRADE, /* all that there are newer ones of; `items` is not looked at */
} PackageOperation;

typedef struct PackageItem {
    Str name;
    Str version; /* of PACKAGES_INSTALL; empty: the one that the package manager prefers */
} PackageItem;

/* What one call of the package manager shall do, all of it or as much as it can. */
typedef struct PackageChange {
    PackageOperation operation;
    const PackageItem *items;
    uint32_t count;
    bool purge;             /* of PACKAGES_REMOVE: configuration too */
    bool full;              /* of PACKAGES_UPGRADE: also where others must be removed for it */
    bool replace_conffiles; /* a configuration file of the package wins over a changed one */
    bool allow_downgrade;
    bool allow_removals; /* of PACKAGES_INSTALL: of what is in the way */
    bool set_recommends; /* `recommends` counts; otherwise as the machine is set up */
    bool recommends;     /* what they recommend too */
    int64_t timeout_ms;  /* 0: none */
    int64_t lock_ms;     /* how long the package manager itself may wait for its lock */
} PackageChange;

/* What the index says of a package. */
typedef struct PackageOffer {
    Str name;
    bool known;    /* somebody offers it, or names it */
    Str candidate; /* which version would be installed; empty: none */
    Str *versions; /* all that can be installed, the best first */
    uint32_t version_count;
} PackageOffer;

/* Who keeps others from changing packages. */
typedef struct PackageHolder {
    Str who;  /* "'apt-get upgrade' (process 812)" */
    Str what; /* the path of the lock */
} PackageHolder;

struct PackageBackend {
    const char *name;    /* as `provider` has it */
    const char *program; /* which it takes to change anything; NULL: none */
    bool live_only;      /* it works for the running machine only */
    VersionOrder order;
    const VersionOrder *(*find_order)(Call *call); /* NULL: it is always `order` */
    /* Whether this machine is run by it. */
    bool (*is_native)(Call *call);
    /* Whether `name` can be a package; `err` says what is wrong with it. */
    bool (*check_name)(Str name, Error *err);

    /* Of what `read` reads. */
    bool (*fingerprint)(Call *call, Fingerprint *out, Error *err);
    bool (*read)(Call *call, PackageDatabase *into, Error *err);
    /* Whether something installed stands for `name`, where `read` cannot tell; may be NULL. */
    bool (*is_provided)(Call *call, Str name);
    /* The names of what a package of the database wants beside it; may be NULL. */
    void (*list_needs)(Arena *arena, const Package *package, List *names);

    /* One question for all of them. `offers` has the names, and room for the answers. */
    bool (*find_offers)(Call *call, PackageOffer *offers, uint32_t count, Error *err);
    /* The names of all that can be installed, one per line; may be NULL. */
    bool (*list_names)(Call *call, Str *out, Error *err);
    /* What the change would do: name, old and new version, into `changes`. NULL: it cannot tell. */
    bool (*simulate)(Call *call, const PackageChange *change, Map *changes, Error *err);
    /* The same of an upgrade of everything. */
    bool (*find_upgrades)(Call *call, bool full, Map *changes, Error *err);
    /* When the index was read last, in milliseconds since 1970; 0: there is none. */
    int64_t (*index_time)(Call *call);
    /* ERROR_CONFLICT: somebody else has the lock. */
    bool (*refresh)(Call *call, int64_t timeout_ms, Error *err);

    /* False when nobody has the lock. */
    bool (*find_holder)(Call *call, PackageHolder *out);
    /* Whether it ended because somebody else had the lock. */
    bool (*was_locked)(Str output);
    /* Runs to the end of the program; `result->out` is all that it said. */
    bool (*change)(Call *call, const PackageChange *change, ProcessResult *result, Error *err);
    /* Brings what was interrupted to an end. */
    bool (*repair)(Call *call, const PackageChange *like, Error *err);
    /* The words that explain why `name` could not be changed, out of what was said. False: they are
     * not about this one. */
    bool (*blame)(Arena *arena, Str output, Str name, Str *words);
    /* Whether it ended because it may not remove what is in the way, and what that is: "'a', 'b'".
     * NULL: `blame` finds words enough. */
    bool (*find_removals)(Arena *arena, Str output, Str *names);

    /* A script of `name` failed, which this package manager takes lightly; NULL: none does. */
    bool (*find_warning)(Arena *arena, Str output, Str name, Str *words);

    /* Where it does not ask about changed configuration files but puts the new one beside it, with
     * this behind the name; NULL: it asks, and `change` answers. */
    const char *conffile_suffix;
    /* Those of the installed ones among the packages, pushed onto `paths`. */
    bool (*list_conffiles)(Call *call, const PackageItem *items, uint32_t count, List *paths,
                           Error *err);

    /* Whether it can do such a change at all; NULL: it can. */
    bool (*check_change)(const PackageChange *change, Error *err);
    /* `held`, or no longer. NULL: it knows no such thing. */
    bool (*hold)(Call *call, const Str *names, uint32_t count, bool held, Error *err);
    /* So that they stay when those that they came with go. NULL: it knows no such thing. */
    bool (*mark_manual)(Call *call, const Str *names, uint32_t count, Error *err);
};

/* All of them; ends with NULL. */
extern const PackageBackend *const package_backends[];
uint32_t backend_number(const PackageBackend *backend);
const VersionOrder *backend_order(Call *call, const PackageBackend *backend);
/* The one of that name, or the machine's own when `provider` is empty. ERROR_UNAVAILABLE: there is
 * none. */
MUST_CHECK bool backend_choose(Call *call, Str provider, const PackageBackend **out, Error *err);

extern const PackageBackend backend_apt;
extern const PackageBackend backend_dnf;
extern const PackageBackend backend_packagekit;
extern const PackageBackend backend_pacman;
extern const PackageBackend backend_zypper;
