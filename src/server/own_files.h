/* The files of a server other than its store: created again if they are lost and that
 * is possible, or written again by the running server, which has them in memory. */
#pragma once

#include "membership/authority.h"
#include "membership/own_certificates.h"
#include "server/server_settings.h"

/* Before they are opened. Nobody knows the keys of the server's own certificates, and the CA is here,
 * so that these are made; `enrolment` is that of its node. Fails when the CA is lost, with what to do,
 * and as the file system does. */
MUST_CHECK bool own_files_complete(const Directory *directory, const ServerSettings *settings,
                                   Str enrolment, int64_t now_ms, Error *err);

typedef struct OwnFiles {
    const char *state_dir;
    Directory *directory; /* the server's below that */
    const ServerSettings *settings;
    Authority *authority;
    const OwnCertificates *own;
} OwnFiles;

/* With these settings it has started: a copy for who loses them. */
void own_files_keep(const OwnFiles *files);
/* Writes those that are gone; the directory too may be another one, which is opened then. False: some
 * are still gone, and this process alone has them. */
bool own_files_mend(const OwnFiles *files);
