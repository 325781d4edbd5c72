#include "model/step_index.h"

#include "base/glob.h"
#include "base/hash.h"
#include "base/str_map.h"
#include "base/suggest.h"

enum {
    NONE = UINT32_MAX
};

/* Steps with one key, as a linked list in `hits`. */
typedef struct IndexEntry {
    const Job *job; /* NULL: all jobs */
    Str text;       /* name or ID */
    uint32_t hash;
    uint32_t first, last; /* indices in `hits` */
} IndexEntry;

typedef struct IndexHit {
    uint32_t step;
    uint32_t next; /* NONE: the last one */
    bool by_name;
} IndexHit;

typedef struct JobSteps {
    Str name;
    StepVec steps;
} JobSteps;

struct StepIndex {
    const Steps *steps;
    uint32_t *slots; /* index in `entries` + 1; 0: free */
    uint32_t mask;
    VEC(IndexEntry) entries;
    VEC(IndexHit) hits;
    StepVec all;
    StrMap jobs; /* name to JobSteps, including groups of jobs */
    /* Cached results of globs, as StepVec. Many steps may use the same glob, and scanning all steps
     * for each would be quadratic. */
    StrMap *globs;
    VEC(const Module *) modules;
};

static uint32_t key_hash(const Job *job, Str text)
{
    return (uint32_t)hash_u64(hash_str(text) + (uint64_t)(uintptr_t)job);
}

/* The slot of the key, or the free one to insert it. */
static uint32_t *slot_find(const StepIndex *index, const Job *job, Str text, uint32_t hash)
{
    for (uint32_t pos = hash;; pos++) {
        uint32_t *slot = &index->slots[pos & index->mask];
        if (*slot == 0) {
            return slot;
        }
        const IndexEntry *entry = &index->entries.items[*slot - 1];
        if (entry->hash == hash && entry->job == job && str_eq(entry->text, text)) {
            return slot;
        }
    }
}

static const IndexEntry *entry_find(const StepIndex *index, const Job *job, Str text)
{
    uint32_t slot = *slot_find(index, job, text, key_hash(job, text));
    return slot == 0 ? NULL : &index->entries.items[slot - 1];
}

static void add_key(StepIndex *index, Arena *arena, const Job *job, Str text, uint32_t step,
                    bool by_name)
{
    uint32_t hash = key_hash(job, text);
    uint32_t *slot = slot_find(index, job, text, hash);
    if (*slot == 0) {
        VEC_PUSH(
            arena, &index->entries,
            (IndexEntry){ .job = job, .text = text, .hash = hash, .first = NONE, .last = NONE });
        *slot = index->entries.len;
    }
    IndexEntry *entry = &index->entries.items[*slot - 1];
    if (entry->last != NONE && index->hits.items[entry->last].step == step) {
        return; /* its name is its ID, or it lists a package twice */
    }
    uint32_t hit = index->hits.len;
    VEC_PUSH(arena, &index->hits, (IndexHit){ .step = step, .next = NONE, .by_name = by_name });
    if (entry->first == NONE) {
        entry->first = hit;
    } else {
        index->hits.items[entry->last].next = hit;
    }
    entry->last = hit;
}

/* Under its own job and globally. */
static void add_text(StepIndex *index, Arena *arena, const Step *step, Str text, bool by_name)
{
    add_key(index, arena, step->spec->job, text, step->index, by_name);
    add_key(index, arena, NULL, text, step->index, by_name);
}

static void add_module(StepIndex *index, Arena *arena, const Module *module)
{
    for (uint32_t i = 0; i < index->modules.len; i++) {
        if (index->modules.items[i] == module) {
            return;
        }
    }
    VEC_PUSH(arena, &index->modules, module);
}

static JobSteps *job_steps(StepIndex *index, Arena *arena, Str name)
{
    JobSteps *job = str_map_find(&index->jobs, name);
    if (job == NULL) {
        job = ARENA_NEW(arena, JobSteps);
        job->name = name;
        str_map_put(&index->jobs, name, job);
    }
    return job;
}

static void add_jobs(StepIndex *index, Arena *arena)
{
    const Steps *steps = index->steps;
    str_map_init(&index->jobs, arena);
    for (uint32_t i = 0; i < steps->job_count; i++) {
        job_steps(index, arena, steps->jobs[i]->name);
    }
    JobSteps *last = NULL;
    for (uint32_t i = 0; i < steps->count; i++) {
        Str name = steps->items[i].spec->job->name;
        if (last == NULL || !str_eq(last->name, name)) {
            last = job_steps(index, arena, name);
        }
        VEC_PUSH(arena, &last->steps, i);
        VEC_PUSH(arena, &index->all, i);
    }
    for (uint32_t i = 0; i < steps->group_count; i++) {
        const JobGroup *group = &steps->groups[i];
        JobSteps *all = job_steps(index, arena, group->name);
        for (uint32_t j = 0; j < group->job_count; j++) {
            const JobSteps *part = job_steps(index, arena, group->jobs[j]->name);
            for (uint32_t k = 0; part != all && k < part->steps.len; k++) {
                VEC_PUSH(arena, &all->steps, part->steps.items[k]);
            }
        }
    }
}

StepIndex *step_index_new(Arena *arena, const Steps *steps)
{
    StepIndex *index = ARENA_NEW(arena, StepIndex);
    index->steps = steps;
    index->globs = ARENA_NEW(arena, StrMap);
    str_map_init(index->globs, arena);
    size_t keys = 0;
    for (uint32_t i = 0; i < steps->count; i++) {
        keys += 2 + 2 * (size_t)steps->items[i].spec->has_for_each +
                2 * (size_t)steps->items[i].id_count;
    }
    uint32_t slots = 64;
    while (slots < keys + keys / 2) {
        slots *= 2;
    }
    index->slots = arena_alloc_zero(arena, slots * sizeof *index->slots);
    index->mask = slots - 1;
    VEC_RESERVE(arena, &index->entries, keys);
    VEC_RESERVE(arena, &index->hits, keys);

    const Module *last = NULL;
    for (uint32_t i = 0; i < steps->count; i++) {
        const Step *step = &steps->items[i];
        add_text(index, arena, step, step->name, true);
        if (step->spec->has_for_each) {
            add_text(index, arena, step, step->spec->name, true);
        }
        for (uint32_t j = 0; j < step->id_count; j++) {
            add_text(index, arena, step, step->ids[j], false);
        }
        if (step->spec->module != last) {
            last = step->spec->module;
            add_module(index, arena, last);
        }
    }
    add_jobs(index, arena);
    return index;
}

/* Splits "file" or "file.managed" into module and optional action. */
static const Module *module_find(const StepIndex *index, Str name, Str *action)
{
    size_t dot = str_find(name, STR("."), 0);
    *action = dot == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(name, dot + 1);
    Str module = str_slice(name, 0, dot == STR_NOT_FOUND ? name.len : dot);
    for (uint32_t i = 0; i < index->modules.len; i++) {
        if (str_eq_c(module, index->modules.items[i]->name)) {
            return index->modules.items[i];
        }
    }
    return NULL;
}

typedef struct StepSearch {
    const StepIndex *index;
    Arena *arena;
    const Step *referrer;
    const Module *module; /* NULL: any, by name only */
    Str action;           /* empty: any */
    Str pattern;
    StepVec *found;
    bool by_id; /* one of them was found by its ID */
} StepSearch;

static bool module_matches(const StepSearch *search, const Step *step)
{
    return search->module == NULL ||
           (step->spec->module == search->module &&
            (search->action.len == 0 || str_eq_c(search->action, step->spec->action->name)));
}

static void add_exact(StepSearch *search, const Job *job, Str text)
{
    const IndexEntry *entry = entry_find(search->index, job, text);
    for (uint32_t pos = entry == NULL ? NONE : entry->first; pos != NONE;) {
        const IndexHit *hit = &search->index->hits.items[pos];
        pos = hit->next;
        if ((hit->by_name || search->module != NULL) &&
            module_matches(search, &search->index->steps->items[hit->step])) {
            VEC_PUSH(search->arena, search->found, hit->step);
            search->by_id |= !hit->by_name;
        }
    }
}

static bool glob_matches(const StepSearch *search, const Step *step, Str pattern)
{
    if (glob_match(pattern, step->name) ||
        (step->spec->has_for_each && glob_match(pattern, step->spec->name))) {
        return true;
    }
    for (uint32_t i = 0; search->module != NULL && i < step->id_count; i++) {
        if (glob_match(pattern, step->ids[i])) {
            return true;
        }
    }
    return false;
}

/* All matches, regardless of the step that refers to them. */
static const StepVec *match_glob(const StepSearch *search, const StepVec *candidates, Str pattern)
{
    StrMap *globs = search->index->globs;
    Str key = arena_format(search->arena, "%p %p %" STR_FMT " %" STR_FMT, (const void *)candidates,
                           (const void *)search->module, STR_ARG(search->action), STR_ARG(pattern));
    StepVec *cached = str_map_find(globs, key);
    if (cached != NULL) {
        return cached;
    }
    cached = ARENA_NEW(globs->arena, StepVec);
    for (uint32_t i = 0; i < candidates->len; i++) {
        const Step *step = &search->index->steps->items[candidates->items[i]];
        if (module_matches(search, step) && glob_matches(search, step, pattern)) {
            VEC_PUSH(globs->arena, cached, step->index);
        }
    }
    str_map_put(globs, arena_copy(globs->arena, key), cached);
    return cached;
}

static void add_glob_matches(StepSearch *search, const StepVec *candidates, Str pattern)
{
    const StepVec *matches = match_glob(search, candidates, pattern);
    for (uint32_t i = 0; i < matches->len; i++) {
        if (matches->items[i] != search->referrer->index) {
            VEC_PUSH(search->arena, search->found, matches->items[i]);
        }
    }
}

/* "job#name": only that job is searched. A name may contain '#' as well. */
static void add_qualified(StepSearch *search, bool glob)
{
    size_t pos = str_find(search->pattern, STR("#"), 0);
    for (; pos != STR_NOT_FOUND && search->found->len == 0;
         pos = str_find(search->pattern, STR("#"), pos + 1)) {
        const JobSteps *job =
            str_map_find(&search->index->jobs, str_slice(search->pattern, 0, pos));
        Str name = str_from_offset(search->pattern, pos + 1);
        if (job == NULL || job->steps.len == 0) {
            continue;
        }
        if (glob) {
            add_glob_matches(search, &job->steps, name);
        } else {
            add_exact(search, search->index->steps->items[job->steps.items[0]].spec->job, name);
        }
    }
}

static FindResult find_job(const StepIndex *index, uint32_t step, Str pattern, Arena *arena,
                           StepVec *found)
{
    bool any = false;
    bool glob = glob_is_pattern(pattern);
    const JobSteps *exact = glob ? NULL : str_map_find(&index->jobs, pattern);
    uint32_t pos = 0;
    for (StrMapEntry *entry; glob && (entry = str_map_next(&index->jobs, &pos)) != NULL;) {
        if (glob_match(pattern, entry->key)) {
            any = true;
            const JobSteps *job = entry->value;
            for (uint32_t i = 0; i < job->steps.len; i++) {
                if (job->steps.items[i] != step) {
                    VEC_PUSH(arena, found, job->steps.items[i]);
                }
            }
        }
    }
    for (uint32_t i = 0; exact != NULL && i < exact->steps.len; i++) {
        if (exact->steps.items[i] != step) {
            VEC_PUSH(arena, found, exact->steps.items[i]);
        }
    }
    return any || exact != NULL ? FIND_OK : FIND_NONE;
}

/* A step that refers to its own ID means the other steps with that ID. */
static void remove_self(StepSearch *search)
{
    StepVec *found = search->found;
    if (found->len < 2) {
        return;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < found->len; i++) {
        if (found->items[i] != search->referrer->index) {
            found->items[count++] = found->items[i];
        }
    }
    found->len = count;
}

static bool in_several_jobs(const StepSearch *search)
{
    const Step *steps = search->index->steps->items;
    for (uint32_t i = 1; i < search->found->len; i++) {
        if (steps[search->found->items[i]].spec->job != steps[search->found->items[0]].spec->job) {
            return true;
        }
    }
    return false;
}

FindResult step_index_find(const StepIndex *index, uint32_t step, const Reference *reference,
                           Arena *arena, StepVec *found)
{
    found->len = 0;
    if (reference->kind == REFERENCE_JOB) {
        return find_job(index, step, reference->pattern, arena, found);
    }
    StepSearch search = { .index = index,
                          .arena = arena,
                          .referrer = &index->steps->items[step],
                          .pattern = reference->pattern,
                          .found = found };
    if (reference->kind == REFERENCE_MODULE) {
        search.module = module_find(index, reference->module, &search.action);
        if (search.module == NULL) {
            return FIND_NONE;
        }
    }
    const Job *own = search.referrer->spec->job;
    bool glob = !reference->literal && glob_is_pattern(search.pattern);
    /* Literal names take precedence: a step may be called "install [web]". */
    add_exact(&search, own, search.pattern);
    if (found->len == 0 && glob) {
        add_glob_matches(&search, &((JobSteps *)str_map_find(&index->jobs, own->name))->steps,
                         search.pattern);
    }
    if (found->len > 0) {
        remove_self(&search);
        return FIND_OK;
    }
    add_exact(&search, NULL, search.pattern);
    if (found->len > 0) {
        /* An ID matches all steps that have it; a name that several jobs use is ambiguous. */
        return !search.by_id && in_several_jobs(&search) ? FIND_AMBIGUOUS : FIND_OK;
    }
    add_qualified(&search, glob);
    if (found->len == 0 && glob) {
        add_glob_matches(&search, &index->all, search.pattern);
    }
    return found->len > 0 ? FIND_OK : FIND_NONE;
}

/* Offers the names, or IDs, of the steps of `job` (NULL: all). */
static void suggest_steps(const StepIndex *index, const Job *job, const Module *module,
                          Suggest *suggest)
{
    for (uint32_t i = 0; i < index->steps->count && suggest->offers < SUGGEST_OFFERS_MAX; i++) {
        const Step *step = &index->steps->items[i];
        if ((job != NULL && step->spec->job != job) ||
            (module != NULL && step->spec->module != module)) {
            continue;
        }
        suggest_offer(suggest, step->spec->name);
        for (uint32_t j = 0; module != NULL && j < step->id_count; j++) {
            suggest_offer(suggest, step->ids[j]);
        }
    }
}

bool step_index_suggest(const StepIndex *index, uint32_t step, const Reference *reference, Str *out,
                        uint32_t *nearest_step)
{
    Suggest suggest = suggest_make(reference->pattern);
    *nearest_step = NONE;
    if (reference->kind == REFERENCE_JOB) {
        uint32_t pos = 0;
        for (StrMapEntry *entry; (entry = str_map_next(&index->jobs, &pos)) != NULL;) {
            suggest_offer(&suggest, entry->key);
        }
        return suggest_found(&suggest, out);
    }
    Str action;
    const Module *module =
        reference->kind == REFERENCE_MODULE ? module_find(index, reference->module, &action) : NULL;
    const Job *own = index->steps->items[step].spec->job;
    suggest_steps(index, own, module, &suggest);
    if (!suggest_found(&suggest, out)) {
        own = NULL;
        suggest_steps(index, NULL, module, &suggest);
    }
    if (!suggest_found(&suggest, out)) {
        return false;
    }
    const IndexEntry *entry = entry_find(index, own, *out);
    *nearest_step = entry == NULL ? NONE : index->hits.items[entry->first].step;
    return true;
}
