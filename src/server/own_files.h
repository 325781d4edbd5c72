/* The files of a server other than its store: created again if they are lost and can be replaced,
 * or written again by the running server, which has them in memory. */
#pragma once

#include "membership/authority.h"
#include "membership/own_certificates.h"
#include "server/server_settings.h"
#include "source/source_vault.h"

/* Called before the files are opened. The keys of the server's own certificates are replaceable,
 * because the CA is here, so they are issued again; `enrollment` is that of its node. Fails if the
 * CA is lost, with the command to run, and on file errors. */
MUST_CHECK bool own_files_complete(const Directory *directory, const ServerSettings *settings,
                                   Str enrollment, int64_t now_ms, Error *err);

typedef struct OwnFiles {
    const char *state_dir;
    Directory *directory; /* the server's directory in it */
    const ServerSettings *settings;
    Authority *authority;
    const OwnCertificates *own;
    SourceVault *vault;
} OwnFiles;

/* Called once the server has started with these settings: saves a copy, in case they are lost. */
void own_files_save_copy(const OwnFiles *files);
/* Called when this machine is no longer a server: deletes the settings, and all keys. */
void own_files_drop(const Directory *directory);
/* Writes missing files; if the directory was replaced too, it is opened again. Returns false if
 * some are still missing and exist only in this process. */
bool own_files_restore(const OwnFiles *files);
