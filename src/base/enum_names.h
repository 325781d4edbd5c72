/* Maps between the constants of an enum and their names with a single table.
 *
 *     In the header:  DECLARE_ENUM_NAMES(Severity, severity)
 *     In the source:  DEFINE_ENUM_NAMES(Severity, severity,
 *                                       [SEVERITY_ERROR] = "error",
 *                                       [SEVERITY_WARNING] = "warning")
 *     declares        const char *severity_name(Severity severity);
 *                     bool severity_from_name(Str name, Severity *out);
 *
 * The constants start at 0. A value without a name is a bug; an unknown name is invalid input, for
 * which severity_from_name() returns false. */
#pragma once

#include <stdbool.h>

#include "base/bug.h"
#include "base/str.h"

#define DECLARE_ENUM_NAMES(Type, prefix)    \
    const char *prefix##_name(Type prefix); \
    bool prefix##_from_name(Str name, Type *out);

#define DEFINE_ENUM_NAMES(Type, prefix, ...)                                                    \
    static const char *const prefix##_names[] = { __VA_ARGS__ };                                \
    const char *prefix##_name(Type prefix)                                                      \
    {                                                                                           \
        return enum_names_get(prefix##_names, COUNT_OF(prefix##_names), (size_t)prefix, #Type); \
    }                                                                                           \
    bool prefix##_from_name(Str name, Type *out)                                                \
    {                                                                                           \
        size_t value;                                                                           \
        if (!enum_names_find(prefix##_names, COUNT_OF(prefix##_names), name, &value)) {         \
            return false;                                                                       \
        }                                                                                       \
        *out = (Type)value;                                                                     \
        return true;                                                                            \
    }

static inline const char *enum_names_get(const char *const *names, size_t count, size_t value,
                                         const char *type)
{
    if (value >= count || names[value] == NULL) {
        BUG("%s has no constant %zu", type, value);
    }
    return names[value];
}

static inline bool enum_names_find(const char *const *names, size_t count, Str name, size_t *out)
{
    for (size_t i = 0; i < count; i++) {
        if (names[i] != NULL && str_eq_c(name, names[i])) {
            *out = i;
            return true;
        }
    }
    return false;
}
