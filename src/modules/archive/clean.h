/* Taking away what an archive of before had and the one of now has not. */
#pragma once

#include "modules/archive/former.h"

typedef struct Cleaning {
    Call *call;
    Str path;              /* of the directory, for the journal */
    Host *directory;       /* it itself */
    const StrMap *members; /* of the archive that is unpacked now */
    MemberKeeps keeps;
} Cleaning;

/* The members of `stamps`, those that are still what the archive brought: files, links, and
 * directories that are empty then. */
MUST_CHECK bool clean_members(Cleaning *cleaning, const Stamp *stamps, uint32_t count, Error *err);
