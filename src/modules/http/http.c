/* http.download: a file from a web server, verified by its digest. */
#include "modules/digest.h"
#include "modules/file/target.h"
#include "modules/http/transfer.h"
#include "modules/tool.h"

enum {
    SHOWN_URL = 100, /* maximum length of an address in a message */
    PIN_MAX = 4096,
    PIN_MODE = 0600,
    PIN_DIGITS = 16
};

static const ParamSpec download_params[] = {
    { "name", PARAM_FILE, .required = true, .help = "path of the file" },
    { "url", PARAM_STRING, .aspect = "content@download", .required = true,
      .help = "address: https://... or http://..." },
    { "digest", PARAM_STRING, .aspect = "digest",
      .help = "required digest of the file: 'sha256:' or 'sha512:' and hexadecimal digits" },
    { "pin", PARAM_BOOL, .fallback = "false",
      .help =
          "trust the first download and reject later ones that differ; alternative to 'digest'" },
    FILE_OWNER_PARAMS,
    { "parents", PARAM_BOOL, .fallback = "true", .help = "create missing parent directories" },
    { "headers", PARAM_MAP, .help = "additional request headers: a map of names to strings" },
    { "username", PARAM_STRING, .help = "user name for the server" },
    { "password", PARAM_STRING, .help = "password for the server" },
    { "ca", PARAM_PATH,
      .help = "path of a file with the trusted CA certificates; default: those that the machine "
              "trusts" },
    { "max_size", PARAM_INT, .fallback = "8589934592",
      .help = "maximum size of the file, in bytes" },
    { "timeout", PARAM_DURATION,
      .help = "time limit for the download, which always fails after a minute without data" },
    { 0 },
};

/* What check has found; passed to apply. */
typedef struct Download {
    Target target; /* content is not set */
    Request request;
    Str required_digest; /* required digest; empty: the first download is to be pinned */
    Str found;           /* digest of the existing file; empty: there is none */
    bool
        /* 'pin: true': `required_digest` comes from the pin, or the first download is pinned */
        pins;
    Str pin_path; /* path of the pin file */
    bool fetch;
} Download;

/* --- Pins ------------------------------------------------------------------------------------ */

/* The digest of the first download from an address, in a hidden file next to the downloaded one, so
 * that it survives its removal. */
typedef struct Pin {
    bool found;
    Str digest; /* of the download: "sha256:..." */
} Pin;

/* ".eden-pin-0123456789abcdef", unique for each name. */
static Str pin_path(Arena *arena, Str file)
{
    char hex[SHA256_HEX + 1];
    size_t slash = str_find_last(file, STR("/"));
    sha256_hex(str_from_offset(file, slash + 1), hex);
    return arena_format(arena, "%" STR_FMT "/.eden-pin-%.*s", STR_ARG(str_slice(file, 0, slash)),
                        PIN_DIGITS, hex);
}

/* The address may contain a secret, so only its digest is stored. */
static Str digest_of_url(Arena *arena, Str url)
{
    return digest_of_text(arena, DIGEST_SHA256, url);
}

/* A pin for another address is treated as missing. An unreadable pin is an error: neither it nor
 * the next download can be trusted. */
static bool pin_read(Call *call, Str path, Str url, Pin *out, Error *err)
{
    FileInfo info;
    Str text, digest, address;
    *out = (Pin){ .digest = STR_EMPTY };
    if (!host_inspect(call->host, call->arena, path, PIN_MAX, &info, &text, err)) {
        return false;
    }
    if (info.kind == FILE_ABSENT) {
        return true;
    }
    Str rest = str_trim(text);
    Error ignored;
    if (info.kind != FILE_REGULAR || !str_split_next(&rest, ' ', &digest) ||
        !digest_parse(call->arena, digest, &digest, &ignored) ||
        !digest_parse(call->arena, rest, &address, &ignored)) {
        return error_set(err, ERROR_CONFLICT,
                         "%" STR_FMT
                         " is not a valid pin; if you remove it, the next download is trusted",
                         STR_ARG(path));
    }
    out->found = str_eq(address, digest_of_url(call->arena, url));
    out->digest = out->found ? digest : STR_EMPTY;
    return true;
}

static bool pin_write(Call *call, Str path, Str url, Str digest, Error *err)
{
    Str address = digest_of_url(call->arena, url);
    FileWrite write = { .content = arena_format(call->arena, "%" STR_FMT " %" STR_FMT "\n",
                                                STR_ARG(digest), STR_ARG(address)),
                        .mode = PIN_MODE,
                        .uid = HOST_KEEP_ID,
                        .gid = HOST_KEEP_ID };
    return call_journal(call, path, err) && host_write(call->host, path, &write, err);
}

/* --- Parameters ------------------------------------------------------------------------------ */

static bool read_target(Call *call, Target *target, Error *err)
{
    *target = (Target){ .path = call_str(call, "name"), .new_mode = FILE_MODE_NEW };
    target->parents = call_bool(call, "parents");
    return target_read_attributes(call, target, err);
}

static bool check_trust(Call *call, Str url, Error *err)
{
    bool pins = call_bool(call, "pin");
    if (call_has(call, "digest") == pins) {
        return error_set(err, ERROR_INVALID,
                         "exactly one of 'digest' ('sha256:' or 'sha512:' and hexadecimal digits) "
                         "and 'pin: true' is required");
    }
    return !pins || request_is_encrypted(url) ||
           error_set(err, ERROR_INVALID,
                     "'pin' requires an https:// URL: over http:// anyone on the network "
                     "path could choose what is trusted");
}

static bool read_digest(Call *call, Download *download, Error *err)
{
    download->pins = call_bool(call, "pin");
    if (!check_trust(call, download->request.url, err)) {
        return false;
    }
    if (!download->pins) {
        return digest_parse(call->arena, call_str(call, "digest"), &download->required_digest, err);
    }
    Pin pin;
    download->pin_path = pin_path(call->arena, download->target.path);
    if (!pin_read(call, download->pin_path, download->request.url, &pin, err)) {
        return false;
    }
    download->required_digest = pin.digest;
    return true;
}

static Request read_request(const Call *call)
{
    return (Request){ .url = call_str(call, "url"),
                      .username = call_str(call, "username"),
                      .password = call_str(call, "password"),
                      .headers = call_param(call, "headers"),
                      .ca = call_str(call, "ca"),
                      .max_size = call_int(call, "max_size", 0) };
}

/* Checks that do not depend on the machine. */
static bool verify_params(Call *call, Error *err)
{
    Request request = read_request(call);
    Str digest = call_str(call, "digest");
    return request_check(&request, err) && check_trust(call, request.url, err) &&
           (digest.len == 0 || digest_parse(call->arena, digest, &digest, err));
}
CALL_VERIFY(download_verify, verify_params)

static bool read_params(Call *call, Download *download, Error *err)
{
    download->request = read_request(call);
    return request_check(&download->request, err) && read_target(call, &download->target, err) &&
           read_digest(call, download, err);
}

/* --- Check ----------------------------------------------------------------------------------- */

static bool find_digest(Call *call, Download *download, Error *err)
{
    AUTO(HostReader) *reader = NULL;
    download->found = STR_EMPTY;
    if (download->target.before.kind != FILE_REGULAR) {
        return true;
    }
    if (!host_reader_open(call->host, download->target.path, &reader, err)) {
        /* An earlier step will create the file. */
        return call->planning && err->kind == ERROR_NOT_FOUND;
    }
    return digest_of_file(call->arena, digest_kind(download->required_digest), reader,
                          &download->found, err);
}

static void report_fetch(Call *call, const Download *download, Outcome *outcome)
{
    outcome->changed = true;
    outcome_change(call, outcome, "digest",
                   download->found.len > 0 ? value_string(download->found) : value_missing(),
                   value_string(download->required_digest.len > 0
                                    ? download->required_digest
                                    : STR("digest of the first download")));
    if (outcome->comment.len == 0) {
        outcome->comment = STR("updated");
    }
}

/* The address for messages. */
static Str shown_url(Call *call)
{
    Value url = call_param(call, "url");
    return value_is_secret(url) ? STR("the server") : str_slice(value_str(url), 0, SHOWN_URL);
}

/* In a plan, checks that the server has the file, unless an earlier step may start the server or
 * configure the network. */
static bool check_server(Call *call, const Download *download, Error *err)
{
    if (!call->planning || call->is_prereq_check || !host_is_live(call->host) ||
        transfer_probe(call, &download->request, err)) {
        return true;
    }
    return call_report_missing(call, "url", "remote", shown_url(call)) ||
           error_wrap(err, "%" STR_FMT, STR_ARG(shown_url(call)));
}

static bool download_check(Call *call, Outcome *outcome, Error *err)
{
    Download *download = ARENA_NEW(call->arena, Download);
    AUTO_CLEAR(Buf) ignored = buf_make(BUF_UNLIMITED);
    outcome->check_data = download;
    outcome->state = STR("present");
    const Target *target = &download->target;
    if (!read_params(call, download, err) ||
        !target_compare(call, &download->target, false, outcome, &ignored, err) ||
        !target_check_chown(call, target, err) || !find_digest(call, download, err)) {
        return false;
    }
    /* The former owner may have the file open and write to it later. */
    bool changes_owner = target->set_owner && target->uid != HOST_KEEP_ID &&
                         target->uid != target->before.uid && target->before.uid != 0;
    download->fetch = download->required_digest.len == 0 || changes_owner ||
                      !str_eq(download->required_digest, download->found);
    if (!download->fetch) {
        return true;
    }
    report_fetch(call, download, outcome);
    if (tool_exists(call, "curl")) {
        return check_server(call, download, err);
    }
    return call_report_missing_program(call, "curl") ||
           error_set(err, ERROR_NOT_FOUND, "curl not found (package curl)");
}

/* --- Apply ----------------------------------------------------------------------------------- */

static bool check_digest(Call *call, const Download *download, const Transfer *transfer, Error *err)
{
    if (download->required_digest.len == 0 || str_eq(download->required_digest, transfer->digest)) {
        return true;
    }
    Str hint = download->pins
                   ? arena_format(call->arena,
                                  "; to trust the current content of the server, remove %" STR_FMT,
                                  STR_ARG(download->pin_path))
                   : STR_EMPTY;
    return error_set(err, ERROR_INVALID,
                     "wrong digest: expected %" STR_FMT ", got %" STR_FMT
                     " (%lld bytes from %" STR_FMT "); nothing was changed%" STR_FMT,
                     STR_ARG(download->required_digest), STR_ARG(transfer->digest),
                     (long long)transfer->size, STR_ARG(shown_url(call)), STR_ARG(hint));
}

static bool download_to(Call *call, const Download *download, HostWriter *writer, Str *digest,
                        Error *err)
{
    const Target *target = &download->target;
    const FileInfo *before = &target->before;
    bool exists = before->kind == FILE_REGULAR;
    Transfer transfer = { .call = call,
                          .request = download->request,
                          .timeout_ms = call_int(call, "timeout", 0),
                          .writer = writer,
                          .kind = digest_kind(download->required_digest) };
    if (!transfer_run(&transfer, err)) {
        return error_wrap(err, "%" STR_FMT, STR_ARG(shown_url(call)));
    }
    if (!check_digest(call, download, &transfer, err)) {
        return false;
    }
    *digest = transfer.digest;
    uid_t uid = target->uid == HOST_KEEP_ID && exists ? before->uid : target->uid;
    gid_t gid = target->gid == HOST_KEEP_ID && exists ? before->gid : target->gid;
    return host_writer_finish(writer, uid, gid, target_mode(target), clock_now_seconds(), err) &&
           host_sync(call->host, err);
}

/* Write the pin first: if eden is interrupted in between, the next run must not trust a different
 * download. */
static bool install(Call *call, const Download *download, Str staging_path, Str digest,
                    Outcome *outcome, Error *err)
{
    const Target *target = &download->target;
    if (download->pins && download->required_digest.len == 0) {
        if (!pin_write(call, download->pin_path, download->request.url, digest, err)) {
            return false;
        }
        outcome->changed = true;
    }
    if (!call_journal(call, target->path, err) ||
        !host_move(call->host, staging_path, call->host, target->path, err)) {
        return false;
    }
    outcome->changed = true;
    return true;
}

static bool fetch(Call *call, const Download *download, Outcome *outcome, Error *err)
{
    AUTO(HostWriter) *writer = NULL;
    Str staging_path = host_draft_path(call->arena, download->target.path), digest = STR_EMPTY;
    size_t slash = str_find_last(download->target.path, STR("/"));
    Error ignored;
    if (download->target.parents && slash > 0 &&
        !host_make_directory(call->host, str_slice(download->target.path, 0, slash),
                             DIRECTORY_MODE_NEW, true, err)) {
        return false;
    }
    /* Remove the partial file of a killed run. */
    if (!host_remove(call->host, staging_path, err) ||
        !host_writer_open(call->host, staging_path, &writer, err)) {
        return false;
    }
    if (download_to(call, download, writer, &digest, err) &&
        install(call, download, staging_path, digest, outcome, err)) {
        return true;
    }
    return host_remove(call->host, staging_path, &ignored)
               ? false
               : error_wrap(err, "%" STR_FMT " was left behind", STR_ARG(staging_path));
}

static bool download_apply(Call *call, Outcome *outcome, Error *err)
{
    Download *download = outcome->check_data;
    return download->fetch ? fetch(call, download, outcome, err)
                           : target_apply(call, &download->target, outcome, err);
}

/* --- Module table ---------------------------------------------------------------------------- */

static void download_claims(Arena *arena, const Value *params, List *claims)
{
    Value name = params_get(download_params, params, "name"),
          pin = params_get(download_params, params, "pin");
    target_claims(arena, download_params, params, claims);
    if (value_is_string(name) && pin.kind == VALUE_BOOL && pin.boolean) {
        claims_add(arena, claims, "path:", pin_path(arena, value_str(name)));
    }
    claims_add_param(arena, claims, "needs:path:", params_get(download_params, params, "ca"));
    list_push(arena, claims, value_string(STR("needs:pkg:curl")));
}

static const Action actions[] = {
    { "download", "Ensure that a file is downloaded from a web server.", download_params,
      download_check, download_apply, .verify_all = download_verify, .claims = download_claims,
      .cost_ms = 2000, .resource = "path name", .desired_state = "kind=file",
      .text = "'digest' is the required digest of the file. If the file already has this\n"
              "digest, it is left unchanged and the server is not contacted, in a run or in a\n"
              "plan. With 'pin: true' the first download from an address is trusted, and its\n"
              "digest is stored in a hidden file next to the file (.eden-pin-...); from then on\n"
              "that digest is required. To start over, use another address or remove the hidden\n"
              "file. Only https downloads can be pinned. A plan that would download the file\n"
              "sends a HEAD request, and fails if the server cannot be reached or does not have\n"
              "the file.\n"
              "\n"
              "The response is written next to the destination and moved there atomically after\n"
              "its digest has been verified. Nothing is changed if the response is truncated,\n"
              "too large, too slow, or has different content.\n"
              "\n"
              "The download is done by curl, ignoring its configuration files; proxies are taken\n"
              "from the environment. Redirects from https to http are not followed. User names,\n"
              "passwords and headers do not appear in process listings. Secret 'headers' are\n"
              "not sent when following redirects: Authorization and Cookie are dropped; with\n"
              "other secret headers, the step fails.\n",
      .example = "- name: the release\n"
                 "  http.download:\n"
                 "    - name: /var/cache/app-1.4.tar.gz\n"
                 "    - url: https://downloads.example.net/app-1.4.tar.gz\n"
                 "    - digest: "
                 "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n" },
    { 0 },
};

const Module modules_http = {
    .name = "http",
    .help = "Files from web servers.",
    .id_param = "name",
    .actions = actions,
};
