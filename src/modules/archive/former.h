/* Other archives that were unpacked into the same directory, as their stamps tell. */
#pragma once

#include "modules/archive/stamp.h"

/* Whether a member is left alone once it is there. */
typedef bool (*MemberKeeps)(Call *call, Str path);

typedef struct Formers {
    Str *paths; /* of the stamps */
    Stamp *stamps;
    uint32_t count;
} Formers;

/* All but the one whose stamp is at `own`. */
MUST_CHECK bool formers_read(Host *directory, Arena *arena, Str own, Formers *out, Error *err);
/* Notes in their stamps which members are about to be replaced by those of another archive, so that
 * nobody takes these for theirs. What the call keeps is not replaced. */
MUST_CHECK bool formers_overwrite(Formers *formers, Host *directory, Call *call,
                                  const StrMap *members, MemberKeeps keeps, Error *err);
/* Takes their stamps away. */
MUST_CHECK bool formers_forget(const Formers *formers, Host *directory, Error *err);
