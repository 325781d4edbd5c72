/* Reads a backup in one pass, piece by piece, and verifies it. Pure.
 *
 * Nothing may be trusted before backup_reader_finish: each part is verified at its end, and
 * completeness at the end of the file. */
#pragma once

#include "backup/backup_manifest.h"
#include "store/dump_reader.h"

/* Each function may fail, which ends reading. */
typedef struct BackupSink {
    bool (*manifest)(void *context, const BackupManifest *manifest, Error *err);
    bool (*piece)(void *context, BackupPartKind kind, Str piece, Error *err);
    void *context;
} BackupSink;

typedef struct BackupReader {
    BackupSink sink;
    Arena arena;
    Buf head; /* the first line and then the manifest, as received so far */
    BackupLine line;
    BackupManifest manifest; /* includes all parts after backup_reader_finish */
    uint64_t consumed;       /* number of bytes read so far */
    uint64_t part_start;     /* offset of the current part */
    int64_t remaining;       /* remaining bytes of the part */
    uint32_t part;           /* current part */
    Sha256 sha;
    StoreDumpReader dump; /* reads the store, if it is a dump */
    uint8_t state;
} BackupReader;

/* The caller owns the sink's context. */
void backup_reader_init(BackupReader *reader, const BackupSink *sink);
void backup_reader_clear(BackupReader *reader);
DEFINE_AUTO_CLEAR(BackupReader, backup_reader_clear)

/* Fails with ERROR_INVALID or ERROR_LIMIT, naming the position, and with ERROR_UNAVAILABLE if the
 * writer recorded a failure. No more calls are allowed after that. */
MUST_CHECK bool backup_reader_feed(BackupReader *reader, Str bytes, Error *err);
/* Call it at the end of the file. */
MUST_CHECK bool backup_reader_finish(BackupReader *reader, Error *err);
