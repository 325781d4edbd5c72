/* Sites and files of steps as `eden validate` sees them: without a node. */
#pragma once

#include "cli/inputs.h"

/* Whether the folder is a site. */
bool site_check_is_site(const char *path);
/* Whether a file of that folder, given as a path below it, is one that site_check looks at. */
bool site_check_covers(Str path);
/* Whether only documents belong there, so that anything else may be a mistake. */
bool site_check_expects(Str path);
/* Reads and checks all documents and templates of the site, and references between steps. `trust`
 * is the folder with the keys for modules of the site. */
void site_check(Inputs *inputs, const char *path, const char *trust);

/* A document of a site, named by itself. */
typedef struct SitePart {
    const char *root;
    Str path; /* below it: "jobs/base.yaml" */
} SitePart;
/* Whether the file has a place in a site around it. */
bool site_check_find(Arena *arena, const char *path, SitePart *out);
/* Checks it as what it is by its place. */
void site_check_part(Inputs *inputs, const SitePart *part, const char *trust);

/* Whether the file holds steps. */
bool site_check_is_steps(const char *path);
/* Checks it on its own. When it is one of a site's jobs, names of other jobs and of files are not
 * looked up: the whole site can be given for that. */
void site_check_steps(Inputs *inputs, const char *path, const char *trust);
