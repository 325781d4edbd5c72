/* The manifest of a backup. Pure.
 *
 * A backup is one file:
 *
 *     eden.backup/2 LENGTH DIGEST     one line: size (8 digits) and SHA-256 of the manifest
 *     {"format":"eden.backup/2",...}  the manifest: origin, and size and digest of each part
 *     the parts, concatenated
 *     the store as a dump (store/dump_format.h), and nothing else
 *
 * So every byte is covered by a digest, and it can be written and read in one pass. The store is
 * not listed in the manifest: its size and digest are at its end, because they are not known
 * earlier.
 *
 * In eden.backup/1 the store was an SQLite file, and the last of the listed parts. Such backups can
 * still be read. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/identity.h"
#include "sys/sha256.h"

#define BACKUP_FORMAT_1 "eden.backup/1"
#define BACKUP_FORMAT   "eden.backup/2"

enum {
    BACKUP_LINE = 88,               /* size of the first line */
    BACKUP_MANIFEST_MAX = 16 << 10, /* maximum size of the manifest */
    BACKUP_VERSION_MAX = 63,
    BACKUP_STORE_ID_MAX = 63,
};

/* X(constant, name, whether it is required, maximum size); in file order, large ones last. Each
 * format has one of the last two. */
#define BACKUP_PARTS(X)                                         \
    X(BACKUP_SETTINGS, "server.json", true, 64 << 10)           \
    X(BACKUP_CA, "ca.pem", true, 64 << 10)                      \
    X(BACKUP_CA_NEXT, "ca-next.pem", false, 64 << 10)           \
    X(BACKUP_SSH_KEY, "ssh_key", false, 64 << 10)               \
    X(BACKUP_SSH_PUBLIC, "ssh_key.pub", false, 64 << 10)        \
    X(BACKUP_SOURCE_KEY, "source_key", false, 64 << 10)         \
    X(BACKUP_DATASTORE_CA, "datastore-ca.pem", false, 64 << 10) \
    X(BACKUP_DATASTORE, "datastore.json", false, 64 << 10)      \
    X(BACKUP_SNAPSHOT, "store.db", false, (int64_t)1 << 40)     \
    X(BACKUP_STORE, "store.dump", false, (int64_t)1 << 40)

typedef enum BackupPartKind {
#define BACKUP_PART_CONSTANT(constant, name, needed, max) constant,
    BACKUP_PARTS(BACKUP_PART_CONSTANT)
#undef BACKUP_PART_CONSTANT
    BACKUP_PART_COUNT
} BackupPartKind;

enum {
    BACKUP_FILES = BACKUP_SNAPSHOT /* number of parts before the store */
};

const char *backup_part_name(BackupPartKind kind);
bool backup_part_is_required(BackupPartKind kind);

typedef struct BackupPart {
    bool is_present;
    int64_t size;
    char digest[SHA256_HEX + 1];
} BackupPart;

typedef struct BackupManifest {
    uint32_t format; /* 1 or 2 */
    char cluster[CLUSTER_NAME_MAX + 1];
    char node[NODE_NAME_MAX + 1]; /* server that created it */
    char store_id[BACKUP_STORE_ID_MAX + 1];
    char version[BACKUP_VERSION_MAX + 1]; /* version of eden that created it */
    int64_t time_ms;
    int64_t revision; /* revision of the store */
    /* BACKUP_STORE is set only once the entire file has been read */
    BackupPart parts[BACKUP_PART_COUNT];
} BackupManifest;

/* The part that contains the store. */
static inline BackupPartKind backup_store_part(const BackupManifest *manifest)
{
    return manifest->format == 1 ? BACKUP_SNAPSHOT : BACKUP_STORE;
}

/* Writes the first line and the manifest. */
void backup_head_print(const BackupManifest *manifest, Buf *out);

typedef struct BackupLine {
    uint32_t format;
    size_t length;
    char digest[SHA256_HEX + 1];
} BackupLine;

/* `line` is BACKUP_LINE bytes long, or shorter at the end of the file. Fails with ERROR_INVALID if
 * it is not a backup, or one of another version. */
MUST_CHECK bool backup_line_read(Str line, BackupLine *out, Error *err);
/* Reads a manifest of this format. Fails with ERROR_INVALID or ERROR_LIMIT, naming what is
 * wrong. */
MUST_CHECK bool backup_manifest_read(Arena *arena, Str text, uint32_t format, BackupManifest *out,
                                     Error *err);
