/* pkgrepo.*: package repositories. source.c formats their files. */
#include "base/vec.h"
#include "modules/file/target.h"
#include "modules/pkg/backend.h"
#include "modules/pkg/index.h"
#include "modules/pkgrepo/source.h"
#include "modules/scratch.h"
#include "modules/tool.h"

/* --- Locations of repositories and keys ------------------------------------------------------ */

typedef struct RepoLocation {
    const char *provider;     /* package manager */
    const char *directory;    /* directory of the repository files */
    const char *suffix;       /* suffix of the repository files */
    const char *other_suffix; /* alternative suffix; NULL: none */
    const char *keys;         /* directory of the keys */
    const char *key_start;    /* prefix of the key files */
} RepoLocation;

static const RepoLocation places[] = {
    { "apt", "/etc/apt/sources.list.d", ".sources", ".list", "/etc/apt/keyrings", "" },
    { "dnf", "/etc/yum.repos.d", ".repo", NULL, "/etc/pki/rpm-gpg", "RPM-GPG-KEY-" },
    { "zypper", "/etc/zypp/repos.d", ".repo", NULL, "/etc/pki/rpm-gpg", "RPM-GPG-KEY-" },
};

static bool repo_location_choose(Call *call, const RepoLocation **out, Error *err)
{
    const PackageBackend *backend;
    Str provider = call_str(call, "provider");
    if (provider.len == 0) {
        if (!backend_choose(call, provider, &backend, err)) {
            return false;
        }
        provider = str_from_c(backend->name);
    }
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        if (str_eq_c(provider, places[i].provider)) {
            *out = &places[i];
            return true;
        }
    }
    return error_set(
        err, ERROR_UNAVAILABLE,
        "'%" STR_FMT
        "' does not keep repositories in separate files; set 'provider' to apt, dnf or zypper",
        STR_ARG(provider));
}

static Str repo_source_path(Arena *arena, const RepoLocation *place, Str name, const char *ending)
{
    return arena_format(arena, "%s/%" STR_FMT "%s", place->directory, STR_ARG(name), ending);
}

static Str repo_key_path(Arena *arena, const RepoLocation *place, Str name, bool armored)
{
    const char *ending = place->key_start[0] != '\0' ? "" : armored ? ".asc" : ".gpg";
    return arena_format(arena, "%s/%s%" STR_FMT "%s", place->keys, place->key_start, STR_ARG(name),
                        ending);
}

static void repo_claims(Arena *arena, Value name, Value provider, List *claims)
{
    if (!value_is_string(name) || name.len == 0) {
        return;
    }
    claims_add(arena, claims, "pkgrepo:", value_str(name));
    claims_add(arena, claims, "provides:package", STR_EMPTY);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        const RepoLocation *place = &places[i];
        if (value_is_string(provider) && !str_eq_c(value_str(provider), place->provider)) {
            continue;
        }
        claims_add(arena, claims,
                   "path:", repo_source_path(arena, place, value_str(name), place->suffix));
        if (place->other_suffix != NULL) {
            claims_add(arena, claims, "path:",
                       repo_source_path(arena, place, value_str(name), place->other_suffix));
        }
        claims_add(arena, claims, "path:", repo_key_path(arena, place, value_str(name), true));
        claims_add(arena, claims, "path:", repo_key_path(arena, place, value_str(name), false));
    }
}

/* --- pkgrepo.managed ------------------------------------------------------------------------- */

static const ParamSpec repo_managed_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the repository and of its file" },
    { "uris", PARAM_STRINGS, .aspect = "location",
      .help = "addresses of the repository; dnf's baseurl" },
    { "suites", PARAM_STRINGS,
      .help = "apt: suites such as bookworm, or a path that ends with '/'" },
    { "components", PARAM_STRINGS, .help = "apt: components such as main" },
    { "types", PARAM_STRINGS, .fallback = "deb", .help = "apt: deb or deb-src" },
    { "architectures", PARAM_STRINGS, .help = "apt: architectures to use; default: all" },
    { "mirrorlist", PARAM_STRING, .help = "dnf and zypper: address of the list of mirrors" },
    { "key", PARAM_STRING, .help = "public key that verifies its signature, armored or in base64" },
    { "key_file", PARAM_SITE_FILE, .help = "public key as a file in the site's files/" },
    { "key_path", PARAM_PATH, .help = "path of a file on the machine that contains the key" },
    { "trusted", PARAM_BOOL, .fallback = "false", .help = "accept unsigned packages" },
    { "enabled", PARAM_BOOL, .fallback = "true", .help = "whether the repository is used" },
    { "format", PARAM_STRING, .fallback = "deb822", .choices = "deb822|oneline",
      .help = "apt: deb822 paragraphs (.sources) or one line each (.list)" },
    { "description", PARAM_STRING, .help = "description for humans" },
    { "priority", PARAM_INT, .help = "dnf and zypper: priority; lower values are preferred" },
    { "options", PARAM_MAP, .help = "additional fields of its file" },
    { "provider", PARAM_STRING, .choices = "apt|dnf|zypper",
      .help = "package manager it belongs to; default: the machine's own" },
    { 0 },
};

/* Passed from check to apply. */
typedef struct Managed {
    const RepoLocation *place;
    Target key, source;
    bool has_key;
    Str key_content; /* content of `key` */
    Str stale;       /* file of the same repository in the other format; empty: none */
} Managed;

static const List *texts(const Call *call, const char *name)
{
    Value value = call_param(call, name);
    return value_is_sequence(value) ? value.list : NULL;
}

/* Options can be numbers and booleans. */
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
                      .is_complete_content = true,
                      .new_mode = FILE_MODE_NEW };
    Value text = value_string(content);
    target_set_content(&target, secret ? value_with_secret(text) : text);
    return target;
}

/* apt in Debian 11 does not support embedded keys. */
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

static bool count_keys(Call *call, uint32_t *out, Error *err)
{
    static const char *const names[] = { "key", "key_file", "key_path" };
    uint32_t given = 0;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        given += call_has(call, names[i]);
    }
    if (given > 1) {
        return error_set(err, ERROR_INVALID,
                         "'key', 'key_file' and 'key_path' are mutually exclusive");
    }
    *out = given;
    return given == 0 || !call_bool(call, "trusted") ||
           error_set(err, ERROR_INVALID, "a trusted repository does not need a key");
}

static bool verify_params(Call *call, Error *err)
{
    uint32_t given;
    RepoKey ignored;
    if (!repo_name_check(call_str(call, "name"), err)) {
        return call_blame(call, "name");
    }
    return count_keys(call, &given, err) &&
           (!call_has(call, "key") ||
            repo_key_parse(call->arena, call_str(call, "key"), &ignored, err) ||
            call_blame(call, "key"));
}
CALL_VERIFY(repo_managed_verify, verify_params)

static bool read_key(Call *call, Managed *managed, RepoSource *source, Error *err)
{
    uint32_t given;
    if (!count_keys(call, &given, err)) {
        return false;
    }
    source->key_path = call_str(call, "key_path");
    if (given == 0 || source->key_path.len > 0) {
        return true;
    }
    bool in_site = call_has(call, "key_file");
    RepoKey key;
    if (!repo_key_parse(call->arena, call_str(call, in_site ? "key_file" : "key"), &key, err)) {
        return false;
    }
    if (key.armored && !in_site && source->format == REPO_DEB822 && apt_reads_keys(call)) {
        /* Embedded in the source, so that both change atomically. */
        source->key_text = key.content;
        return true;
    }
    if (!key.armored && source->format == REPO_RPM) {
        return error_set(err, ERROR_INVALID, "rpm supports only armored keys");
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
    bool is_apt = managed->place->other_suffix != NULL;
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
                                oneline ? managed->place->other_suffix : managed->place->suffix);
    managed->source = file_target(path, text, holds_secret(call));
    if (is_apt) {
        managed->stale =
            repo_source_path(call->arena, managed->place, source.name,
                             oneline ? managed->place->suffix : managed->place->other_suffix);
    }
    return true;
}

static bool repo_managed_check(Call *call, Outcome *outcome, Error *err)
{
    AUTO_CLEAR(Buf) diff = buf_make(BUF_UNLIMITED);
    Managed *managed = ARENA_NEW(call->arena, Managed);
    FileInfo stale = { 0 };
    if (!repo_location_choose(call, &managed->place, err) || !read_source(call, managed, err)) {
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
    outcome->check_data = managed;
    return true;
}

/* zypper prompts before it trusts a new key, unless rpm has imported it. check does not see that,
 * so the import comes before the files: if it is interrupted in between, the files still differ and
 * the next run repeats both. */
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
    return TOOL_RUN(call, NULL, err, "rpm", "--import", arena_copy_c(call->arena, path));
}

static bool repo_managed_apply(Call *call, Outcome *outcome, Error *err)
{
    Managed *managed = outcome->check_data;
    bool ok = import_key(call, managed, err) &&
              (!managed->has_key || target_apply(call, &managed->key, outcome, err)) &&
              target_apply(call, &managed->source, outcome, err);
    if (ok && managed->stale.len > 0) {
        outcome->changed = true;
        ok =
            call_journal(call, managed->stale, err) && host_remove(call->host, managed->stale, err);
    }
    index_sources_changed(call);
    return ok;
}

static void repo_managed_claims(Arena *arena, const Value *params, List *claims)
{
    repo_claims(arena, params_get(repo_managed_params, params, "name"),
                params_get(repo_managed_params, params, "provider"), claims);
    claims_add_param(arena, claims,
                     "needs:path:", params_get(repo_managed_params, params, "key_path"));
}

/* --- pkgrepo.absent -------------------------------------------------------------------------- */

enum {
    SOURCE_FILES_MAX = 10000,
    SOURCE_BYTES_MAX = 1 << 20
};

static const ParamSpec repo_absent_params[] = {
    { "name", PARAM_STRING, .required = true, .help = "name of the repository" },
    { "provider", PARAM_STRING, .choices = "apt|dnf|zypper",
      .help = "package manager it belongs to; default: the machine's own" },
    { 0 },
};

typedef VEC(Str) Paths;

static bool add_if_exists(Call *call, Str path, Paths *paths, Error *err)
{
    FileInfo info;
    if (!host_stat(call->host, path, &info, err)) {
        return false;
    }
    if (info.kind != FILE_ABSENT) {
        VEC_PUSH(call->arena, paths, path);
    }
    return true;
}

static bool is_among(const Paths *paths, Str path)
{
    for (uint32_t i = 0; i < paths->len; i++) {
        if (str_eq(paths->items[i], path)) {
            return true;
        }
    }
    return false;
}

/* Returns true if a remaining repository refers to the key. */
static bool key_is_used(Call *call, const RepoLocation *place, Str key, const Paths *gone)
{
    Str *names;
    uint32_t count;
    Error err;
    if (!host_list(call->host, call->arena, str_from_c(place->directory), SOURCE_FILES_MAX, &names,
                   &count, &err)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        Str text,
            path = arena_format(call->arena, "%s/%" STR_FMT, place->directory, STR_ARG(names[i]));
        if (!is_among(gone, path) &&
            host_read(call->host, call->arena, path, SOURCE_BYTES_MAX, &text, &err) &&
            str_find(text, key, 0) != STR_NOT_FOUND) {
            return true;
        }
    }
    return false;
}

static bool find_paths(Call *call, const RepoLocation *place, Str name, Paths *paths, Error *err)
{
    Arena *arena = call->arena;
    if (!add_if_exists(call, repo_source_path(arena, place, name, place->suffix), paths, err) ||
        (place->other_suffix != NULL &&
         !add_if_exists(call, repo_source_path(arena, place, name, place->other_suffix), paths,
                        err))) {
        return false;
    }
    for (int armored = 0; armored < 2; armored++) {
        Str key = repo_key_path(arena, place, name, armored != 0);
        if (!is_among(paths, key) && !key_is_used(call, place, key, paths) &&
            !add_if_exists(call, key, paths, err)) {
            return false;
        }
    }
    return true;
}

static bool repo_absent_check(Call *call, Outcome *outcome, Error *err)
{
    const RepoLocation *place;
    Paths *paths = ARENA_NEW(call->arena, Paths);
    Str name = call_str(call, "name");
    if (!repo_name_check(name, err) || !repo_location_choose(call, &place, err) ||
        !find_paths(call, place, name, paths, err)) {
        return false;
    }
    for (uint32_t i = 0; i < paths->len; i++) {
        outcome->changed = true;
        outcome_change(call, outcome, arena_copy_c(call->arena, paths->items[i]),
                       value_string(STR("present")), value_string(STR("absent")));
    }
    outcome->state = STR("absent");
    outcome->check_data = paths;
    return true;
}

static bool repo_absent_apply(Call *call, Outcome *outcome, Error *err)
{
    const Paths *paths = outcome->check_data;
    index_sources_changed(call);
    for (uint32_t i = 0; i < paths->len; i++) {
        if (!call_journal(call, paths->items[i], err) ||
            !host_remove(call->host, paths->items[i], err)) {
            return false;
        }
        outcome->changed = true;
    }
    return true;
}

static void repo_absent_claims(Arena *arena, const Value *params, List *claims)
{
    repo_claims(arena, params[0], params[1], claims);
}

/* --- Module table ---------------------------------------------------------------------------- */

static const Action actions[] = {
    { "managed", "Ensure that a package repository is configured.", repo_managed_params,
      repo_managed_check, repo_managed_apply, .verify_all = repo_managed_verify,
      .claims = repo_managed_claims, .stage = STAGE_SOURCES, .resource = "repository name",
      .desired_state = "state=present",
      .text = "For apt, the repository is saved in NAME.sources in /etc/apt/sources.list.d, or "
              "NAME.list\n"
              "with 'format: oneline'; for dnf NAME.repo in /etc/yum.repos.d, for zypper in\n"
              "/etc/zypp/repos.d.\n"
              "\n"
              "The signing key is trusted for this repository only. An armored 'key' is\n"
              "embedded in the .sources file; other keys, and 'key_file', are saved as separate\n"
              "files in /etc/apt/keyrings or /etc/pki/rpm-gpg. Without a key, apt uses the keys\n"
              "that the system trusts for all repositories.\n"
              "\n"
              "Nothing is downloaded: the next step that installs a package refreshes the\n"
              "index.\n",
      .example = "- name: shop repository\n"
                 "  pkgrepo.managed:\n"
                 "    - name: shop\n"
                 "    - uris: https://packages.example.org/debian\n"
                 "    - suites: bookworm\n"
                 "    - components: main\n"
                 "    - key_path: /usr/share/keyrings/shop.gpg\n"
                 "    - provider: apt\n" },
    { "absent", "Ensure that a package repository is not configured.", repo_absent_params,
      repo_absent_check, repo_absent_apply, .claims = repo_absent_claims, .stage = STAGE_SOURCES,
      .resource = "repository name", .desired_state = "state=absent",
      .text =
          "Its key is removed too, unless another repository uses it. Installed packages stay.\n",
      .example = "- name: no shop repository\n"
                 "  pkgrepo.absent:\n"
                 "    - name: shop\n"
                 "    - provider: apt\n" },
    { 0 },
};

const Module modules_pkgrepo = {
    .name = "pkgrepo",
    .help = "Package repositories.",
    .id_param = "name",
    .actions = actions,
};
