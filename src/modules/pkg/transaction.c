/* One transaction of the package manager for many steps.
 *
 * Steps that differ only in their packages form a batch (can_batch). A batch takes the lock,
 * completes interrupted operations, refreshes the index if a member needs it, chooses versions, and
 * runs one change for all members. The exit code does not show which members failed: the database
 * is read again, and a member whose packages are not as requested is unfinished. If several are
 * unfinished, those that the output does not blame are retried without the others; if it blames
 * none or all of them, each half is retried separately (retry_in_parts). An attempt could undo an
 * earlier one, so its items include what other members have already achieved. The reported changes
 * are the difference between the databases before and after. */
#include "modules/pkg/transaction.h"

#include "modules/pkg/index.h"
#include "sys/clock.h"

enum {
    /* after this many identical failures of single steps, look for a common cause */
    SAME_FAILURES = 2,
    OUTPUT_TAIL = 16 << 10 /* maximum size of the output that a failed step reports, in bytes */
};

/* One step of a transaction. */
typedef struct Member {
    MergedCall *merged;
    PackageStep *step;
    bool refresh_failed; /* continue, possibly with an outdated index */
} Member;

typedef struct Batch {
    Call call; /* call of the first member, with the timeout of all members */
    const PackageBackend *backend;
    PackageChange options; /* options that all members share */
    Member *members;
    uint32_t count;
    int64_t deadline_us; /* for acquiring the lock */
    PackageLock *lock;
    PackageDatabase *before, *current;
    Str repaired;
    bool repair_failed;
    Error last_failure;
    uint32_t same_failures;
} Batch;

/* --- Members --------------------------------------------------------------------------------- */

static void member_fail(Member *member, const Error *err)
{
    if (!member->merged->failed) {
        member->merged->failed = true;
        *member->merged->error = *err;
    }
}

static void fail_all(Batch *batch, const Error *err)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        member_fail(&batch->members[i], err);
    }
}

/* Returns the version that `latest` would install, for a resolved request. */
static Str candidate_of(const PackageStep *step, const PackageRequest *request)
{
    return step->latest ? request->target : STR_EMPTY;
}

static bool request_is_met(Batch *batch, const Member *member, const PackageRequest *request)
{
    return package_request_is_met(&batch->call, member->step, request, batch->current,
                                  candidate_of(member->step, request));
}

static bool member_is_met(Batch *batch, const Member *member)
{
    for (uint32_t i = 0; i < member->step->count; i++) {
        if (!request_is_met(batch, member, &member->step->requests[i])) {
            return false;
        }
    }
    return true;
}

static bool recheck(Batch *batch, Error *err)
{
    PackageDatabase *now;
    if (!database_get(&batch->call, batch->backend, &now, err)) {
        return false;
    }
    database_unref(batch->current);
    batch->current = now;
    return true;
}

/* --- Preparation ----------------------------------------------------------------------------- */

static bool needs_refresh(Batch *batch, const Member *member)
{
    return !member->merged->failed && !member->step->removes &&
           (member->step->latest || !member_is_met(batch, member)) &&
           package_step_refreshes(&batch->call, member->step);
}

/* Members with `refresh: true` fail if the refresh fails; the others continue with the existing
 * index. */
static void refresh_for_all(Batch *batch)
{
    bool wanted = false;
    for (uint32_t i = 0; i < batch->count; i++) {
        wanted = wanted || needs_refresh(batch, &batch->members[i]);
    }
    Error err;
    if (!wanted || packages_refresh(&batch->call, batch->backend, batch->deadline_us, &err)) {
        return;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        Member *member = &batch->members[i];
        if (member->step->refresh == REFRESH_ALWAYS && !member_is_met(batch, member)) {
            member_fail(member, &err);
        } else {
            member->refresh_failed = true;
            batch->last_failure = err;
        }
    }
}

typedef VEC(PackageOffer) Offers;

static void want_offer(Batch *batch, StrMap *wanted, Offers *offers, Str name)
{
    name = database_name(batch->current, name);
    if (str_map_put(wanted, name, NULL)) {
        VEC_PUSH(batch->call.arena, offers, (PackageOffer){ .name = name });
    }
}

/* Looks up all requested packages in one query. */
static bool find_offers(Batch *batch, StrMap *by_name, Error *err)
{
    Arena *arena = batch->call.arena;
    Offers offers = { 0 };
    bool latest = false;
    str_map_init(by_name, arena);
    for (uint32_t i = 0; i < batch->count; i++) {
        const Member *member = &batch->members[i];
        for (uint32_t k = 0; !member->merged->failed && k < member->step->count; k++) {
            const PackageRequest *request = &member->step->requests[k];
            if (member->step->latest || !request_is_met(batch, member, request)) {
                want_offer(batch, by_name, &offers, request->name);
            }
        }
        latest = latest || member->step->latest;
    }
    if (offers.len > 0 && !index_find(&batch->call, batch->backend, latest ? batch->current : NULL,
                                      offers.items, offers.len, err)) {
        return false;
    }
    for (uint32_t i = 0; i < offers.len; i++) {
        str_map_put(by_name, offers.items[i].name, &offers.items[i]);
    }
    return true;
}

static bool member_resolve(Batch *batch, Member *member, const StrMap *offers, Error *err)
{
    PackageStep *step = member->step;
    for (uint32_t i = 0; i < step->count; i++) {
        PackageRequest *request = &step->requests[i];
        const PackageOffer *offer =
            str_map_find(offers, database_name(batch->current, request->name));
        if (offer == NULL) {
            continue; /* already satisfied */
        }
        if ((step->latest &&
             !package_request_resolve(&batch->call, step, request, batch->current, offer, err)) ||
            (!request_is_met(batch, member, request) &&
             (!package_request_check(step, request, batch->current, false, err) ||
              !package_request_resolve(&batch->call, step, request, batch->current, offer, err)))) {
            return false;
        }
    }
    return true;
}

/* Excludes packages that are not available. Sets `*missing` if a newer index might contain them. */
static bool resolve_all(Batch *batch, bool last, bool *missing, Error *err)
{
    StrMap offers;
    *missing = false;
    if (!find_offers(batch, &offers, err)) {
        return false;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        Member *member = &batch->members[i];
        Error why;
        if (member->merged->failed || member_resolve(batch, member, &offers, &why)) {
            continue;
        }
        if (why.kind == ERROR_NOT_FOUND && !last && member->step->refresh != REFRESH_NEVER) {
            *missing = true;
            continue;
        }
        if (why.kind == ERROR_NOT_FOUND && member->refresh_failed) {
            error_wrap(&why, "%s", batch->last_failure.text);
        }
        member_fail(member, &why);
    }
    return true;
}

static bool possible_removals(Batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        Member *member = &batch->members[i];
        for (uint32_t k = 0; k < member->step->count; k++) {
            const PackageRequest *request = &member->step->requests[k];
            Error why;
            if (!request_is_met(batch, member, request) &&
                !package_request_check(member->step, request, batch->current, false, &why)) {
                member_fail(member, &why);
            }
        }
    }
    return true;
}

static bool resolve(Batch *batch, Error *err)
{
    bool missing;
    if (batch->options.operation == PACKAGES_REMOVE) {
        return possible_removals(batch);
    }
    bool fresh = index_is_fresh(&batch->call, batch->backend);
    if (!resolve_all(batch, fresh, &missing, err)) {
        return false;
    }
    if (!missing) {
        return true;
    }
    Error failure;
    if (!packages_refresh(&batch->call, batch->backend, batch->deadline_us, &failure)) {
        batch->last_failure = failure;
        for (uint32_t i = 0; i < batch->count; i++) {
            batch->members[i].refresh_failed = true;
        }
    }
    return resolve_all(batch, true, &missing, err);
}

static bool prepare(Batch *batch, Error *err)
{
    if (!packages_lock(&batch->call, batch->backend, batch->deadline_us, &batch->lock, err) ||
        !database_get(&batch->call, batch->backend, &batch->before, err) || !recheck(batch, err) ||
        !packages_repair(&batch->call, batch->backend, batch->lock, &batch->options,
                         &batch->current, &batch->repaired, err)) {
        return false;
    }
    refresh_for_all(batch);
    return resolve(batch, err);
}

/* --- The transaction ------------------------------------------------------------------------- */

typedef VEC(Member *) Members;

static Members unfinished_members(Batch *batch, const Members *of)
{
    Members unfinished = { 0 };
    for (uint32_t i = 0; i < of->len; i++) {
        if (!of->items[i]->merged->failed && !member_is_met(batch, of->items[i])) {
            VEC_PUSH(batch->call.arena, &unfinished, of->items[i]);
        }
    }
    return unfinished;
}

typedef VEC(PackageItem) Items;

static void add_item(Batch *batch, StrMap *known, Items *items, Str name, Str version)
{
    name = database_name(batch->current, name);
    if (str_map_put(known, name, NULL)) {
        VEC_PUSH(batch->call.arena, items, (PackageItem){ name, version });
    }
}

/* Lists the packages to change for these members, and those that were already changed for other
 * members and that this change might undo. */
static Items list_items(Batch *batch, const Members *members)
{
    Items items = { 0 };
    StrMap known;
    str_map_init(&known, batch->call.arena);
    for (uint32_t i = 0; i < members->len; i++) {
        const PackageStep *step = members->items[i]->step;
        for (uint32_t k = 0; k < step->count; k++) {
            if (!request_is_met(batch, members->items[i], &step->requests[k])) {
                add_item(batch, &known, &items, step->requests[k].name, step->requests[k].target);
            }
        }
    }
    bool keeps = batch->options.allow_removals && members->len < batch->count;
    for (uint32_t i = 0; keeps && i < batch->count; i++) {
        const Member *member = &batch->members[i];
        for (uint32_t k = 0; !member->merged->failed && k < member->step->count; k++) {
            const PackageRequest *request = &member->step->requests[k];
            if (request_is_met(batch, member, request) &&
                database_find(batch->current, request->name) != NULL) {
                add_item(batch, &known, &items, request->name, request->target);
            }
        }
    }
    return items;
}

static Str unmet_name(Batch *batch, const Member *member)
{
    for (uint32_t i = 0; i < member->step->count; i++) {
        if (!request_is_met(batch, member, &member->step->requests[i])) {
            return member->step->requests[i].name;
        }
    }
    return STR_EMPTY;
}

static void explain_failure(Batch *batch, Member *member, const ProcessResult *result, Error *err)
{
    Call *call = member->merged->call;
    Str name = unmet_name(batch, member);
    if (result->ending != PROCESS_EXITED) {
        process_failure(call->arena, result, batch->options.timeout_ms, err);
        error_wrap(err, "%s", batch->backend->name);
        return;
    }
    Str words;
    if (batch->backend->find_removals != NULL &&
        batch->backend->find_removals(call->arena, result->out, &words)) {
        error_set(err, ERROR_CONFLICT,
                  "'%" STR_FMT "' could not be installed: %" STR_FMT
                  " would be removed for it; set 'allow_removals: true' to allow that",
                  STR_ARG(name), STR_ARG(words));
        return;
    }
    batch->backend->blame(call->arena, result->out, name, &words);
    error_set(err, ERROR_OS, "'%" STR_FMT "' could not be %s: %" STR_FMT, STR_ARG(name),
              member->step->removes ? "removed" : "installed",
              STR_ARG(words.len > 0 ? words : STR("the package manager did not report a reason")));
}

static void fail_with_output(Batch *batch, Member *member, const ProcessResult *result)
{
    Error err;
    explain_failure(batch, member, result, &err);
    Outcome *outcome = member->merged->outcome;
    Str out = result->out;
    outcome->out =
        arena_copy(member->merged->call->arena,
                   str_from_offset(out, out.len > OUTPUT_TAIL ? out.len - OUTPUT_TAIL : 0));
    outcome->has_exit_code = result->ending == PROCESS_EXITED;
    outcome->exit_code = result->exit_code;
    member_fail(member, &err);
}

/* Compares the messages, ignoring the names: identical messages have a common cause. */
static bool is_same_failure(const Error *a, const Error *b)
{
    const char *x = strstr(a->text, " could not be "), *y = strstr(b->text, " could not be ");
    return strcmp(x != NULL ? x : a->text, y != NULL ? y : b->text) == 0;
}

static void note_failure(Batch *batch, const Error *err)
{
    bool same = batch->same_failures > 0 && is_same_failure(&batch->last_failure, err);
    batch->same_failures = same ? batch->same_failures + 1 : 1;
    batch->last_failure = *err;
}

/* Adds a warning to the step for each failed script that the package manager reports only as a
 * warning. */
static void note_warnings(Batch *batch, const Members *members, Str output)
{
    for (uint32_t i = 0; i < members->len && batch->backend->find_warning != NULL; i++) {
        const PackageStep *step = members->items[i]->step;
        MergedCall *merged = members->items[i]->merged;
        Str words;
        for (uint32_t k = 0; k < step->count; k++) {
            if (batch->backend->find_warning(merged->call->arena, output, step->requests[k].name,
                                             &words)) {
                merged->outcome->comment = arena_format(
                    merged->call->arena, "a script of '%" STR_FMT "' failed: %" STR_FMT,
                    STR_ARG(step->requests[k].name), STR_ARG(words));
            }
        }
    }
}

/* Runs the transaction for these members. Returns false if another attempt is pointless. */
static bool run_members(Batch *batch, const Members *members, ProcessResult *result)
{
    Items items = list_items(batch, members);
    Error err;
    PackageChange change = batch->options;
    change.items = items.items;
    change.count = items.len;
    bool ok =
        packages_change(&batch->call, batch->backend, &change, batch->deadline_us, result, &err);
    index_invalidate(&batch->call, batch->backend);
    if (!ok || !recheck(batch, &err)) {
        for (uint32_t i = 0; i < members->len; i++) {
            member_fail(members->items[i], &err);
        }
        return false;
    }
    note_warnings(batch, members, result->out);
    return true;
}

/* Returns true if the failure concerns this member. */
static bool is_suspect(Batch *batch, const Member *member, Str output)
{
    for (uint32_t i = 0; i < member->step->count; i++) {
        const PackageRequest *request = &member->step->requests[i];
        Str words;
        if (!request_is_met(batch, member, request) &&
            batch->backend->blame(batch->call.arena, output, request->name, &words)) {
            return true;
        }
    }
    return false;
}

static void try_members(Batch *batch, const Members *wanted);

/* Members that are not blamed are retried first, together. If none or all are blamed, bisects until
 * the failing member is found; usually it is one among many. */
static void retry_in_parts(Batch *batch, const Members *members, Str output)
{
    Members parts[2] = { 0 };
    for (uint32_t i = 0; i < members->len; i++) {
        bool suspect = is_suspect(batch, members->items[i], output);
        VEC_PUSH(batch->call.arena, &parts[suspect], members->items[i]);
    }
    if (parts[0].len == 0 || parts[1].len == 0) {
        parts[0].len = parts[1].len = 0;
        for (uint32_t i = 0; i < members->len; i++) {
            VEC_PUSH(batch->call.arena, &parts[i >= members->len / 2], members->items[i]);
        }
    }
    try_members(batch, &parts[0]);
    try_members(batch, &parts[1]);
}

/* Completes the installation of packages that a failed transaction left partially installed, since
 * they would block the next one. */
static void repair_after(Batch *batch)
{
    Str repaired;
    Error err; /* a failure of the repair is reported by the next attempt */
    PackageLock turn = { .repair_failed = batch->repair_failed };
    if (!packages_repair(&batch->call, batch->backend, &turn, &batch->options, &batch->current,
                         &repaired, &err)) {
        return;
    }
    batch->repair_failed = turn.repair_failed;
}

static void try_members(Batch *batch, const Members *wanted)
{
    Members members = unfinished_members(batch, wanted);
    ProcessResult result;
    if (members.len == 0) {
        return;
    }
    /* Some of the remaining members might succeed, but finding out which is not worth the time. */
    bool common = batch->same_failures >= SAME_FAILURES;
    if (!run_members(batch, &members, &result)) {
        return;
    }
    Members unfinished = unfinished_members(batch, &members);
    if (unfinished.len > 1 && !common && result.ending == PROCESS_EXITED &&
        !call_canceled(&batch->call)) {
        repair_after(batch);
        retry_in_parts(batch, &unfinished, result.out);
        return;
    }
    for (uint32_t i = 0; i < unfinished.len; i++) {
        fail_with_output(batch, unfinished.items[i], &result);
    }
    /* A conflict of one package does not affect the others. */
    if (unfinished.len == 1 && unfinished.items[0]->merged->error->kind != ERROR_CONFLICT) {
        note_failure(batch, unfinished.items[0]->merged->error);
    }
}

/* --- Results --------------------------------------------------------------------------------- */

static bool is_different(const Package *a, const Package *b)
{
    PackageCondition x = a == NULL ? PACKAGE_ABSENT : a->condition;
    PackageCondition y = b == NULL ? PACKAGE_ABSENT : b->condition;
    return x != y || (x != PACKAGE_ABSENT && !str_eq(a->version, b->version));
}

static void note_change(Call *call, Outcome *outcome, const PackageDatabase *before,
                        const PackageDatabase *now, Str name)
{
    const Package *old = database_find(before, name), *new = database_find(now, name);
    if (is_different(old, new)) {
        outcome->changed = true;
        outcome_change(call, outcome, arena_copy_c(call->arena, name),
                       package_current_state(call->arena, old),
                       package_current_state(call->arena, new));
    }
}

static void record_change_for(Batch *batch, Member *member, Str name)
{
    note_change(member->merged->call, member->merged->outcome, batch->before, batch->current, name);
}

static void list_changed(Arena *arena, const PackageDatabase *before, const PackageDatabase *now,
                         StrMap *changed)
{
    StrMapEntry *entry;
    str_map_init(changed, arena);
    for (uint32_t at = 0; (entry = str_map_next(&now->packages, &at)) != NULL;) {
        if (is_different(database_find(before, entry->key), entry->value)) {
            str_map_put(changed, entry->key, NULL);
        }
    }
    for (uint32_t at = 0; (entry = str_map_next(&before->packages, &at)) != NULL;) {
        if (database_find(now, entry->key) == NULL && is_different(entry->value, NULL)) {
            str_map_put(changed, entry->key, NULL);
        }
    }
}

void packages_note_changes(Call *call, Outcome *outcome, const PackageDatabase *before,
                           const PackageDatabase *now)
{
    StrMap changed;
    StrMapEntry *entry;
    list_changed(call->arena, before, now, &changed);
    for (uint32_t at = 0; (entry = str_map_next(&changed, &at)) != NULL;) {
        note_change(call, outcome, before, now, entry->key);
    }
}

/* Attributes a dependency to the step that requested the package. */
static void note_needs(Batch *batch, Member *member, StrMap *changed, Str name)
{
    Arena *arena = batch->call.arena;
    List *queue = list_new(arena, 8);
    list_push(arena, queue, value_string(name));
    for (uint32_t at = 0; at < queue->len; at++) {
        Str next = value_str(queue->items[at]);
        const Package *package = database_find_installed(batch->current, next);
        next = package == NULL ? next : package->name;
        if (at > 0 && !str_map_remove(changed, next)) {
            continue;
        }
        if (at > 0) {
            record_change_for(batch, member, next);
        }
        if (package != NULL) {
            batch->backend->list_needs(arena, package, queue);
        }
    }
}

static void note_all_changes(Batch *batch)
{
    StrMap changed;
    list_changed(batch->call.arena, batch->before, batch->current, &changed);
    Member *first = NULL;
    for (uint32_t i = 0; i < batch->count; i++) {
        Member *member = &batch->members[i];
        member->merged->outcome->changes = NULL;
        for (uint32_t k = 0; k < member->step->count; k++) {
            Str name = database_name(batch->current, member->step->requests[k].name);
            if (str_map_remove(&changed, name)) {
                record_change_for(batch, member, name);
            }
        }
        first = first == NULL && member->merged->outcome->changed ? member : first;
    }
    for (uint32_t i = 0; i < batch->count && batch->backend->list_needs != NULL; i++) {
        Member *member = &batch->members[i];
        for (uint32_t k = 0; !member->step->removes && k < member->step->count; k++) {
            Str name = database_name(batch->current, member->step->requests[k].name);
            if (member->merged->outcome->changed) {
                note_needs(batch, member, &changed, name);
            }
        }
    }
    first = first == NULL ? &batch->members[0] : first;
    StrMapEntry *entry;
    for (uint32_t at = 0; (entry = str_map_next(&changed, &at)) != NULL;) {
        record_change_for(batch, first, entry->key);
    }
}

/* Marks the packages that steps request as manually installed. */
static void mark_manual(Batch *batch)
{
    VEC(Str) names = { 0 };
    for (uint32_t i = 0; i < batch->count; i++) {
        Member *member = &batch->members[i];
        for (uint32_t k = 0; k < member->step->count; k++) {
            const Package *package = database_find(batch->current, member->step->requests[k].name);
            if (!member->merged->failed && package != NULL && package->automatic &&
                package->condition == PACKAGE_INSTALLED) {
                VEC_PUSH(batch->call.arena, &names, package->name);
                Outcome *outcome = member->merged->outcome;
                outcome->changed = true;
                outcome_change(member->merged->call, outcome,
                               arena_copy_c(member->merged->call->arena, package->name),
                               value_string(STR("automatic")), value_string(STR("wanted")));
            }
        }
    }
    Error err;
    if (names.len > 0 && batch->backend->mark_manual != NULL &&
        !batch->backend->mark_manual(&batch->call, names.items, names.len, &err)) {
        error_wrap(&err, "cannot mark packages as manually installed");
        fail_all(batch, &err);
    }
}

static void set_outcomes(Batch *batch)
{
    note_all_changes(batch);
    if (batch->options.operation == PACKAGES_INSTALL) {
        mark_manual(batch);
    }
    MergedCall *first = batch->members[0].merged;
    if (batch->repaired.len > 0) {
        package_note_repair(first->call, first->outcome, batch->backend, batch->repaired);
    } else if (batch->current->interrupted) {
        first->outcome->comment =
            arena_format(first->call->arena, "%" STR_FMT ", and repairing it failed",
                         STR_ARG(batch->current->interruption));
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        Member *member = &batch->members[i];
        Error err;
        if (!member->merged->failed && !member_is_met(batch, member)) {
            Str name = unmet_name(batch, member);
            error_set(&err, ERROR_CONFLICT,
                      "'%" STR_FMT "' was %s, but another step of this transaction reverted that",
                      STR_ARG(name), member->step->removes ? "removed" : "installed");
            member_fail(member, &err);
        }
        if (!member->merged->failed && member->refresh_failed) {
            member->merged->outcome->comment =
                arena_format(member->merged->call->arena, "using an outdated index: %s",
                             batch->last_failure.text);
        }
    }
}

static void run_batch(Batch *batch)
{
    Error err;
    if (prepare(batch, &err)) {
        Members all = { 0 };
        for (uint32_t i = 0; i < batch->count; i++) {
            VEC_PUSH(batch->call.arena, &all, &batch->members[i]);
        }
        try_members(batch, &all);
        set_outcomes(batch);
    } else {
        fail_all(batch, &err);
    }
    packages_unlock(&batch->call);
    database_unref(batch->before);
    database_unref(batch->current);
}

/* --- Batching -------------------------------------------------------------------------------- */

static bool can_batch(const PackageStep *a, const PackageStep *b)
{
    return a->backend == b->backend && a->removes == b->removes && a->purge == b->purge &&
           a->replace_conffiles == b->replace_conffiles &&
           a->allow_downgrade == b->allow_downgrade && a->allow_removals == b->allow_removals &&
           a->set_recommends == b->set_recommends && a->recommends == b->recommends;
}

static int64_t longer_timeout(int64_t a, int64_t b)
{
    return a <= 0 || b <= 0 ? 0 : a > b ? a : b;
}

/* Removes the first member and all that can be batched with it from `left`. */
static Batch take_batch(Member *left, uint32_t *count)
{
    const PackageStep *like = left[0].step;
    Batch batch = { .call = *left[0].merged->call, .backend = like->backend };
    batch.members = ARENA_ARRAY(batch.call.arena, Member, *count);
    int64_t lock_ms = 0;
    uint32_t rest = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (!can_batch(like, left[i].step)) {
            left[rest++] = left[i];
            continue;
        }
        batch.members[batch.count++] = left[i];
        lock_ms = left[i].step->lock_ms > lock_ms ? left[i].step->lock_ms : lock_ms;
        batch.call.timeout_ms =
            longer_timeout(batch.call.timeout_ms, left[i].merged->call->timeout_ms);
    }
    *count = rest;
    batch.options = package_step_change(like);
    batch.options.timeout_ms = batch.call.timeout_ms;
    batch.deadline_us = packages_deadline_us(&batch.call, lock_ms);
    return batch;
}

void packages_merge(MergedCall *calls, uint32_t count)
{
    Member *left = ARENA_ARRAY(calls[0].call->arena, Member, count);
    for (uint32_t i = 0; i < count; i++) {
        left[i] = (Member){ .merged = &calls[i], .step = calls[i].outcome->check_data };
    }
    while (count > 0) {
        Batch batch = take_batch(left, &count);
        run_batch(&batch);
    }
}

bool packages_apply(Call *call, Outcome *outcome, Error *err)
{
    MergedCall merged = { .call = call, .outcome = outcome, .error = err };
    packages_merge(&merged, 1);
    return !merged.failed;
}
