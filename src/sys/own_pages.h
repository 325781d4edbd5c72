/* The memory of this process that only its beginning needed. */
#pragma once

/* Gives back free memory, and unmaps the pages of program and libraries, nearly all of which a daemon
 * that has come to rest never looks at again; those that it does come back by themselves, from the
 * page cache. Any thread. Not while a debugger is attached: its breakpoints lie in such pages. */
void own_pages_release(void);

/* Lets the allocator keep some megabytes that are free, for a daemon that answers requests and calls the
 * next one from time to time. */
void own_heap_keep(void);
/* Gives free memory back when there is much of it, as a burst of requests leaves behind: the allocator
 * keeps it for itself otherwise. Cheap when there is none. Any thread. */
void own_heap_trim(void);
