/* Package versions: how package managers order them, and how a site can specify them. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Negative, zero, positive. */
typedef int (*VersionCompare)(Str a, Str b);

/* dpkg's order: "1.0~rc1" < "1.0" < "1.0-1" < "1.0a" < "1:0.5". */
int version_compare_dpkg(Str a, Str b);
/* rpm's order: "1.0~rc1" < "1.0" < "1.0^git1" < "1.0.1"; the release ("-3") is compared only if
 * both have one. */
int version_compare_rpm(Str a, Str b);
/* pacman's order: "1.0rc1" < "1.0" < "1.0.1"; the release is handled as with rpm. */
int version_compare_alpm(Str a, Str b);

typedef struct VersionOrder {
    VersionCompare compare;
    /* A requested version without an epoch matches any epoch: "1.2" matches "3:1.2". */
    bool epoch_is_optional;
} VersionOrder;

typedef enum VersionRelation {
    VERSION_EQUAL,
    VERSION_UNEQUAL,
    VERSION_LESS,
    VERSION_AT_MOST,
    VERSION_GREATER,
    VERSION_AT_LEAST,
} VersionRelation;

enum {
    VERSION_TERMS_MAX = 8
};

/* A set of accepted versions; if zeroed, any version. */
typedef struct VersionSpec {
    Str text; /* as written; empty: any */
    Str pattern;
    struct {
        VersionRelation relation;
        Str version;
    } terms[VERSION_TERMS_MAX];
    uint32_t term_count;
} VersionSpec;

/* Parses "1.2-3" (exact), "1.2*" (pattern) or ">=1.2, <2" (comparisons). Strings are borrowed. */
MUST_CHECK bool version_spec_parse(Str text, VersionSpec *out, Error *err);
static inline bool version_spec_is_any(const VersionSpec *spec)
{
    return spec->text.len == 0;
}
bool version_spec_accepts(const VersionSpec *spec, const VersionOrder *order, Str version);
/* Returns true if all accepted versions are older than this one, as far as comparisons show. */
bool version_spec_is_below(const VersionSpec *spec, const VersionOrder *order, Str version);
