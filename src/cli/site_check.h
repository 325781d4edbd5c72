/* Checks sites and files of steps for `eden validate`: without a node. */
#pragma once

#include "cli/inputs.h"

/* Whether the directory is a site. */
bool site_check_is_site(const char *path);
/* Whether site_check() reads this file, given as a path relative to the site. */
bool site_check_covers(Str path);
/* Whether the location is reserved for documents, so that any other file there may be a mistake. */
bool site_check_expects(Str path);
/* Reads and checks all documents and templates of the site, and the references between steps.
 * `trust` is the directory with the trusted keys for its modules. */
void site_check(Inputs *inputs, const char *path, const char *trust);

/* A single document of a site. */
typedef struct SitePart {
    const char *root;
    Str path; /* relative to the site: "jobs/base.yaml" */
} SitePart;
/* Finds the site around the file. Returns false if there is none or the file is not part of it. */
bool site_check_find(Arena *arena, const char *path, SitePart *out);
/* Checks it according to its location. */
void site_check_part(Inputs *inputs, const SitePart *part, const char *trust);

/* Whether the file contains steps. */
bool site_check_is_steps(const char *path);
/* Checks a document without its site. References of a job to other jobs and files are not checked,
 * because that requires the entire site. */
void site_check_steps(Inputs *inputs, const char *path, const char *trust);
