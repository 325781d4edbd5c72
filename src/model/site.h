/* A loaded site: its base files, and its jobs, which are read on demand.
 *
 *     SiteLoad load = { .arena = .., .reader = .., .problems = .. };
 *     Site *site;
 *     if (!site_load(&load, &site)) ...           base files, or site_load_file for one file
 *     if (!site_expand(site, &expansion, &steps)) ...   (expand.h) jobs of this node, as steps
 *
 * All problems are reported at once: functions continue after a problem and return false at the
 * end. */
#pragma once

#include "model/names.h"
#include "model/selector.h"
#include "model/step.h"

/* Reads files in the site. Paths are relative to the site, such as "jobs/base.yaml". */
typedef struct SiteReader {
    void *context;
    Str root; /* prefix of paths in messages, as the user would write it; may be empty */
    /* The text must outlive the site. ERROR_NOT_FOUND if there is no such file. */
    bool (*read)(void *context, Str path, Str *text, Error *err);
    /* Pushes the paths of all files under a directory, such as "jobs", as strings, sorted; for "did
     * you mean" and for checking a complete site. NULL: not supported. */
    void (*list)(void *context, Str directory, Arena *arena, List *paths);
    /* Whether the file exists. NULL: not supported. */
    bool (*exists)(void *context, Str path);
} SiteReader;

typedef struct SiteLoad {
    Arena *arena; /* contains the site and everything in it */
    Sources *sources;
    Templates *templates; /* created with dynamic_template_settings() */
    ModuleTable modules;
    SiteReader reader;
    bool lint; /* report hints too */
    /* names that templates can use in the current context; NULL: not checked */
    const SiteNames *names;
    NameUses *name_uses;      /* set by the site itself */
    const char *const *facts; /* the names of all facts, NULL-terminated; NULL: not checked */
    Problems *problems;
} SiteLoad;

/* One entry of a base file: what the nodes matched by `selector` get. */
typedef struct SiteEntry {
    const Selector *selector; /* NULL: it could not be parsed */
    Str name;
    Value location; /* location of the name */
    /* For variables only: paths of files instead, relative to variables/. */
    Dynamic *paths;
    uint32_t path_count;
    bool merge_all; /* `merge: all` */
    /* For jobs only. */
    Condition when;
} SiteEntry;

typedef struct SiteEntries {
    SiteEntry *items;
    uint32_t count;
} SiteEntries;

typedef struct Site Site;

/* Reads config.yaml and the base files of variables, macros and jobs; only the last one is
 * required. */
MUST_CHECK bool site_load(const SiteLoad *load, Site **out);
/* A single file of steps, as a site with one job that every node gets. The job is named after the
 * file, without directory and ".yaml". */
MUST_CHECK bool site_load_file(const SiteLoad *load, Str path, Site **out);
/* Also reads every existing file of jobs, variables and macros, reachable or not: for `eden
 * validate`. */
MUST_CHECK bool site_check_all(Site *site);

/* Reads and checks the single document at `path`, whose kind follows from the path:
 * "jobs/base.yaml", "reactions/web.yaml", "templates/motd.j2". */
MUST_CHECK bool site_check_document(const SiteLoad *load, Str path, Site **out);
/* Reports macros and names that are used by the documents read so far and are defined nowhere in
 * the site. A macro that is defined only for other nodes is left to the run. */
MUST_CHECK bool site_check_names(Site *site);

/* From config.yaml; empty: not set, or there is none. */
Str site_name(const Site *site);
const SiteLoad *site_load_settings(const Site *site);
/* In the order of their base files: variables/base.yaml, macros/base.yaml, jobs/base.yaml. */
const SiteEntries *site_variables(const Site *site);
const SiteEntries *site_macros(const Site *site);
const SiteEntries *site_jobs(const Site *site);

/* Reads a document in the site, bare or wrapped: `*out` is its content, null if the file is empty.
 * A missing file is a problem at `reference`, the location that refers to it (missing: none). For
 * files of variables and macros. */
MUST_CHECK bool site_read(Site *site, Str path, Value reference, Value *out);
