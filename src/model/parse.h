/* The parts of documents, from values to what step.h and site.h say. For this folder only. Each
 * function tells all that is wrong and answers false then. */
#pragma once

#include "base/vec.h"
#include "model/document.h"

/* The same reader where templates see other names. */
static inline SiteLoad site_load_naming(const SiteLoad *load, const SiteNames *names)
{
    SiteLoad inner = *load;
    inner.names = names;
    return inner;
}

/* `{when, success, continue}` of a step; `when` alone for a job (the others NULL). */
bool conditions_parse(const SiteLoad *load, Value given, Condition *when, Condition *success,
                      Condition *proceed);

/* Overrides what is in `out` with what is given. */
bool run_options_parse(const SiteLoad *load, Value given, RunOptions *out);

typedef VEC(Requisite) Requisites;

/* The row number `index` for people; false: there are no more. */
bool requisite_key_at(uint32_t index, StepKey *out);
void requisite_keys_offer(Suggest *suggest);
bool requisite_parse(const SiteLoad *load, const MapEntry *entry, Requisites *out);

/* What an action is called with. */
typedef struct ActionCall {
    const Module *module;
    const Action *action;   /* NULL: not known; parameters are then left aside */
    Value place;            /* of the action's name */
    const Dynamic **params; /* as in StepSpec */
    uint64_t params_set;
    bool params_unread; /* they have no form: what is missing is not known */
    const Value *values;
} ActionCall;

/* Finds the action by its name. */
bool action_call_find(const SiteLoad *load, Value name, ActionCall *out);
/* A map of parameters, or a list of one-key maps. Keys that are no parameters go to `take`, as in
 * FieldSet; NULL: all others are wrong. */
bool action_call_params(const SiteLoad *load, Value given, const FieldSet *others,
                        ActionCall *call);
/* The ids as written, entries of a list with ", " between them; empty when there are none. */
Str action_call_id(const SiteLoad *load, const ActionCall *call);

/* Problems of a `forEach`, found when it is read or when it is evaluated. */
void for_each_unknown(const SiteLoad *load, Value place);
void for_each_of_scalar(const SiteLoad *load, Value place, Value items);

/* One step; `base` has the file's run options and lives as long as the step. False also when it is
 * to be left out. */
bool step_parse(const SiteLoad *load, Value given, const RunOptions *base, StepSpec *out);

/* selector: [{name, ..}, ..]; or a list of these, for every node. */
typedef enum EntryKind {
    ENTRY_VARIABLES,
    ENTRY_MACROS,
    ENTRY_JOBS,
    ENTRY_TRIGGERS,
} EntryKind;
bool site_entries_parse(const SiteLoad *load, EntryKind kind, Value given, SiteEntries *out);
/* Whether each entry has its file below `folder`; true where the reader cannot tell. */
bool site_entries_exist(const SiteLoad *load, const SiteEntries *entries, const char *folder);

/* A file below jobs/: steps, or jobs. */
typedef struct JobFile {
    Job job;
    bool is_group;       /* it holds jobs */
    SiteEntries entries; /* of a group */
    bool unread;         /* it is no job at all, or holds neither steps nor jobs that can be read */
} JobFile;
bool job_file_parse(const SiteLoad *load, Str name, Str path, Value document, JobFile *out);

/* Documents beside jobs, which are only checked here. */
bool macros_check(const SiteLoad *load, Value document);
bool triggers_check(const SiteLoad *load, Value document);
bool reactions_check(const SiteLoad *load, Value document);
bool config_check(const SiteLoad *load, Value document, Str *name, SiteEntries *triggers);

/* The jobs of a site as expand.c walks them. */

/* The job of a site that is one file; NULL for a folder. */
const Str *site_only_job(const Site *site);
/* The file of that name, read at most once; NULL when it cannot be read, which is told once. */
JobFile *site_job_file(Site *site, Str name, Value named_at);
/* Whether anything read so far was wrong. */
bool site_failed(const Site *site);
