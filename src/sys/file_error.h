/* How the files of sys/ tell what the kernel said; nobody else includes this. */
#pragma once

#include "base/error.h"

/* "PATH: reason" with the kind that belongs to the errno. Always false. */
bool file_error(Error *err, int number, const char *path);

typedef struct Directory Directory;
/* The same for a name in an open directory: "DIRECTORY/NAME: reason". */
bool directory_error(Error *err, int number, const Directory *directory, const char *name);
