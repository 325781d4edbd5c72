/* One fact: its row, what it sees, and helpers for the files in which facts stand. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "lang/value.h"
#include "sys/network.h"
#include "sys/tree.h"

/* Where facts are read. Tests put made-up trees and functions into it. */
typedef struct FactWorld {
    Tree root;   /* the installed system: /etc, /usr */
    Tree kernel; /* the running one: /proc, /sys, /run */
    bool live;   /* both are the same system */
    bool (*addresses)(Arena *arena, NetworkAddresses *out, Error *err);
    Str (*host_name)(Arena *arena);
    Str (*arch)(Arena *arena);
} FactWorld;

/* This machine, with the installed system below `root`, which is borrowed. */
MUST_CHECK bool fact_world_open(const char *root, FactWorld *out, Error *err);
void fact_world_close(FactWorld *world);
DEFINE_AUTO_CLEAR(FactWorld, fact_world_close)

typedef struct Fact {
    const char *name;
    const char *help;    /* one sentence */
    const char *example; /* a value, as JSON */
    /* The value in `arena`. False: the source is there but cannot be used. What simply is not
     * there is null, or an empty container. */
    bool (*read)(const FactWorld *world, Arena *arena, Value *out, Error *err);
} Fact;

enum {
    FACT_FILE_MAX = 4 << 20,
    FACT_ENTRIES_MAX = 10000, /* of a directory or a table */
};

/* The whole text of a file; an absent file is an empty text. */
MUST_CHECK bool fact_text(const Tree *tree, Arena *arena, const char *path, Str *out, Error *err);
/* The same without white space around it; for files of one value. */
MUST_CHECK bool fact_word(const Tree *tree, Arena *arena, const char *path, Str *out, Error *err);
/* The names in a directory, at most FACT_ENTRIES_MAX; an absent directory is empty. */
MUST_CHECK bool fact_list(const Tree *tree, Arena *arena, const char *path, Str **names,
                          uint32_t *count, Error *err);
/* A string, or null for an empty text. */
Value fact_string(Str text);
/* Cuts the next field, between blanks, off `line`; false when there is none. */
bool fact_next_field(Str *line, Str *field);
