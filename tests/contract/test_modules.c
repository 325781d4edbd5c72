/* Every action fulfills the contract that the engine relies on: see README.md. Each runs in a
 * separate process that sees its root as a small system: /usr of this machine, read-only, and a few
 * files. Without the required privilege, actions that run commands are skipped. */
#include <dirent.h>
#include <ftw.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "lang/yaml.h"
#include "modules/call.h"
#include "modules/modules.h"
#include "sys/sha256.h"
#include "unit.h"

typedef struct ConfirmedChange {
    Arena arena;
    char directory[64]; /* contains "root", and "outside", which must never be modified */
    char root[80];
    bool has_system;
    Host *host;
    const Module *module;
    const Action *action;
    Value params[ACTION_PARAMS_MAX];
    Error err;
} ConfirmedChange;

/* --- A small system ------------------------------------------------------------------------- */

static bool put(const char *directory, const char *path, const char *text)
{
    char name[256];
    snprintf(name, sizeof name, "%s/%s", directory, path);
    for (char *slash = strchr(name + strlen(directory) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(name, 0755);
        *slash = '/';
    }
    FILE *file = fopen(name, "w");
    return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

static bool mount_usr(const char *root)
{
    static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64" };
    char usr[128];
    snprintf(usr, sizeof usr, "%s/usr", root);
    if (geteuid() != 0 || mkdir(usr, 0755) != 0 || unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("/usr", usr, NULL, MS_BIND | MS_REC, NULL) != 0 ||
        mount(NULL, usr, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(links); i++) {
        char name[128], own[32], target[256];
        snprintf(own, sizeof own, "/%s", links[i]);
        snprintf(name, sizeof name, "%s/%s", root, links[i]);
        ssize_t len = readlink(own, target, sizeof target - 1);
        if (len > 0) {
            target[len] = '\0';
            if (symlink(target, name) != 0) {
                return false;
            }
        }
    }
    return true;
}

/* A tar archive with one file, app-1.4/bin/app. */
static bool put_archive(const char *root)
{
    static char archive[4 * 512];
    char sum[8], path[1000];
    unsigned total = 0;
    strcpy(archive, "app-1.4/bin/app");
    strcpy(archive + 100, "0000755");
    strcpy(archive + 124, "00000000004");
    strcpy(archive + 136, "14000000000");
    memset(archive + 148, ' ', 8);
    archive[156] = '0';
    memcpy(archive + 257, "ustar\00000", 8);
    for (size_t i = 0; i < 512; i++) {
        total += (unsigned char)archive[i];
    }
    snprintf(sum, sizeof sum, "%06o", total);
    memcpy(archive + 148, sum, 7);
    memcpy(archive + 512, "run\n", 4);
    snprintf(path, sizeof path, "%s/var/cache/app-1.4.tar", root);
    if (!put(root, "var/cache/app-1.4.tar", "")) {
        return false;
    }
    FILE *file = fopen(path, "w");
    bool ok = file != NULL && fwrite(archive, 1, sizeof archive, file) == sizeof archive;
    return (file == NULL || fclose(file) == 0) && ok;
}

static bool make_root(ConfirmedChange *trial)
{
    snprintf(trial->root, sizeof trial->root, "%s/root", trial->directory);
    bool ok = put(trial->directory, "outside", "precious\n") && mkdir(trial->root, 0755) == 0 &&
              put(trial->root, "etc/passwd", "root:x:0:0:root:/root:/bin/sh\n") &&
              put(trial->root, "etc/group", "root:x:0:\n") &&
              put(trial->root, "etc/hostname", "here\n") &&
              put(trial->root, "etc/pki/ca.crt", "certificate\n") &&
              put(trial->root, "etc/telnet/config", "port 23\n") &&
              put(trial->root, "etc/app.conf.default", "color = blue\n") &&
              put(trial->root, "srv/data/old", "data\n") && put(trial->root, "var/log/x", "") &&
              put(trial->root, "tmp/x", "") && put(trial->root, "root/.profile", "") &&
              put_archive(trial->root);
    trial->has_system = ok && mount_usr(trial->root);
    return ok && host_open(trial->root, &trial->host, &trial->err);
}

/* --- What is on the disk -------------------------------------------------------------------- */

static void snapshot_entry(Buf *out, const char *path);

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_entry(const struct dirent *entry)
{
    return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
           strcmp(entry->d_name, "usr") != 0;
}

static void snapshot_inside(Buf *out, const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, is_entry, compare_names);
    for (int i = 0; i < count; i++) {
        char inner[1000];
        snprintf(inner, sizeof inner, "%s/%s", path, entries[i]->d_name);
        snapshot_entry(out, inner);
        free(entries[i]);
    }
    if (count >= 0) {
        free(entries);
    }
}

/* The mtime of a directory reveals files that existed briefly. */
static void snapshot_entry(Buf *out, const char *path)
{
    struct stat status;
    if (lstat(path, &status) != 0) {
        return;
    }
    buf_put_format(out, "%s %o %u:%u %lld %lld.%09ld", path, status.st_mode, status.st_uid,
                   status.st_gid, (long long)status.st_size, (long long)status.st_mtim.tv_sec,
                   status.st_mtim.tv_nsec);
    if (S_ISREG(status.st_mode)) {
        static char content[1 << 16];
        char digits[SHA256_HEX + 1];
        FILE *file = fopen(path, "r");
        size_t len = file == NULL ? 0 : fread(content, 1, sizeof content, file);
        if (file != NULL) {
            fclose(file);
        }
        sha256_hex(str_from(content, len), digits);
        buf_put_format(out, " %s", digits);
    }
    buf_put_char(out, '\n');
    if (S_ISDIR(status.st_mode)) {
        snapshot_inside(out, path);
    }
}

static Buf snapshot(const ConfirmedChange *trial)
{
    Buf out = buf_make(BUF_UNLIMITED);
    snapshot_entry(&out, trial->directory);
    return out;
}

/* --- The example ---------------------------------------------------------------------------- */

static void set_param(ConfirmedChange *trial, const Sources *sources, Str name, Value value)
{
    int at = action_param_index(trial->action, name);
    if (at < 0) {
        fail_msg("the example of %s.%s has an unknown parameter '%.*s'", trial->module->name,
                 trial->action->name, STR_ARG(name));
    }
    if (!param_convert(&trial->arena, sources, &trial->action->params[at], value,
                       &trial->params[at], &trial->err)) {
        fail_msg("%s.%s, '%.*s': %s", trial->module->name, trial->action->name, STR_ARG(name),
                 trial->err.text);
    }
}

static void read_example(ConfirmedChange *trial)
{
    Sources sources;
    Problems problems;
    Value steps;
    sources_init(&sources, &trial->arena);
    problems_init(&problems, &trial->arena);
    uint16_t source = sources_add(&sources, STR("example"), str_from_c(trial->action->example));
    assert_true(
        yaml_load(&trial->arena, &sources, source, &yaml_options_default, &steps, &problems));
    assert_int_equal(steps.kind, VALUE_LIST);
    Str key = arena_format(&trial->arena, "%s.%s", trial->module->name, trial->action->name);
    const Value *given = value_get(steps.list->items[0], key);
    assert_non_null(given);
    for (uint32_t i = 0; trial->action->params[i].name != NULL; i++) {
        const ParamSpec *spec = &trial->action->params[i];
        trial->params[i] = value_missing();
        if (spec->fallback != NULL) {
            set_param(trial, NULL, str_from_c(spec->name),
                      value_string(str_from_c(spec->fallback)));
        }
    }
    for (uint32_t i = 0; given->kind == VALUE_LIST && i < given->list->len; i++) {
        const MapEntry *entry = &given->list->items[i].map->entries[0];
        set_param(trial, &sources, value_str(entry->key), entry->value);
    }
}

/* --- The contract --------------------------------------------------------------------------- */

static bool is_command(const Action *action)
{
    return action_param_index(action, STR("unless")) >= 0;
}

static bool inspect(ConfirmedChange *trial, bool planning, Call *call, Outcome *outcome)
{
    *outcome = (Outcome){ 0 };
    *call = (Call){ .action = trial->action,
                    .params = trial->params,
                    .arena = &trial->arena,
                    .host = trial->host,
                    .planning = planning };
    return trial->action->check(call, outcome, &trial->err);
}

static Outcome observe(ConfirmedChange *trial, bool planning, Call *call)
{
    Outcome outcome;
    if (!inspect(trial, planning, call, &outcome)) {
        fail_msg("%s.%s: %s", trial->module->name, trial->action->name, trial->err.text);
    }
    return outcome;
}

/* Actions that need the running machine, or a more complete system, may report that in a plan and
 * when they run. Such actions are tested in hosts of the lab. */
static bool is_refused(ConfirmedChange *trial)
{
    Call call;
    Outcome outcome;
    return !inspect(trial, true, &call, &outcome) && trial->err.kind == ERROR_UNAVAILABLE &&
           !inspect(trial, false, &call, &outcome) && trial->err.kind == ERROR_UNAVAILABLE;
}

static void assert_unchanged(ConfirmedChange *trial, const Buf *before, const char *when)
{
    AUTO_CLEAR(Buf) after = snapshot(trial);
    if (!str_eq(buf_str(before), buf_str(&after))) {
        fail_msg("%s.%s changed something %s:\n%.*s\n%.*s", trial->module->name,
                 trial->action->name, when, STR_ARG(buf_str(before)), STR_ARG(buf_str(&after)));
    }
}

static void fulfills_the_contract(ConfirmedChange *trial)
{
    Call call;
    AUTO_CLEAR(Buf) before = snapshot(trial);
    if (is_refused(trial)) {
        assert_unchanged(trial, &before, "though it refused");
        return;
    }
    Outcome planned = observe(trial, true, &call);
    assert_unchanged(trial, &before, "in a plan");
    Outcome found = observe(trial, false, &call);
    assert_unchanged(trial, &before, "in a check");
    assert_true(planned.unknown || planned.changed == found.changed);
    if (found.changed) {
        assert_non_null(trial->action->apply);
        found.changed = false;
        if (!trial->action->apply(&call, &found, &trial->err)) {
            fail_msg("%s.%s: %s", trial->module->name, trial->action->name, trial->err.text);
        }
        assert_true(found.changed);
    }
    AUTO_CLEAR(Buf) applied = snapshot(trial);
    if (!trial->action->always_changes) {
        assert_false(observe(trial, false, &call).changed);
        assert_unchanged(trial, &applied, "in the check after it");
    }
    assert_non_null(strstr(buf_c(&applied), "/outside 100644"));
}

/* These actions connect to another machine, which the lab provides. */
static bool needs_another_machine(const ConfirmedChange *trial)
{
    return strcmp(trial->module->name, "git") == 0 || strcmp(trial->module->name, "http") == 0;
}

static bool try_action(ConfirmedChange *trial)
{
    read_example(trial);
    if ((is_command(trial->action) && !trial->has_system) || needs_another_machine(trial)) {
        return true;
    }
    fulfills_the_contract(trial);
    return true;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    return remove(path);
}

static void try_in_child(const Module *module, const Action *action)
{
    ConfirmedChange trial = { .module = module, .action = action };
    strcpy(trial.directory, "/tmp/contract.XXXXXX");
    assert_non_null(mkdtemp(trial.directory));
    pid_t child = fork();
    if (child == 0) {
        arena_init(&trial.arena, ARENA_UNLIMITED);
        /* A failed assertion exits the process with its message. */
        _exit(make_root(&trial) && try_action(&trial) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    nftw(trial.directory, remove_one, 8, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (status != 0) {
        fail_msg("%s.%s breaks the contract", module->name, action->name);
    }
}

/* This action always fails by design. */
static bool fails_on_purpose(const Module *module, const Action *action)
{
    return strcmp(module->name, "test") == 0 && strcmp(action->name, "failed") == 0;
}

/* The valid choices come with packages; tested in hosts of the lab. */
static bool needs_packages(const Module *module)
{
    return strcmp(module->name, "alternatives") == 0;
}

static void every_action_fulfills_the_contract(void **state)
{
    for (const Module *const *module = modules; *module != NULL; module++) {
        for (const Action *action = (*module)->actions; action->name != NULL; action++) {
            if (!fails_on_purpose(*module, action) && !needs_packages(*module)) {
                try_in_child(*module, action);
            }
        }
    }
}

static void check_params(const Module *module, const Action *action)
{
    static const char *const reserved[] = { "require",   "watch",  "prereq", "use",
                                            "onchanges", "onfail", "listen", "order" };
    assert_true(action_param_count(action) <= ACTION_PARAMS_MAX);
    for (const ParamSpec *spec = action->params; spec->name != NULL; spec++) {
        if (spec->help == NULL || spec->help[0] == '\0') {
            fail_msg("%s.%s: '%s' has no help", module->name, action->name, spec->name);
        }
        for (size_t i = 0; i < COUNT_OF(reserved); i++) {
            assert_string_not_equal(spec->name, reserved[i]);
        }
        for (const ParamSpec *other = action->params; other < spec; other++) {
            assert_string_not_equal(spec->name, other->name);
        }
    }
}

/* Its query returns the state without changing it. */
static bool only_queries(const Module *module, const Action *action)
{
    return strcmp(module->name, "cmd") == 0 ||
           (strcmp(module->name, "pkg") == 0 && strcmp(action->name, "uptodate") == 0);
}

static void every_row_is_documented(void **state)
{
    for (const Module *const *module = modules; *module != NULL; module++) {
        assert_non_null((*module)->help);
        for (const Action *action = (*module)->actions; action->name != NULL; action++) {
            assert_non_null(action->help);
            assert_non_null(action->example);
            assert_non_null(action->check);
            assert_true(action->query == NULL || action->apply == NULL ||
                        only_queries(*module, action));
            check_params(*module, action);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_documented),
        cmocka_unit_test(every_action_fulfills_the_contract),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
