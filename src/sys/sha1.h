/* HMAC with SHA-1 (RFC 2104). Not for security: OpenSSH hashes host names with it. */
#pragma once

#include "base/str.h"

enum {
    SHA1_SIZE = 20
};

void sha1_hmac(Str key, Str text, unsigned char out[SHA1_SIZE]);
