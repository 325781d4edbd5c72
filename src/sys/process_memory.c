#include "sys/process_memory.h"

#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    HEAP_SPARE = 4 << 20 /* bytes that the allocator may retain */
};

static bool is_traced(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long tracer = 0;
    if (file == NULL) {
        return false;
    }
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "TracerPid: %ld", &tracer) != 1) {
    }
    fclose(file);
    return tracer != 0;
}

/* Segments that are never written are identical to the file. Those that the kernel maps itself have
 * a name without a path; the program itself has no name. */
static int release_one(struct dl_phdr_info *info, size_t size, void *context)
{
    const size_t page = *(const size_t *)context;
    if (info->dlpi_name[0] != '\0' && info->dlpi_name[0] != '/') {
        return 0;
    }
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) == 0) {
            uintptr_t start = (info->dlpi_addr + segment->p_vaddr) & ~(page - 1);
            uintptr_t end = info->dlpi_addr + segment->p_vaddr + segment->p_memsz;
            /* Best effort. */
            (void)madvise((void *)start, end - start, MADV_DONTNEED);
        }
    }
    return 0;
}

void process_memory_release(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    malloc_trim(0);
    if (!is_traced()) {
        dl_iterate_phdr(release_one, &page);
    }
}

void process_heap_keep(void)
{
    /* Otherwise the buffer of each large response would be unmapped and its pages zeroed again. */
    (void)mallopt(M_MMAP_THRESHOLD, HEAP_SPARE);
    (void)mallopt(M_TRIM_THRESHOLD, 2 * HEAP_SPARE);
}

void process_heap_trim(void)
{
    if (mallinfo2().fordblks > HEAP_SPARE) {
        malloc_trim(HEAP_SPARE / 4);
    }
}
