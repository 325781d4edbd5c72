#include "sys/own_usage.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "sys/file_io.h"

static void read_memory(OwnUsage *out)
{
    FILE *file = fopen("/proc/self/statm", "re");
    long long mapped, resident;
    if (file == NULL) {
        return;
    }
    if (fscanf(file, "%lld %lld", &mapped, &resident) == 2) {
        long page = sysconf(_SC_PAGESIZE);
        out->virtual_bytes = mapped * page;
        out->resident_bytes = resident * page;
    }
    fclose(file);
}

/* Counts the entries of a directory in /proc. */
static int64_t count_entries(const char *path)
{
    int64_t count = 0;
    DIR *entries = opendir(path);
    while (entries != NULL && entries_next(entries) != NULL) {
        count++;
    }
    entries_close(entries);
    return count;
}

static int64_t to_us(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000 + time.tv_usec;
}

OwnUsage own_usage(void)
{
    OwnUsage out = { 0 };
    struct rusage usage;
    struct rlimit limit;
    read_memory(&out);
    if (getrusage(RUSAGE_SELF, &usage) == 0) {
        out.cpu_us = to_us(usage.ru_utime) + to_us(usage.ru_stime);
    }
    out.descriptors = count_entries("/proc/self/fd");
    out.descriptors -= out.descriptors > 0; /* the descriptor used for counting */
    out.threads = count_entries("/proc/self/task");
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        out.descriptors_max = (int64_t)limit.rlim_cur;
    }
    return out;
}
