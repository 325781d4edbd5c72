/* Version: a version of the site. Created from a manifest whose blobs were sent before, and
 * immutable. */
#include "api/call.h"
#include "api/kind_rows.h"
#include "base/utc.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"
#include "source/versions.h"

/* --- Objects --------------------------------------------------------------------------------- */

static void set_known(Arena *arena, Map *map, const char *name, Str text)
{
    if (text.len > 0) {
        object_set_text(arena, map, name, text);
    }
}

static Value spec_of(Arena *arena, const Version *version)
{
    Map *spec = map_new(arena, 8);
    object_set_text(arena, spec, "manifest", str_from_c(version->manifest));
    object_set_text(arena, spec, "origin", str_from_c(version_origin_name(version->origin)));
    set_known(arena, spec, "source", version->source.source);
    set_known(arena, spec, "commit", version->source.commit);
    set_known(arena, spec, "branch", version->source.branch);
    set_known(arena, spec, "author", version->source.author);
    set_known(arena, spec, "subject", version->source.subject);
    return value_map(spec);
}

static void set_current(Arena *arena, Map *status, Str name, const CurrentVersion *current)
{
    bool is_current = str_eq_c(name, current->version);
    map_set_str(arena, status, STR("current"), value_bool(is_current));
    map_set_str(arena, status, STR("pinned"), value_bool(is_current && current->is_pinned));
    map_set_str(arena, status, STR("previous"), value_bool(str_eq_c(name, current->previous)));
    if (is_current) {
        object_set_text(arena, status, "since", utc_text(arena, current->since_ms));
        object_set_text(arena, status, "activated_by", current->requested_by);
        object_set_text(arena, status, "reason", current->reason);
    }
}

static KindItem item_of(const Kind *kind, Arena *arena, const VersionEntry *entry,
                        const CurrentVersion *current)
{
    const Version *version = &entry->version;
    Map *status = map_new(arena, 12);
    KindItem item = { .name = entry->name,
                      .labels = value_missing(),
                      .annotations = value_missing(),
                      .revision = entry->revision,
                      .created_ms = version->created_ms,
                      .spec = value_missing(),
                      .status = value_map(status),
                      .error = entry->error };
    object_uuid(kind, entry->name, item.uuid);
    if (entry->error.len > 0) {
        return item;
    }
    item.spec = spec_of(arena, version);
    object_set_text(arena, status, "state", str_from_c(version_state_name(version->state)));
    map_set_str(arena, status, STR("problems"), value_int(version->problem_count));
    map_set_str(arena, status, STR("files"), value_int(version->files));
    map_set_str(arena, status, STR("bytes"), value_int(version->bytes));
    object_set_text(arena, status, "by", version->requested_by);
    set_current(arena, status, entry->name, current);
    return item;
}

static CurrentVersion current_of(Arena *arena, const ApiSettings *settings)
{
    CurrentVersion current;
    return versions_current(arena, settings->cluster_store.state, settings->cluster_store.prefix,
                            &current)
               ? current
               : (CurrentVersion){ 0 };
}

/* --- Reading --------------------------------------------------------------------------------- */

/* Newest first; `next` is the last name of a page. If that version was deleted meanwhile, the next
 * page starts from the beginning. */
static bool list(const Kind *kind, const ApiSettings *settings, Arena *arena, const KindPage *page,
                 KindItems *out, Error *err)
{
    VersionEntry *entries;
    uint32_t count = versions_list(arena, settings->cluster_store.state,
                                   settings->cluster_store.prefix, &entries);
    CurrentVersion current = current_of(arena, settings);
    KindItem *items = ARENA_ARRAY(arena, KindItem, page->limit);
    uint32_t start = 0;
    for (uint32_t i = 0; page->after.len > 0 && i < count; i++) {
        start = str_eq(entries[i].name, page->after) ? i + 1 : start;
    }
    *out = (KindItems){ .items = items,
                        .revision = state_age(settings->cluster_store.state).revision };
    for (uint32_t i = start; i < count && out->count < page->limit; i++) {
        items[out->count++] = item_of(kind, arena, &entries[i], &current);
    }
    if (start + out->count < count) {
        out->next = items[out->count - 1].name;
    }
    return true;
}

static bool get(const Kind *kind, const ApiSettings *settings, Arena *arena, Str name,
                KindItem *out, Error *err)
{
    VersionEntry entry;
    if (!versions_find(arena, settings->cluster_store.state, settings->cluster_store.prefix, name,
                       &entry, err)) {
        return false;
    }
    CurrentVersion current = current_of(arena, settings);
    *out = item_of(kind, arena, &entry, &current);
    return true;
}

/* --- Changing -------------------------------------------------------------------------------- */

static void on_created(void *context, Str name, bool is_new, const Error *err)
{
    ApiCall *call = context;
    if (err != NULL || is_new) {
        kind_create_done(call, name, err);
    } else if (call_resume(call, NULL)) {
        kind_changed(call, arena_copy(&call->arena, name), false);
    }
}

static void create(const Kind *kind, ApiCall *call, const KindDraft *draft)
{
    Versions *versions = call_settings(call)->versions;
    Value spec = draft->spec;
    if (versions == NULL) {
        call_refuse(call, 503, "this server does not store versions");
        return;
    }
    versions_create(versions,
                    &(VersionDraft){ .manifest = value_get_text(spec, "manifest"),
                                     .origin = VERSION_PUSHED,
                                     .source = { .source = value_get_text(spec, "source"),
                                                 .commit = value_get_text(spec, "commit"),
                                                 .branch = value_get_text(spec, "branch"),
                                                 .author = value_get_text(spec, "author"),
                                                 .subject = value_get_text(spec, "subject") },
                                     .requested_by = str_from_c(call->caller.principal.who) },
                    on_created, call);
}

static void remove_version(const Kind *kind, ApiCall *call, const KindItem *present)
{
    Versions *versions = call_settings(call)->versions;
    if (versions == NULL) {
        call_refuse(call, 503, "this server does not store versions");
    } else {
        versions_remove(versions, present->name, present->revision, kind_remove_done, call);
    }
}

/* --- Watching -------------------------------------------------------------------------------- */

static Str watch_prefix(const Kind *kind, Arena *arena, Str prefix, uint32_t which)
{
    switch (which) {
    case 0: return cluster_key_version_all(arena, prefix);
    case 1: return cluster_key_current_version(arena, prefix);
    default: return STR_EMPTY;
    }
}

static uint32_t add_current(Arena *arena, Str value, Str names[KIND_AFFECTED_MAX], uint32_t count)
{
    CurrentVersion current;
    Error err;
    if (current_version_read(arena, value, &current, &err)) {
        Str name = arena_copy(arena, str_from_c(current.version));
        if (count == 0 || !str_eq(names[0], name)) {
            names[count++] = name;
        }
    }
    return count;
}

/* A change of the current version affects the former one, too. */
static uint32_t event_to_names(const Kind *kind, Arena *arena, Str prefix, const StoreEvent *event,
                               Str names[KIND_AFFECTED_MAX])
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind found;
    Error err;
    if (!key_parse(arena, prefix, event->kv.key, &found, parts)) {
        return 0;
    }
    if (found == KEY_OBJECT && str_eq(parts[0], STR("version")) &&
        version_name_check(parts[1], &err)) {
        names[0] = parts[1];
        return 1;
    }
    uint32_t count = 0;
    if (found == KEY_CURRENT_VERSION && !event->deleted) {
        count = add_current(arena, event->kv.value, names, count);
    }
    if (found == KEY_CURRENT_VERSION && event->has_previous) {
        count = add_current(arena, event->previous.value, names, count);
    }
    return count;
}

/* --- Row ------------------------------------------------------------------------------------- */

static bool check_manifest(Str id, Error *err)
{
    return blob_id_is_valid(id) ||
           error_set(err, ERROR_INVALID,
                     "must be a SHA-256 digest of %d lowercase hexadecimal digits",
                     (int)BLOB_ID_TEXT);
}

static const RecordField spec[] = {
    { .name = "manifest",
      .is_required = true,
      .is_fixed = true,
      .check_text = check_manifest,
      .help = "SHA-256 of the list of its files, which must have been stored as a blob" },
    { .name = "origin",
      .type = RECORD_CHOICE,
      .choices = "push|git",
      .is_fixed = true,
      .help = "how it was created; set by the server" },
    { .name = "source",
      .max = VERSION_TEXT_MAX,
      .is_plain = true,
      .is_fixed = true,
      .help = "directory or repository it was created from" },
    { .name = "commit",
      .max = VERSION_TEXT_MAX,
      .is_plain = true,
      .is_fixed = true,
      .column = { "COMMIT", .after_status = true, .is_wide = true },
      .help = "git commit" },
    { .name = "branch",
      .max = VERSION_TEXT_MAX,
      .is_plain = true,
      .is_fixed = true,
      .help = "git branch" },
    { .name = "author",
      .max = VERSION_TEXT_MAX,
      .is_plain = true,
      .is_fixed = true,
      .help = "author of the commit" },
    { .name = "subject",
      .max = VERSION_TEXT_MAX,
      .is_plain = true,
      .is_fixed = true,
      .column = { "SUBJECT", .after_status = true },
      .help = "first line of the commit message" },
    { 0 },
};

static const RecordField status[] = {
    { .name = "state",
      .type = RECORD_CHOICE,
      .choices = "valid|rejected|unreadable",
      .column = { "STATE" },
      .help = "rejected: it has errors and cannot become current" },
    { .name = "current",
      .type = RECORD_BOOL,
      .column = { "CURRENT" },
      .help = "whether nodes apply it" },
    { .name = "pinned",
      .type = RECORD_BOOL,
      .column = { "PINNED" },
      .help = "whether it stays current until it is unpinned" },
    { .name = "previous",
      .type = RECORD_BOOL,
      .help = "whether it was current before the current one" },
    { .name = "problems", .type = RECORD_INT, .help = "number of problems, including warnings" },
    { .name = "files", .type = RECORD_INT, .column = { "FILES" }, .help = "number of files" },
    { .name = "bytes", .type = RECORD_INT, .help = "total size of the files, in bytes" },
    { .name = "by", .column = { "BY" }, .help = "who created it" },
    { .name = "since", .type = RECORD_TIME, .help = "when it became current" },
    { .name = "activated_by", .help = "who made it current" },
    { .name = "reason", .help = "reason given for the change" },
    { .name = "error", .help = "why its record cannot be read" },
    { 0 },
};

static const KindColumn columns[] = { { "CREATED", "metadata.created", false, NULL }, { 0 } };

const Kind kind_version = {
    .name = "Version",
    .plural = "versions",
    .help = "A version of the site; one of them is current.",
    .verbs = KIND_LIST | KIND_GET | KIND_CREATE | KIND_DELETE,
    .spec = spec,
    .status = status,
    .columns = columns,
    .name_help = "the first 12 digits of the SHA-256 of its manifest",
    .list = list,
    .get = get,
    .create = create,
    .remove = remove_version,
    .watch_prefix = watch_prefix,
    .event_to_names = event_to_names,
};
