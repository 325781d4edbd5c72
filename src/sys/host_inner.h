/* What the files of the host share; nobody else includes this but their test. libc's conventions
 * hold here: descriptors, -1 and errno. */
#pragma once

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/str_map.h"
#include "sys/host.h"

enum {
    HOST_DEVICES_MAX = 64
};

/* A file system that was written to. */
typedef struct HostDevice {
    dev_t number;
    int descriptor; /* of a directory on it */
    bool ordered;   /* data is on the disk before the name that leads to it */
    bool volatile_; /* nothing of it is ever on a disk */
    bool dirty;
} HostDevice;

/* From passwd and group; see host_people.c. */
typedef struct HostPeople {
    bool loaded;
    Arena arena;
    StrMap users;  /* name to HostUser */
    StrMap groups; /* name to HostGroup */
} HostPeople;

typedef struct HostPlan HostPlan;

struct Host {
    Host *outer; /* of a directory: whose it is; NULL: a machine */
    char *root;  /* NULL for a directory */
    int root_descriptor;
    bool live;
    bool follows_all; /* links: we are not root */
    bool trusts_no_user;
    uid_t root_owner;
    _Atomic SyncPolicy sync;
    Shared *shared;
    HostPlan *plan;       /* NULL: this is no plan */
    pthread_mutex_t lock; /* of all that follows */
    HostDevice devices[HOST_DEVICES_MAX];
    uint32_t device_count;
    HostPeople people;
};

/* The path as C text; false with ERROR_INVALID when it cannot be one. */
bool host_path(Str path, char out[PATH_MAX], Error *err);
/* host_follow.c: openat2 below the root; -1 and errno, HOST_LINK_REFUSED among them. */
int host_open_path(const Host *host, const char *path, uint64_t flags);
/* The path by which the kernel knows what is opened, seen from the root; false and errno. */
bool host_path_of(const Host *host, Arena *arena, int descriptor, Str *out);
/* What it failed with, for people: as host_error, and for a link which one it is. Always false. */
bool host_open_error(const Host *host, Error *err, int number, Str path);
/* Whether that user may lead root anywhere; of a machine. */
bool host_trusts(const Host *host, uid_t owner);
void host_follow_begin(Host *host, uid_t root_owner);
enum {
    HOST_LINK_REFUSED = 10000 /* beyond all that the kernel says */
};
FileInfo host_info_from(const struct stat *status);
/* "PATH: reason". Always false. */
bool host_error(Error *err, int number, Str path);

/* The directory that holds `path`, opened, and the name in it. */
typedef struct HostEntry {
    int directory;
    char name[NAME_MAX + 1];
} HostEntry;

bool host_open_entry(const Host *host, Str path, HostEntry *out, Error *err);
/* Something was made in the directory: takes from it the rights that the directory passes on (its default
 * ACL) when that is another user's, who would get into what root made for others. */
void host_drop_passed_on(const Host *host, int directory, int made);
void host_entry_close(HostEntry *entry);

/* host_plan.c: false when the plan has nothing there. What is found stays as long as the host. */
bool host_plan_find(Host *host, Str path, PlannedFile *out);
void host_plan_clear(Host *host);

/* Before the change: makes sure of what `descriptor` wrote. After it: of the directory. */
bool host_flush_file(Host *host, int descriptor, dev_t device);
bool host_flush_directory(Host *host, int directory);
/* Whether data is on the disk before the name that leads to it, by what the kernel says in
 * /proc/fs/ext4/DEVICE/options. */
bool host_ext4_is_ordered(Str options);

/* The name beside `name` for what is not ready to be seen; always the same. */
enum {
    HOST_TEMP_NAME = 32
};
void host_temp_name(const char *name, char out[HOST_TEMP_NAME]);
