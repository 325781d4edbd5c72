/* Digests as sites write them: "sha256:" and 64 digits, or "sha512:" and 128. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "sys/host_stream.h"
#include "sys/sha256.h"
#include "sys/sha512.h"

typedef enum DigestKind {
    DIGEST_SHA256,
    DIGEST_SHA512,
} DigestKind;

/* Validates a digest and converts it to lowercase. Fails with ERROR_INVALID for any other
 * format. */
MUST_CHECK bool digest_parse(Arena *arena, Str given, Str *out, Error *err);
DigestKind digest_kind(
    Str digest); /* Returns the kind of a digest that digest_parse() has accepted. */

/* An incremental digest. */
typedef struct Digester {
    DigestKind kind;
    union {
        Sha256 sha256;
        Sha512 sha512;
    };
} Digester;
void digester_start(Digester *digester, DigestKind kind);
void digester_add(Digester *digester, Str piece);
Str digester_finish(Digester *digester, Arena *arena);

Str digest_of_text(Arena *arena, DigestKind kind, Str text);
MUST_CHECK bool digest_of_file(Arena *arena, DigestKind kind, HostReader *reader, Str *out,
                               Error *err);
