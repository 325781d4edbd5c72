#include "cli/server_user.h"

#include "cli/daemon_command.h"

#include "base/vec.h"
#include "datastore/member_settings.h"
#include "etcd/client.h"
#include "sys/file.h"
#include "sys/machine.h"
#include "sys/name_service.h"
#include "sys/network.h"
#include "sys/privilege.h"

bool server_user_find(Arena *arena, const char *name, ClusterSpec *spec, Error *err)
{
    Str line, fields[4];
    uint64_t user, group;
    if (!running_as_root()) {
        return true; /* it runs as the current user */
    }
    if (!name_service_query(arena, "passwd", str_from_c(name), &line, err)) {
        return error_set(err, ERROR_NOT_FOUND,
                         "user '%s' not found; create it with 'useradd --system %s', or choose "
                         "another one with --user",
                         name, name);
    }
    uint32_t count = 0;
    while (count < COUNT_OF(fields) && str_split_next(&line, ':', &fields[count])) {
        count++;
    }
    if (count < COUNT_OF(fields) || !str_to_u64(fields[2], &user) ||
        !str_to_u64(fields[3], &group) || user >= UINT32_MAX || group >= UINT32_MAX) {
        return error_set(err, ERROR_INVALID, "cannot read the passwd entry for user '%s'", name);
    }
    spec->has_user = user != 0;
    spec->user = (uid_t)user;
    spec->group = (gid_t)group;
    return true;
}

typedef VEC(Str) Names;

static bool is_external(const NetworkAddress *address)
{
    return !str_eq(address->interface, STR("lo")) && !str_starts(address->address, STR("fe80:"));
}

static void add_name(Arena *arena, Names *names, Str name)
{
    for (uint32_t i = 0; i < names->len; i++) {
        if (str_eq(names->items[i], name)) {
            return;
        }
    }
    VEC_PUSH(arena, names, name);
}

/* The first name is advertised to nodes. Addresses come first, because they work even where the
 * machine's name cannot be resolved. */
static void find_names(Arena *arena, Names *names)
{
    NetworkAddresses all = { 0 };
    Error err;
    if (network_addresses(arena, &all, &err)) {
        for (int v6 = 0; v6 < 2; v6++) {
            for (uint32_t i = 0; i < all.count && names->len < 32; i++) {
                if (is_external(&all.items[i]) && all.items[i].v6 == (v6 == 1)) {
                    add_name(arena, names, all.items[i].address);
                }
            }
        }
    }
    add_name(arena, names, own_node_name(arena));
    add_name(arena, names, own_host_name(arena));
}

void server_names_read(const Invocation *invocation, ServerSettings *settings)
{
    Names names = { 0 };
    uint32_t count;
    const char **addresses = invocation_texts(invocation, "address", &count);
    for (uint32_t i = 0; i < count; i++) {
        add_name(invocation->arena, &names, str_from_c(addresses[i]));
    }
    if (count == 0) {
        find_names(invocation->arena, &names);
    }
    settings->names = names.items;
    settings->name_count = names.len;
}

static Str find_etcd_address(const Invocation *invocation, const ServerSettings *settings)
{
    const char *given = invocation_text(invocation, "etcd-address");
    if (given != NULL) {
        return str_from_c(given);
    }
    for (uint32_t i = 0; i < settings->name_count; i++) {
        Address client, peer;
        Error err;
        if (member_address_parse(settings->names[i], &client, &peer, &err)) {
            return settings->names[i];
        }
    }
    return STR_EMPTY;
}

bool server_etcd_address_read(const Invocation *invocation, bool may_be_none,
                              ServerSettings *settings, Error *err)
{
    Address client, peer;
    Str address = find_etcd_address(invocation, settings);
    if (address.len == 0) {
        return may_be_none ||
               error_set(err, ERROR_INVALID,
                         "--etcd-address is required: no --address is an IP address");
    }
    if (!member_address_parse(address, &client, &peer, err)) {
        return error_wrap(err, "--etcd-address");
    }
    settings->etcd_address = address;
    return true;
}

/* Members may also be separated by commas, as with etcdctl. */
static uint32_t split_endpoints(const char **texts, uint32_t count, Str *out)
{
    uint32_t used = 0;
    for (uint32_t i = 0; i < count; i++) {
        Str rest = str_from_c(texts[i]), one;
        while (str_split_next(&rest, ',', &one)) {
            if (one.len > 0 && used < ETCD_ENDPOINTS_MAX + 1) {
                out[used++] = one;
            }
        }
    }
    return used;
}

bool server_etcd_read(const Invocation *invocation, bool is_complete, ServerSettings *settings,
                      Error *err)
{
    Arena *arena = invocation->arena;
    uint32_t count;
    const char **texts = invocation_texts(invocation, "endpoints", &count);
    const struct {
        const char *name;
        Str *path;
    } files[] = { { "etcd-ca", &settings->etcd_ca },
                  { "etcd-cert", &settings->etcd_certificate },
                  { "etcd-key", &settings->etcd_key } };
    Str *endpoints = ARENA_ARRAY(arena, Str, ETCD_ENDPOINTS_MAX + 1);
    settings->etcd = endpoints;
    settings->etcd_count = split_endpoints(texts, count, endpoints);
    if (settings->etcd_count > ETCD_ENDPOINTS_MAX) {
        return error_set(err, ERROR_INVALID, "--endpoints: at most %d endpoints",
                         ETCD_ENDPOINTS_MAX);
    }
    for (uint32_t i = 0; i < settings->etcd_count; i++) {
        Address ignored;
        if (!etcd_endpoint_parse(endpoints[i], &ignored, err)) {
            return error_wrap(err, "--endpoints");
        }
    }
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const char *path = invocation_text(invocation, files[i].name);
        if (is_complete && (path != NULL) != (settings->etcd_count > 0)) {
            return error_set(err, ERROR_INVALID,
                             "--endpoints, --etcd-ca, --etcd-cert and --etcd-key must be used "
                             "together");
        }
        *files[i].path = path == NULL ? STR_EMPTY : file_absolute(arena, path);
    }
    return true;
}

/* --endpoints names an etcd run by an operator; --store etcd runs one here. */
bool server_store_read(const Invocation *invocation, ServerSettings *settings, Error *err)
{
    bool runs_etcd = strcmp(invocation_text(invocation, "store"), "etcd") == 0;
    if (!server_etcd_read(invocation, true, settings, err)) {
        return false;
    }
    if (!runs_etcd) {
        return invocation_text(invocation, "etcd-address") == NULL ||
               error_set(err, ERROR_INVALID, "--etcd-address requires --store etcd");
    }
    if (settings->etcd_count > 0) {
        return error_set(err, ERROR_INVALID,
                         "--store etcd runs etcd on this machine; omit it to use the etcd at "
                         "--endpoints");
    }
    if (!server_etcd_address_read(invocation, false, settings, err)) {
        return false;
    }
    server_settings_use_own_etcd(invocation->arena, settings);
    return true;
}
