/* PEM (RFC 7468), as strict as its grammar for generators: only whitespace between blocks, no
 * headers, no encryption, and never a prompt on the terminal. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"

enum {
    PEM_LABEL_MAX = 32,
};

typedef struct PemBlock {
    Str label; /* "CERTIFICATE" */
    Str body;  /* base64 with newlines; validated */
} PemBlock;

/* Reads the next block of `*rest`, which is advanced; both parts of the block are borrowed from it.
 * `*found` is false if only whitespace is left. Fails with ERROR_INVALID. */
MUST_CHECK bool pem_next(Str *rest, PemBlock *out, bool *found, Error *err);
/* Reads the only block of the input, whose label must be this one. */
MUST_CHECK bool pem_read_single(Str text, const char *label, PemBlock *out, Error *err);

/* Upper bound of the decoded size. */
size_t pem_bytes_max(const PemBlock *block);
/* Decodes to `out`, which has space for pem_bytes_max(). Fails with ERROR_INVALID. */
MUST_CHECK bool pem_bytes(const PemBlock *block, unsigned char *out, size_t *len, Error *err);
/* Decodes into the arena; not for secrets. */
MUST_CHECK bool pem_bytes_in(Arena *arena, const PemBlock *block, Str *out, Error *err);

/* Returns the size of the output of pem_write(). */
size_t pem_size(const char *label, size_t len);
void pem_write(const char *label, const unsigned char *bytes, size_t len, char *out);
Str pem_text(Arena *arena, const char *label, Str bytes);
