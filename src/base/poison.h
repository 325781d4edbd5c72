/* Tells AddressSanitizer which bytes of an arena nobody may touch. Without it a read past the end
 * of an allocation would land in the same malloc'ed chunk and go unseen, by tests and fuzzing
 * alike. Costs nothing in ordinary builds. */
#pragma once

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISON_WORKS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define POISON_WORKS 1
#endif

#ifdef POISON_WORKS
#include <sanitizer/asan_interface.h>
#define POISON(start, size)   ASAN_POISON_MEMORY_REGION((start), (size))
#define UNPOISON(start, size) ASAN_UNPOISON_MEMORY_REGION((start), (size))
#else
#define POISON(start, size)   ((void)(start), (void)(size))
#define UNPOISON(start, size) ((void)(start), (void)(size))
#endif
