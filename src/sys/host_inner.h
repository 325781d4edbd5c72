/* Shared by the host_*.c files and their test; private. Uses the conventions of libc: descriptors,
 * -1 and errno. */
#pragma once

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/str_map.h"
#include "sys/host.h"

enum {
    HOST_DEVICES_MAX = 64
};

/* A file system with changes that have not been synced. */
typedef struct HostDevice {
    dev_t number;
    int descriptor; /* of a directory on it */
    bool ordered;   /* data reaches the disk before the name that refers to it */
    bool in_memory; /* a file system in memory, which needs no sync */
    bool dirty;
} HostDevice;

/* Parsed passwd and group; see host_accounts.c. */
typedef struct HostAccounts {
    bool loaded;
    Arena arena;
    StrMap users;  /* name to HostUser */
    StrMap groups; /* name to HostGroup */
} HostAccounts;

typedef struct HostPlan HostPlan;

struct Host {
    Host *parent; /* of host_open_below(); NULL: the host is a machine */
    char *root;   /* NULL for a directory */
    int root_descriptor;
    bool live;
    bool follows_all_links; /* not root: the kernel enforces permissions */
    bool trusts_overflow_uid;
    uid_t root_owner;
    _Atomic SyncPolicy sync;
    Shared *shared;
    HostPlan *plan;       /* NULL: not a plan */
    pthread_mutex_t lock; /* protects all fields below */
    HostDevice devices[HOST_DEVICES_MAX];
    uint32_t device_count;
    HostAccounts accounts;
};

/* The path as a C string; fails with ERROR_INVALID if it cannot be one. */
bool host_path(Str path, char out[PATH_MAX], Error *err);
/* host_follow.c: openat2 in the root; -1 with errno, which may be HOST_LINK_REFUSED. */
int host_open_path(const Host *host, const char *path, uint64_t flags);
/* The real path of an open file, as seen from the root; false with errno. */
bool host_path_of(const Host *host, Arena *arena, int descriptor, Str *out);
/* An error message like host_error's; for a refused link it names the link. Always false. */
bool host_open_error(const Host *host, Error *err, int number, Str path);
/* Whether links of that user are trusted. */
bool host_trusts(const Host *host, uid_t owner);
void host_follow_init(Host *host, uid_t root_owner);
enum {
    HOST_LINK_REFUSED = 10000 /* larger than every errno of the kernel */
};
FileInfo host_info_from(const struct stat *status);
/* "PATH: reason". Always false. */
bool host_error(Error *err, int number, Str path);

/* Opens the parent directory of `path`; `name` is the last component. */
typedef struct HostEntry {
    int directory;
    char name[NAME_MAX + 1];
} HostEntry;

bool host_open_entry(const Host *host, Str path, HostEntry *out, Error *err);
/* Call after creating a file in the directory: removes the ACL inherited from the directory's
 * default ACL if another user owns the directory, because that user would gain access to files of
 * root. */
void host_drop_inherited_acl(const Host *host, int directory, int made);
void host_entry_close(HostEntry *entry);

/* host_plan.c: false if the plan has nothing at this path. The result lives as long as the host. */
bool host_plan_find(Host *host, Str path, PlannedFile *out);
void host_plan_clear(Host *host);

/* Before the rename: flushes the data of `descriptor`. After it: the directory. */
bool host_flush_file(Host *host, int descriptor, dev_t device);
bool host_flush_directory(Host *host, int directory);
/* Whether data reaches the disk before the name that refers to it, according to
 * /proc/fs/ext4/DEVICE/options. */
bool host_ext4_is_ordered(Str options);

/* The temporary name for `name`; always the same. */
enum {
    HOST_TEMP_NAME = 32
};
void host_temp_name(const char *name, char out[HOST_TEMP_NAME]);
