#include "membership/server_record.h"

#include "lang/record.h"
#include "net/address.h"

static bool check_address(Str text, Error *err)
{
    Address address;
    return address_parse(text, 1, &address, err) &&
           (address.kind != ADDRESS_UNIX || error_set(err, ERROR_INVALID, "must be an address"));
}

DEFINE_ENUM_NAMES(
    EtcdRole, etcd_role, [ETCD_ROLE_UNKNOWN] = "unknown", [ETCD_ROLE_NONE] = "none",
    [ETCD_ROLE_DOWN] = "down", [ETCD_ROLE_LEARNER] = "learner", [ETCD_ROLE_VOTER] = "voter")

static const RecordField server_fields[] = {
    { "name", RECORD_TEXT, RECORD_CHARS_AT(ServerRecord, name), .is_required = true,
      .check_text = node_name_check, .help = "name of its node" },
    { "added_ms", RECORD_INT, RECORD_INT_AT(ServerRecord, added_ms), .is_required = true,
      .help = "when it became a server" },
    { "started_ms", RECORD_INT, RECORD_INT_AT(ServerRecord, started_ms),
      .help = "when it last started" },
    { "rpc", RECORD_TEXT,
      RECORD_POINTER_AT(ServerRecord, rpc, rpc_count, SERVER_ADDRESSES_MAX, Str, NULL),
      .check_text = check_address, .help = "addresses for nodes" },
    { "api", RECORD_TEXT,
      RECORD_POINTER_AT(ServerRecord, api, api_count, SERVER_ADDRESSES_MAX, Str, NULL),
      .check_text = check_address, .help = "addresses for the API" },
    { "cas", RECORD_TEXT, RECORD_CODED_ARRAY_AT(ServerRecord, cas, ca_count, Pin, pin_codec),
      .help = "pins of the CAs whose keys it has" },
    { "issuer", RECORD_TEXT, RECORD_CODED_AT(ServerRecord, issuer, Pin, pin_or_none_codec),
      .help = "pin of the CA that issued its certificates" },
    { "version", RECORD_TEXT, RECORD_STR_AT(ServerRecord, version), .max = SERVER_VERSION_MAX,
      .help = "version of eden" },
    { "etcd", RECORD_TEXT, RECORD_STR_AT(ServerRecord, etcd), .check_text = check_address,
      .help = "IP address of its member of the datastore" },
    { "etcd_role", RECORD_CHOICE, RECORD_ENUM_AT(ServerRecord, etcd_role, etcd_role),
      .choices = "unknown|none|down|learner|voter", .help = "its member of the datastore" },
    { "etcd_member", RECORD_TEXT, RECORD_CHARS_AT(ServerRecord, etcd_member),
      .help = "ID of the member whose data it has" },
    { RECORD_UNKNOWN_AT(ServerRecord, unknown) },
    { 0 },
};

static const RecordFormat server_format = {
    .format = "eden.server-record/1",
    .what = "the record of a server",
    .fields = server_fields,
    .size = sizeof(ServerRecord),
    .text_max = SERVER_RECORD_MAX,
};

void server_record_print(const ServerRecord *record, Buf *out)
{
    record_print(&server_format, record, out);
}

bool server_record_read(Arena *arena, Str text, ServerRecord *out, Error *err)
{
    return record_read(&server_format, arena, text, RECORD_STORED, out, err);
}

bool server_record_has_ca(const ServerRecord *record, const Pin *ca)
{
    for (uint32_t i = 0; i < record->ca_count; i++) {
        if (pin_equal(&record->cas[i], ca)) {
            return true;
        }
    }
    return false;
}
