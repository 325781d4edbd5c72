/* Versions of packages: the orders that package managers have, and what a site may ask for. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

/* Negative, zero, positive. */
typedef int (*VersionCompare)(Str a, Str b);

/* Debian's order: "1.0~rc1" < "1.0" < "1.0-1" < "1.0a" < "1:0.5". */
int version_compare_dpkg(Str a, Str b);
/* That of rpm: "1.0~rc1" < "1.0" < "1.0^git1" < "1.0.1"; a release ("-3") counts when both have
 * one. */
int version_compare_rpm(Str a, Str b);
/* That of pacman: "1.0rc1" < "1.0" < "1.0.1"; a release as with rpm. */
int version_compare_alpm(Str a, Str b);

typedef struct VersionOrder {
    VersionCompare compare;
    /* Who asks for "1.2" means any epoch of it: "3:1.2" is one. */
    bool epoch_may_lack;
} VersionOrder;

typedef enum VersionRelation {
    VERSION_EQUAL,
    VERSION_UNEQUAL,
    VERSION_LESS,
    VERSION_AT_MOST,
    VERSION_MORE,
    VERSION_AT_LEAST,
} VersionRelation;

enum {
    VERSION_TERMS_MAX = 8
};

/* Which versions are good enough. Zeroed: any. */
typedef struct VersionWish {
    Str text; /* as it was written; empty: any */
    Str pattern;
    struct {
        VersionRelation relation;
        Str version;
    } terms[VERSION_TERMS_MAX];
    uint32_t term_count;
} VersionWish;

/* "1.2-3" exactly, "1.2*" a pattern, ">=1.2, <2" comparisons. Texts are borrowed. */
MUST_CHECK bool version_wish_parse(Str text, VersionWish *out, Error *err);
static inline bool version_wish_is_any(const VersionWish *wish)
{
    return wish->text.len == 0;
}
bool version_wish_accepts(const VersionWish *wish, const VersionOrder *order, Str version);
/* Whether every version that will do is older than this one, as far as comparing can tell. */
bool version_wish_is_below(const VersionWish *wish, const VersionOrder *order, Str version);
