#include "server/own_files.h"

#include "base/log.h"
#include "datastore/member_settings.h"
#include "membership/lost_settings.h"
#include "server/cluster_setup.h"

static bool has_ca(const Directory *directory, Error *err)
{
    return directory_has(directory, SERVER_CA) ||
           error_set(err, ERROR_INVALID,
                     "%s/" SERVER_CA
                     " is missing: the CA key of this cluster. Restore it from a copy; or move "
                     "the state directory away and run 'eden backup restore FILE'. Without "
                     "either, 'eden init' creates a new cluster that every node must join",
                     directory->path);
}

bool own_files_complete(const Directory *directory, const ServerSettings *settings, Str enrollment,
                        int64_t now_ms, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) ca = { 0 };
    arena_init(&arena, ARENA_UNLIMITED);
    if (!has_ca(directory, err)) {
        return false;
    }
    bool serving = directory_has(directory, SERVER_SERVING);
    bool node = directory_has(directory, SERVER_NODE);
    if (serving && node) {
        return true;
    }
    /* During a rotation, both will soon be renewed by the other CA. */
    if (!credential_load(directory, SERVER_CA, &arena, &ca, err)) {
        return false;
    }
    if (!serving) {
        log_warning("API certificate was missing; issued a new one", LOG_C("file", SERVER_SERVING));
        if (!serving_issue(directory, &ca, settings, now_ms, err)) {
            return false;
        }
    }
    if (node) {
        return true;
    }
    log_warning("server certificate was missing; issued a new one", LOG_C("file", SERVER_NODE));
    NodeIssue issue = { .directory = directory,
                        .file = SERVER_NODE,
                        .ca = &ca,
                        .settings = settings,
                        .enrollment = enrollment,
                        .now_ms = now_ms };
    Certificate certificate;
    Pin pin;
    return node_issue(&arena, &issue, &certificate, &pin, err);
}

static bool write_settings(const OwnFiles *files, const char *name, Error *err)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    server_settings_print(files->settings, &text);
    return directory_write(files->directory, name, buf_str(&text), true, err);
}

void own_files_save_copy(const OwnFiles *files)
{
    Error err;
    if (!write_settings(files, SETTINGS_COPY, &err)) {
        log_warning("cannot save a copy of the settings", LOG_C("error", err.text));
    }
    if (directory_has(files->directory, CREATE_UNFINISHED) &&
        !directory_remove(files->directory, CREATE_UNFINISHED, &err)) {
        log_warning("cannot remove an obsolete file", LOG_C("error", err.text));
    }
}

static bool log_restored(const char *name, bool ok, const Error *err)
{
    if (ok) {
        log_warning("restored a missing file of this server", LOG_C("file", name));
    } else {
        log_error("a file of this server is missing and cannot be restored", LOG_C("file", name),
                  LOG_C("error", err->text));
    }
    return ok;
}

/* Nothing can be created in a directory that was deleted, even if it is open. */
static void open_present(const OwnFiles *files)
{
    AUTO_CLEAR(Arena) arena;
    Directory present;
    Error err;
    arena_init(&arena, ARENA_UNLIMITED);
    Str path = arena_format(&arena, "%s/" SERVER_DIRECTORY, files->state_dir);
    if (directory_open(path.data, &present, &err)) {
        directory_close(files->directory);
        *files->directory = present;
    }
}

/* The settings come last: without them there is no server, and nothing would be deleted. */
void own_files_drop(const Directory *directory)
{
    static const char *const names[] = { SERVER_CA,     AUTHORITY_CA_NEXT,   SOURCE_KEY,
                                         "ssh_key",     "ssh_key.pub",       SERVER_SERVING,
                                         SERVER_NODE,   DATASTORE_CA_KEY,    DATASTORE_SETTINGS,
                                         SETTINGS_COPY, SERVER_SETTINGS_FILE };
    Error err;
    directory_remove_child(directory, DATASTORE_CERTIFICATES);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (!directory_remove(directory, names[i], &err) && err.kind != ERROR_NOT_FOUND) {
            log_error("cannot delete a file of a removed server", LOG_C("error", err.text));
        }
    }
    directory_sync(directory);
}

bool own_files_restore(const OwnFiles *files)
{
    static const struct {
        const char *name;
        OwnCertificateKind kind;
    } own[] = { { SERVER_NODE, OWN_KIND_NODE }, { SERVER_SERVING, OWN_KIND_SERVING } };
    Error err;
    bool all = true;
    open_present(files);
    if (directory_has(files->directory, CREATE_UNFINISHED)) {
        /* another cluster is being created there, and the missing files will follow */
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (!directory_has(files->directory, own[i].name)) {
            const Credential *present = own_certificates_credential(files->own, own[i].kind);
            bool ok =
                credential_save(files->directory, own[i].name, present->key, present->chain, &err);
            all = log_restored(own[i].name, ok, &err) && all;
        }
    }
    if (!authority_is_saved(files->authority)) {
        bool ok = authority_save(files->authority, &err);
        all = log_restored(SERVER_CA, ok, &err) && all;
    }
    if (!source_vault_save(files->vault, &err)) {
        all = log_restored(SOURCE_KEY, false, &err);
    }
    if (settings_are_lost(files->directory)) {
        bool ok = write_settings(files, SERVER_SETTINGS_FILE, &err);
        all = log_restored(SERVER_SETTINGS_FILE, ok, &err) && all;
    }
    return all;
}
