/* Extension modules: executables in a site's modules/, in any language.
 *
 * A module is used only if a key that the node trusts has signed it. Exactly the verified bytes are
 * run, from memory. It is first run to get its description; from then on it is a row in the module
 * table like any other module. Each call is a process with one line of JSON on its standard input
 * and its response on standard output (extension_response.h), limited in size and time. A module
 * that cannot be used is in the table too; if a step uses it, the reason is reported. */
#pragma once

#include "base/problems.h"
#include "model/site.h"
#include "modules/extension_rows.h"

enum {
    EXTENSIONS_MAX = 500,
    EXTENSION_TIMEOUT_MS = 5 * 60 * 1000, /* default timeout of a call */
    EXTENSION_DESCRIBE_MS = 10 * 1000,
    EXTENSION_COST_MS = 100, /* estimated duration of an action; unknown, but never negligible */
};

typedef struct Extension {
    const char *name;
    Str path; /* path in the site: "modules/NAME" */
    Str bytes;
    Str signer;      /* ID of the key that signed it; empty: not signed */
    Str signer_name; /* name of the trusted key if the signature is valid; otherwise empty */
    bool verified;
    const char *unusable_reason; /* why it cannot be used; NULL: it can be used */
    const Module *module;
    int program; /* file descriptor of the verified copy in memory; 0: none */
} Extension;

typedef struct Extensions {
    Extension **items; /* sorted by name */
    uint32_t count;
    ModuleTable table; /* built-in modules, followed by these */
} Extensions;

/* Finds and verifies modules. If `describes` is set, also runs the valid ones to get their rows.
 * `config` is the directory with the trusted-keys of the machine that they run on. A problem with
 * one module is recorded in it and is not a failure. */
void extensions_load(Arena *arena, const SiteReader *reader, const char *config, bool describes,
                     ModuleTable built_in, Extensions *out);
void extensions_close(Extensions *extensions);
DEFINE_AUTO_CLEAR(Extensions, extensions_close)

/* Warns about modules that cannot be used, unless an error about them was already reported. */
void extensions_warn(const Extensions *extensions, Problems *problems);

/* Returns true if it is the path of a module: not "modules/NAME.sig", and a valid module name. */
bool extension_path_is(Str path);
