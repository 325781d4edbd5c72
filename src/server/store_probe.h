/* Whether a store that accepts no writes accepts them again. */
#pragma once

#include "store/store.h"

/* Writes a key of this server if it accepts none: only a write shows whether the disk has space
 * again, and there may be no other writes. */
void store_probe(Store *store, Str server);
