/* pkgrepo.managed: a source of packages, with its key. */
#include "modules/file/target.h"
#include "modules/pkg/index.h"
#include "modules/pkgrepo/actions.h"
#include "modules/pkgrepo/key.h"
#include "modules/pkgrepo/place.h"
#include "modules/pkgrepo/source.h"
#include "modules/scratch.h"
#include "modules/tool.h"

const ParamSpec repo_managed_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "what it is called, and its file" },
    { "uris", PARAM_STRINGS, .decides = "location", .help = "where it is; dnf calls it baseurl" },
    { "suites", PARAM_STRINGS, .help = "of apt: such as bookworm, or a path that ends with '/'" },
    { "components", PARAM_STRINGS, .help = "of apt: such as main" },
    { "types", PARAM_STRINGS, .fallback = "deb", .help = "of apt: deb, deb-src" },
    { "architectures", PARAM_STRINGS, .help = "of apt: only these" },
    { "mirrorlist", PARAM_STRING, .help = "of dnf and zypper: where its mirrors are listed" },
    { "key", PARAM_STRING, .help = "the public key that signs it, armored or in base64" },
    { "key_file", PARAM_SITE_FILE, .help = "the same, a file below files/ of the site" },
    { "key_path", PARAM_PATH, .help = "a file of the machine that has the key" },
    { "trusted", PARAM_BOOL, .fallback = "false", .help = "accept unsigned packages" },
    { "enabled", PARAM_BOOL, .fallback = "true", .help = "false: it is there, but not used" },
    { "format", PARAM_STRING, .fallback = "deb822", .choices = "deb822|oneline",
      .help = "of apt: paragraphs (.sources), or one line each (.list)" },
    { "description", PARAM_STRING, .help = "a line for people" },
    { "priority", PARAM_INT, .help = "of dnf and zypper: lower ones win" },
    { "options", PARAM_MAP, .help = "further fields of its file" },
    { "provider", PARAM_STRING, .choices = "apt|dnf|zypper",
      .help = "whose source it is; otherwise of the package manager that the machine has" },
    { 0 },
};

/* What check hands to apply. */
typedef struct Managed {
    const RepoPlace *place;
    Target key, source;
    bool has_key;
    Str key_content; /* of `key` */
    Str stale;       /* the same source in the other format; empty: there is none */
} Managed;

static const List *texts(const Call *call, const char *name)
{
    Value value = call_param(call, name);
    return value_is_sequence(value) ? value.list : NULL;
}

/* Options may be written as numbers and booleans. */
static const Map *read_options(Call *call, Error *err)
{
    static const ParamSpec as_text = { "option", PARAM_STRING };
    Value given = call_param(call, "options");
    Map *map = map_new(call->arena, 4);
    for (uint32_t i = 0; given.kind == VALUE_MAP && i < given.map->len; i++) {
        Value text;
        if (!param_convert(call->arena, NULL, &as_text, given.map->entries[i].value, &text, err)) {
            error_wrap(err, "option '%" STR_FMT "'", STR_ARG(value_str(given.map->entries[i].key)));
            return NULL;
        }
        map_append(call->arena, map, given.map->entries[i].key, text);
    }
    return map;
}

static Target file_target(Str path, Str content, bool secret)
{
    Target target = { .path = path,
                      .uid = HOST_KEEP_ID,
                      .gid = HOST_KEEP_ID,
                      .parents = true,
                      .is_whole = true,
                      .new_mode = FILE_MODE_NEW,
                      .validate = value_missing() };
    Value text = value_string(content);
    target_set_content(&target, secret ? value_with_secret(text) : text);
    return target;
}

/* Debian 11 has an apt that is too old for it. */
static bool apt_reads_keys(Call *call)
{
    AUTO(PackageDatabase) *database = NULL;
    Error err;
    if (!backend_apt.is_native(call) || !database_get(call, &backend_apt, &database, &err)) {
        return true;
    }
    const Package *apt = database_find(database, STR("apt"));
    return apt == NULL || version_compare_dpkg(apt->version, STR("2.3.10")) >= 0;
}

/* An armored key of a deb822 source stands in it, so that they change at one moment. */
static bool read_key(Call *call, Managed *managed, RepoSource *source, Error *err)
{
    static const char *const names[] = { "key", "key_file", "key_path" };
    uint32_t given = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        given += call_has(call, names[i]);
    }
    if (given > 1) {
        return error_set(err, ERROR_INVALID, "'key', 'key_file' and 'key_path' all give the key");
    }
    if (given > 0 && source->trusted) {
        return error_set(err, ERROR_INVALID, "a trusted source needs no key");
    }
    source->key_path = call_str(call, "key_path");
    if (given == 0 || source->key_path.len > 0) {
        return true;
    }
    bool in_site = call_has(call, "key_file");
    RepoKey key;
    if (!repo_key_read(call->arena, call_str(call, in_site ? "key_file" : "key"), &key, err)) {
        return false;
    }
    if (key.armored && !in_site && source->format == REPO_DEB822 && apt_reads_keys(call)) {
        source->key_text = key.content;
        return true;
    }
    if (!key.armored && source->format == REPO_RPM) {
        return error_set(err, ERROR_INVALID, "rpm reads armored keys only");
    }
    source->key_path = repo_key_path(call->arena, managed->place, source->name, key.armored);
    managed->key = file_target(source->key_path, key.content, false);
    managed->has_key = true;
    managed->key_content = key.content;
    return true;
}

static bool holds_secret(const Call *call)
{
    for (uint32_t i = 0; repo_managed_params[i].name != NULL; i++) {
        if (value_holds_secret(call->params[i])) {
            return true;
        }
    }
    return false;
}

static bool read_source(Call *call, Managed *managed, Error *err)
{
    bool is_apt = managed->place->other != NULL;
    bool oneline = is_apt && str_eq(call_str(call, "format"), STR("oneline"));
    RepoSource source = {
        .name = call_str(call, "name"),
        .format = !is_apt   ? REPO_RPM
                  : oneline ? REPO_ONELINE
                            : REPO_DEB822,
        .description = call_str(call, "description"),
        .types = texts(call, "types"),
        .uris = texts(call, "uris"),
        .suites = texts(call, "suites"),
        .components = texts(call, "components"),
        .architectures = texts(call, "architectures"),
        .mirrorlist = call_str(call, "mirrorlist"),
        .trusted = call_bool(call, "trusted"),
        .disabled = !call_bool(call, "enabled"),
        .refreshes = strcmp(managed->place->provider, "zypper") == 0,
        .priority = call_int(call, "priority", 0),
        .options = read_options(call, err),
    };
    Str text;
    if (source.options == NULL || !repo_name_check(source.name, err) ||
        !read_key(call, managed, &source, err) ||
        !repo_source_format(call->arena, &source, &text, err)) {
        return false;
    }
    Str path = repo_source_path(call->arena, managed->place, source.name,
                                oneline ? managed->place->other : managed->place->ending);
    managed->source = file_target(path, text, holds_secret(call));
    if (is_apt) {
        managed->stale = repo_source_path(call->arena, managed->place, source.name,
                                          oneline ? managed->place->ending : managed->place->other);
    }
    return true;
}

bool repo_managed_check(Call *call, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Buf) diff = buf_make(BUF_UNLIMITED);
    Managed *managed = ARENA_NEW(call->arena, Managed);
    FileInfo stale = { 0 };
    if (!repo_place_choose(call, &managed->place, err) || !read_source(call, managed, err)) {
        return false;
    }
    if ((managed->has_key && !target_compare(call, &managed->key, true, outcome, &diff, err)) ||
        !target_compare(call, &managed->source, true, outcome, &diff, err) ||
        (managed->stale.len > 0 && !host_stat(call->host, managed->stale, &stale, err))) {
        return false;
    }
    if (stale.kind == FILE_ABSENT) {
        managed->stale = STR_EMPTY;
    } else {
        outcome->changed = true;
        outcome_change(call, outcome, arena_copy_c(call->arena, managed->stale),
                       value_string(str_from_c(file_kind_name(stale.kind))),
                       value_string(STR("absent")));
    }
    if (diff.len > 0) {
        outcome->diff = arena_copy(call->arena, buf_str(&diff));
    }
    outcome->state = STR("present");
    outcome->found = managed;
    return true;
}

/* zypper asks before it believes a new key; who is in rpm's own list is known. That is not seen by
 * the check, so it comes before the files: whatever happens in between, they are still to be
 * written, and the next run does both. */
static bool import_key(Call *call, const Managed *managed, Error *err)
{
    AUTO_CLEAR(Scratch) scratch = { 0 };
    Str path = call_str(call, "key_path");
    if (strcmp(managed->place->provider, "zypper") != 0 || (!managed->has_key && path.len == 0)) {
        return true;
    }
    if (managed->has_key && (!scratch_make(call, &scratch, err) ||
                             !scratch_put(&scratch, "key", managed->key_content, &path, err))) {
        return false;
    }
    return TOOL_DO(call, NULL, err, "rpm", "--import", arena_copy_c(call->arena, path));
}

bool repo_managed_apply(Call *call, Outcome *outcome, Error *err)
{
    Managed *managed = outcome->found;
    bool ok = import_key(call, managed, err) &&
              (!managed->has_key || target_apply(call, &managed->key, outcome, err)) &&
              target_apply(call, &managed->source, outcome, err);
    if (ok && managed->stale.len > 0) {
        outcome->changed = true;
        ok = call_keep(call, managed->stale, err) && host_remove(call->host, managed->stale, err);
    }
    index_sources_changed(call);
    return ok;
}

void repo_managed_claims(Arena *arena, const Value *params, List *claims)
{
    repo_claims(arena, params_get(repo_managed_params, params, "name"),
                params_get(repo_managed_params, params, "provider"), claims);
    claims_add_param(arena, claims,
                     "needs:path:", params_get(repo_managed_params, params, "key_path"));
}
