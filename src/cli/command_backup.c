/* eden backup: writes, verifies and restores the backup of a cluster. */
#include <stdio.h>

#include "backup/backup_reader.h"
#include "base/utc.h"
#include "cli/backup_print.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/server_user.h"
#include "lang/duration.h"
#include "server/restore_cluster.h"
#include "sys/clock.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/file_stream.h"

enum {
    FIRST_BYTE_MS = 60 * 1000, /* timeout for the first byte */
    IDLE_TIMEOUT_MS = 60 * 1000
};

/* --- create ---------------------------------------------------------------------------------- */

typedef struct BackupDownload {
    const Invocation *invocation;
    BackupReader reader; /* verifies the data before it is written */
    const char *path;
    FileDraft *draft;
    Buf head; /* bytes received before the manifest was complete */
    Error err;
} BackupDownload;

/* Returns "blue-20260131T081530Z.eden-backup", the default name. */
static const char *default_path(Arena *arena, const BackupManifest *manifest)
{
    Str time = utc_text(arena, manifest->time_ms);
    Buf name = buf_make_in(arena, BUF_UNLIMITED);
    buf_put_format(&name, "%s-", manifest->cluster);
    for (size_t i = 0; i < time.len; i++) {
        if (ascii_is_digit(time.data[i]) || ascii_is_alpha(time.data[i])) {
            buf_put_char(&name, time.data[i]);
        }
    }
    buf_put_c(&name, ".eden-backup");
    return buf_c(&name);
}

static bool on_manifest(void *context, const BackupManifest *manifest, Error *err)
{
    BackupDownload *download = context;
    if (download->path == NULL) {
        download->path = default_path(download->invocation->arena, manifest);
    }
    return file_draft_open(download->path, 0600, true, &download->draft, err);
}

static bool on_part(void *context, BackupPartKind kind, Str chunk, Error *err)
{
    return true;
}

static bool on_chunk(void *context, Str bytes)
{
    BackupDownload *download = context;
    bool was_open = download->draft != NULL;
    if (!was_open) {
        buf_put(&download->head, bytes);
    }
    if (!backup_reader_feed(&download->reader, bytes, &download->err)) {
        return false;
    }
    if (download->draft == NULL) {
        return true;
    }
    return file_draft_put(download->draft, was_open ? bytes : buf_str(&download->head),
                          &download->err);
}

static int finish_create(Invocation *invocation, BackupDownload *download)
{
    /* The default timeout is longer than for other requests; 0 selects --timeout. */
    bool has_timeout = invocation_flag(invocation, "timeout");
    ClusterStreamHandler handler = { on_chunk, download, IDLE_TIMEOUT_MS };
    ClusterRequest request = { .method = "GET",
                               .target = STR("/v1/backup"),
                               .timeout_ms = has_timeout ? 0 : FIRST_BYTE_MS };
    Error err = { 0 };
    if (has_timeout && duration_parse(str_from_c(invocation_text(invocation, "timeout")),
                                      &handler.idle_timeout_ms)) {
        handler.idle_timeout_ms = handler.idle_timeout_ms < 1 ? 1 : handler.idle_timeout_ms;
    }
    ClusterRefusal refusal;
    bool ok = cluster_stream(invocation, &request, &handler, &refusal, &err);
    if (download->err.kind != ERROR_NONE) {
        return daemon_command_fail(invocation, "E0871", &download->err);
    }
    if (!ok) {
        return cluster_report_refusal(invocation, &refusal, &err);
    }
    if (!backup_reader_finish(&download->reader, &err) || !file_draft_keep(download->draft, &err)) {
        return daemon_command_fail(invocation, "E0871", &err);
    }
    return backup_print_created(invocation, download->path, &download->reader.manifest);
}

static int run_create(Invocation *invocation)
{
    BackupDownload download = { .invocation = invocation,
                                .path = invocation->arg_count > 0 ? invocation->args[0] : NULL,
                                .head = buf_make(BUF_UNLIMITED) };
    if (download.path != NULL && file_exists(download.path)) {
        Error err;
        error_set(&err, ERROR_CONFLICT, "%s: already exists", download.path);
        return daemon_command_fail(invocation, "E0871", &err);
    }
    backup_reader_init(&download.reader, &(BackupSink){ on_manifest, on_part, &download });
    int code = finish_create(invocation, &download);
    backup_reader_clear(&download.reader);
    file_draft_close(download.draft);
    buf_clear(&download.head);
    return code;
}

/* --- verify ---------------------------------------------------------------------------------- */

/* Unpacks the backup into a temporary directory and removes that afterwards. */
static bool verify_in(const Invocation *invocation, const Directory *scratch, const char *name,
                      BackupContent *out, Error *err)
{
    AUTO(FileReader) *backup = NULL;
    AUTO_CLEAR(Directory) directory = { .descriptor = -1 };
    const char *path = invocation->args[0];
    Str unpack_dir =
        arena_format(invocation->arena, "%s/%s", invocation_text(invocation, "scratch"), name);
    BackupManifest manifest;
    return file_reader_open(path, &backup, err) &&
           directory_make_child(scratch, name, &directory, err) &&
           ((backup_unpack(backup, unpack_dir.data, &manifest, err) &&
             backup_check(invocation->arena, unpack_dir.data, &manifest, out, err)) ||
            error_wrap(err, "%s", path));
}

static int run_verify(Invocation *invocation)
{
    AUTO_CLEAR(Directory) scratch = { .descriptor = -1 };
    char name[64];
    BackupContent content;
    Error err;
    snprintf(name, sizeof name, "eden-verify-%016llx", (unsigned long long)random_seed());
    if (!directory_open(invocation_text(invocation, "scratch"), &scratch, &err)) {
        return daemon_command_fail(invocation, "E0872", &err);
    }
    bool ok = verify_in(invocation, &scratch, name, &content, &err);
    directory_remove_child(&scratch, name);
    if (!ok) {
        /* All invalid backups have the same exit code, for scripts. */
        (void)daemon_command_fail(invocation, "E0872", &err);
        return EXIT_FAILED;
    }
    return backup_print_verified(invocation, invocation->args[0], &content);
}

/* --- restore --------------------------------------------------------------------------------- */

/* Settings without an option are taken from the backup. */
static bool read_options(const Invocation *invocation, ClusterSpec *spec, Error *err)
{
    Arena *arena = invocation->arena;
    ServerSettings *settings = &spec->settings;
    Str name = str_from_c(invocation_text(invocation, "name"));
    const char **addresses = invocation_texts(invocation, "address", &settings->name_count);
    Str *names = ARENA_ARRAY(arena, Str, settings->name_count);
    if (name.len > 0 && !node_name_check(name, err)) {
        return false;
    }
    memcpy(settings->node, name.data, name.len);
    for (uint32_t i = 0; i < settings->name_count; i++) {
        names[i] = str_from_c(addresses[i]);
    }
    settings->names = names;
    settings->rpc = str_from_c(invocation_text(invocation, "rpc"));
    settings->api = str_from_c(invocation_text(invocation, "api"));
    settings->health = str_from_c(invocation_text(invocation, "health"));
    if (!server_store_read(invocation, settings, err)) {
        return false;
    }
    spec->state_dir = invocation_text(invocation, "state-dir");
    spec->now_ms = clock_now_ms();
    return server_user_find(arena, invocation_text(invocation, "user"), spec, err);
}

static int run_restore(Invocation *invocation)
{
    RestoreSpec spec = { .backup = invocation->args[0] };
    RestoreResult restored;
    Error err;
    if (!read_options(invocation, &spec.spec, &err) ||
        !cluster_restore(invocation->arena, &spec, &restored, &err)) {
        if (err.kind == ERROR_CONFLICT) {
            error_wrap(&err, "to replace the existing cluster, stop eden and move %s away first",
                       spec.spec.state_dir);
        }
        return daemon_command_fail(invocation, "E0873", &err);
    }
    return backup_print_restored(invocation, &restored);
}

static const Option verify_options[] = {
    { .name = "scratch",
      .argument = "DIR",
      .word = WORD_DIRECTORY,
      .fallback = "/var/tmp",
      .help = "directory for temporary files" },
    { 0 },
};

static const Option restore_options[] = {
    { .name = "name",
      .argument = "NAME",
      .help = "new name of this node; default: the name in "
              "the backup" },
    { .name = "address",
      .argument = "ADDRESS",
      .repeats = true,
      .help = "name or IP address at which nodes reach this machine; default: as before" },
    { .name = "rpc", .argument = "ADDRESS", .help = "address to listen on for nodes" },
    { .name = "api",
      .argument = "ADDRESS",
      .help = "address to listen on for the API and joining machines" },
    { .name = "health", .argument = "ADDRESS", .help = "address for health checks without TLS" },
    STORE_OPTIONS,
    ETCD_OPTIONS,
    SERVER_USER_OPTION,
    { 0 },
};

static const Option options[] = {
    CLUSTER_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Verb verbs[] = {
    { .name = "create",
      .args = { { "[FILE]", WORD_FILE } },
      .help = "Write a backup of the cluster to a file.",
      .text = "A backup contains everything that is needed to restore the cluster: its store at\n"
              "a single revision, its settings, and its CA INCLUDING THE KEY. Anyone with the\n"
              "file can impersonate the cluster. It is created with mode 0600; protect it like\n"
              "the server itself. The default FILE consists of the cluster name and the time.\n"
              "Existing files are not overwritten.",
      .examples = { { "eden backup create blue.backup", "back up a running server" } },
      .run = run_create },
    { .name = "verify",
      .args = { { "FILE", WORD_FILE } },
      .help = "Check that a backup can be restored.",
      .text = "Reads the entire file and checks that every digest matches, that the store can\n"
              "be opened and its records read, and that the CA belongs to the cluster. If the\n"
              "file is damaged, the location is printed and the exit code is 1.",
      .options = verify_options,
      .examples = { { "eden backup verify blue.backup", "check that a backup can be restored" } },
      .run = run_verify },
    { .name = "restore",
      .args = { { "FILE", WORD_FILE } },
      .help = "Restore a cluster from a backup on this machine.",
      .text = "Verifies the backup first. This machine must not belong to a cluster. The server\n"
              "gets new keys and certificates from the restored CA, and nodes fetch all data\n"
              "again when they reconnect. Nodes identify the server by its name and address; if\n"
              "these change, nodes must join again.\n"
              "\n"
              "The cluster returns to its state at the time of the backup: nodes, tokens and\n"
              "user certificates that were revoked or removed since then are valid again. A\n"
              "warning shows the time of the backup and the commands to review them.",
      .options = restore_options,
      .examples = { { "eden backup restore blue.backup",
                      "replace the old server with a new machine" },
                    { "eden backup restore blue.backup --name s2 --address 10.0.0.6",
                      "restore with a different node name and address" } },
      .run = run_restore },
    { 0 },
};

const Command command_backup = {
    .name = "backup",
    .group = GROUP_CLUSTER,
    .help = "Create, verify and restore backups of a cluster.",
    .options = options,
    .verbs = verbs,
};
