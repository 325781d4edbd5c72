#include "sys/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/bug.h"
#include "base/memory.h"
#include "base/vec.h"
#include "sys/file_io.h"

/* --- Addresses -------------------------------------------------------------------------------- */

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

/* --- Changes ---------------------------------------------------------------------------------- */

struct NetworkWatch {
    uv_poll_t poll;
    int descriptor;
    LoopRun *changed;
    void *context;
};

/* The content of the messages does not matter, only that something changed, even if the kernel had
 * to drop messages (ENOBUFS). */
static void readable(uv_poll_t *poll, int status, int events)
{
    const NetworkWatch *watch = poll->data;
    char message[4096];
    bool was_some = false;
    for (;;) {
        ssize_t len = recv(watch->descriptor, message, sizeof message, MSG_DONTWAIT);
        if (len <= 0 && !(len < 0 && (errno == ENOBUFS || errno == EINTR))) {
            break;
        }
        was_some = true;
    }
    if (was_some) {
        watch->changed(watch->context);
    }
}

bool network_watch_new(Loop *loop, LoopRun *changed, void *context, NetworkWatch **out, Error *err)
{
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    struct sockaddr_nl address = { .nl_family = AF_NETLINK,
                                   .nl_groups =
                                       RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
    if (descriptor < 0 || bind(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        int number = errno;
        if (descriptor >= 0) {
            close(descriptor);
        }
        return file_error(err, number, "netlink");
    }
    NetworkWatch *watch = memory_new(sizeof *watch);
    watch->descriptor = descriptor;
    watch->changed = changed;
    watch->context = context;
    int result = uv_poll_init(loop_uv(loop), &watch->poll, descriptor);
    BUG_IF(result != 0);
    watch->poll.data = watch;
    result = uv_poll_start(&watch->poll, UV_READABLE, readable);
    BUG_IF(result != 0);
    *out = watch;
    return true;
}

static void closed(uv_handle_t *handle)
{
    NetworkWatch *watch = handle->data;
    close(watch->descriptor);
    free(watch);
}

void network_watch_free(NetworkWatch *watch)
{
    if (watch != NULL) {
        uv_close((uv_handle_t *)&watch->poll, closed);
    }
}
