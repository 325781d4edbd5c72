/* Run: one execution of a site or command on nodes, and its result on each of them.
 *
 * The targets are resolved when the run is created. A role whose rule for runs has a selector may
 * create, cancel and see runs whose targets all match it. */
#include "api/call.h"
#include "api/handlers.h"
#include "api/kind_rows.h"
#include "base/utc.h"
#include "base/vec.h"
#include "fleet/dispatch_target.h"
#include "fleet/run_change.h"
#include "fleet/runs.h"
#include "lang/duration.h"
#include "run/record.h"

enum {
    TIMEOUT_MAX_MS = 24 * 3600 * 1000,
    DENIED_SHOWN = 5,            /* maximum number of names in a message */
    MANIFEST_READ_MAX = 1 << 20, /* bytes */
};

/* --- Objects --------------------------------------------------------------------------------- */

static Value text_list(Arena *arena, const Str *items, uint32_t count)
{
    List *list = list_new(arena, count);
    for (uint32_t i = 0; i < count; i++) {
        list_push(arena, list, value_string(arena_copy(arena, items[i])));
    }
    return value_list(list);
}

static void set_list(Arena *arena, Map *map, const char *name, const Str *items, uint32_t count)
{
    if (count > 0) {
        map_set_str(arena, map, str_from_c(name), text_list(arena, items, count));
    }
}

static void set_text(Arena *arena, Map *map, const char *name, Str text)
{
    if (text.len > 0) {
        object_set_text(arena, map, name, text);
    }
}

/* Only nodes know which variables the site marks as secret. */
static void set_defines(Arena *arena, Map *map, const FleetRun *run)
{
    Str *shown = ARENA_ARRAY(arena, Str, run->define_count);
    for (uint32_t i = 0; i < run->define_count; i++) {
        size_t sign = str_find(run->defines[i], STR("="), 0);
        shown[i] =
            arena_join(arena, str_slice(run->defines[i], 0, sign), STR("=(hidden)"), STR_EMPTY);
    }
    set_list(arena, map, "defines", shown, run->define_count);
}

static Value run_spec(Arena *arena, const FleetRun *run)
{
    Map *spec = map_new(arena, 12);
    set_text(arena, spec, "selector", run->selector);
    set_text(arena, spec, "version", str_from_c(run->version));
    set_list(arena, spec, "jobs", run->jobs, run->job_count);
    set_list(arena, spec, "command", run->command, run->command_count);
    set_defines(arena, spec, run);
    set_text(arena, spec, "order", run->mode);
    set_text(arena, spec, "retry_of", str_from_c(run->retry_of));
    set_text(arena, spec, "reason", run->reason);
    if (run->kind == RUN_KIND_PLAN) {
        map_set_str(arena, spec, STR("check"), value_bool(true));
    }
    if (run->timeout_ms > 0) {
        Buf timeout = buf_make_in(arena, BUF_UNLIMITED);
        duration_put(&timeout, run->timeout_ms);
        set_text(arena, spec, "timeout", buf_str(&timeout));
    }
    return value_map(spec);
}

/* Targets without a result. Silent ones may have accepted or started their order; once the run has
 * ended, all of them are silent. */
typedef struct Unfinished {
    uint32_t pending, silent, canceled;
    uint32_t waiting, running; /* not silent */
} Unfinished;

bool run_target_is_silent(const ApiSettings *settings, const RunEntry *run, uint32_t target)
{
    const RosterNode *node =
        roster_find(settings->cluster_store.roster, run->record.targets[target]);
    int64_t now_ms = loop_wall_ms(settings->cluster_store.loop);
    DispatchTarget now = dispatch_target(run, target, node, now_ms);
    return run->record.state == RUN_ENDED ||
           (now.has_result ? dispatch_is_silent(&now) : now.silent_ms >= 0);
}

static Unfinished count_unfinished(const ApiSettings *settings, const RunEntry *run)
{
    Unfinished counts = { 0 };
    uint32_t left = run->unreported + run->counts[NODE_WAITING] + run->counts[NODE_RUNNING];
    if (run->record.state == RUN_ENDED) {
        *(run->record.is_canceled ? &counts.canceled : &counts.silent) = left;
        return counts;
    }
    for (uint32_t i = 0; i < run->record.target_count && left > 0; i++) {
        const RunTarget *target = &run->targets[i];
        if (target->has_result && node_outcome_is_final(target->outcome)) {
            continue;
        }
        left--;
        uint32_t *count = run_target_is_silent(settings, run, i) ? &counts.silent
                          : !target->has_result                  ? &counts.pending
                          : target->outcome == NODE_WAITING      ? &counts.waiting
                                                                 : &counts.running;
        ++*count;
    }
    return counts;
}

/* The worst outcome of all targets; "running" while the run is in progress. */
static const char *run_outcome(const RunEntry *run, const Unfinished *unfinished)
{
    if (run->record.state != RUN_ENDED) {
        return "running";
    }
    return run->counts[NODE_FAILED] > 0     ? "failed"
           : run->record.is_canceled        ? "canceled"
           : unfinished->silent > 0         ? "silent"
           : run->counts[NODE_CANCELED] > 0 ? "canceled"
           : run->counts[NODE_CHANGED] > 0  ? "changed"
           : run->counts[NODE_OK] > 0       ? "ok"
                                            : "skipped";
}

static Value run_counts(Arena *arena, const RunEntry *run, const Unfinished *unfinished)
{
    Map *counts = map_new(arena, 9);
    map_set_str(arena, counts, STR("pending"), value_int(unfinished->pending));
    for (uint32_t i = 0; i < NODE_OUTCOME_COUNT; i++) {
        Str name = str_from_c(node_outcome_name((NodeOutcome)i));
        uint32_t count = i == NODE_WAITING    ? unfinished->waiting
                         : i == NODE_RUNNING  ? unfinished->running
                         : i == NODE_CANCELED ? run->counts[i] + unfinished->canceled
                                              : run->counts[i];
        map_set_str(arena, counts, name, value_int(count));
    }
    map_set_str(arena, counts, STR("silent"), value_int(unfinished->silent));
    return value_map(counts);
}

static KindItem run_item(const Kind *kind, const ApiSettings *settings, Arena *arena,
                         const RunEntry *run)
{
    const FleetRun *record = &run->record;
    Unfinished unfinished = count_unfinished(settings, run);
    Map *status = map_new(arena, 12);
    KindItem item = { .name = arena_copy(arena, run->id),
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = run->revision,
                      .created_ms = record->created_ms,
                      .nodes = record->targets,
                      .node_count = record->target_count,
                      .spec = value_missing(),
                      .status = value_map(status) };
    object_uuid(kind, item.name, item.uuid);
    if (run->error.len > 0) {
        item.error = arena_copy(arena, run->error);
        return item;
    }
    item.spec = run_spec(arena, record);
    object_set_text(arena, status, "kind", str_from_c(run_kind_name(record->kind)));
    object_set_text(arena, status, "state", str_from_c(fleet_run_state_name(record->state)));
    object_set_text(arena, status, "outcome", str_from_c(run_outcome(run, &unfinished)));
    object_set_text(arena, status, "by", record->requested_by);
    object_set_text(arena, status, "cause", str_from_c(run_cause_name(record->cause)));
    object_set_text(arena, status, "created", utc_text(arena, record->created_ms));
    if (record->ended_ms > 0) {
        object_set_text(arena, status, "ended", utc_text(arena, record->ended_ms));
    }
    map_set_str(arena, status, STR("canceled"), value_bool(record->is_canceled));
    map_set_str(arena, status, STR("targets"), value_int(record->target_count));
    map_set_str(arena, status, STR("counts"), run_counts(arena, run, &unfinished));
    return item;
}

static bool check_runs_supported(const ApiSettings *settings, Error *err)
{
    return settings->runs != NULL ||
           error_set(err, ERROR_UNAVAILABLE, "this server does not support runs");
}

static bool list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    if (!check_runs_supported(settings, err)) {
        return false;
    }
    uint32_t from = page->after.len > 0 ? fleet_runs_after(settings->runs, page->after) : 0;
    uint32_t count = fleet_runs_count(settings->runs) - from;
    count = count < page->limit ? count : page->limit;
    KindItem *items = ARENA_ARRAY(arena, KindItem, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = run_item(kind, settings, arena, fleet_runs_at(settings->runs, from + i));
    }
    *out =
        (KindItems){ .items = items,
                     .count = count,
                     .next = from + count < fleet_runs_count(settings->runs) ? items[count - 1].name
                                                                             : STR_EMPTY,
                     .revision = state_age(settings->cluster_store.state).revision };
    return true;
}

static bool get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    const RunEntry *run;
    if (!check_runs_supported(settings, err) ||
        !fleet_runs_resolve(settings->runs, name, &run, err)) {
        return false;
    }
    *out = run_item(kind, settings, arena, run);
    return true;
}

/* --- Creating -------------------------------------------------------------------------------- */

typedef struct RunDraft {
    ApiCall *call;
    FleetRun run;
    Value spec;
    uint32_t limit;          /* 0: all */
    const RunEntry *earlier; /* the run to repeat; NULL: none */
    bool repeats;            /* what it did, with its variables */
    VEC(Str) targets;
    VEC(Str) denied; /* targets that the caller's roles do not cover */
} RunDraft;

static void read_list(Arena *arena, Value spec, const char *name, Str **out, uint32_t *count)
{
    const Value *value = value_get(spec, str_from_c(name));
    *count = value != NULL && value->kind == VALUE_LIST ? value->list->len : 0;
    *out = ARENA_ARRAY(arena, Str, *count + 1);
    for (uint32_t i = 0; i < *count; i++) {
        (*out)[i] = value_str(value->list->items[i]);
    }
}

static void read_spec(RunDraft *draft)
{
    ApiCall *call = draft->call;
    FleetRun *run = &draft->run;
    Value spec = draft->spec;
    const Value *check = value_get(spec, STR("check")), *limit = value_get(spec, STR("limit"));
    int64_t now_ms = loop_wall_ms(call_store(call)->loop);
    Str id = run_id_format(&call->arena, now_ms, loop_random(call_store(call)->loop));
    *run = (FleetRun){ .cause = RUN_BY_CALLER,
                       .requested_by = str_from_c(call->caller.principal.who),
                       .reason = value_get_text(spec, "reason"),
                       .selector = value_get_text(spec, "selector"),
                       .mode = value_get_text(spec, "order"),
                       .created_ms = now_ms };
    memcpy(run->id, id.data, id.len);
    read_list(&call->arena, spec, "jobs", &run->jobs, &run->job_count);
    read_list(&call->arena, spec, "defines", &run->defines, &run->define_count);
    read_list(&call->arena, spec, "command", &run->command, &run->command_count);
    run->kind = run->command_count > 0                                         ? RUN_KIND_EXEC
                : check != NULL && check->kind == VALUE_BOOL && check->boolean ? RUN_KIND_PLAN
                                                                               : RUN_KIND_APPLY;
    (void)duration_parse(value_get_text(spec, "timeout"), &run->timeout_ms);
    draft->limit = limit != NULL ? (uint32_t)limit->integer : 0;
}

/* Whether the caller's roles allow the run on this node. */
static bool may_target(const ApiCall *call, const RosterNode *node)
{
    return node->error.len == 0
               ? call_may_access(call, str_from_c(node->record.name), node->record.labels)
               : !call->is_limited;
}

/* Whether the caller may know that the node exists, and what its labels are. */
static bool may_see_node(const ApiCall *call, const RosterNode *node)
{
    const Credentials *credentials = call_settings(call)->credentials;
    AccessDecision decision;
    if (credentials == NULL) {
        return true;
    }
    credentials_decide(credentials, &call->caller.principal, STR("get"), STR("Node"), &decision);
    return node->error.len == 0 &&
           access_decision_allows(&decision, str_from_c(node->record.name),
                                  node->record.labels.kind == VALUE_MAP ? node->record.labels.map
                                                                        : NULL);
}

/* Nodes that the caller may not see do not exist for the caller; otherwise selectors would reveal
 * their names and labels. */
static void add_target(RunDraft *draft, const RosterNode *node)
{
    Arena *arena = &draft->call->arena;
    Str name = arena_copy(arena, str_from_c(node->record.name));
    if (may_target(draft->call, node)) {
        VEC_PUSH(arena, &draft->targets, name);
    } else if (may_see_node(draft->call, node)) {
        VEC_PUSH(arena, &draft->denied, name);
    }
}

static bool may_see_run(const ApiCall *call, const RunEntry *run)
{
    KindItem item = { .nodes = run->record.targets, .node_count = run->record.target_count };
    return call_may_see(call, &item);
}

/* Whether this node has not succeeded in an earlier run. */
static bool was_unsuccessful(const RunTarget *target)
{
    return !target->has_result || target->outcome == NODE_FAILED ||
           target->outcome == NODE_CANCELED || !node_outcome_is_final(target->outcome);
}

/* Whether a retry of this run, if any, includes the node. */
static bool is_retried(const RunDraft *draft, Str node)
{
    const RunEntry *earlier = draft->earlier;
    bool all = str_eq_c(value_get_text(draft->spec, "retry"), "all");
    uint32_t index;
    return earlier == NULL || (run_entry_target(earlier, node, &index) &&
                               (all || was_unsuccessful(&earlier->targets[index])));
}

/* Whether the spec itself says what to do, rather than an earlier run. */
static bool has_own_work(Value spec)
{
    static const char *const fields[] = { "jobs", "command", "check", "order", "defines" };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (value_get(spec, str_from_c(fields[i])) != NULL) {
            return true;
        }
    }
    return false;
}

/* The run to repeat, and what it executed. Values of its variables, which the caller may not view,
 * are reused only with the version and command that they were given for. */
static bool find_earlier(RunDraft *draft, Error *err)
{
    FleetRun *run = &draft->run;
    Str retry_of = value_get_text(draft->spec, "retry_of");
    if (retry_of.len == 0) {
        return true;
    }
    if (!fleet_runs_resolve(call_settings(draft->call)->runs, retry_of, &draft->earlier, err)) {
        return false;
    }
    if (!may_see_run(draft->call, draft->earlier)) {
        return error_set(err, ERROR_NOT_FOUND, "run '%" STR_FMT "' not found", STR_ARG(retry_of));
    }
    const FleetRun *before = &draft->earlier->record;
    memcpy(run->retry_of, draft->earlier->id.data, draft->earlier->id.len);
    run->reason = run->reason.len > 0 ? run->reason : before->reason;
    run->timeout_ms = run->timeout_ms > 0 ? run->timeout_ms : before->timeout_ms;
    if (!has_own_work(draft->spec)) {
        run->kind = before->kind;
        memcpy(run->version, before->version, sizeof run->version);
        draft->repeats = true;
        run->jobs = before->jobs;
        run->job_count = before->job_count;
        run->mode = before->mode;
        run->defines = before->defines;
        run->define_count = before->define_count;
        run->command = before->command;
        run->command_count = before->command_count;
    }
    return true;
}

static bool find_targets(RunDraft *draft, Error *err)
{
    ApiCall *call = draft->call;
    const ApiSettings *settings = call_settings(call);
    AUTO(FactsSelector) *selector = NULL;
    const RunEntry *earlier = draft->earlier;
    Str text = draft->run.selector.len > 0 ? draft->run.selector : STR("*");
    if (!facts_selector_parse(text, &selector, err)) {
        return false;
    }
    const RosterNode *node;
    RosterRange range = roster_range(settings->cluster_store.roster, &call->arena, NULL, STR_EMPTY);
    while ((node = roster_next(&range)) != NULL) {
        Str name = str_from_c(node->record.name);
        if (is_retried(draft, name) &&
            facts_selector_matches(selector, name, node->record.labels, node->facts) &&
            (draft->limit == 0 || draft->targets.len < draft->limit)) {
            add_target(draft, node);
        }
    }
    draft->run.targets = draft->targets.items;
    draft->run.target_count = draft->targets.len;
    if (draft->denied.len > 0) {
        Buf names = buf_make_in(&call->arena, BUF_UNLIMITED);
        for (uint32_t i = 0; i < draft->denied.len && i < DENIED_SHOWN; i++) {
            buf_put_format(&names, "%s%" STR_FMT, i > 0 ? ", " : "",
                           STR_ARG(draft->denied.items[i]));
        }
        return error_set(err, ERROR_DENIED,
                         "your roles do not allow this on %u of the selected nodes: %" STR_FMT
                         "%s; restrict the selector",
                         draft->denied.len, STR_ARG(buf_str(&names)),
                         draft->denied.len > DENIED_SHOWN ? ", ..." : "");
    }
    if (draft->targets.len == 0 && earlier != NULL) {
        return error_set(err, ERROR_NOT_FOUND,
                         "nothing to retry: run '%" STR_FMT "' has no such targets among the nodes",
                         STR_ARG(earlier->id));
    }
    return draft->targets.len > 0 ||
           error_set(err, ERROR_NOT_FOUND, "no node matches '%" STR_FMT "'", STR_ARG(text));
}

static void on_created(void *context, const Error *err)
{
    const RunDraft *draft = context;
    kind_create_done(draft->call, str_from_c(draft->run.id), err);
}

/* Even a plan executes macros and guards of the site, so every run executes commands of its author.
 * Therefore callers without the permission can use only the current version, which a caller with
 * that permission has made current. */
static bool may_use(const ApiCall *call, Str version, bool is_plan, Error *err)
{
    const ClusterStore *cluster_store = call_store(call);
    const Credentials *credentials = call_settings(call)->credentials;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    CurrentVersion current;
    AccessDecision decision;
    Str verb = is_plan ? STR("propose") : STR("activate");
    bool was_current =
        versions_current(&arena, cluster_store->state, cluster_store->prefix, &current) &&
        (str_eq_c(version, current.version) || str_eq_c(version, current.previous));
    if (was_current || credentials == NULL) {
        return true;
    }
    credentials_decide(credentials, &call->caller.principal, verb, STR("Version"), &decision);
    return access_decision_allows(&decision, version, NULL) ||
           error_set(err, ERROR_DENIED,
                     "version '%" STR_FMT "' is not the current one: to %s it requires a role that "
                     "allows '%" STR_FMT "' on Version",
                     STR_ARG(version), is_plan ? "plan" : "apply", STR_ARG(verb));
}

/* A version written by someone else could reveal values of variables that the caller may not view;
 * the current one is the responsibility of the caller who made it current. */
static bool may_have_variables(const RunDraft *draft, Str version, Error *err)
{
    const ClusterStore *cluster_store = call_store(draft->call);
    CurrentVersion current;
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    return !draft->repeats || draft->run.define_count == 0 ||
           str_eq_c(version, draft->earlier->record.version) ||
           (versions_current(&arena, cluster_store->state, cluster_store->prefix, &current) &&
            str_eq_c(version, current.version)) ||
           error_set(err, ERROR_CONFLICT,
                     "run '%" STR_FMT "' has variables, which can be used only with its own "
                     "version or the current one: create a new run",
                     STR_ARG(draft->earlier->id));
}

/* The version to apply: the one that the spec names, possibly by a prefix, or the current one. */
static bool find_version(RunDraft *draft, Error *err)
{
    ApiCall *call = draft->call;
    const ClusterStore *cluster_store = call_store(call);
    Str name = value_get_text(draft->spec, "version");
    CurrentVersion current;
    VersionEntry entry;
    if (name.len == 0) {
        /* the version of an earlier run */
        name = arena_copy(&call->arena, str_from_c(draft->run.version));
    }
    if (name.len == 0) {
        if (!versions_current(&call->arena, cluster_store->state, cluster_store->prefix,
                              &current)) {
            return error_set(
                err, ERROR_NOT_FOUND,
                "the cluster has no version of a site yet; 'eden push DIR' creates one");
        }
        name = arena_copy(&call->arena, str_from_c(current.version));
    }
    if (!versions_find(&call->arena, cluster_store->state, cluster_store->prefix, name, &entry,
                       err)) {
        return false;
    }
    if (entry.error.len > 0 || entry.version.state != VERSION_VALID) {
        return error_set(err, ERROR_CONFLICT,
                         "version '%" STR_FMT "' was rejected: 'eden versions show %" STR_FMT
                         "' shows its problems",
                         STR_ARG(entry.name), STR_ARG(entry.name));
    }
    if (!may_use(call, entry.name, draft->run.kind == RUN_KIND_PLAN, err) ||
        !may_have_variables(draft, entry.name, err)) {
        return false;
    }
    memcpy(draft->run.version, entry.name.data, entry.name.len);
    memcpy(draft->run.manifest, entry.version.manifest, sizeof entry.version.manifest);
    return true;
}

/* Nodes would reject a job that does not exist. It is reported before anything is started, unless
 * the site is too large to read here. */
static void on_manifest(void *context, Str text, const Error *err)
{
    RunDraft *draft = context;
    ApiCall *call = draft->call;
    Manifest manifest;
    Error why;
    if (!call_resume(call, NULL)) {
        return;
    }
    bool is_known = err == NULL && text.len <= MANIFEST_READ_MAX &&
                    manifest_read(&call->arena, text, &manifest, &why);
    uint32_t job;
    if (is_known && !fleet_run_check_jobs(&draft->run, &manifest, &job, &why)) {
        call_refuse_field(call, arena_format(&call->arena, "/spec/jobs/%u", job), why.text);
        return;
    }
    fleet_run_create(call_store(call), &draft->run, on_created, draft);
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *object)
{
    RunDraft *draft = ARENA_NEW(&call->arena, RunDraft);
    Error err;
    *draft = (RunDraft){ .call = call, .spec = object->spec };
    if (!check_runs_supported(call_settings(call), &err)) {
        call_fail(call, &err);
        return;
    }
    read_spec(draft);
    if (!find_earlier(draft, &err)) {
        call_fail(call, &err);
        return;
    }
    bool is_exec = strcmp(call->verb, "exec") == 0;
    if (is_exec != (draft->run.kind == RUN_KIND_EXEC)) {
        call_refuse_field(call, STR("/spec/command"),
                          is_exec ? "a command is required"
                                  : "commands are executed by POST /v1/exec, which requires the "
                                    "permission 'exec'");
        return;
    }
    if ((!is_exec && !find_version(draft, &err)) || !find_targets(draft, &err) ||
        !fleet_runs_allow(call_settings(call)->runs, &draft->run, &err)) {
        call_fail(call, &err);
        return;
    }
    Versions *versions = call_settings(call)->versions;
    if (draft->run.job_count > 0 && versions != NULL) {
        versions_get(versions, caller_hash(&call->caller), str_from_c(draft->run.manifest),
                     on_manifest, draft);
    } else {
        fleet_run_create(call_store(call), &draft->run, on_created, draft);
    }
}

static void check(Arena *arena, const KindDraft *draft, FieldProblems *problems)
{
    Error err;
    Str selector = value_get_text(draft->spec, "selector");
    AUTO(FactsSelector) *parsed = NULL;
    if (selector.len > 0 && !field_has_problem(problems, STR("/spec/selector")) &&
        !facts_selector_parse(selector, &parsed, &err)) {
        field_problem(arena, problems, STR("/spec/selector"), "%s", err.text);
    }
}

/* --- Actions --------------------------------------------------------------------------------- */

const RunEntry *run_of_call(ApiCall *call)
{
    const ApiSettings *settings = call_settings(call);
    const RunEntry *run = NULL;
    Error err;
    if (!check_runs_supported(settings, &err) ||
        !fleet_runs_resolve(settings->runs, call->part, &run, &err)) {
        call_fail(call, &err);
        return NULL;
    }
    if (!may_see_run(call, run)) {
        call_refuse_hidden(call);
        return NULL;
    }
    return run;
}

static void on_canceled(void *context, const Error *err)
{
    ApiCall *call = context;
    if (call_resume(call, err)) {
        kind_changed(call, call->part, false);
    }
}

void run_cancel(ApiCall *call)
{
    const RunEntry *run = run_of_call(call);
    if (run != NULL) {
        bool now = str_eq_c(call_parameter(call, "now"), "true");
        fleet_run_cancel(call_store(call), run->id, now, on_canceled, call);
    }
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    return which == 0 ? key_make_prefix(arena, prefix, KEY_RUN, NULL, 0) : STR_EMPTY;
}

static bool key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    Error err;
    if (!key_parse(arena, prefix, key, &found, parts) ||
        (found != KEY_RUN && found != KEY_RUN_NODE)) {
        return false;
    }
    *name = parts[0];
    return run_id_check(*name, &err);
}

/* --- Row ------------------------------------------------------------------------------------- */

static const RecordField spec[] = {
    { .name = "selector",
      .max = ACCESS_SELECTOR_MAX,
      .column = { "SELECTOR", "*" },
      .help = "nodes by name, label or fact; default: all" },
    { .name = "version",
      .max = VERSION_NAME_MAX,
      .column = { "VERSION" },
      .help = "version of the site; default: the current one" },
    { .name = "jobs",
      .shape = RECORD_LIST,
      .min = 1,
      .max = 255,
      .help = "only these jobs; default: the base jobs of each node" },
    { .name = "command",
      .shape = RECORD_LIST,
      .max = 4096,
      .help = "program and arguments to execute instead of a site" },
    { .name = "check", .type = RECORD_BOOL, .help = "only plan: change nothing" },
    { .name = "order",
      .type = RECORD_CHOICE,
      .choices = "ansible|justdoit|genius",
      .help = "order of the steps" },
    { .name = "defines",
      .shape = RECORD_LIST,
      .min = 1,
      .max = 4096,
      .help = "variables, as KEY=VALUE or KEY:=JSON; values are never shown" },
    { .name = "limit",
      .type = RECORD_INT,
      .min = 1,
      .max = FLEET_TARGETS_MAX,
      .help = "at most this many of the selected nodes" },
    { .name = "timeout",
      .type = RECORD_DURATION,
      .min = 1000,
      .max = TIMEOUT_MAX_MS,
      .help = "time limit of the run on each node" },
    { .name = "retry_of",
      .max = RUN_ID_MAX,
      .help = "only targets of this run, which is repeated, with its own version or a different "
              "one, unless jobs, command, check, order or defines are set" },
    { .name = "retry",
      .type = RECORD_CHOICE,
      .choices = "failed|all",
      .help = "which targets of 'retry_of'; failed, the default: those that failed, were "
              "canceled or did not respond" },
    { .name = "reason",
      .max = FLEET_REASON_MAX,
      .is_plain = true,
      .column = { "REASON", .is_wide = true },
      .help = "why" },
    { 0 },
};

static const RecordField counts[] = {
    { .name = "pending",
      .type = RECORD_INT,
      .help = "targets that have not accepted their order yet" },
    { .name = "waiting",
      .type = RECORD_INT,
      .help = "targets that have accepted it but not started" },
    { .name = "running", .type = RECORD_INT, .help = "targets in progress" },
    { .name = "ok", .type = RECORD_INT, .help = "targets that were already correct" },
    { .name = "changed", .type = RECORD_INT, .help = "targets with changes" },
    { .name = "failed", .type = RECORD_INT, .help = "targets with a failed step" },
    { .name = "skipped", .type = RECORD_INT, .help = "targets with nothing to do" },
    { .name = "canceled", .type = RECORD_INT, .help = "targets on which the run was canceled" },
    { .name = "silent",
      .type = RECORD_INT,
      .help = "targets without a session, or that did not respond" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "kind",
      .type = RECORD_CHOICE,
      .choices = "apply|plan|exec",
      .column = { "KIND" },
      .help = "what the targets execute" },
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "pending|running|ended|unreadable",
      .help = "pending: orders are being written" },
    { .name = "outcome",
      .type = RECORD_CHOICE,
      .choices = "running|ok|changed|failed|skipped|canceled|silent",
      .column = { "OUTCOME" },
      .help = "the worst outcome of its targets" },
    { .name = "targets", .type = RECORD_INT, .column = { "TARGETS" }, .help = "number of nodes" },
    { .name = "counts", .type = RECORD_OBJECT, .fields = counts, .help = "targets by outcome" },
    { .name = "by", .column = { "BY", .is_wide = true }, .help = "who requested it" },
    { .name = "cause",
      .type = RECORD_CHOICE,
      .choices = "caller|version",
      .help = "caller: a request; version: a version of the site became current" },
    { .name = "created",
      .type = RECORD_TIME,
      .column = { "CREATED" },
      .help = "when it was created" },
    { .name = "ended",
      .type = RECORD_TIME,
      .column = { "ENDED", .is_wide = true },
      .help = "when it ended" },
    { .name = "canceled", .type = RECORD_BOOL, .help = "whether it was canceled" },
    { .name = "error", .help = "why its record cannot be read" },
    { 0 },
};

const Kind kind_run = {
    .name = "Run",
    .plural = "runs",
    .help = "A run across nodes: its targets and their results.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE,
    .spec = spec,
    .status = status,
    .name_help = "ID of the run",
    .is_about_nodes = true,
    .check = check,
    .list = list,
    .get = get,
    .create = create,
    .watch_prefix = watch_prefix,
    .key_to_name = key_to_name,
};
