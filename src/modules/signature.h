/* Who vouches for a module of a site: keys, the signatures made with them, and whom a node trusts.
 *
 * Each is a file of one line:
 *
 *     eden-private-key/1 BASE64 NAME     of whoever signs, for nobody else to read
 *     eden-public-key/1 BASE64 NAME      in trusted-keys/ of the nodes that trust it, as NAME.pub
 *     eden-signature/1 KEY-ID BASE64     beside the module, as MODULE.sig
 *
 * What is signed is the name of the module together with the SHA-256 of its bytes, so that neither
 * can be exchanged. */
#pragma once

#include "base/vec.h"
#include "sys/ed25519.h"

enum {
    KEY_FILE_MAX = 4096,
    TRUSTED_KEYS_MAX = 1000,
    KEY_NAME_MAX = 128
};

typedef struct PublicKey {
    Ed25519Public bytes;
    char id[ED25519_ID + 1];
    Str name; /* for people */
} PublicKey;

typedef VEC(PublicKey) TrustedKeys;

/* Texts of files. `name` is cut to what can stand in one. */
Str private_key_format(Arena *arena, const Ed25519Private *key, Str name);
Str public_key_format(Arena *arena, const Ed25519Public *key, Str name);
MUST_CHECK bool private_key_parse(Str text, Ed25519Private *out, Error *err);
/* The name is copied. */
MUST_CHECK bool public_key_parse(Arena *arena, Str text, PublicKey *out, Error *err);

/* All *.pub in trusted-keys/ of the node's folder; none when that is not there. One that cannot be
 * read, and one or a folder that others may write, fails all: nobody guesses whom to trust. */
MUST_CHECK bool trusted_keys_load(Arena *arena, const char *config, TrustedKeys *out, Error *err);

/* The text of MODULE.sig. */
MUST_CHECK bool signature_make(Arena *arena, const Ed25519Private *key, Str module, Str bytes,
                               Str *out, Error *err);
/* Whether the signature is one of a trusted key for this module with these bytes. `signer` is the
 * id of the key that it names, whatever that is worth, and empty when it names none. The error says
 * in the words of a user what is wrong. */
MUST_CHECK bool signature_verify(const TrustedKeys *keys, Str module, Str bytes, Str signature,
                                 Str *signer, const PublicKey **key, Error *err);
