/* The CA files of a server. A snapshot: later changes to the files are not included. */
#pragma once

#include "pki/credential.h"
#include "pki/rotation.h"

#define AUTHORITY_CA      "ca.pem"
#define AUTHORITY_CA_NEXT "ca-next.pem"

enum {
    FILE_CA,
    FILE_NEXT,
    FILE_COUNT
};

typedef struct CaFiles {
    Arena arena;
    Credential items[FILE_COUNT]; /* without a key if the file does not exist */
} CaFiles;

MUST_CHECK bool ca_files_read(const Directory *directory, CaFiles **out, Error *err);
void ca_files_free(CaFiles *files); /* NULL is allowed */
DEFINE_AUTO(CaFiles, ca_files_free)

const Credential *ca_files_find(const CaFiles *files, const Pin *pin); /* NULL if not found */
/* Returns the CAs that are trusted in a state; the order does not change while both are trusted.
 * All files must exist. */
CertificateSet ca_files_trusted(const CaFiles *files, Arena *arena, const Rotation *rotation);
/* Whether all CAs that the state refers to exist. */
bool ca_files_suffice(const CaFiles *files, const Rotation *rotation);
