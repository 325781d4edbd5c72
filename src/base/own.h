/* Compiler attributes and scoped ownership.
 *
 * AUTO(T) declares a pointer that is freed when it goes out of scope; TAKE(p) returns it and sets
 * it to NULL, so `return TAKE(graph);` transfers ownership to the caller. */
#pragma once

#include <stddef.h>

#define MUST_CHECK               __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))
#define NO_RETURN                __attribute__((noreturn))
#define ALWAYS_INLINE            inline __attribute__((always_inline))
#define COLD                     __attribute__((noinline, cold))
#define LIKELY(x)                __builtin_expect(!!(x), 1)
#define UNLIKELY(x)              __builtin_expect(!!(x), 0)
#define COUNT_OF(array)          (sizeof(array) / sizeof((array)[0]))

/* Declares the cleanup for `AUTO(Type) *name`. `free_function` must accept NULL. */
#define DEFINE_AUTO(Type, free_function)             \
    static inline void auto_free_##Type(Type **slot) \
    {                                                \
        free_function(*slot);                        \
    }

/* The same for a value type that is cleared in place: `AUTO_CLEAR(Buf) out = ...;` */
#define DEFINE_AUTO_CLEAR(Type, clear_function)      \
    static inline void auto_clear_##Type(Type *slot) \
    {                                                \
        clear_function(slot);                        \
    }

#define AUTO(Type)       __attribute__((cleanup(auto_free_##Type))) Type
#define AUTO_CLEAR(Type) __attribute__((cleanup(auto_clear_##Type))) Type

#define TAKE(pointer)                           \
    ({                                          \
        __typeof__(pointer) taken_ = (pointer); \
        (pointer) = NULL;                       \
        taken_;                                 \
    })
