/* What dnf and zypper have in common: rpm with its list of packages, a file that names the packages that
 * keep their version, files with the number of the process that has the lock, and index files. */
#pragma once

#include "modules/pkg/rpm_texts.h"

/* The packages that keep their version, in a file of the package manager. */
typedef struct RpmLocks {
    Str path;
    void (*read)(PackageDatabase *into, Str text); /* marks them as held */
} RpmLocks;

bool rpm_has_database(Call *call);
bool rpm_fingerprint(Call *call, const RpmLocks *locks, Fingerprint *out, Error *err);
bool rpm_read(Call *call, const RpmLocks *locks, PackageDatabase *into, Error *err);
void rpm_list_needs(Arena *arena, const Package *package, List *names);
bool rpm_is_provided(Call *call, Str name);
bool rpm_list_conffiles(Call *call, const PackageItem *items, uint32_t count, List *paths,
                        Error *err);
/* Who has the lock: by the package manager's own files, or by changing packages with rpm itself. */
bool rpm_find_holder(Call *call, const Str *pid_files, size_t count, PackageHolder *out);
/* When the newest index changed: FOLDER/NAME<inside> for each NAME that ends with `suffix`. "@System" is
 * not an index but what is installed. 0: there is none. */
int64_t rpm_index_time(Call *call, const char *folder, const char *suffix, const char *inside);
