/* A file in ~/.ssh, or one of the system.
 *
 * What lies in a home is the user's, who may not be a friend: no link on the way from the home on is
 * followed, neither when looking nor when writing, and only the user or root may own what is there.
 * What root keeps from the user is not given away, though the user may give it the name that is
 * looked for. So nothing is read from or written to a place that the user could not reach anyway. */
#pragma once

#include "modules/call.h"

typedef struct HomeFile {
    Call *call;
    Host *below;  /* the home as a root; NULL: there is none, or the file is not in a home */
    Host *inside; /* ~/.ssh as a root: the folder that was looked at, whatever is called so later */
    Str path;     /* as seen from inside, or from the host */
    Str shown;    /* as people know it */
    bool in_home;
    bool missing; /* there is no home to look into; `why` says what is not there */
    Str why;
    Str home; /* that is not there; empty: the user is not */
    uid_t uid;
    gid_t gid;
    FileInfo folder, file;
    Str content;
} HomeFile;

/* Looks at ~USER/.ssh/NAME. A user or home that is not there is `missing`. */
MUST_CHECK bool home_file_open(Call *call, Str user, Str name, HomeFile *out, Error *err);
/* Of one that is missing: whether an earlier step of a plan brings user or home. */
bool home_file_comes(HomeFile *file, Error *err);
/* The same for a file of the system. */
MUST_CHECK bool home_file_open_system(Call *call, Str path, HomeFile *out, Error *err);
void home_file_close(HomeFile *file);
DEFINE_AUTO_CLEAR(HomeFile, home_file_close)

/* Whether owner or mode of it and its folder are not as sshd wants them. */
bool home_file_is_loose(const HomeFile *file, mode_t mode);
/* Replaces the content; folder, owner and mode become what they shall be. */
MUST_CHECK bool home_file_write(HomeFile *file, Str content, mode_t mode, Error *err);
