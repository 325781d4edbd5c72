/* The jobs of a site as expand.c walks them. For this folder only. */
#pragma once

#include "model/parse.h"

/* The job of a site that is one file; NULL for a folder. */
const Str *site_only_job(const Site *site);
/* The file of that name, read at most once; NULL when it cannot be read, which is told once. */
JobFile *site_job_file(Site *site, Str name, Value named_at);
/* Whether anything read so far was wrong. */
bool site_failed(const Site *site);
