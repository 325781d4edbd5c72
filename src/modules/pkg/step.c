#include "modules/pkg/step.h"

#include "base/buf.h"
#include "base/glob.h"
#include "base/suggest.h"
#include "modules/pkg/index.h"

/* --- Parameters ------------------------------------------------------------------------------ */

static bool has_param(const Call *call, const char *name)
{
    return action_param_index(call->action, str_from_c(name)) >= 0;
}

static bool read_request(const PackageStep *step, Str name, Value version, PackageRequest *out,
                         Error *err)
{
    *out = (PackageRequest){ .name = name };
    if (!step->backend->check_name(name, err)) {
        return false;
    }
    if (!value_is_string(version)) {
        return true;
    }
    if (step->removes || step->latest) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "' cannot have a version here",
                         STR_ARG(name));
    }
    return version_spec_parse(value_str(version), &out->version, err) ||
           error_wrap(err, "package '%" STR_FMT "'", STR_ARG(name));
}

static bool read_requests(Call *call, PackageStep *step, Error *err)
{
    Str name = call_str(call, "name");
    Value packages = call_param(call, "pkgs");
    Value version = has_param(call, "version") ? call_param(call, "version") : value_missing();
    bool has_list = packages.kind == VALUE_MAP && packages.map->len > 0;
    if (has_list && name.len > 0) {
        return error_set(err, ERROR_INVALID, "'name' and 'pkgs' are mutually exclusive");
    }
    if (has_list && value_is_string(version)) {
        return error_set(err, ERROR_INVALID,
                         "'version' applies to 'name'; in 'pkgs' use '- NAME: VERSION'");
    }
    if (!has_list) {
        if (name.len == 0) {
            return error_set(err, ERROR_INVALID, "'name' or 'pkgs' is required");
        }
        step->count = 1;
        step->requests = ARENA_NEW(call->arena, PackageRequest);
        return read_request(step, name, version, step->requests, err);
    }
    step->requests = ARENA_ARRAY(call->arena, PackageRequest, packages.map->len);
    for (; step->count < packages.map->len; step->count++) {
        const MapEntry *entry = &packages.map->entries[step->count];
        if (!read_request(step, value_str(entry->key), entry->value, &step->requests[step->count],
                          err)) {
            return false;
        }
    }
    return true;
}

static bool check_plain_name(Call *call, const char *param, Str name, Error *err)
{
    bool ok = name.len > 0 && name.data[0] != '-', is_list = false, has_version = false;
    for (size_t i = 0; i < name.len; i++) {
        is_list = is_list || name.data[i] == ' ' || name.data[i] == ',';
        has_version = has_version || name.data[i] == '=';
        ok = ok && (unsigned char)name.data[i] > ' ' && strchr(",;|&=\"'", name.data[i]) == NULL;
    }
    const char *advice = has_version ? "; a version belongs in 'version', or after ':' in 'pkgs'"
                         : !is_list  ? ""
                         : strcmp(param, "pkgs") == 0 ? "; write '[NAME, NAME]' for several"
                                                      : "; write 'pkgs: [NAME, NAME]' for several";
    return ok ||
           error_set(err, ERROR_INVALID, "'%" STR_FMT "' is not a package name%s", STR_ARG(name),
                     advice) ||
           call_blame(call, param);
}

static bool verify_params(Call *call, Error *err)
{
    Str name = call_str(call, "name");
    Value packages = call_param(call, "pkgs");
    bool has_list = packages.kind == VALUE_MAP && packages.map->len > 0;
    if (has_list == call_has(call, "name")) {
        return error_set(err, ERROR_INVALID,
                         has_list ? "'name' and 'pkgs' are mutually exclusive"
                                  : "'name' or 'pkgs' is required");
    }
    if (!has_list) {
        return check_plain_name(call, "name", name, err);
    }
    for (uint32_t i = 0; i < packages.map->len; i++) {
        if (!check_plain_name(call, "pkgs", value_str(packages.map->entries[i].key), err)) {
            return false;
        }
    }
    return true;
}
CALL_VERIFY(verify_names, verify_params)

bool package_step_verify(Arena *arena, const Action *action, const Value *params, const char **at,
                         Error *err)
{
    return verify_names(arena, action, params, at, err);
}

static bool flag_param(const Call *call, const char *name)
{
    return has_param(call, name) && call_bool(call, name);
}

bool package_step_options(Call *call, PackageStep *out, Error *err)
{
    PackageStep *step = out;
    step->purge = flag_param(call, "purge");
    step->allow_downgrade = flag_param(call, "allow_downgrade");
    step->allow_removals = flag_param(call, "allow_removals");
    step->replace_conffiles =
        has_param(call, "conffiles") && str_eq(call_str(call, "conffiles"), STR("replace"));
    step->set_recommends = has_param(call, "recommends") && call_has(call, "recommends");
    step->recommends = flag_param(call, "recommends");
    step->refresh = !has_param(call, "refresh") || !call_has(call, "refresh") ? REFRESH_WHEN_NEEDED
                    : call_bool(call, "refresh")                              ? REFRESH_ALWAYS
                                                                              : REFRESH_NEVER;
    step->index_age_ms = step->latest ? call_int(call, "index_age", 0) : INT64_MAX;
    step->lock_ms = has_param(call, "lock_timeout") ? call_int(call, "lock_timeout", 0) : 0;
    if (!backend_choose(call, call_str(call, "provider"), &step->backend, err)) {
        return false;
    }
    step->order = backend_order(call, step->backend);
    PackageChange change = package_step_change(step);
    return step->backend->check_change == NULL || step->backend->check_change(&change, err);
}

bool package_step_read(Call *call, PackageStep *out, Error *err)
{
    return package_step_options(call, out, err) && read_requests(call, out, err);
}

PackageChange package_step_change(const PackageStep *step)
{
    return (PackageChange){ .operation = step->removes ? PACKAGES_REMOVE : PACKAGES_INSTALL,
                            .purge = step->purge,
                            .replace_conffiles = step->replace_conffiles,
                            .allow_downgrade = step->allow_downgrade,
                            .allow_removals = step->allow_removals,
                            .set_recommends = step->set_recommends,
                            .recommends = step->recommends };
}

static void push_claim(Arena *arena, const char *prefix, List *claims, Value name)
{
    if (value_is_string(name) && name.len > 0) {
        Str claim = arena_format(arena, "%s%" STR_FMT, prefix, STR_ARG(value_str(name)));
        list_push(arena, claims, value_string(claim));
        bool has_zones =
            str_starts(value_str(name), STR("tz")) || str_starts(value_str(name), STR("timezone"));
        if (has_zones && !str_starts(claim, STR("drops:"))) {
            list_push(arena, claims, value_string(STR("provides:timezone")));
        }
    }
}

/* Packages that contain neither kernel modules nor mount(8) helpers, and do not depend on
 * packages that do. */
static const char *const ordinary_packages[] = {
    "acl",
    "apache2*",
    "bash*",
    "bat",
    "bc",
    "bind9*",
    "build-essential",
    "ca-certificates",
    "certbot*",
    "chrony",
    "cmake",
    "cowsay",
    "cron*",
    "curl",
    "dnsmasq*",
    "dnsutils",
    "dovecot-*",
    "emacs*",
    "etcd*",
    "exim4*",
    "fail2ban",
    "figlet",
    "file",
    "fish",
    "fortune*",
    "g++*",
    "gcc*",
    "gettext*",
    "git",
    "gnupg*",
    "golang*",
    "grafana*",
    "haproxy*",
    "hello",
    "htop",
    "httpd*",
    "iotop*",
    "jq",
    "less",
    "libapache2-mod-*",
    "locales",
    "logrotate",
    "lsof",
    "lua5*",
    "lynx",
    "mailutils",
    "make",
    "man-db",
    "mariadb-*",
    "memcached",
    "monit",
    "munin*",
    "mysql-*",
    "nano",
    "net-tools",
    "nginx*",
    "nmap",
    "node",
    "nodejs*",
    "npm",
    "ntp*",
    "openjdk-*",
    "openssh-*",
    "openssl",
    "patch",
    "perl*",
    "php*",
    "postfix*",
    "postgresql*",
    "procps",
    "prometheus*",
    "python*",
    "rabbitmq-*",
    "redis*",
    "ripgrep",
    "rsync",
    "rsyslog*",
    "ruby*",
    "screen",
    "sl",
    "socat",
    "sqlite3",
    "strace",
    "sudo",
    "supervisor",
    "sysstat",
    "tcpdump",
    "telnet*",
    "tmux",
    "tomcat*",
    "traceroute",
    "tree",
    "tzdata",
    "unbound*",
    "unzip",
    "uwsgi*",
    "varnish*",
    "vim*",
    "wget",
    "whois",
    "xz-utils",
    "zip",
    "zsh*",
};

static bool lacks_kernel_parts(Str name)
{
    for (size_t i = 0; i < COUNT_OF(ordinary_packages); i++) {
        if (glob_match(str_from_c(ordinary_packages[i]), name)) {
            return true;
        }
    }
    return false;
}

/* Whether all packages in `claims` are of that kind. */
static bool lack_kernel_parts(const List *claims)
{
    bool any = false;
    for (uint32_t i = 0; i < claims->len; i++) {
        Str claim = value_str(claims->items[i]);
        if (str_starts(claim, STR("pkg:"))) {
            any = true;
            if (!lacks_kernel_parts(str_from_offset(claim, STR("pkg:").len))) {
                return false;
            }
        }
    }
    return any;
}

void package_add_provided_claims(Arena *arena, List *claims)
{
    static const char *const classes[] = { "program",     "user", "group",  "unit",
                                           "alternative", "kmod", "remote", "filesystem" };
    /* Home directories, /tmp, /mnt, /media and /usr/local are missing because packages do not
     * install anything there. */
    static const char *const directories[] = {
        "/bin/",         "/boot/",      "/etc/",         "/lib64/",   "/lib/",
        "/opt/",         "/run/",       "/sbin/",        "/srv/",     "/var/",
        "/usr/bin/",     "/usr/games/", "/usr/include/", "/usr/lib/", "/usr/lib64/",
        "/usr/libexec/", "/usr/sbin/",  "/usr/share/",   "/usr/src/",
    };
    bool ordinary = lack_kernel_parts(claims);
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        bool is_of_kernel =
            strcmp(classes[i], "kmod") == 0 || strcmp(classes[i], "filesystem") == 0;
        if (!ordinary || !is_of_kernel) {
            claims_add(arena, claims, "provides:", str_from_c(classes[i]));
        }
    }
    for (size_t i = 0; i < COUNT_OF(directories); i++) {
        claims_add(arena, claims, "provides:path:", str_from_c(directories[i]));
    }
}

void package_claims(Arena *arena, const char *prefix, const ParamSpec *specs, const Value *params,
                    List *claims)
{
    for (uint32_t i = 0; specs[i].name != NULL; i++) {
        if (strcmp(specs[i].name, "name") == 0) {
            push_claim(arena, prefix, claims, params[i]);
        } else if (strcmp(specs[i].name, "pkgs") == 0 && params[i].kind == VALUE_MAP) {
            for (uint32_t k = 0; k < params[i].map->len; k++) {
                push_claim(arena, prefix, claims, params[i].map->entries[k].key);
            }
        }
    }
}

/* --- Comparison with the installed packages -------------------------------------------------- */

static bool is_gone(const PackageStep *step, const PackageDatabase *database, Str name)
{
    const Package *package = database_find(database, name);
    return package == NULL || package->condition == PACKAGE_ABSENT ||
           (package->condition == PACKAGE_CONFIG && !step->purge);
}

bool package_request_is_met(Call *call, const PackageStep *step, const PackageRequest *request,
                            const PackageDatabase *database, Str candidate)
{
    if (step->removes) {
        return is_gone(step, database, request->name);
    }
    const Package *package = database_find(database, request->name);
    if (package == NULL || package->condition < PACKAGE_INCOMPLETE) {
        /* Another package may provide it, but its versions are unrelated. */
        return version_spec_is_any(&request->version) &&
               (database_find_installed(database, request->name) != NULL ||
                database_is_provided(call, step->backend, database, request->name));
    }
    return package->condition == PACKAGE_INSTALLED &&
           version_spec_accepts(&request->version, step->order, package->version) &&
           (candidate.len == 0 || step->order->compare(package->version, candidate) >= 0);
}

bool package_request_check(const PackageStep *step, const PackageRequest *request,
                           const PackageDatabase *database, bool released, Error *err)
{
    const Package *package = database_find(database, request->name);
    if (package == NULL || package->condition < PACKAGE_INCOMPLETE) {
        return true;
    }
    if (!step->removes && !step->allow_downgrade &&
        version_spec_is_below(&request->version, step->order, package->version)) {
        return error_set(err, ERROR_CONFLICT,
                         "'%" STR_FMT "' is installed in version %" STR_FMT ", newer than %" STR_FMT
                         "; set 'allow_downgrade: true' to allow a downgrade",
                         STR_ARG(request->name), STR_ARG(package->version),
                         STR_ARG(request->version.text));
    }
    if (package->held && !released && package->condition == PACKAGE_INSTALLED) {
        return error_set(err, ERROR_CONFLICT,
                         "'%" STR_FMT "' is held at version %" STR_FMT
                         "; use 'pkg.held' with 'hold: false' to release it",
                         STR_ARG(request->name), STR_ARG(package->version));
    }
    return true;
}

/* --- Versions -------------------------------------------------------------------------------- */

static Str list_versions(Arena *arena, const PackageOffer *offer)
{
    enum {
        VERSIONS_SHOWN_MAX = 5
    };
    Buf out = buf_make_in(arena, BUF_UNLIMITED);
    for (uint32_t i = 0; i < offer->version_count && i < VERSIONS_SHOWN_MAX; i++) {
        buf_put_format(&out, "%s%" STR_FMT, i > 0 ? ", " : "", STR_ARG(offer->versions[i]));
    }
    buf_put_c(&out, offer->version_count > VERSIONS_SHOWN_MAX ? ", ..." : "");
    return buf_str(&out);
}

static bool find_version(const PackageStep *step, const PackageRequest *request,
                         const PackageOffer *offer, Str *out)
{
    const VersionOrder *order = step->order;
    if (offer->candidate.len > 0 &&
        version_spec_accepts(&request->version, order, offer->candidate)) {
        *out = offer->candidate;
        return true;
    }
    bool found = false;
    for (uint32_t i = 0; i < offer->version_count; i++) {
        Str version = offer->versions[i];
        if (version_spec_accepts(&request->version, order, version) &&
            (!found || order->compare(version, *out) > 0)) {
            *out = version;
            found = true;
        }
    }
    return found;
}

/* Returns the name of an available package that is spelled similarly; empty if there is none. */
static Str similar_name(Call *call, const PackageBackend *backend, Str name)
{
    Str names, one;
    Error err;
    Suggest suggest = suggest_make(name);
    if (backend->list_names == NULL || !backend->list_names(call, &names, &err)) {
        return STR_EMPTY;
    }
    while (str_split_next(&names, '\n', &one)) {
        suggest_offer(&suggest, one);
    }
    return suggest_found(&suggest, &one) ? arena_copy(call->arena, one) : STR_EMPTY;
}

bool package_request_resolve(Call *call, const PackageStep *step, PackageRequest *request,
                             const PackageDatabase *database, const PackageOffer *offer, Error *err)
{
    const Package *package = database_find(database, request->name);
    bool is_there = package != NULL && package->condition == PACKAGE_INSTALLED;
    if (step->latest && is_there && offer->candidate.len == 0) {
        /* no repository has a newer one */
        request->target = arena_copy(call->arena, package->version);
        return true;
    }
    if (!offer->known) {
        Str near = similar_name(call, step->backend, request->name);
        return error_set(err, ERROR_NOT_FOUND, "no repository has '%" STR_FMT "'%s%" STR_FMT "%s",
                         STR_ARG(request->name), near.len > 0 ? "; did you mean '" : "",
                         STR_ARG(near), near.len > 0 ? "'?" : "");
    }
    if (version_spec_is_any(&request->version)) {
        if (offer->candidate.len == 0) {
            return error_set(err, ERROR_NOT_FOUND,
                             "no repository has '%" STR_FMT
                             "', other packages only refer to it; use the package that provides it",
                             STR_ARG(request->name));
        }
        request->target = step->latest ? offer->candidate : STR_EMPTY;
        return true;
    }
    if (!find_version(step, request, offer, &request->target)) {
        Str listed = list_versions(call->arena, offer);
        return error_set(err, ERROR_NOT_FOUND,
                         "no version %" STR_FMT " of '%" STR_FMT "' is available; %s%" STR_FMT,
                         STR_ARG(request->version.text), STR_ARG(request->name),
                         listed.len > 0 ? "available versions: " : "no versions are available",
                         STR_ARG(listed));
    }
    if (package != NULL && package->condition >= PACKAGE_INCOMPLETE && !step->allow_downgrade &&
        step->order->compare(package->version, request->target) > 0) {
        return error_set(err, ERROR_CONFLICT,
                         "'%" STR_FMT "' is installed in version %" STR_FMT
                         "; a downgrade to %" STR_FMT " requires 'allow_downgrade: true'",
                         STR_ARG(request->name), STR_ARG(package->version),
                         STR_ARG(request->target));
    }
    return true;
}

Value package_current_state(Arena *arena, const Package *package)
{
    if (package == NULL || package->condition == PACKAGE_ABSENT) {
        return value_missing();
    }
    if (package->condition == PACKAGE_CONFIG) {
        return value_string(STR("configuration only"));
    }
    if (package->condition == PACKAGE_INCOMPLETE) {
        return value_string(arena_format(arena, "%" STR_FMT " (%" STR_FMT ")",
                                         STR_ARG(package->version), STR_ARG(package->detail)));
    }
    return value_string(arena_copy(arena, package->version));
}

/* --- The check of a step --------------------------------------------------------------------- */

bool package_step_refreshes(Call *call, const PackageStep *step)
{
    if (step->refresh == REFRESH_NEVER || index_is_fresh(call, step->backend)) {
        return false;
    }
    if (step->refresh == REFRESH_ALWAYS || index_is_outdated(call, step->backend)) {
        return true;
    }
    int64_t age_ms = index_age_ms(call, step->backend);
    return age_ms == INT64_MAX || age_ms > step->index_age_ms;
}

typedef struct StepCheck {
    Call *call;
    PackageStep *step;
    Outcome *outcome;
    PackageDatabase *database;
    PackageOffer *offers; /* one per package request; NULL: not queried */
    /* requests that are not satisfied, and those of them that can be installed */
    uint32_t unmet, resolved;
} StepCheck;

enum {
    /* maximum age, one week, of an index from which we conclude that a package does not exist */
    TRUSTED_INDEX_MS = 7 * 24 * 3600 * 1000
};

static void note(StepCheck *look, Str name, Value old_value, Value new_value)
{
    look->outcome->changed = true;
    outcome_change(look->call, look->outcome, arena_copy_c(look->call->arena, name), old_value,
                   new_value);
}

/* A plan reports which versions would be installed. An apply queries them for all steps together
 * once the transaction starts. `latest` always needs the newest version. */
static bool find_offers(StepCheck *look, bool unmet, Error *err)
{
    const PackageStep *step = look->step;
    bool planning = look->call->planning;
    if (step->removes || !(step->latest || (unmet && planning))) {
        return true;
    }
    if (!planning && package_step_refreshes(look->call, step)) {
        look->outcome->unknown = true; /* unknown until the index has been refreshed */
        return true;
    }
    look->offers = ARENA_ARRAY(look->call->arena, PackageOffer, step->count);
    for (uint32_t i = 0; i < step->count; i++) {
        look->offers[i].name = database_name(look->database, step->requests[i].name);
    }
    return index_find(look->call, step->backend, step->latest ? look->database : NULL, look->offers,
                      step->count, err);
}

static const char *names_param(Call *call)
{
    return call_has(call, "pkgs") ? "pkgs" : "name";
}

/* During a plan, a package that is not available may become available through a repository that an
 * earlier step adds, or through a newer index, because the step refreshes the index before it
 * fails. */
static bool may_be_offered_later(StepCheck *look, Str name, const Error *err)
{
    Call *call = look->call;
    const PackageStep *step = look->step;
    if (!call->planning || err->kind != ERROR_NOT_FOUND) {
        return call_blame(call, names_param(call));
    }
    if (call_report_missing(call, names_param(call), "package", name)) {
        return true;
    }
    bool reads =
        step->refresh == REFRESH_ALWAYS || (step->refresh == REFRESH_WHEN_NEEDED &&
                                            index_age_ms(call, step->backend) > TRUSTED_INDEX_MS);
    if (reads) {
        look->outcome->unknown = true;
        look->outcome->comment = arena_format(
            call->arena, "%s, according to the current index; this step refreshes it first",
            err->text);
    }
    return reads;
}

static bool note_install(StepCheck *look, uint32_t at, Error *err)
{
    const PackageStep *step = look->step;
    PackageRequest *request = &step->requests[at];
    const Package *package = database_find(look->database, request->name);
    Value wanted =
        value_string(request->version.text.len > 0 ? request->version.text : STR("newest"));
    look->unmet++;
    if (look->offers != NULL) {
        if (package_request_resolve(look->call, step, request, look->database, &look->offers[at],
                                    err)) {
            wanted = value_string(request->target.len > 0 ? request->target
                                                          : look->offers[at].candidate);
            look->resolved++;
        } else if (!may_be_offered_later(look, request->name, err)) {
            return false;
        }
    }
    note(look, request->name, package_current_state(look->call->arena, package), wanted);
    return true;
}

static bool check_request(StepCheck *look, uint32_t at, Error *err)
{
    const PackageStep *step = look->step;
    const PackageRequest *request = &step->requests[at];
    Str candidate = step->latest && look->offers != NULL ? look->offers[at].candidate : STR_EMPTY;
    const Package *package = database_find(look->database, request->name);
    if (package_request_is_met(look->call, step, request, look->database, candidate)) {
        if (!step->removes && package != NULL && package->automatic &&
            step->backend->mark_manual != NULL) {
            note(look, request->name, value_string(STR("automatic")), value_string(STR("wanted")));
        }
        return true;
    }
    if (!package_request_check(step, request, look->database,
                               package_is_released(look->call, request->name), err)) {
        return false;
    }
    if (step->removes) {
        note(look, request->name, package_current_state(look->call->arena, package),
             value_missing());
        return true;
    }
    return note_install(look, at, err);
}

/* A plan lists dependent packages that would be removed too, if the package manager can simulate
 * that. It fails if the package manager refuses, as for an essential package. */
static bool check_removable(StepCheck *look, Error *err)
{
    const PackageStep *step = look->step;
    PackageItem *items = ARENA_ARRAY(look->call->arena, PackageItem, step->count);
    PackageChange change = package_step_change(step);
    Map *changes = map_new(look->call->arena, 4);
    if (!look->call->planning || !step->removes || step->backend->simulate == NULL) {
        return true;
    }
    change.items = items;
    for (uint32_t i = 0; i < step->count; i++) {
        Str name = database_name(look->database, step->requests[i].name);
        if (!package_request_is_met(look->call, step, &step->requests[i], look->database,
                                    STR_EMPTY)) {
            items[change.count++] = (PackageItem){ .name = name };
        }
    }
    if (change.count == 0) {
        return true;
    }
    if (!step->backend->simulate(look->call, &change, changes, err)) {
        /* The package manager may not be installed yet, or a repair that runs first may help. */
        return err->kind != ERROR_OS || look->database->interrupted ||
               call_blame(look->call, names_param(look->call));
    }
    for (uint32_t i = 0; i < changes->len; i++) {
        Str name = value_str(changes->entries[i].key);
        const Package *package = database_find(look->database, name);
        if (package != NULL && map_find_str(look->outcome->changes, name) == NULL) {
            note(look, name, package_current_state(look->call->arena, package), value_missing());
        }
    }
    return true;
}

/* During a plan, asks the package manager whether everything can be installed without removing
 * other packages. If it cannot simulate that, problems are found only by the run. */
static bool check_installable(StepCheck *look, Error *err)
{
    Call *call = look->call;
    const PackageStep *step = look->step;
    if (!call->planning || step->removes || step->backend->simulate == NULL || look->unmet == 0 ||
        look->unmet != look->resolved || look->database->interrupted) {
        return true;
    }
    PackageItem *items = ARENA_ARRAY(call->arena, PackageItem, step->count);
    PackageChange change = package_step_change(step);
    Map *changes = map_new(call->arena, 4);
    change.items = items;
    for (uint32_t i = 0; i < step->count; i++) {
        const Package *package = database_find(look->database, step->requests[i].name);
        if (package != NULL && package->held) {
            /* an earlier step releases it, which a simulation cannot take into account */
            return true;
        }
        items[change.count++] =
            (PackageItem){ .name = step->requests[i].name, .version = step->requests[i].target };
    }
    if (!step->backend->simulate(call, &change, changes, err)) {
        return call_report_missing(call, names_param(call), "package", step->requests[0].name);
    }
    for (uint32_t i = 0; i < changes->len && !step->allow_removals; i++) {
        Str name = value_str(changes->entries[i].key);
        if (value_get(changes->entries[i].value, STR("new")) == NULL &&
            !call_report_missing(call, names_param(call), "removal", name)) {
            return error_set(err, ERROR_CONFLICT,
                             "'%" STR_FMT
                             "' would be removed for it; set 'allow_removals: true' to allow that",
                             STR_ARG(name));
        }
    }
    return true;
}

static bool has_unmet(const StepCheck *look)
{
    for (uint32_t i = 0; i < look->step->count; i++) {
        if (!package_request_is_met(look->call, look->step, &look->step->requests[i],
                                    look->database, STR_EMPTY)) {
            return true;
        }
    }
    return false;
}

void package_note_repair(Call *call, Outcome *outcome, const PackageBackend *backend, Str wrong)
{
    outcome->changed = true;
    outcome_change(call, outcome, backend->name, value_string(arena_copy(call->arena, wrong)),
                   value_string(STR("repaired")));
}

/* A package manager that is still running has not been interrupted. */
bool package_check_interruption(Call *call, const PackageBackend *backend,
                                const PackageDatabase *database, Outcome *outcome)
{
    PackageHolder holder;
    if (!database->interrupted || backend->repair == NULL || backend->find_holder(call, &holder)) {
        return false;
    }
    package_note_repair(call, outcome, backend, database->interruption);
    return true;
}

/* Changes require the program, but an earlier step of a plan may install it. */
static bool check_program(StepCheck *look, Error *err)
{
    const PackageBackend *backend = look->step->backend;
    if (!(look->outcome->changed || look->outcome->unknown) || backend->program == NULL ||
        tool_exists(look->call, backend->program)) {
        return true;
    }
    if (host_is_live(look->call->host) &&
        call_report_missing_program(look->call, backend->program)) {
        look->outcome->unknown = true;
        return true;
    }
    return error_set(err, ERROR_UNAVAILABLE, "this requires '%s', which is not %s%s%s",
                     backend->program,
                     host_is_live(look->call->host) ? "installed" : "installed in the root '",
                     host_is_live(look->call->host) ? "" : host_root(look->call->host),
                     host_is_live(look->call->host) ? "" : "'");
}

static bool check_all(StepCheck *look, Error *err)
{
    if (!find_offers(look, has_unmet(look), err)) {
        if (!look->call->planning) {
            return false;
        }
        look->offers = NULL;
        look->outcome->unknown = look->step->latest;
    }
    for (uint32_t i = 0; i < look->step->count; i++) {
        if (!check_request(look, i, err)) {
            return false;
        }
    }
    if (!check_installable(look, err) || !check_removable(look, err)) {
        return false;
    }
    package_check_interruption(look->call, look->step->backend, look->database, look->outcome);
    return check_program(look, err);
}

bool package_step_check(Call *call, PackageStep *step, Outcome *outcome, Error *err)
{
    StepCheck look = { .call = call, .step = step, .outcome = outcome };
    if (!package_step_read(call, step, err)) {
        return false;
    }
    if (!database_get(call, step->backend, &look.database, err)) {
        return false;
    }
    bool ok = check_all(&look, err);
    database_unref(look.database);
    outcome->state = step->removes ? STR("absent") : STR("installed");
    outcome->check_data = step;
    return ok;
}
