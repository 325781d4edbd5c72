/* Reads and prints server.json. Defaults are applied when reading and omitted when printing. */
#include "server/server_settings.h"

#include "base/bug.h"
#include "datastore/member_settings.h"
#include "etcd/client.h"
#include "lang/record.h"
#include "net/plain_server.h"
#include "pki/ca.h"

enum {
    NAMES_MAX = 100,
    PER_ADDRESS_MAX = 100000,
    SECOND_MS = 1000,
};

#define LIMIT_MAX ((int64_t)1 << 40)
/* A site has at most 1 GiB. */
#define UPLOADS_DEFAULT ((RateLimit){ .per_second = 1 << 20, .burst = (int64_t)4 << 30 })

/* --- File ------------------------------------------------------------------------------------ */

static bool seconds_decode(Arena *arena, Value value, void *member, Error *err)
{
    *(int64_t *)member = value.integer * SECOND_MS;
    return true;
}

static void seconds_encode(const void *member, Buf *out)
{
    buf_put_i64(out, *(const int64_t *)member / SECOND_MS);
}

static bool seconds_are_unset(const void *member)
{
    return *(const int64_t *)member == 0;
}

static const RecordCodec seconds_codec = { seconds_decode, seconds_encode, seconds_are_unset };

/* The address to listen on. Port 0, any free port, is for tests: nodes could not find it again. */
static bool check_address(Str text, Error *err)
{
    Address ignored;
    return address_parse(text, 0, &ignored, err);
}

static bool check_plain_address(Str text, Error *err)
{
    Address ignored;
    return plain_address_parse(text, &ignored, err);
}

bool etcd_endpoint_parse(Str text, Address *out, Error *err)
{
    Str address = text;
    if (str_starts(text, STR("http://"))) {
        return error_set(err, ERROR_INVALID, "'%" STR_FMT "': etcd is only used with TLS",
                         STR_ARG(text));
    }
    if (str_starts(text, STR("https://"))) {
        address = str_from_offset(text, STR("https://").len);
    }
    if (address.len > 0 && address.data[address.len - 1] == '/') {
        address = str_slice(address, 0, address.len - 1);
    }
    if (!address_parse(address, PORT_ETCD, out, err)) {
        return false;
    }
    return (out->kind != ADDRESS_UNIX && out->port != 0) ||
           error_set(err, ERROR_INVALID,
                     "'%" STR_FMT "' is not an endpoint (example: 10.0.0.5:2379)", STR_ARG(text));
}

static bool check_endpoint(Str text, Error *err)
{
    Address ignored;
    return etcd_endpoint_parse(text, &ignored, err);
}

static bool check_member_address(Str text, Error *err)
{
    Address client, peer;
    return member_address_parse(text, &client, &peer, err);
}

static bool check_settings(const void *record, Error *err)
{
    const ServerSettings *settings = record;
    bool has_files = settings->etcd_ca.len > 0 && settings->etcd_certificate.len > 0 &&
                     settings->etcd_key.len > 0;
    if (settings->name_count == 0) {
        return error_set(err, ERROR_INVALID, "'names': must not be empty");
    }
    if (server_settings_own_etcd(settings) && server_settings_use_etcd(settings)) {
        return error_set(err, ERROR_INVALID,
                         "'etcd_address' and 'etcd_endpoints' cannot be used together");
    }
    return !server_settings_use_etcd(settings) || has_files ||
           error_set(err, ERROR_INVALID,
                     "'etcd_endpoints' requires 'etcd_ca', 'etcd_certificate' and 'etcd_key'");
}

#define LIFETIME_FIELD(name, member, text)                                                      \
    {                                                                                           \
        name, RECORD_INT, RECORD_CODED_AT(ServerSettings, member, int64_t, seconds_codec),      \
            .min = LIFETIME_MIN_MS / SECOND_MS, .max = CA_LIFETIME_MS / SECOND_MS, .help = text \
    }
#define LIMIT_FIELD(name, member, text)                                                      \
    {                                                                                        \
        name, RECORD_INT, RECORD_INT_AT(ServerSettings, member), .min = 1, .max = LIMIT_MAX, \
                                                                 .help = text                \
    }

static const RecordField settings_fields[] = {
    { "cluster", RECORD_TEXT, RECORD_CHARS_AT(ServerSettings, cluster), .is_required = true,
      .check_text = cluster_name_check, .help = "name of the cluster" },
    { "node", RECORD_TEXT, RECORD_CHARS_AT(ServerSettings, node), .is_required = true,
      .check_text = node_name_check, .help = "name of this server" },
    { "store", RECORD_TEXT, RECORD_CHARS_AT(ServerSettings, store_id), .is_required = true,
      .help = "ID of the store" },
    { "rpc", RECORD_TEXT, RECORD_STR_AT(ServerSettings, rpc), .is_required = true,
      .check_text = check_address, .help = "where it listens for nodes" },
    { "api", RECORD_TEXT, RECORD_STR_AT(ServerSettings, api), .is_required = true,
      .check_text = check_address, .help = "where it listens for the API" },
    { "health", RECORD_TEXT, RECORD_STR_AT(ServerSettings, health),
      .check_text = check_plain_address, .help = "where it answers health checks without TLS" },
    { "names", RECORD_TEXT,
      RECORD_POINTER_AT(ServerSettings, names, name_count, NAMES_MAX, Str, NULL),
      .is_required = true, .check_text = check_address,
      .help = "names and addresses under which it is reached" },
    { "etcd_endpoints", RECORD_TEXT,
      RECORD_POINTER_AT(ServerSettings, etcd, etcd_count, ETCD_ENDPOINTS_MAX, Str, NULL),
      .check_text = check_endpoint, .help = "endpoints of the etcd cluster that holds the store" },
    { "etcd_ca", RECORD_TEXT, RECORD_STR_AT(ServerSettings, etcd_ca),
      .help = "file with the CA of etcd" },
    { "etcd_certificate", RECORD_TEXT, RECORD_STR_AT(ServerSettings, etcd_certificate),
      .help = "file with the client certificate for etcd" },
    { "etcd_key", RECORD_TEXT, RECORD_STR_AT(ServerSettings, etcd_key),
      .help = "file with the key of that certificate" },
    { "etcd_address", RECORD_TEXT, RECORD_STR_AT(ServerSettings, etcd_address),
      .check_text = check_member_address,
      .help = "IP address on which this server runs a member of the datastore" },
    { "connections_per_address", RECORD_INT, RECORD_INT_AT(ServerSettings, per_address_max),
      .min = 1, .max = PER_ADDRESS_MAX, .help = "maximum number of connections from one address" },
    LIFETIME_FIELD("node_life_s", node_lifetime_ms, "lifetime of node certificates"),
    LIFETIME_FIELD("serving_life_s", serving_lifetime_ms, "lifetime of the API certificate"),
    LIMIT_FIELD("node_sessions_per_second", node_limits.sessions.per_second,
                "sessions that a node may open, per second"),
    LIMIT_FIELD("node_sessions_burst", node_limits.sessions.burst, "burst of sessions"),
    LIMIT_FIELD("node_bytes_per_second", node_limits.bytes.per_second,
                "bytes that a node may send, per second"),
    LIMIT_FIELD("node_bytes_burst", node_limits.bytes.burst, "burst of bytes"),
    LIMIT_FIELD("node_records_per_second", node_limits.records.per_second,
                "records that a node may send, per second"),
    LIMIT_FIELD("node_records_burst", node_limits.records.burst, "burst of records"),
    LIMIT_FIELD("node_event_bytes_per_second", node_limits.events.per_second,
                "bytes of events of runs that a node may send, per second"),
    LIMIT_FIELD("node_event_bytes_burst", node_limits.events.burst, "burst of bytes of events"),
    LIMIT_FIELD("node_results_bytes", node_limits.results_bytes,
                "bytes of results that are stored per node"),
    LIMIT_FIELD("upload_bytes_per_second", uploads.per_second,
                "bytes of files that a caller of the API may send, per second"),
    LIMIT_FIELD("upload_bytes_burst", uploads.burst, "burst of bytes of files"),
    { 0 },
};

static const RecordFormat settings_format = {
    .format = "eden.server/1",
    .what = SERVER_SETTINGS_FILE,
    .fields = settings_fields,
    .size = sizeof(ServerSettings),
    .text_max = SERVER_SETTINGS_MAX,
    .check = check_settings,
};

/* --- Limits ---------------------------------------------------------------------------------- */

static int64_t *limit_of(ServerSettings *settings, const RecordField *field)
{
    size_t from = offsetof(ServerSettings, node_limits);
    size_t end = offsetof(ServerSettings, uploads) + sizeof settings->uploads;
    bool is_limit = field->offset >= from && field->offset < end;
    return is_limit ? (int64_t *)((char *)settings + field->offset) : NULL;
}

/* Sets defaults for missing limits; when printing, omits those that are the default. */
static void fill_limits(ServerSettings *settings, bool prints)
{
    ServerSettings usual = { .node_limits = NODE_LIMITS_DEFAULT, .uploads = UPLOADS_DEFAULT };
    for (const RecordField *field = settings_fields; field->name != NULL; field++) {
        int64_t *limit = limit_of(settings, field);
        if (limit != NULL && prints && *limit == *limit_of(&usual, field)) {
            *limit = 0;
        } else if (limit != NULL && !prints && *limit == 0) {
            *limit = *limit_of(&usual, field);
        }
    }
}

void server_settings_print(const ServerSettings *settings, Buf *out)
{
    ServerSettings printed = *settings;
    fill_limits(&printed, true);
    if (server_settings_own_etcd(settings)) {
        printed.etcd_count = 0;
    }
    record_print_file(&settings_format, &printed, out);
}

bool server_settings_read(Arena *arena, Str text, ServerSettings *out, Error *err)
{
    if (!record_read(&settings_format, arena, arena_copy(arena, text), RECORD_EXTERNAL, out, err)) {
        return false;
    }
    fill_limits(out, false);
    if (server_settings_own_etcd(out)) {
        server_settings_use_own_etcd(arena, out);
    }
    return true;
}

void server_settings_use_own_etcd(Arena *arena, ServerSettings *settings)
{
    Address client, peer;
    Error err;
    Str *endpoint = ARENA_NEW(arena, Str);
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    bool ok = member_address_parse(settings->etcd_address, &client, &peer, &err);
    BUG_IF(!ok); /* it was checked */
    address_format(&client, &text);
    *endpoint = buf_str(&text);
    settings->etcd = endpoint;
    settings->etcd_count = 1;
}

/* --- Names ----------------------------------------------------------------------------------- */

static bool has_name(const Str *names, uint32_t count, Str name)
{
    for (uint32_t i = 0; i < count; i++) {
        if (str_eq(names[i], name)) {
            return true;
        }
    }
    return false;
}

ServingNames server_settings_serving_names(Arena *arena, const ServerSettings *settings)
{
    static const Str own[] = { { "localhost", 9 }, { "127.0.0.1", 9 }, { "::1", 3 } };
    uint32_t count = settings->name_count;
    Str *names = ARENA_ARRAY(arena, Str, count + COUNT_OF(own));
    memcpy(names, settings->names, count * sizeof *names);
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (!has_name(names, count, own[i])) {
            names[count++] = own[i];
        }
    }
    return (ServingNames){ names, count };
}

void server_settings_addresses(Arena *arena, const ServerSettings *settings, uint16_t port,
                               Str *out)
{
    for (uint32_t i = 0; i < settings->name_count; i++) {
        Buf name = buf_make_in(arena, BUF_UNLIMITED);
        Address address;
        Error err;
        bool ok = address_parse(settings->names[i], 0, &address, &err);
        BUG_IF(!ok); /* otherwise the name could not be in the certificate */
        address.port = port;
        address_format(&address, &name);
        out[i] = buf_str(&name);
    }
}
