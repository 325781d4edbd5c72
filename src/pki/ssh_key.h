/* The key with which a server logs in to machines that want to join: Ed25519, in the files of
 * OpenSSH. */
#pragma once

#include "sys/directory.h"
#include "sys/ed25519.h"

enum {
    SSH_PRIVATE_MAX = 512,    /* bytes of the private file */
    SSH_COMMENT_MAX = 64,     /* bytes */
    SSH_FINGERPRINT_TEXT = 50 /* "SHA256:" and 43 digits */
};

/* As ssh-keygen writes them: what `ssh -i` reads, without a password, and the line of the public
 * half. `comment` is one word, of at most SSH_COMMENT_MAX bytes. The first is a secret, to be wiped by
 * the caller. Fails when libcrypto does. */
typedef struct SshPrivateText {
    char text[SSH_PRIVATE_MAX];
    size_t len;
} SshPrivateText;
void ssh_private_text_clear(SshPrivateText *text);
DEFINE_AUTO_CLEAR(SshPrivateText, ssh_private_text_clear)

/* The public line of the key in the file `name`, which is made when there is none; for people it
 * stands in `name`.pub as well. Fails with ERROR_INVALID when the file is no key of this kind,
 * ERROR_DENIED when others can read it, and as files do. */
MUST_CHECK bool ssh_key_provide(const Directory *directory, const char *name, Str comment,
                                Arena *arena, Str *line, Error *err);

/* How people compare keys: "SHA256:" and the digest of the key's bytes in base64, and a NUL. `blob`
 * is the base64 of a key; false when it is none. */
MUST_CHECK bool ssh_fingerprint(Str blob, char out[SSH_FINGERPRINT_TEXT + 1]);
