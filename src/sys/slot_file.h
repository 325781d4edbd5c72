/* A small record that is rewritten in place, often and cheaply: two alternating slots, each with a
 * sequence number and a checksum. The newest valid slot counts, so an interrupted write leaves the
 * previous record. Only one process may use the file; one thread may sync while another writes. */
#pragma once

#include <stdatomic.h>

#include "sys/directory.h"

enum {
    SLOT_RECORD_MAX = 1000, /* bytes */
};

typedef struct SlotFile {
    int descriptor;        /* -1: closed */
    uint64_t sequence;     /* sequence number of the newest record; 0: no record */
    atomic_bool is_synced; /* nothing has been written since slot_file_sync */
    char name[320];        /* full path, for messages */
} SlotFile;

/* Creates the file if it does not exist, with space for both slots, so that rewriting cannot run
 * out of space. A link is not followed. */
MUST_CHECK bool slot_file_open(const Directory *directory, const char *name, SlotFile *out,
                               Error *err);
/* Opens it read-only: ERROR_NOT_FOUND if it does not exist. */
MUST_CHECK bool slot_file_open_reading(const Directory *directory, const char *name, SlotFile *out,
                                       Error *err);
void slot_file_close(SlotFile *file); /* may be closed already */

/* The newest record, in `arena`; empty if there is no valid one. */
MUST_CHECK bool slot_file_read(SlotFile *file, Arena *arena, Str *out, Error *err);
/* Survives the exit of this process, but a power failure only after slot_file_sync. */
MUST_CHECK bool slot_file_write(SlotFile *file, Str record, Error *err);
MUST_CHECK bool slot_file_sync(SlotFile *file, Error *err);
