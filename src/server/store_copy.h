/* Copies a store from one backend to another, through a dump in a file. Blocking: the loop runs
 * until the calls of the stores have completed. */
#pragma once

#include "store/store.h"

/* Loads the dump in the file into an empty store. Fails like store_load, and on file errors. */
MUST_CHECK bool store_load_file(Loop *loop, Store *store, const char *path, Error *err);

/* `path` is a file for the dump, which is replaced and remains. Fails like a dump and
 * store_load_file; `to` then contains part of the content. */
MUST_CHECK bool store_copy(Loop *loop, Store *from, Str store_id, Store *to, const char *path,
                           Error *err);
