#include "cli/backup_print.h"

#include "base/utc.h"
#include "cli/daemon_command.h"
#include "cli/output.h"

static void set_text(Arena *arena, Map *map, const char *name, const char *text)
{
    map_set_str(arena, map, str_from_c(name), value_string(arena_copy(arena, str_from_c(text))));
}

static void set_int(Arena *arena, Map *map, const char *name, int64_t number)
{
    map_set_str(arena, map, str_from_c(name), value_int(number));
}

static int64_t size_of(const BackupManifest *manifest)
{
    int64_t size = 0;
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        size += manifest->parts[i].is_present ? manifest->parts[i].size : 0;
    }
    return size;
}

static void set_manifest(Arena *arena, Map *map, const BackupManifest *manifest)
{
    List *parts = list_new(arena, BACKUP_PART_COUNT);
    for (uint32_t i = 0; i < BACKUP_PART_COUNT; i++) {
        if (manifest->parts[i].is_present) {
            Map *part = map_new(arena, 3);
            set_text(arena, part, "name", backup_part_name((BackupPartKind)i));
            set_int(arena, part, "size", manifest->parts[i].size);
            set_text(arena, part, "digest", manifest->parts[i].digest);
            list_push(arena, parts, value_map(part));
        }
    }
    set_text(arena, map, "cluster", manifest->cluster);
    set_text(arena, map, "node", manifest->node);
    set_text(arena, map, "store", manifest->store_id);
    set_text(arena, map, "version", manifest->version);
    map_set_str(arena, map, STR("time"), value_string(utc_text(arena, manifest->time_ms)));
    set_int(arena, map, "revision", manifest->revision);
    map_set_str(arena, map, STR("parts"), value_list(parts));
}

static void put_manifest(const Invocation *invocation, const BackupManifest *manifest)
{
    Stream *out = invocation->out;
    Str time = utc_text(invocation->arena, manifest->time_ms);
    stream_put_format(out, "  cluster     %s, written by server '%s'\n", manifest->cluster,
                      manifest->node);
    stream_put_format(out, "  created     %" STR_FMT ", by eden %s\n", STR_ARG(time),
                      manifest->version);
    stream_put_format(out, "  store       revision %lld\n", (long long)manifest->revision);
    stream_put_format(out, "  size        %lld bytes\n", (long long)size_of(manifest));
}

int backup_print_created(const Invocation *invocation, const char *path,
                         const BackupManifest *manifest)
{
    if (invocation_prints(invocation, "json")) {
        Arena *arena = invocation->arena;
        Map *map = map_new(arena, 10);
        set_text(arena, map, "format", "eden.backup-created/1");
        set_text(arena, map, "file", path);
        set_manifest(arena, map, manifest);
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out, "Backup written to %s.\n", path);
    put_manifest(invocation, manifest);
    stream_put_format(
        invocation->out,
        "\nThe backup contains the CA key: anyone with this file can impersonate the cluster.\n"
        "Protect it like the server itself, and check it with 'eden backup verify'.\n");
    return EXIT_OK;
}

static void put_content(const Invocation *invocation, const BackupContent *content)
{
    Arena *arena = invocation->arena;
    output_line(invocation->out, "  contains    %" STR_FMT ", %" STR_FMT ", %" STR_FMT,
                STR_ARG(output_count(arena, (int64_t)content->keys, "key", "keys")),
                STR_ARG(output_count(arena, (int64_t)content->nodes, "node", "nodes")),
                STR_ARG(output_count(arena, (int64_t)content->tokens, "token", "tokens")));
}

static void set_counts(Arena *arena, Map *map, const BackupContent *content)
{
    set_int(arena, map, "keys", content->keys);
    set_int(arena, map, "nodes", content->nodes);
    set_int(arena, map, "tokens", content->tokens);
    set_int(arena, map, "api_tokens", content->api_tokens);
    set_int(arena, map, "user_certificates", content->user_certificates);
}

int backup_print_verified(const Invocation *invocation, const char *path,
                          const BackupContent *content)
{
    char pin[PIN_TEXT + 1];
    pin_text(&content->ca, pin);
    if (invocation_prints(invocation, "json")) {
        Arena *arena = invocation->arena;
        Map *map = map_new(arena, 16);
        set_text(arena, map, "format", "eden.backup-verified/1");
        set_text(arena, map, "file", path);
        set_manifest(arena, map, &content->manifest);
        set_text(arena, map, "ca_pin", pin);
        set_counts(arena, map, content);
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out, "The backup %s is intact.\n", path);
    put_manifest(invocation, &content->manifest);
    stream_put_format(invocation->out, "  CA          %s\n", pin);
    put_content(invocation, content);
    return EXIT_OK;
}

/* The commands that list and revoke each kind of credential. */
static const struct {
    const char *list, *revoke;
} reviews[] = {
    { "eden nodes list", "eden nodes remove NAME" },
    { "eden pki list", "eden pki revoke NODE|SERIAL" },
    { "eden tokens list", "eden tokens revoke ID" },
    { "eden roles list", "eden roles delete NAME" },
};

/* Revocations made after the backup are lost, so the user has to repeat them. */
static Str reset_warning(Arena *arena, const BackupContent *content)
{
    return arena_format(
        arena,
        "the cluster was reset to %" STR_FMT
        ": nodes, tokens and user certificates revoked or removed since then are "
        "valid again (%" STR_FMT ", %" STR_FMT ", %" STR_FMT ", %" STR_FMT ")",
        STR_ARG(utc_text(arena, content->manifest.time_ms)),
        STR_ARG(output_count(arena, content->nodes, "node", "nodes")),
        STR_ARG(output_count(arena, content->tokens, "join token", "join tokens")),
        STR_ARG(output_count(arena, content->api_tokens, "API token", "API tokens")),
        STR_ARG(output_count(arena, content->user_certificates, "user certificate",
                             "user certificates")));
}

void backup_set_review(Arena *arena, Map *map, Str warning)
{
    List *rows = list_new(arena, COUNT_OF(reviews));
    for (size_t i = 0; i < COUNT_OF(reviews); i++) {
        Map *row = map_new(arena, 2);
        set_text(arena, row, "list", reviews[i].list);
        set_text(arena, row, "revoke", reviews[i].revoke);
        list_push(arena, rows, value_map(row));
    }
    map_set_str(arena, map, STR("warning"), value_string(warning));
    map_set_str(arena, map, STR("review"), value_list(rows));
}

void backup_put_review(const Invocation *invocation, Str warning)
{
    Stream *err = invocation->err;
    stream_put(err, STR("\n"));
    output_line(err, "warning: %" STR_FMT ".", STR_ARG(warning));
    stream_put_format(err, "Review them once the server is running, and revoke them again:\n");
    for (size_t i = 0; i < COUNT_OF(reviews); i++) {
        stream_put_format(err, "  %-18s then '%s'\n", reviews[i].list, reviews[i].revoke);
    }
}

int backup_print_restored(const Invocation *invocation, const RestoreResult *restored)
{
    const BackupContent *content = &restored->content;
    const ServerSettings *settings = &restored->settings;
    if (invocation_prints(invocation, "json")) {
        Arena *arena = invocation->arena;
        Map *map = map_new(arena, 13);
        set_text(arena, map, "format", "eden.backup-restored/1");
        set_text(arena, map, "cluster", settings->cluster);
        set_text(arena, map, "node", settings->node);
        set_text(arena, map, "store", settings->store_id);
        set_int(arena, map, "revision", content->manifest.revision);
        map_set_str(arena, map, STR("time"),
                    value_string(utc_text(arena, content->manifest.time_ms)));
        set_counts(arena, map, content);
        backup_set_review(arena, map, reset_warning(arena, content));
        return output_json(invocation, value_map(map));
    }
    stream_put_format(invocation->out,
                      "Cluster '%s' is restored; this machine is its server '%s'.\n",
                      settings->cluster, settings->node);
    put_manifest(invocation, &content->manifest);
    put_content(invocation, content);
    stream_put(invocation->out, STR("\n"));
    if (strcmp(settings->node, content->settings.node) != 0) {
        stream_put_format(
            invocation->out,
            "Nodes know the server as '%s' and do not trust other names: they must join again.\n",
            content->settings.node);
    }
    stream_put_format(invocation->out,
                      "The old server must never run again. Next: start this one with %" STR_FMT
                      ".\n",
                      STR_ARG(daemon_command_start(invocation)));
    backup_put_review(invocation, reset_warning(invocation->arena, content));
    return EXIT_OK;
}
