#include "sys/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/vec.h"
#include "sys/file_io.h"

static uint8_t prefix_of(const unsigned char *mask, size_t len)
{
    uint8_t bits = 0;
    for (size_t i = 0; i < len; i++) {
        bits += (uint8_t)__builtin_popcount(mask[i]);
    }
    return bits;
}

/* False for anything but an IP address. */
static bool read_address(const struct ifaddrs *entry, Arena *arena, NetworkAddress *out)
{
    if (entry->ifa_addr == NULL || entry->ifa_netmask == NULL) {
        return false;
    }
    char text[INET6_ADDRSTRLEN];
    int family = entry->ifa_addr->sa_family;
    if (family == AF_INET) {
        struct sockaddr_in address, mask;
        memcpy(&address, entry->ifa_addr, sizeof address);
        memcpy(&mask, entry->ifa_netmask, sizeof mask);
        inet_ntop(family, &address.sin_addr, text, sizeof text);
        out->prefix = prefix_of((const unsigned char *)&mask.sin_addr, sizeof mask.sin_addr);
    } else if (family == AF_INET6) {
        struct sockaddr_in6 address, mask;
        memcpy(&address, entry->ifa_addr, sizeof address);
        memcpy(&mask, entry->ifa_netmask, sizeof mask);
        inet_ntop(family, &address.sin6_addr, text, sizeof text);
        out->prefix = prefix_of((const unsigned char *)&mask.sin6_addr, sizeof mask.sin6_addr);
    } else {
        return false;
    }
    out->v6 = family == AF_INET6;
    out->interface = arena_copy(arena, str_from_c(entry->ifa_name));
    out->address = arena_copy(arena, str_from_c(text));
    return true;
}

bool network_addresses(Arena *arena, NetworkAddresses *out, Error *err)
{
    struct ifaddrs *first;
    if (getifaddrs(&first) != 0) {
        return file_error(err, errno, "cannot list network interfaces");
    }
    VEC(NetworkAddress) found = { 0 };
    for (const struct ifaddrs *entry = first; entry != NULL; entry = entry->ifa_next) {
        NetworkAddress address;
        if (read_address(entry, arena, &address)) {
            VEC_PUSH(arena, &found, address);
        }
    }
    freeifaddrs(first);
    *out = (NetworkAddresses){ found.items, found.len };
    return true;
}
