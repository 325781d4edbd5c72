/* PEM (RFC 7468), as strictly as its grammar for generators: the only thing between blocks is white
 * space, a block has no headers and no encryption, and nothing is ever asked at a terminal. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum {
    PEM_LABEL_MAX = 32,
};

typedef struct PemBlock {
    Str label; /* "CERTIFICATE" */
    Str body;  /* base64 and line ends; checked */
} PemBlock;

/* The next block of `*rest`, which moves behind it; both parts of it are borrowed from there.
 * `*found` is false when there is only white space left. Fails with ERROR_INVALID. */
MUST_CHECK bool pem_next(Str *rest, PemBlock *out, bool *found, Error *err);
/* The one block of a text, with the label that it must have. */
MUST_CHECK bool pem_only(Str text, const char *label, PemBlock *out, Error *err);

/* At most so many bytes are in the block. */
size_t pem_bytes_max(const PemBlock *block);
/* Puts them to `out`, which has room for pem_bytes_max(). Fails with ERROR_INVALID. */
MUST_CHECK bool pem_bytes(const PemBlock *block, unsigned char *out, size_t *len, Error *err);
/* The same into the arena; for what is no secret. */
MUST_CHECK bool pem_bytes_in(Arena *arena, const PemBlock *block, Str *out, Error *err);

/* The bytes that pem_write() writes. */
size_t pem_size(const char *label, size_t len);
void pem_write(const char *label, const unsigned char *bytes, size_t len, char *out);
Str pem_text(Arena *arena, const char *label, Str bytes);
