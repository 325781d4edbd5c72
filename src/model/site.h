/* A site as loaded: its base files, and its jobs as far as somebody asked for them.
 *
 *     SiteLoad load = { .arena = .., .reader = .., .problems = .. };
 *     Site *site;
 *     if (!site_load(&load, &site)) ...           base files, or site_load_file for one file
 *     if (!site_expand(site, &expansion, &steps)) ...   (expand.h) jobs of this node, as steps
 *
 * Everything wrong with what was read is told at once: functions go on after a problem and answer
 * false at the end. */
#pragma once

#include "model/names.h"
#include "model/selector.h"
#include "model/step.h"

/* How files of the site are read. Paths are relative to the site, such as "jobs/base.yaml". */
typedef struct SiteReader {
    void *context;
    Str root; /* put before paths in messages, as the user would write it; empty: nothing */
    /* The text lives as long as the site. ERROR_NOT_FOUND when there is no such file. */
    bool (*read)(void *context, Str path, Str *text, Error *err);
    /* Pushes the paths of all files below a folder, such as "jobs", as strings, sorted; for "did
     * you mean" and for checking all of a site. NULL: cannot tell. */
    void (*list)(void *context, Str folder, Arena *arena, List *paths);
    /* Whether there is such a file. NULL: cannot tell. */
    bool (*exists)(void *context, Str path);
} SiteReader;

typedef struct SiteLoad {
    Arena *arena; /* holds the site and everything in it */
    Sources *sources;
    Templates *templates; /* made with dynamic_template_settings() */
    ModuleTable modules;
    SiteReader reader;
    bool lint;              /* hints as well */
    const SiteNames *names; /* what templates can use where the reader is now; NULL: not checked */
    NameUses *name_uses;    /* set by the site itself */
    Problems *problems;
} SiteLoad;

/* One entry of a base file: what nodes that `selector` matches get. */
typedef struct SiteEntry {
    const Selector *selector; /* NULL: it could not be read */
    Str name;
    Value place; /* of the name */
    /* Of variables only: files in their stead, relative to variables/. */
    Dynamic *paths;
    uint32_t path_count;
    bool merge_all; /* `merge: all` */
    /* Of jobs only. */
    Condition when;
} SiteEntry;

typedef struct SiteEntries {
    SiteEntry *items;
    uint32_t count;
} SiteEntries;

typedef struct Site Site;

/* Reads config.yaml and the base files of variables, macros and jobs; only the last must exist. */
MUST_CHECK bool site_load(const SiteLoad *load, Site **out);
/* One file of steps as a site of one job, chosen by every node. Its job is called like the file
 * without folders and ".yaml". */
MUST_CHECK bool site_load_file(const SiteLoad *load, Str path, Site **out);
/* Reads also every job, variables and macros file that is there, reached or not: for
 * `eden validate`. */
MUST_CHECK bool site_check_all(Site *site);

/* Reads and checks the one document at `path`, as what it is by its place: "jobs/base.yaml",
 * "reactions/web.yaml", "templates/motd.j2". */
MUST_CHECK bool site_check_document(const SiteLoad *load, Str path, Site **out);
/* Tells of macros and names that the documents read so far use and that exist nowhere in the site. A
 * macro that exists for other nodes only is left to the run. */
MUST_CHECK bool site_check_names(Site *site);

/* As config.yaml says; empty: it does not, or there is none. */
Str site_name(const Site *site);
const SiteLoad *site_loaded_with(const Site *site);
/* In the order of their base files: variables/base.yaml, macros/base.yaml, jobs/base.yaml. */
const SiteEntries *site_variables(const Site *site);
const SiteEntries *site_macros(const Site *site);
const SiteEntries *site_jobs(const Site *site);

/* Reads one document of the site, bare or wrapped: `*out` is what is in it, null when the file is
 * empty. A missing file is a problem at `named_at`, the place that names it (missing: no place).
 * For variables and macros files. */
MUST_CHECK bool site_read(Site *site, Str path, Value named_at, Value *out);
