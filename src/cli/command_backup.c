/* eden backup: a cluster as one file, verified and restored. */
#include <stdio.h>

#include "backup/backup_reader.h"
#include "base/utc.h"
#include "cli/backup_print.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/founding_user.h"
#include "server/restoring.h"
#include "sys/clock.h"
#include "sys/directory.h"
#include "sys/file.h"
#include "sys/file_draft.h"

enum {
    FIRST_MS = 60 * 1000, /* for the first byte */
    SILENCE_MS = 60 * 1000
};

/* --- create ---------------------------------------------------------------------------------- */

typedef struct Creating {
    const Invocation *invocation;
    BackupReader reader; /* what is written has been checked */
    const char *path;
    FileDraft *draft;
    Buf head; /* what came before it was known whose backup it is */
    Error err;
} Creating;

/* "blue-20260131T081530Z.eden-backup": where nobody named a file. */
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

static bool take_manifest(void *context, const BackupManifest *manifest, Error *err)
{
    Creating *creating = context;
    if (creating->path == NULL) {
        creating->path = default_path(creating->invocation->arena, manifest);
    }
    return file_draft_open(creating->path, 0600, true, &creating->draft, err);
}

static bool take_piece(void *context, BackupPartKind kind, Str piece, Error *err)
{
    return true;
}

static bool take(void *context, Str bytes)
{
    Creating *creating = context;
    bool was_open = creating->draft != NULL;
    if (!was_open) {
        buf_put(&creating->head, bytes);
    }
    if (!backup_reader_take(&creating->reader, bytes, &creating->err)) {
        return false;
    }
    if (creating->draft == NULL) {
        return true;
    }
    return file_draft_put(creating->draft, was_open ? bytes : buf_str(&creating->head),
                          &creating->err);
}

static int finish_create(Invocation *invocation, Creating *creating)
{
    ClusterPieces pieces = { take, creating, SILENCE_MS };
    ClusterRequest request = { .method = "GET",
                               .target = STR("/v1/backup"),
                               .timeout_ms = FIRST_MS };
    Error err = { 0 };
    ClusterRefusal refusal;
    bool ok = cluster_stream(invocation, &request, &pieces, &refusal, &err);
    if (creating->err.kind != ERROR_NONE) {
        return daemon_command_fail(invocation, "E0871", &creating->err);
    }
    if (!ok) {
        return cluster_tell_refusal(invocation, &refusal, &err);
    }
    if (!backup_reader_finish(&creating->reader, &err) || !file_draft_keep(creating->draft, &err)) {
        return daemon_command_fail(invocation, "E0871", &err);
    }
    return backup_print_created(invocation, creating->path, &creating->reader.manifest);
}

static int run_create(Invocation *invocation)
{
    Creating creating = { .invocation = invocation,
                          .path = invocation->arg_count > 0 ? invocation->args[0] : NULL,
                          .head = buf_make(BUF_UNLIMITED) };
    if (creating.path != NULL && file_exists(creating.path)) {
        Error err;
        error_set(&err, ERROR_CONFLICT, "%s: is there already", creating.path);
        return daemon_command_fail(invocation, "E0871", &err);
    }
    backup_reader_init(&creating.reader, &(BackupSink){ take_manifest, take_piece, &creating });
    int code = finish_create(invocation, &creating);
    backup_reader_clear(&creating.reader);
    file_draft_close(creating.draft);
    buf_clear(&creating.head);
    return code;
}

/* --- verify ---------------------------------------------------------------------------------- */

/* Takes it apart in a folder of its own, which is gone afterwards. */
static bool verify_in(const Invocation *invocation, const Directory *scratch, const char *name,
                      BackupContent *out, Error *err)
{
    AUTO(FileReader) *backup = NULL;
    AUTO_CLEAR(Directory) folder = { .descriptor = -1 };
    const char *path = invocation->args[0];
    Str place =
        arena_format(invocation->arena, "%s/%s", invocation_text(invocation, "scratch"), name);
    BackupManifest manifest;
    return file_reader_open(path, &backup, err) &&
           directory_make_child(scratch, name, &folder, err) &&
           ((backup_unpack(backup, place.data, &manifest, err) &&
             backup_check(invocation->arena, place.data, &manifest, out, err)) ||
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
        /* What is wrong with the file is one thing for scripts: it is no good. */
        (void)daemon_command_fail(invocation, "E0872", &err);
        return EXIT_FAILED;
    }
    return backup_print_verified(invocation, invocation->args[0], &content);
}

/* --- restore --------------------------------------------------------------------------------- */

/* What is not said is as in the backup. */
static bool read_wishes(const Invocation *invocation, Founding *founding, Error *err)
{
    Arena *arena = invocation->arena;
    ServerSettings *settings = &founding->settings;
    Str name = str_from_c(invocation_text(invocation, "name"));
    const char **given = invocation_texts(invocation, "address", &settings->name_count);
    Str *names = ARENA_ARRAY(arena, Str, settings->name_count);
    if (name.len > 0 && !node_name_check(name, err)) {
        return false;
    }
    memcpy(settings->node, name.data, name.len);
    for (uint32_t i = 0; i < settings->name_count; i++) {
        names[i] = str_from_c(given[i]);
    }
    settings->names = names;
    settings->rpc = str_from_c(invocation_text(invocation, "rpc"));
    settings->api = str_from_c(invocation_text(invocation, "api"));
    settings->health = str_from_c(invocation_text(invocation, "health"));
    founding->state_dir = invocation_text(invocation, "state-dir");
    founding->now_ms = clock_now_ms();
    return founding_user_find(arena, invocation_text(invocation, "user"), founding, err);
}

static int run_restore(Invocation *invocation)
{
    Restoring restoring = { .backup = invocation->args[0] };
    Restored restored;
    Error err;
    if (!read_wishes(invocation, &restoring.founding, &err) ||
        !cluster_restore(invocation->arena, &restoring, &restored, &err)) {
        if (err.kind == ERROR_CONFLICT) {
            error_wrap(&err,
                       "to restore in place of what is there, stop eden and move %s away first",
                       restoring.founding.state_dir);
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
      .help = "where to unpack temporarily" },
    { 0 },
};

static const Option restore_options[] = {
    { .name = "name", .argument = "NAME", .help = "use another name for this node" },
    { .name = "address",
      .argument = "ADDRESS",
      .repeats = true,
      .help = "use another name or IP address by which others reach this machine" },
    { .name = "rpc", .argument = "ADDRESS", .help = "where to listen for nodes" },
    { .name = "api",
      .argument = "ADDRESS",
      .help = "where to listen for the API and joining machines" },
    { .name = "health",
      .argument = "ADDRESS",
      .help = "where to answer health checks without TLS" },
    FOUNDING_USER_OPTION,
    { 0 },
};

static const Option options[] = {
    CLUSTER_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "how to print"),
    { 0 },
};

static const Verb verbs[] = {
    { .name = "create",
      .args = { { "[FILE]", WORD_FILE } },
      .help = "Write a backup of the cluster to a file.",
      .text = "Asks the server on this machine for everything that makes up the cluster: its\n"
              "store at one revision, its settings, and its CA WITH THE KEY. Whoever has the\n"
              "file can become the cluster. It is readable by its owner alone (0600); keep it\n"
              "as safe as the server. The default of FILE is made of the name of the cluster\n"
              "and the time. An existing file is not replaced.",
      .examples = { { "eden backup create blue.backup", "while the server runs" } },
      .run = run_create },
    { .name = "verify",
      .args = { { "FILE", WORD_FILE } },
      .help = "Check that a backup can be restored.",
      .text = "Reads all of it and checks every digest, that the store opens and its records\n"
              "can be read, and that the CA is that of the cluster. If the file is damaged,\n"
              "the exit code is 1 and the location is printed.",
      .options = verify_options,
      .examples = { { "eden backup verify blue.backup", "check that it can be restored" } },
      .run = run_verify },
    { .name = "restore",
      .args = { { "FILE", WORD_FILE } },
      .help = "Make this machine the server of the cluster in a backup.",
      .text = "Verifies the backup first. This machine must not belong to a cluster. The\n"
              "server gets its own keys and certificates from the restored CA, and nodes read\n"
              "everything again when they reconnect. They know their server by its name and\n"
              "address: if these change, nodes have to join again.\n"
              "\n"
              "The cluster is in the state of the time of the backup: nodes, tokens and user\n"
              "certificates that were revoked or removed since then are valid again. A warning\n"
              "says so, with the time of the backup, and lists the commands to review them.",
      .options = restore_options,
      .examples = { { "eden backup restore blue.backup",
                      "on a fresh machine in place of the old server" },
                    { "eden backup restore blue.backup --name s2 --address 10.0.0.6",
                      "as another node at another address" } },
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
