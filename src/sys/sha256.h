/* SHA-256 of a text, as 64 lower-case digits: the name by which contents are kept. */
#pragma once

#include "base/str.h"

enum {
    SHA256_HEX = 64
};

/* Writes the digits and a NUL. */
void sha256_hex(Str text, char out[SHA256_HEX + 1]);
