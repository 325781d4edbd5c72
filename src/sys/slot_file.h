/* A small record that is rewritten in place, often and cheaply: two slots that take turns, each with a
 * number and a checksum. The newest whole slot counts, so that a write that was cut off leaves the
 * record of before. Not for several processes at a time; of threads one may sync while another writes. */
#pragma once

#include <stdatomic.h>

#include "sys/directory.h"

enum {
    SLOT_RECORD_MAX = 1000, /* bytes */
};

typedef struct SlotFile {
    int descriptor;        /* -1: closed */
    uint64_t number;       /* of the newest record; 0: there is none */
    atomic_bool is_synced; /* nothing was written since slot_file_sync */
    char name[320];        /* with its directory, for messages */
} SlotFile;

/* Made when it is not there, with the room that both slots take: rewriting needs none. A link is not
 * followed. */
MUST_CHECK bool slot_file_open(const Directory *directory, const char *name, SlotFile *out,
                               Error *err);
/* To read it and nothing else: ERROR_NOT_FOUND when it is not there. */
MUST_CHECK bool slot_file_open_reading(const Directory *directory, const char *name, SlotFile *out,
                                       Error *err);
void slot_file_close(SlotFile *file); /* a closed one is fine */

/* The newest record, in `arena`; empty when none is whole. */
MUST_CHECK bool slot_file_read(SlotFile *file, Arena *arena, Str *out, Error *err);
/* There for the next who reads, also when this process ends at once. A power failure may take it, until
 * slot_file_sync. */
MUST_CHECK bool slot_file_write(SlotFile *file, Str record, Error *err);
MUST_CHECK bool slot_file_sync(SlotFile *file, Error *err);
