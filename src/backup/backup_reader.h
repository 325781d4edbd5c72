/* Reads a backup in one pass, piece by piece, and verifies it. Pure.
 *
 * Nothing may be trusted before backup_reader_finish: a part is
 * verified when it has ended, and completeness at the end. */
#pragma once

#include "backup/backup_manifest.h"
#include "store/dump_reader.h"

/* Each may fail with an error of its own, which ends the reading. */
typedef struct BackupSink {
    bool (*manifest)(void *context, const BackupManifest *manifest, Error *err);
    bool (*piece)(void *context, BackupPartKind kind, Str piece, Error *err);
    void *context;
} BackupSink;

typedef struct BackupReader {
    BackupSink sink;
    Arena arena;
    Buf head; /* the first line, then the manifest, as far as it is there */
    BackupLine line;
    BackupManifest manifest; /* with all parts after backup_reader_finish */
    uint64_t taken;          /* bytes of the file */
    uint64_t part_start;     /* where the part began */
    int64_t left;            /* bytes of the part */
    uint32_t part;           /* under way */
    Sha256 sha;
    StoreDumpReader dump; /* of the store, when that is one */
    uint8_t state;
} BackupReader;

/* What the sink's context is stays the caller's. */
void backup_reader_init(BackupReader *reader, const BackupSink *sink);
void backup_reader_clear(BackupReader *reader);
DEFINE_AUTO_CLEAR(BackupReader, backup_reader_clear)

/* Fails with ERROR_INVALID or ERROR_LIMIT, naming the place, and with ERROR_UNAVAILABLE when the writer
 * says that it could not go on; then it is over. */
MUST_CHECK bool backup_reader_take(BackupReader *reader, Str bytes, Error *err);
/* The file has ended. */
MUST_CHECK bool backup_reader_finish(BackupReader *reader, Error *err);
