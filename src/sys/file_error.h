/* Turns errno into an Error, for files in sys/; private. */
#pragma once

#include "base/error.h"

/* "PATH: reason" with the kind that matches the errno. Always false. */
bool file_error(Error *err, int number, const char *path);

typedef struct Directory Directory;
/* The same for a name in an open directory: "DIRECTORY/NAME: reason". */
bool directory_error(Error *err, int number, const Directory *directory, const char *name);
