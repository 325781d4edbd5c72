/* Source: a git repository that contains the site or a directory of it. Stored as written; its
 * status is what the leader reports (source/git_source.h). */
#include <stdlib.h>

#include "api/bodies.h"
#include "api/call.h"
#include "api/handlers.h"
#include "api/kind_rows.h"
#include "api/kind_stored.h"
#include "api/source_request.h"
#include "base/json_out.h"
#include "base/memory.h"
#include "base/utc.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "source/git_proposal.h"
#include "source/git_secrets.h"
#include "source/site_parts.h"

/* --- Reading --------------------------------------------------------------------------------- */

static void set_known(Arena *arena, Map *map, const char *name, Str text)
{
    if (text.len > 0) {
        object_set_text(arena, map, name, text);
    }
}

static Str reason_of(const GitSourceStatus *status)
{
    return status->error.len > 0       ? status->error
           : status->rejection.len > 0 ? status->rejection
                                       : status->held;
}

/* Missing if there is none. */
static void set_proposal(const ApiSettings *settings, Arena *arena, Str name, Map *status)
{
    const ClusterStore *cluster_store = &settings->cluster_store;
    GitProposal proposal;
    int64_t revision =
        git_proposal_find(arena, cluster_store->state, cluster_store->prefix, name, &proposal);
    Map *map = map_new(arena, 8);
    if (revision == 0) {
        return;
    }
    object_set_text(arena, map, "state", str_from_c(git_proposal_state(&proposal)));
    set_known(arena, map, "commit", proposal.found.len > 0 ? proposal.found : proposal.commit);
    set_known(arena, map, "branch", proposal.branch);
    set_known(arena, map, "version", proposal.version);
    set_known(arena, map, "why", proposal.error.len > 0 ? proposal.error : proposal.rejection);
    object_set_text(arena, map, "time", utc_text(arena, proposal.time_ms));
    set_known(arena, map, "by", proposal.requested_by);
    map_set_str(arena, map, STR("request"),
                value_int(proposal.request > 0 ? proposal.request : revision));
    map_set_str(arena, status, STR("proposal"), value_map(map));
}

static KindItem with_status(const ApiSettings *settings, Arena *arena, const KindItem *item)
{
    KindItem out = *item;
    const ClusterStore *cluster_store = &settings->cluster_store;
    Map *map = map_new(arena, 16);
    GitSourceStatus status =
        git_source_status_find(arena, cluster_store->state, cluster_store->prefix, item->name);
    SiteParts parts = site_parts_find(arena, cluster_store->state, cluster_store->prefix);
    const SitePart *part = site_parts_get(&parts, item->name);
    GitSecrets secrets;
    git_secrets_find(arena, cluster_store->state, cluster_store->prefix, item->name, &secrets);
    if (item->error.len > 0) {
        return out;
    }
    GitSource source = { .url = value_get_text(item->spec, "url"),
                         .branch = value_get_text(item->spec, "branch") };
    set_known(arena, map, "branch", git_source_branch(&source, &status));
    object_set_text(arena, map, "state", str_from_c(git_source_status_name(&status)));
    if (status.since_ms > 0) {
        object_set_text(arena, map, "since", utc_text(arena, status.since_ms));
    }
    set_known(arena, map, "commit", status.commit);
    set_known(arena, map, "author", status.author);
    set_known(arena, map, "subject", status.subject);
    set_known(arena, map, "why", reason_of(&status));
    if (part != NULL) {
        object_set_text(arena, map, "used_commit", part->commit);
        object_set_text(arena, map, "version", parts.version);
    }
    map_set_str(arena, map, STR("handled"), value_int(status.handled));
    set_proposal(settings, arena, item->name, map);
    set_known(arena, map, "public_key", secrets.public_key);
    map_set_str(arena, map, STR("has_token"), value_bool(secrets.token.len > 0));
    map_set_str(arena, map, STR("has_webhook"), value_bool(secrets.webhook.len > 0));
    out.status = value_map(map);
    return out;
}

static bool list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    KindItems stored;
    if (!stored_list(kind, settings, arena, page, &stored, err)) {
        return false;
    }
    KindItem *items = ARENA_ARRAY(arena, KindItem, stored.count);
    for (uint32_t i = 0; i < stored.count; i++) {
        items[i] = with_status(settings, arena, &stored.items[i]);
    }
    *out = stored;
    out->items = items;
    return true;
}

static bool get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    KindItem stored;
    if (!stored_get(kind, settings, arena, name, &stored, err)) {
        return false;
    }
    *out = with_status(settings, arena, &stored);
    return true;
}

/* --- Changing -------------------------------------------------------------------------------- */

/* Two sources cannot have the same directory. Returns false after responding. */
static bool has_own_directory(ApiCall *call, const KindDraft *draft)
{
    const ClusterStore *cluster_store = call_store(call);
    GitSourceEntry *entries;
    uint32_t count =
        git_sources_list(&call->arena, cluster_store->state, cluster_store->prefix, &entries);
    Str directory = value_get_text(draft->spec, "directory");
    for (uint32_t i = 0; i < count; i++) {
        const GitSource *other = &entries[i].source;
        if (entries[i].error.len == 0 && !str_eq(other->name, draft->name) &&
            str_eq(other->directory, directory)) {
            Str text = arena_format(
                &call->arena, "source '%" STR_FMT "' already has %s%" STR_FMT, STR_ARG(other->name),
                directory.len == 0 ? "the entire site" : "the directory ", STR_ARG(directory));
            call_refuse(call, 409, text.data);
            return false;
        }
    }
    return true;
}

/* The spec as it is stored: without the token. */
static Value without_token(Arena *arena, Value spec)
{
    Map *map = map_new(arena, spec.map->len);
    for (uint32_t i = 0; i < spec.map->len; i++) {
        const MapEntry *entry = &spec.map->entries[i];
        if (!str_eq_c(value_str(entry->key), "token")) {
            map_set(arena, map, entry->key, entry->value);
        }
    }
    return value_map(map);
}

/* Adds the secrets that the source still needs: a key for SSH, and the token of the request. `out`
 * has no key if nothing changes. */
static bool change_secrets(ApiCall *call, const KindDraft *draft, const GitSource *source,
                           StoredExtra *out, Error *err)
{
    const ClusterStore *cluster_store = call_store(call);
    SourceVault *vault = call_settings(call)->vault;
    Arena *arena = &call->arena;
    GitUrl url;
    GitSecrets secrets = { 0 };
    bool has_token = value_get(draft->spec, STR("token")) != NULL;
    *out = (StoredExtra){ 0 };
    if (draft->present != NULL) {
        out->revision = git_secrets_find(arena, cluster_store->state, cluster_store->prefix,
                                         draft->name, &secrets);
    }
    bool needs_key = git_url_parse(source->url, &url, err) && url.transport == GIT_SSH &&
                     secrets.ssh_key.len == 0;
    if (!needs_key && !has_token) {
        return true;
    }
    if (vault == NULL) {
        return error_set(err, ERROR_UNAVAILABLE, "this server cannot store secrets");
    }
    if ((needs_key && !git_secrets_make_key(vault, arena, draft->name, &secrets, err)) ||
        (has_token && !git_secrets_set_token(vault, arena, draft->name, source->url, source->token,
                                             &secrets, err))) {
        return false;
    }
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    git_secrets_print(&secrets, &text);
    out->key = cluster_key_source_secrets(arena, cluster_store->prefix, draft->name);
    out->value = buf_str(&text);
    return true;
}

/* Returns false after responding. */
static bool prepare(ApiCall *call, const KindDraft *draft, KindDraft *stored, StoredExtra *also)
{
    GitSource source;
    Error err;
    if (!has_own_directory(call, draft)) {
        return false;
    }
    if (!git_source_read(&call->arena, draft->name, draft->spec, &source, &err) ||
        !change_secrets(call, draft, &source, also, &err)) {
        call_fail(call, &err);
        return false;
    }
    *stored = *draft;
    stored->spec = without_token(&call->arena, draft->spec);
    return true;
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    KindDraft stored;
    StoredExtra also;
    if (prepare(call, draft, &stored, &also)) {
        stored_create_with(kind, call, &stored, &also);
    }
}

static void update(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    KindDraft stored;
    StoredExtra also;
    if (prepare(call, draft, &stored, &also)) {
        stored_update_with(kind, call, &stored, &also);
    }
}

static void check(Arena *arena, const KindDraft *draft, FieldProblems *problems)
{
    GitSource source;
    const char *field;
    Error err;
    if (problems->count == 0 && git_source_read(arena, draft->name, draft->spec, &source, &err) &&
        !git_source_check(&source, &field, &err)) {
        field_problem(arena, problems, field_below(arena, STR("/spec"), str_from_c(field)), "%s",
                      err.text);
    }
}

/* --- Deleting and requests ------------------------------------------------------------------- */

/* A change to the records of one source; outlives the call if its peer disconnects. */
typedef struct SourceWrite {
    ApiCall *call;
    Arena arena;
    ClusterStore cluster_store;
    Str name, text;
    int64_t revision; /* of the object to delete */
    void (*requested)(ApiCall *call, int64_t revision, const Error *err);
} SourceWrite;

static SourceWrite *write_new(ApiCall *call, Str name)
{
    SourceWrite *write = memory_new(sizeof *write);
    arena_init(&write->arena, ARENA_UNLIMITED);
    write->call = call;
    write->cluster_store = *call_store(call);
    write->cluster_store.prefix = arena_copy(&write->arena, write->cluster_store.prefix);
    write->name = arena_copy(&write->arena, name);
    return write;
}

static void write_free(SourceWrite *write)
{
    arena_clear(&write->arena);
    free(write);
}

static void write_start(SourceWrite *write, bool (*decide)(void *, Change *, Error *),
                        void (*done)(void *, Change *, const Error *))
{
    Str key = cluster_key_source(&write->arena, write->cluster_store.prefix, write->name);
    Change *change;
    change_start(&(ChangeSpec){ .cluster_store = write->cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = decide,
                                .done = done,
                                .context = write },
                 &change);
}

static bool decide_remove(void *context, Change *change, Error *err)
{
    SourceWrite *write = context;
    Str prefix = write->cluster_store.prefix;
    if (change_revision(change, 0) != write->revision) {
        return error_set(err, ERROR_CONFLICT, "it was modified by another request; read it again");
    }
    change_delete(change, change_key(change, 0));
    change_delete(change, cluster_key_source_status(change_arena(change), prefix, write->name));
    change_delete(change, cluster_key_source_request(change_arena(change), prefix, write->name));
    change_delete(change, cluster_key_source_proposal(change_arena(change), prefix, write->name));
    change_delete(change, cluster_key_source_secrets(change_arena(change), prefix, write->name));
    return true;
}

static void removed(void *context, Change *change, const Error *err)
{
    SourceWrite *write = context;
    kind_remove_done(write->call, err);
    write_free(write);
}

static void remove_source(const Kind *kind, ApiCall *call, const KindItem *present)
{
    SourceWrite *write = write_new(call, present->name);
    write->revision = present->revision;
    write_start(write, decide_remove, removed);
}

static bool decide_request(void *context, Change *change, Error *err)
{
    SourceWrite *write = context;
    if (!change_has(change, 0)) {
        return error_set(err, ERROR_NOT_FOUND, "Source '%" STR_FMT "' not found",
                         STR_ARG(write->name));
    }
    change_put(
        change,
        cluster_key_source_request(change_arena(change), write->cluster_store.prefix, write->name),
        write->text, 0);
    return true;
}

static void request_written(void *context, Change *change, const Error *err)
{
    SourceWrite *write = context;
    write->requested(write->call, err == NULL ? change_written(change) : 0, err);
    write_free(write);
}

void source_request(ApiCall *call, Str name, Str by,
                    void (*done)(ApiCall *call, int64_t revision, const Error *err))
{
    SourceWrite *write = write_new(call, name);
    GitSourceRequest request = { .time_ms = loop_wall_ms(write->cluster_store.loop),
                                 .requested_by = by };
    Buf text = buf_make_in(&write->arena, BUF_UNLIMITED);
    git_source_request_print(&request, &text);
    write->text = buf_str(&text);
    write->requested = done;
    write_start(write, decide_request, request_written);
}

static void sync_requested(ApiCall *call, int64_t revision, const Error *err)
{
    if (!call_resume(call, err)) {
        return;
    }
    Buf json = buf_make_in(&call->arena, BUF_UNLIMITED);
    json_out_start(&json, "eden.source-sync/1");
    json_out_int(&json, "request", revision);
    json_out_close(&json, '}');
    call_respond(call, 202, &json);
}

void source_sync(ApiCall *call)
{
    source_request(call, call->part, str_from_c(call->caller.principal.who), sync_requested);
}

/* --- Proposals ------------------------------------------------------------------------------- */

enum {
    KEY_SOURCE,
    KEY_PROPOSAL,
    KEY_COUNT
};

static bool decide_proposal(void *context, Change *change, Error *err)
{
    SourceWrite *write = context;
    GitProposal present;
    Error ignored;
    if (!change_has(change, KEY_SOURCE)) {
        return error_set(err, ERROR_NOT_FOUND, "Source '%" STR_FMT "' not found",
                         STR_ARG(write->name));
    }
    if (change_has(change, KEY_PROPOSAL) &&
        git_proposal_read(change_arena(change), change_value(change, KEY_PROPOSAL), &present,
                          &ignored) &&
        git_proposal_is_busy(&present, loop_wall_ms(write->cluster_store.loop))) {
        return error_set(err, ERROR_CONFLICT,
                         "another commit of this source is being fetched, for %" STR_FMT
                         "; try again",
                         STR_ARG(present.requested_by));
    }
    change_put(change, change_key(change, KEY_PROPOSAL), write->text, 0);
    return true;
}

void source_propose(ApiCall *call)
{
    GitProposal proposal = { 0 };
    Error err;
    if (!propose_body_read(&call->arena, call_body(call), &proposal, &err)) {
        call_fail_body(call, &err);
        return;
    }
    SourceWrite *write = write_new(call, call->part);
    Str prefix = write->cluster_store.prefix, keys[KEY_COUNT];
    Buf text = buf_make_in(&write->arena, BUF_UNLIMITED);
    Change *change;
    proposal.time_ms = loop_wall_ms(write->cluster_store.loop);
    proposal.requested_by = str_from_c(call->caller.principal.who);
    git_proposal_print(&proposal, &text);
    write->text = buf_str(&text);
    write->requested = sync_requested;
    keys[KEY_SOURCE] = cluster_key_source(&write->arena, prefix, write->name);
    keys[KEY_PROPOSAL] = cluster_key_source_proposal(&write->arena, prefix, write->name);
    change_start(&(ChangeSpec){ .cluster_store = write->cluster_store,
                                .keys = keys,
                                .key_count = KEY_COUNT,
                                .decide = decide_proposal,
                                .done = request_written,
                                .context = write },
                 &change);
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return cluster_key_source_all(arena, prefix);
    case 1: return cluster_key_source_status_all(arena, prefix);
    case 2: return cluster_key_source_proposal_all(arena, prefix);
    case 3: return cluster_key_source_secrets_all(arena, prefix);
    default: return STR_EMPTY;
    }
}

static bool key_to_name(const Kind *kind, Arena *arena, Str prefix, Str key, Str *name)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    Error err;
    if (!key_parse(arena, prefix, key, &found, parts) ||
        !((found == KEY_OBJECT && str_eq(parts[0], STR("source"))) ||
          (found == KEY_INTERNAL &&
           (str_eq(parts[0], STR("source-status")) || str_eq(parts[0], STR("source-proposal")) ||
            str_eq(parts[0], STR("source-secret")))))) {
        return false;
    }
    *name = parts[1];
    return git_source_name_check(*name, &err);
}

/* --- Row ------------------------------------------------------------------------------------- */

static const RecordField proposal[] = {
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "pending|ok|rejected|failed",
      .help = "rejected: the commit is not a valid site; failed: it could not be fetched" },
    { .name = "commit", .help = "the commit" },
    { .name = "branch", .help = "its branch, if one was requested" },
    { .name = "version", .help = "the version created from it, which is not current" },
    { .name = "why", .help = "reason for the state" },
    { .name = "time", .type = RECORD_TIME, .help = "when it was requested" },
    { .name = "by", .help = "by whom" },
    { .name = "request", .type = RECORD_INT, .help = "number of the request" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "branch",
      .column = { "BRANCH" },
      .help = "the branch that it follows: the one in the spec, or the default branch of the "
              "repository when it was first fetched" },
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "new|ok|held|rejected|unreachable|unreadable",
      .column = { "STATE" },
      .help = "new: not fetched yet; held: another version was made current instead; rejected: the "
              "newest commit is not part of the site; unreachable: the repository cannot be "
              "fetched" },
    { .name = "since",
      .type = RECORD_TIME,
      .column = { "SINCE" },
      .help = "start of the current state" },
    { .name = "commit",
      .column = { "COMMIT", .is_wide = true },
      .help = "the newest commit that was fetched" },
    { .name = "author", .help = "its author" },
    { .name = "subject", .column = { "SUBJECT" }, .help = "first line of its message" },
    { .name = "used_commit", .help = "the commit in the newest valid version" },
    { .name = "version",
      .column = { "VERSION", .is_wide = true },
      .help = "the newest valid version made from sources" },
    { .name = "why", .column = { "WHY" }, .help = "reason for the state" },
    { .name = "handled",
      .type = RECORD_INT,
      .help = "number of the last sync request that was executed" },
    { .name = "proposal",
      .type = RECORD_OBJECT,
      .fields = proposal,
      .help = "the newest proposed commit; missing if there was none" },
    { .name = "public_key", .help = "the public SSH key of the server: add it to the repository" },
    { .name = "has_token", .type = RECORD_BOOL, .help = "whether it has a token for HTTPS" },
    { .name = "has_webhook",
      .type = RECORD_BOOL,
      .help = "whether it has a secret for webhooks, and accepts them" },
    { .name = "error", .help = "why its record cannot be read" },
    { 0 },
};

const Kind kind_source = {
    .name = "Source",
    .plural = "sources",
    .help = "A git repository that provides the site or a directory of it.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_UPDATE | KIND_DELETE,
    .spec = git_source_fields,
    .status = status,
    .name_help = "lowercase letters and digits, with '-' between them",
    .is_labeled = true,
    .objects_max = GIT_SOURCES_MAX,
    .name_check = git_source_name_check,
    .check = check,
    .list = list,
    .get = get,
    .create = create,
    .update = update,
    .remove = remove_source,
    .watch_prefix = watch_prefix,
    .key_to_name = key_to_name,
};
