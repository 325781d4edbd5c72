/* Replaces libc's fstatvfs in a whole test program: the disk has as much room as the test says. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <sys/statvfs.h>

enum {
    DISK_KEPT = 64 << 20, /* bytes that eden leaves free on a large disk */
};

/* Bytes that eden may use, and of the whole disk. */
static _Atomic int64_t disk_room = (int64_t)1 << 30, disk_size = (int64_t)1 << 40;

int fstatvfs(int fildes, struct statvfs *buf)
{
    *buf = (struct statvfs){ .f_bsize = 1,
                             .f_frsize = 1,
                             .f_blocks = (fsblkcnt_t)disk_size,
                             .f_bavail = (fsblkcnt_t)(DISK_KEPT + disk_room) };
    return 0;
}
