/* Authentication between git and the server of a repository: files in the directory of a mirror,
 * with relative paths, so that no secret and no path is part of a command line, of the environment
 * or of a shell's input. Blocks; any thread. */
#pragma once

#include "source/git_secrets.h"
#include "sys/directory.h"

/* The value of GIT_SSH_COMMAND: only the host keys of the source are accepted. */
#define GIT_ACCESS_SSH                                                                     \
    "ssh -F none -o BatchMode=yes -o StrictHostKeyChecking=yes "                           \
    "-o UserKnownHostsFile=known_hosts -o GlobalKnownHostsFile=/dev/null "                 \
    "-o HostKeyAlias=" GIT_ACCESS_HOST " -o CheckHostIP=no -o VerifyHostKeyDNS=no "        \
    "-o IdentitiesOnly=yes -o IdentityFile=ssh_key -o IdentityAgent=none "                 \
    "-o ConnectTimeout=10 -o ServerAliveInterval=5 -o ServerAliveCountMax=3 "              \
    "-o PreferredAuthentications=publickey -o ForwardAgent=no -o ClearAllForwardings=yes " \
    "-o UpdateHostKeys=no -o ControlMaster=no -o ControlPath=none"
#define GIT_ACCESS_HOST "eden-source" /* the name of the SSH server in known_hosts */

/* Writes the files. `config` receives the corresponding lines of git's configuration. */
MUST_CHECK bool git_access_prepare(const Directory *directory, Arena *arena,
                                   const GitSource *source, const GitCredentials *credentials,
                                   Buf *config, Error *err);
/* Removes the files with secrets, which exist only while git runs. */
void git_access_end(const Directory *directory);

/* Whether the commit is signed by one of the signers, from the output of git with the format
 * GIT_ACCESS_SIGNATURE. Fails with the reason. Pure. */
#define GIT_ACCESS_SIGNATURE "%G?%x00%GS%x00%GF%x00"
MUST_CHECK bool git_access_check_signature(Str output, Error *err);

/* Removes credentials from git's output: the token in any spelling, and user names and passwords in
 * URLs. */
void git_access_scrub(const GitCredentials *credentials, Error *err);
/* git's error output on one line, without boilerplate; may be empty. Pure. */
Str git_access_reason(Arena *arena, Str output);
/* Explains why git could not log in, from its output, with a suggestion. Returns false if it failed
 * for another reason. */
bool git_access_explain(const GitSource *source, const GitCredentials *credentials, Str output,
                        Error *err);
