/* A source of packages as the files of package managers have it. Pure. */
#pragma once

#include "base/error.h"
#include "lang/value.h"

typedef enum RepoFormat {
    REPO_DEB822,  /* paragraphs, *.sources */
    REPO_ONELINE, /* "deb [options] URI SUITE COMPONENT..", *.list */
    REPO_RPM,     /* sections, *.repo, of dnf and zypper */
} RepoFormat;

typedef struct RepoSource {
    Str name;
    RepoFormat format;
    Str description;
    const List *types, *uris, *suites, *components, *architectures; /* of texts; NULL: none */
    Str mirrorlist;                                                 /* of REPO_RPM */
    Str key_path; /* of the file that holds the key; empty: none */
    Str key_text; /* or the key itself, armored; REPO_DEB822 only */
    bool trusted; /* without a signature */
    bool disabled;
    bool refreshes;     /* zypper's "autorefresh" */
    int64_t priority;   /* 0: none */
    const Map *options; /* further fields; NULL: none */
} RepoSource;

/* The text of its file. Fails with ERROR_INVALID for what no such file can say. */
MUST_CHECK bool repo_source_format(Arena *arena, const RepoSource *source, Str *out, Error *err);
/* Whether it can name files and sections: letters, digits, '.', '_' and '-'. */
MUST_CHECK bool repo_name_check(Str name, Error *err);
