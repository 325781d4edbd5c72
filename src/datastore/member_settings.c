#include "datastore/member_settings.h"

#include "datastore/etcd_command.h"
#include "etcd/client.h"
#include "lang/record.h"

bool member_address_parse(Str text, Address *client, Address *peer, Error *err)
{
    if (!address_parse(text, 0, client, err)) {
        return false;
    }
    if (client->kind != ADDRESS_IP || client->port != 0 || address_is_any(client)) {
        return error_set(err, ERROR_INVALID,
                         "'%" STR_FMT "' is not an IP address of this machine (example: 10.0.0.5)",
                         STR_ARG(text));
    }
    client->port = ETCD_CLIENT_PORT;
    *peer = *client;
    peer->port = ETCD_PEER_PORT;
    return true;
}

static bool check_address(Str text, Error *err)
{
    Address client, peer;
    return member_address_parse(text, &client, &peer, err);
}

static bool check_endpoint(Str text, Error *err)
{
    Address endpoint;
    return address_parse(text, ETCD_CLIENT_PORT, &endpoint, err) &&
           (endpoint.kind == ADDRESS_IP || error_set(err, ERROR_INVALID, "must be an IP address"));
}

static const RecordField fields[] = {
    { "cluster", RECORD_TEXT, RECORD_CHARS_AT(MemberSettings, cluster), .is_required = true,
      .check_text = cluster_name_check, .help = "name of the cluster" },
    { "node", RECORD_TEXT, RECORD_CHARS_AT(MemberSettings, node), .is_required = true,
      .check_text = node_name_check, .help = "name of this server" },
    { "address", RECORD_TEXT, RECORD_STR_AT(MemberSettings, address), .is_required = true,
      .check_text = check_address, .help = "IP address that the member listens on" },
    { "endpoints", RECORD_TEXT,
      RECORD_POINTER_AT(MemberSettings, endpoints, endpoint_count, ETCD_ENDPOINTS_MAX, Str, NULL),
      .is_required = true, .check_text = check_endpoint,
      .help = "where members listen for clients" },
    { 0 },
};

static const RecordFormat format = {
    .format = "eden.datastore-settings/1",
    .what = DATASTORE_SETTINGS,
    .fields = fields,
    .size = sizeof(MemberSettings),
    .text_max = MEMBER_SETTINGS_MAX,
};

void member_settings_print(const MemberSettings *settings, Buf *out)
{
    record_print_file(&format, settings, out);
}

bool member_settings_read(Arena *arena, Str text, MemberSettings *out, Error *err)
{
    return record_read(&format, arena, text, RECORD_STORED, out, err);
}
