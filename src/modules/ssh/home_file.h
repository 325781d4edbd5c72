/* A file in ~/.ssh, or a system-wide one.
 *
 * The user controls the home directory and may be malicious: no symlink under the home directory is
 * followed, either for reading or for writing, and only the user or root may own what is there.
 * Root's private files are not exposed, even if the user renames one of them to the expected name.
 * So nothing is read or written that the user could not access anyway. */
#pragma once

#include "modules/call.h"

typedef struct HomeFile {
    Call *call;
    Host *home_root; /* home directory as a root; NULL: there is none, or the file is not in it */
    Host *ssh_root; /* ~/.ssh as a root: stays on the verified directory even if that is replaced */
    Str path;       /* relative to `ssh_root`, or to the host */
    Str display_path; /* path for messages */
    bool in_home;
    bool missing; /* there is no home directory; `missing_reason` explains */
    Str missing_reason;
    Str home; /* missing home directory; empty: the user does not exist */
    uid_t uid;
    gid_t gid;
    FileInfo ssh_directory, file;
    Str content;
} HomeFile;

/* Opens ~USER/.ssh/NAME. Sets `missing` if the user or home directory does not exist. */
MUST_CHECK bool home_file_open(Call *call, Str user, Str name, HomeFile *out, Error *err);
/* For a missing file: returns true if an earlier step of a plan creates the user or home
 * directory. */
bool home_file_is_pending(HomeFile *file, Error *err);
/* Like home_file_open, for a system-wide file. */
MUST_CHECK bool home_file_open_system(Call *call, Str path, HomeFile *out, Error *err);
void home_file_close(HomeFile *file);
DEFINE_AUTO_CLEAR(HomeFile, home_file_close)

/* Returns true if the owner or mode of the file or its directory is not what sshd requires. */
bool home_file_needs_fix(const HomeFile *file, mode_t mode);
/* Replaces the content and fixes directory, owner and mode. */
MUST_CHECK bool home_file_write(HomeFile *file, Str content, mode_t mode, Error *err);
