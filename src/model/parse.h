/* Parsing of the parts of documents into the types of step.h and site.h. Private to this directory.
 * Each function reports all problems and returns false if there are any. */
#pragma once

#include "base/vec.h"
#include "model/document.h"

/* A copy of `load` with other names for templates. */
static inline SiteLoad site_load_with_names(const SiteLoad *load, const SiteNames *names)
{
    SiteLoad inner = *load;
    inner.names = names;
    return inner;
}

/* `{when, success, continue}` of a step; only `when` for a job (the others are NULL). */
bool conditions_parse(const SiteLoad *load, Value input, Condition *when, Condition *success,
                      Condition *proceed);

/* Overrides the values in `out` that the document sets. */
bool run_options_parse(const SiteLoad *load, Value input, RunOptions *out);

typedef VEC(Requisite) Requisites;

/* The row `index`, for help; false after the last one. */
bool requisite_key_at(uint32_t index, StepKey *out);
void requisite_keys_suggest(Suggest *suggest);
bool requisite_parse(const SiteLoad *load, const MapEntry *entry, Requisites *out);

/* A call of an action. */
typedef struct ActionCall {
    const Module *module;
    const Action *action;                        /* NULL: unknown; parameters are ignored then */
    Value location;                              /* of the action's name */
    Value input;                                 /* its parameters, as written */
    const Dynamic **params;                      /* as in StepSpec */
    uint64_t params_set, params_by_foreign_name; /* the latter: set under a name from another tool
     * */
    bool params_unreadable;                      /* not parsable: it is unknown which are missing */
    const Value *values;
} ActionCall;

/* Finds the action by its name. */
bool action_call_find(const SiteLoad *load, Value name, ActionCall *out);
/* A map of parameters, or a list of one-key maps. Keys that are not parameters are passed to
 * `handle_key`, as in FieldSet; NULL: they are errors. */
bool action_call_params(const SiteLoad *load, Value input, const FieldSet *others,
                        ActionCall *call);
/* The IDs as written, entries of a list joined with ", "; empty if there are none. */
Str action_call_id(const SiteLoad *load, const ActionCall *call);

/* A selector in a document in the site. */
bool site_selector_parse(const SiteLoad *load, Value input, const Selector **out);

/* Problems of a `forEach`, found when parsing or evaluating it. */
void for_each_unknown(const SiteLoad *load, Value location);
void for_each_of_scalar(const SiteLoad *load, Value location, Value items);

/* Parses one step; `base` has the file's run options and must outlive the step. Also returns
 * false if the step is to be skipped. */
bool step_parse(const SiteLoad *load, Value input, const RunOptions *base, StepSpec *out);

/* selector: [{name, ..}, ..]; or a list of these, for every node. */
typedef enum EntryKind {
    ENTRY_VARIABLES,
    ENTRY_MACROS,
    ENTRY_JOBS,
    ENTRY_TRIGGERS,
} EntryKind;
bool site_entries_parse(const SiteLoad *load, EntryKind kind, Value input, SiteEntries *out);
/* Whether each entry has its file under `directory`; true if the reader cannot tell. */
bool site_entries_exist(const SiteLoad *load, const SiteEntries *entries, const char *directory);

/* A file in jobs/: steps, or jobs. */
typedef struct JobFile {
    Job job;
    bool is_group;       /* it contains jobs */
    SiteEntries entries; /* of a group */
    bool is_unreadable;  /* not a job at all, or neither its steps nor its jobs could be parsed */
} JobFile;
bool job_file_parse(const SiteLoad *load, Str name, Str path, Value document, JobFile *out);

/* Documents other than jobs, which are only checked here. */
bool macros_check(const SiteLoad *load, Value document);
bool triggers_check(const SiteLoad *load, Value document);
bool reactions_check(const SiteLoad *load, Value document);
bool config_check(const SiteLoad *load, Value document, Str *name, SiteEntries *triggers);

/* The jobs of a site, as traversed by expand.c. */

/* The job of a site that is one file; NULL for a directory. */
const Str *site_only_job(const Site *site);
/* The file of that name, read at most once; NULL if it cannot be read, which is reported once. */
JobFile *site_job_file(Site *site, Str name, Value reference);
/* Whether there were problems in anything read so far. */
bool site_failed(const Site *site);
