/* Formats package repositories as package manager files. Pure. */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/str.h"
#include "lang/value.h"

typedef enum RepoFormat {
    REPO_DEB822,  /* paragraphs, *.sources */
    REPO_ONELINE, /* "deb [options] URI SUITE COMPONENT...", *.list */
    REPO_RPM,     /* sections, *.repo, for dnf and zypper */
} RepoFormat;

typedef struct RepoSource {
    Str name;
    RepoFormat format;
    Str description;
    const List *types, *uris, *suites, *components,
        *architectures; /* lists of strings; NULL: none */
    Str mirrorlist;     /* only for REPO_RPM */
    Str key_path;       /* path of the key file; empty: none */
    Str key_text;       /* alternatively the key itself, armored; REPO_DEB822 only */
    bool trusted;       /* accept unsigned packages */
    bool disabled;
    bool refreshes;     /* zypper's "autorefresh" */
    int64_t priority;   /* 0: none */
    const Map *options; /* additional fields; NULL: none */
} RepoSource;

/* Formats the repository's file. Fails with ERROR_INVALID if the file format cannot express it. */
MUST_CHECK bool repo_source_format(Arena *arena, const RepoSource *source, Str *out, Error *err);
/* Checks that it is usable in file names and section names: letters, digits, '.', '_' and '-'. */
MUST_CHECK bool repo_name_check(Str name, Error *err);

/* --- Keys ------------------------------------------------------------------------------------ */

typedef struct RepoKey {
    Str content;  /* content of the key file */
    bool armored; /* ASCII armor; otherwise binary */
} RepoKey;

/* Accepts "-----BEGIN PGP PUBLIC KEY BLOCK-----", the base64 encoding of the binary key, or the
 * binary key. Fails with ERROR_INVALID for anything else, including private keys. */
MUST_CHECK bool repo_key_parse(Arena *arena, Str given, RepoKey *out, Error *err);
