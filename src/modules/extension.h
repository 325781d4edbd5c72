/* Modules that a site brings along: executables in its modules/, in any language.
 *
 * One is used only when its signature by a key that the node trusts holds; then exactly the bytes
 * that were verified are run, from memory, and once asked to describe themselves. From there on it
 * is a row in the table like any other: a process per call, one line of JSON on its standard input,
 * its answer on standard output (extension_answer.h), bounded in size and time. One that cannot be
 * used is in the table too, with the reason, for whoever names it. */
#pragma once

#include "base/problems.h"
#include "model/site.h"
#include "modules/extension_rows.h"

enum {
    EXTENSIONS_MAX = 500,
    EXTENSION_TIMEOUT_MS = 5 * 60 * 1000, /* of a call, unless somebody says otherwise */
    EXTENSION_DESCRIBE_MS = 10 * 1000,
    EXTENSION_COST_MS = 100, /* nobody knows, but it is never over in a moment */
};

typedef struct Extension {
    const char *name;
    Str path; /* in the site: "modules/NAME" */
    Str bytes;
    Str signer;      /* id of the key that signed it; empty: nobody did */
    Str signer_name; /* of a trusted key whose signature holds; else empty */
    bool verified;
    const char *refused; /* why it cannot be used; NULL: it can */
    const Module *module;
    int program; /* 0: none */
} Extension;

typedef struct Extensions {
    Extension **items; /* sorted by name */
    uint32_t count;
    ModuleTable table; /* built-in modules, then these */
} Extensions;

/* Looks for modules, verifies them, and with `describes` runs those that hold to learn their rows.
 * `config` is the folder with the trusted-keys of the machine that they run on. What is wrong with
 * one is its own matter, and no failure here. */
void extensions_load(Arena *arena, const SiteReader *reader, const char *config, bool describes,
                     ModuleTable built_in, Extensions *out);
void extensions_close(Extensions *extensions);
DEFINE_AUTO_CLEAR(Extensions, extensions_close)

/* Warns of those that cannot be used, unless an error about them is told already. */
void extensions_warn(const Extensions *extensions, Problems *problems);

/* "modules/NAME.sig" is no module, and neither is what has another name than modules have. */
bool extension_path_is(Str path);
