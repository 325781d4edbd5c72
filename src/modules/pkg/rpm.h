/* The common parts of dnf and zypper: rpm and its package database, a file of version locks, pid
 * files that serve as locks, and index files. */
#pragma once

#include "modules/pkg/rpm_parse.h"

/* The file in which the package manager keeps version locks. */
typedef struct RpmLocks {
    Str path;
    void (*read)(PackageDatabase *into, Str text); /* marks locked packages as held */
} RpmLocks;

bool rpm_has_database(Call *call);
bool rpm_fingerprint(Call *call, const RpmLocks *locks, Fingerprint *out, Error *err);
bool rpm_read(Call *call, const RpmLocks *locks, PackageDatabase *into, Error *err);
void rpm_list_needs(Arena *arena, const Package *package, List *names);
bool rpm_is_provided(Call *call, Str name);
bool rpm_list_conffiles(Call *call, const PackageItem *items, uint32_t count, List *paths,
                        Error *err);
/* Finds the holder of the lock through the package manager's own files, or a process that uses rpm
 * directly. */
bool rpm_find_holder(Call *call, const Str *pid_files, size_t count, PackageHolder *out);
/* The mtime of the newest index: DIRECTORY/NAME<inside> for each NAME that ends with `suffix`.
 * "@System" is skipped, since it lists installed packages. 0: there is none. */
int64_t rpm_index_time(Call *call, const char *directory, const char *suffix, const char *inside);
