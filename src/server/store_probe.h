/* Detects when a store that accepts no writes accepts them again. */
#pragma once

#include "store/store.h"

/* If the store accepts no writes, writes a key of this server: only a write shows whether the disk
 * has space again, and there may be no other writes. */
void store_probe(Store *store, Str server);
