/* The row of a fact, the sources that it can read, and helpers for reading small files. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "lang/value.h"
#include "sys/network.h"
#include "sys/tree.h"

/* Where facts are read from. Tests use synthetic trees and functions instead. */
typedef struct FactSources {
    Tree root;   /* the installed system: /etc, /usr */
    Tree kernel; /* the running system: /proc, /sys, /run */
    bool live;   /* both are the same system */
    bool (*addresses)(Arena *arena, NetworkAddresses *out, Error *err);
    Str (*host_name)(Arena *arena);
    Str (*arch)(Arena *arena);
} FactSources;

/* This machine, with the installed system under `root`, which is borrowed. */
MUST_CHECK bool fact_sources_open(const char *root, FactSources *out, Error *err);
void fact_sources_close(FactSources *sources);
DEFINE_AUTO_CLEAR(FactSources, fact_sources_close)

typedef struct Fact {
    const char *name;
    const char *help;    /* shown in help; one sentence */
    const char *example; /* a value, as JSON */
    /* Sets the value, allocated in `arena`. Returns false if the source exists but is unusable. If
     * the source does not exist, the value is null or an empty container. */
    bool (*read)(const FactSources *sources, Arena *arena, Value *out, Error *err);
} Fact;

enum {
    FACT_FILE_MAX = 4 << 20,
    FACT_ENTRIES_MAX = 10000, /* maximum number of entries in a directory or table */
};

/* Reads an entire file; empty if it does not exist. */
MUST_CHECK bool fact_text(const Tree *tree, Arena *arena, const char *path, Str *out, Error *err);
/* Like fact_text(), but removes surrounding whitespace; for files with a single value. */
MUST_CHECK bool fact_word(const Tree *tree, Arena *arena, const char *path, Str *out, Error *err);
/* The names in a directory, at most FACT_ENTRIES_MAX; empty if it does not exist. */
MUST_CHECK bool fact_list(const Tree *tree, Arena *arena, const char *path, Str **names,
                          uint32_t *count, Error *err);
/* A string, or null if the text is empty. */
Value fact_string(Str text);
/* Removes the next whitespace-separated field from `line`; returns false if there is none. */
bool fact_next_field(Str *line, Str *field);
