/* Releases memory of this process that is no longer needed after startup. */
#pragma once

/* Returns free heap memory to the kernel and unmaps the pages of the program and its libraries. An
 * idle daemon never uses most of them again; the others are faulted in from the page cache. Can be
 * called on any thread. Does nothing while a debugger is attached, because its breakpoints are in
 * such pages. */
void process_memory_release(void);

/* Lets the allocator retain a few megabytes of free memory, for a daemon that handles requests and
 * calls process_heap_trim from time to time. */
void process_heap_keep(void);
/* Returns free memory to the kernel if there is a lot of it, such as after a burst of requests; the
 * allocator would retain it otherwise. Cheap if there is none. Can be called on any thread. */
void process_heap_trim(void);
