/* eden push: sends a site from this machine to the cluster. */
#include "api/kind.h"
#include "base/json_out.h"
#include "cli/cluster_client.h"
#include "cli/daemon_command.h"
#include "cli/kind_print.h"
#include "cli/output.h"
#include "cli/problem_input.h"
#include "cli/site_check.h"
#include "cli/validation.h"
#include "cli/version_ref.h"
#include "run/node_paths.h"
#include "source/manifest.h"
#include "source/site_tree.h"
#include "source/version.h"
#include "sys/file.h"
#include "sys/process.h"

/* --- Upload ----------------------------------------------------------------------------------- */

/* Uploads a site to the server: its manifest, and those of its files that the server does not
 * have. */

typedef struct SiteUpload {
    Invocation *invocation;
    const char *directory;
    const Manifest *manifest;
    char id[BLOB_ID_TEXT + 1]; /* ID of the manifest; filled in */
    /* filled in: number of blobs of the site, and how many of them were sent */
    uint32_t blobs;
    uint32_t sent;
    int64_t sent_bytes;
} SiteUpload;

enum {
    IDS_PER_REQUEST = 10000,
    PACK_MAX = 1 << 20, /* size of a request with several blobs; a larger blob is sent alone */
    PACK_HEADER_SIZE = 4,
    SEND_TIMEOUT_MS = 120 * 1000, /* timeout of one request, for slow connections */
};

#define CONTENT_TYPE_BYTES "application/octet-stream"

/* The first file with this content, from which the blob is read. */
typedef struct BlobLocation {
    const ManifestFile *file;
    uint32_t blob;
} BlobLocation;

static int send_request(Invocation *invocation, const char *method, Str target, const char *type,
                        Str body, Value *response)
{
    return cluster_call(invocation,
                        &(ClusterRequest){ .method = method,
                                           .target = target,
                                           .body = body,
                                           .content_type = type,
                                           .timeout_ms = SEND_TIMEOUT_MS },
                        response);
}

/* --- What is missing -------------------------------------------------------------------------- */

static void add_locations(Arena *arena, const Manifest *manifest, StrMap *out)
{
    for (uint32_t i = 0; i < manifest->file_count; i++) {
        const ManifestFile *file = &manifest->files[i];
        for (uint32_t blob = 0; blob < file->blob_count; blob++) {
            if (!str_map_has(out, file->blobs[blob])) {
                BlobLocation *location = ARENA_NEW(arena, BlobLocation);
                *location = (BlobLocation){ file, blob };
                str_map_put(out, file->blobs[blob], location);
            }
        }
    }
}

static int add_missing(Invocation *invocation, const List *ids, List *out)
{
    Arena *arena = invocation->arena;
    Map *body = map_new(arena, 1);
    Value response;
    map_set_str(arena, body, STR("blobs"), value_list((List *)ids));
    int code = send_request(invocation, "POST", STR("/v1/blobs/missing"), NULL,
                            cluster_body(arena, value_map(body)), &response);
    const List *missing = code == EXIT_OK ? value_get_list(response, "missing") : NULL;
    for (uint32_t i = 0; code == EXIT_OK && i < missing->len; i++) {
        list_push(arena, out, missing->items[i]);
    }
    return code;
}

static int find_missing(Invocation *invocation, const StrMap *locations, List *out)
{
    uint32_t at = 0;
    int code = EXIT_OK;
    const StrMapEntry *entry = str_map_next(locations, &at);
    while (entry != NULL && code == EXIT_OK) {
        List *ids = list_new(invocation->arena, IDS_PER_REQUEST);
        for (; entry != NULL && ids->len < IDS_PER_REQUEST; entry = str_map_next(locations, &at)) {
            list_push(invocation->arena, ids, value_string(entry->key));
        }
        code = add_missing(invocation, ids, out);
    }
    return code;
}

/* --- Sending ---------------------------------------------------------------------------------- */

static void show_progress(const SiteUpload *upload, uint32_t total, bool is_end)
{
    const Invocation *invocation = upload->invocation;
    if (invocation->can_redraw_err) {
        stream_put_format(invocation->err, "\rsending: %u of %u blobs, %lld KiB%s", upload->sent,
                          total, (long long)((upload->sent_bytes + 1023) >> 10),
                          is_end ? "\n" : "");
        stream_flush(invocation->err);
    }
}

static int send_pack(SiteUpload *upload, Buf *pack, uint32_t count, uint32_t total)
{
    Value response;
    if (count == 0) {
        return EXIT_OK;
    }
    int code = send_request(upload->invocation, "POST", STR("/v1/blobs"), CONTENT_TYPE_BYTES,
                            buf_str(pack), &response);
    if (code == EXIT_OK) {
        upload->sent += count;
        upload->sent_bytes += (int64_t)pack->len - (int64_t)count * PACK_HEADER_SIZE;
        show_progress(upload, total, upload->sent == total);
    }
    buf_reset(pack);
    return code;
}

static void put_size(Buf *pack, size_t size)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        buf_put_char(pack, (char)(size >> shift & 255));
    }
}

static int send_missing(SiteUpload *upload, const StrMap *locations, const List *missing,
                        char *buffer, Buf *pack)
{
    uint32_t count = 0;
    int code = EXIT_OK;
    for (uint32_t i = 0; code == EXIT_OK && i < missing->len; i++) {
        const BlobLocation *location = str_map_find(locations, value_str(missing->items[i]));
        Str data;
        Error err;
        if (location == NULL) {
            continue; /* the server already has it */
        }
        if (!site_tree_read_blob(upload->directory, location->file, location->blob, buffer, &data,
                                 &err)) {
            return daemon_command_fail(upload->invocation, "E0881", &err);
        }
        if (pack->len + PACK_HEADER_SIZE + data.len > PACK_MAX) {
            code = send_pack(upload, pack, count, missing->len);
            count = 0;
        }
        put_size(pack, data.len);
        buf_put(pack, data);
        count++;
    }
    return code == EXIT_OK ? send_pack(upload, pack, count, missing->len) : code;
}

static int send_manifest(SiteUpload *upload)
{
    Arena *arena = upload->invocation->arena;
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    Value response;
    manifest_print(upload->manifest, &text);
    blob_id_of(buf_str(&text), upload->id);
    if (text.len > BLOB_MANIFEST_MAX) {
        Error err;
        error_set(&err, ERROR_LIMIT, "%s: the list of its files is larger than %d MiB",
                  upload->directory, BLOB_MANIFEST_MAX >> 20);
        return daemon_command_fail(upload->invocation, "E0881", &err);
    }
    return send_request(upload->invocation, "PUT",
                        cluster_target(arena, "/v1/blobs/", str_from_c(upload->id)),
                        CONTENT_TYPE_BYTES, buf_str(&text), &response);
}

/* Returns the exit code, after reporting a failure. Uploaded blobs remain on the server, so that
 * the next upload continues. */
static int site_upload(SiteUpload *upload)
{
    AUTO_CLEAR(Buf) pack = buf_make(BUF_UNLIMITED);
    Arena *arena = upload->invocation->arena;
    char *buffer = ARENA_ARRAY(arena, char, BLOB_MAX);
    List *missing = list_new(arena, 0);
    StrMap locations;
    str_map_init(&locations, arena);
    add_locations(arena, upload->manifest, &locations);
    upload->blobs = locations.count;
    int code = find_missing(upload->invocation, &locations, missing);
    if (code == EXIT_OK) {
        code = send_missing(upload, &locations, missing, buffer, &pack);
    }
    return code == EXIT_OK ? send_manifest(upload) : code;
}

/* --- State of git ----------------------------------------------------------------------------- */

/* The git state of a directory, which is recorded in the version so that users can see where it
 * came from. */

enum {
    GIT_TIMEOUT_MS = 10000,
    GIT_OUTPUT_MAX = 64 << 10
};

/* Returns git's output without the last newline; false if git failed. */
static bool run_git(Arena *arena, const char *directory, const char *const *args, Str *out)
{
    const char *argv[12] = { "git", "--no-optional-locks", "-C", directory };
    const char *const extra[] = { "GIT_TERMINAL_PROMPT=0", "LC_ALL=C.UTF-8", NULL };
    ProcessSpec spec = { .argv = argv,
                         .env = process_environment(arena, extra),
                         .timeout_ms = GIT_TIMEOUT_MS,
                         .output_max = GIT_OUTPUT_MAX };
    ProcessResult result;
    Error err;
    uint32_t count = 4;
    for (; *args != NULL && count + 1 < COUNT_OF(argv); args++) {
        argv[count++] = *args;
    }
    if (!process_run(arena, &spec, &result, &err) || result.ending != PROCESS_EXITED ||
        result.exit_code != 0) {
        return false;
    }
    *out = str_trim(result.out);
    return true;
}

static Str shorten(Str text)
{
    return str_slice(text, 0, VERSION_TEXT_MAX);
}

/* Commit, branch, author and subject, if the directory is in a git repository; a commit with local
 * changes ends in "-dirty". Best effort: anything that cannot be determined is empty. Strings are
 * in the arena. */
static void git_state_read(Arena *arena, const char *directory, VersionSource *out)
{
    static const char *const log[] = { "log", "-1", "--format=%H%n%an <%ae>%n%s", NULL };
    static const char *const branch[] = { "symbolic-ref", "--short", "-q", "HEAD", NULL };
    static const char *const status[] = { "status", "--porcelain", "--", ".", NULL };
    Str text, changes;
    if (!run_git(arena, directory, log, &text)) {
        return;
    }
    (void)str_split_next(&text, '\n', &out->commit);
    (void)str_split_next(&text, '\n', &out->author);
    (void)str_split_next(&text, '\n', &out->subject);
    out->author = shorten(out->author);
    out->subject = shorten(out->subject);
    if (run_git(arena, directory, status, &changes) && changes.len > 0) {
        out->commit = arena_join(arena, out->commit, STR("-dirty"), STR_EMPTY);
    }
    if (run_git(arena, directory, branch, &text)) {
        out->branch = shorten(text);
    }
}

enum {
    CREATE_TIMEOUT_MS =
        150 * 1000 /* the server checks one site at a time, each for a minute at most */
};

typedef struct Push {
    Invocation *invocation;
    const char *directory;
    Manifest manifest;
    SiteUpload upload;
    Value version;  /* the API object */
    bool is_active; /* the version is current now */
    bool was_active;
    Str newest_run; /* the newest run before the version became current; only with --wait */
} Push;

/* --- Checking --------------------------------------------------------------------------------- */

/* Finds the problems that the server would find, before anything is sent. */
static int check(const Push *push)
{
    Invocation *invocation = push->invocation;
    Validation validation = { .trust = node_trust_path(NULL) };
    Error err;
    if (!site_check_is_site(push->directory)) {
        error_set(&err, file_is_directory(push->directory) ? ERROR_INVALID : ERROR_NOT_FOUND,
                  file_is_directory(push->directory) ? "%s: not a site: it has no jobs/base.yaml"
                                                     : "%s: no such directory",
                  push->directory);
        return daemon_command_fail(invocation, "E0881", &err);
    }
    inputs_init(&validation.inputs, invocation->arena);
    validation_check(&validation, push->directory);
    return validation.inputs.problems.errors > 0 ? inputs_report(&validation.inputs, invocation)
                                                 : EXIT_OK;
}

/* --- Creating --------------------------------------------------------------------------------- */

static void set_if_not_empty(Arena *arena, Map *map, Str name, Str text)
{
    if (text.len > 0) {
        map_set_str(arena, map, name, value_string(text));
    }
}

static int create(Push *push)
{
    Arena *arena = push->invocation->arena;
    Map *spec = map_new(arena, 8), *body = map_new(arena, 1);
    VersionSource source = { .source = file_absolute(arena, push->directory) };
    git_state_read(arena, push->directory, &source);
    set_if_not_empty(arena, spec, STR("manifest"), str_from_c(push->upload.id));
    set_if_not_empty(arena, spec, STR("source"), str_slice(source.source, 0, VERSION_TEXT_MAX));
    set_if_not_empty(arena, spec, STR("commit"), source.commit);
    set_if_not_empty(arena, spec, STR("branch"), source.branch);
    set_if_not_empty(arena, spec, STR("author"), source.author);
    set_if_not_empty(arena, spec, STR("subject"), source.subject);
    map_set_str(arena, body, STR("spec"), value_map(spec));
    return cluster_call(push->invocation,
                        &(ClusterRequest){ .method = "POST",
                                           .target = STR("/v1/versions"),
                                           .body = cluster_body(arena, value_map(body)),
                                           .timeout_ms = CREATE_TIMEOUT_MS },
                        &push->version);
}

/* Reports problems that the server found but this program did not: the server may be newer. */
static int report_rejected(const Push *push)
{
    Invocation *invocation = push->invocation;
    Inputs inputs;
    Value problems;
    inputs_init(&inputs, invocation->arena);
    int code = cluster_call(
        invocation,
        &(ClusterRequest){ .method = "GET",
                           .target = cluster_target_with(invocation->arena, "/v1/versions/",
                                                         object_name(push->version), "/problems") },
        &problems);
    if (code != EXIT_OK) {
        return code;
    }
    problem_input_add(&inputs.problems, problems, push->directory);
    code = inputs_report(&inputs, invocation);
    return code == EXIT_OK ? EXIT_FAILED : code;
}

static int activate(Push *push)
{
    Invocation *invocation = push->invocation;
    bool pin = invocation_flag(invocation, "pin");
    push->was_active = value_get_bool(object_status(push->version), "current");
    push->is_active = push->was_active;
    if ((push->was_active && !pin) || invocation_flag(invocation, "no-activate")) {
        return EXIT_OK;
    }
    push->newest_run =
        invocation_flag(invocation, "wait") ? version_newest_run(invocation) : STR_EMPTY;
    int code = version_activate_at(invocation, object_name(push->version),
                                   pin ? value_bool(true) : value_missing(),
                                   !invocation_flag(invocation, "no-run"), &push->version);
    push->is_active = code == EXIT_OK;
    return code;
}

/* --- Output ----------------------------------------------------------------------------------- */

static int print_json(const Push *push)
{
    Buf json = buf_make_in(push->invocation->arena, BUF_UNLIMITED);
    Str name = object_name(push->version);
    json_out_start(&json, "eden.push/1");
    json_out_text(&json, "version", name);
    json_out_text(&json, "manifest", str_from_c(push->upload.id));
    json_out_int(&json, "files", push->manifest.file_count);
    json_out_int(&json, "bytes", manifest_bytes(&push->manifest));
    json_out_int(&json, "blobs", push->upload.blobs);
    json_out_int(&json, "sent_blobs", push->upload.sent);
    json_out_int(&json, "sent_bytes", push->upload.sent_bytes);
    json_out_bool(&json, "current", push->is_active);
    json_out_bool(&json, "changed", push->is_active && !push->was_active);
    json_out_close(&json, '}');
    buf_put_char(&json, '\n');
    output_json_text(push->invocation->out, buf_str(&json));
    return EXIT_OK;
}

/* If the site also has git sources, the pushed version is replaced by the next commit. Users
 * without permission to list sources do not get this note. */
static void print_sources(const Push *push)
{
    ClusterRequest request = { .method = "GET", .target = STR("/v1/sources?limit=1") };
    Value list;
    bool responded;
    Error ignored;
    if (push->is_active && !value_get_bool(object_status(push->version), "pinned") &&
        cluster_send(push->invocation, &request, &list, &responded, &ignored) &&
        object_items(list)->len > 0) {
        output_line(push->invocation->err,
                    "the next commit of source '%" STR_FMT "' replaces this version; 'eden "
                    "versions pin' keeps it",
                    STR_ARG(object_name(object_items(list)->items[0])));
    }
}

static int print(const Push *push)
{
    const Invocation *invocation = push->invocation;
    Str name = object_name(push->version);
    if (invocation_prints(invocation, "json")) {
        return print_json(push);
    }
    output_line(invocation->err, "sent %u of %u blobs, %lld bytes", push->upload.sent,
                push->upload.blobs, (long long)push->upload.sent_bytes);
    output_line(invocation->out, "version %" STR_FMT " is %scurrent%s", STR_ARG(name),
                push->was_active   ? "already "
                : !push->is_active ? "not "
                                   : "",
                value_get_bool(object_status(push->version), "pinned") ? " and pinned" : "");
    print_sources(push);
    return EXIT_OK;
}

/* --- Command ---------------------------------------------------------------------------------- */

static int run(Invocation *invocation)
{
    Push push = { .invocation = invocation, .directory = invocation->args[0] };
    Error err;
    if (invocation_flag(invocation, "no-activate") && invocation_flag(invocation, "pin")) {
        return usage_error(invocation, "--pin makes a version current, --no-activate does not");
    }
    if (invocation_flag(invocation, "wait") &&
        (invocation_flag(invocation, "no-activate") || invocation_flag(invocation, "no-run"))) {
        return usage_error(invocation,
                           "--wait watches a run, which --no-activate and --no-run omit");
    }
    int code = check(&push);
    if (code != EXIT_OK) {
        return code;
    }
    if (!site_tree_scan(invocation->arena, push.directory, NULL, &push.manifest, &err)) {
        return daemon_command_fail(invocation, "E0881", &err);
    }
    push.upload = (SiteUpload){ .invocation = invocation,
                                .directory = push.directory,
                                .manifest = &push.manifest };
    code = site_upload(&push.upload);
    code = code == EXIT_OK ? create(&push) : code;
    if (code == EXIT_OK &&
        !str_eq(value_get_text(object_status(push.version), "state"), STR("valid"))) {
        return report_rejected(&push);
    }
    code = code == EXIT_OK ? activate(&push) : code;
    return code != EXIT_OK ? code
           : invocation_flag(invocation, "wait")
               ? version_run_watch(invocation, push.version, !push.was_active, push.newest_run)
               : print(&push);
}

static const Option options[] = {
    { .name = "pin", .help = "keep this version current until 'eden versions unpin'" },
    { .name = "no-activate", .help = "create the version without making it current" },
    VERSION_RUN_OPTIONS,
    CLUSTER_OPTIONS,
    OUTPUT_OPTION("text|json", "text", "output format"),
    { 0 },
};

static const Example examples[] = {
    { "eden push site/", "push a site and make it the current version" },
    { "eden push site/ --wait", "also watch the nodes apply it; for CI" },
    { "eden push site/ --reason 'new certificate'", "record a reason" },
    { "eden push site/ --no-activate", "create a version for 'eden run --check --version REF'" },
    { "eden push site/ --pin --no-run", "keep it current, and let nodes apply it later" },
    { 0 },
};

const Command command_push = {
    .name = "push",
    .group = GROUP_CLUSTER,
    .args = { { "DIR", WORD_DIRECTORY } },
    .help = "Send a site to the cluster and make it the current version.",
    .text =
        "Validates the site as 'eden validate' does, sends the files that the server does not\n"
        "have, and creates a version, which all nodes then apply. If the site has errors, they\n"
        "are printed, nothing is sent, and the exit code is 1. To resume an interrupted push,\n"
        "run the command again.\n"
        "\n"
        "Everything except '.git' is sent, including hidden files, uncommitted files, and files\n"
        "that '.gitignore' excludes. Symbolic links must not point outside the site. A site can\n"
        "contain up to 100,000 files and 1 GiB.\n"
        "\n"
        "With --no-activate, the version is created but not made current: 'eden run --check\n"
        "--version REF' shows what it would change, 'eden versions activate REF' makes it\n"
        "current.\n"
        "\n"
        "With --wait, the run that applies the version is watched and reported as by 'eden\n"
        "run', and the exit code is that of its outcome.\n"
        "\n"
        "While another version is pinned, the version is created but not made current, and\n"
        "the exit code is 5.",
    .options = options,
    .examples = examples,
    .run = run,
};
