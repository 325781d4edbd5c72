#include "sys/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"
#include "sys/file_io.h"

enum {
    REQUEST_SIZE = 512 /* bytes; the largest message here, for a veth pair, takes less than 200 */
};

/* --- Messages -------------------------------------------------------------------------------- */

typedef union Request {
    struct nlmsghdr head;
    char bytes[REQUEST_SIZE];
} Request;

static void *put(Request *request, const void *data, size_t len)
{
    size_t start = NLMSG_ALIGN(request->head.nlmsg_len);
    BUG_IF(start + len > sizeof *request);
    memcpy(request->bytes + start, data, len);
    request->head.nlmsg_len = (uint32_t)(start + len);
    return request->bytes + start;
}

static struct rtattr *put_attribute(Request *request, unsigned short type, const void *data,
                                    size_t len)
{
    struct rtattr head = { .rta_type = type, .rta_len = (unsigned short)(RTA_LENGTH(len)) };
    struct rtattr *attribute = put(request, &head, sizeof head);
    if (len > 0) {
        put(request, data, len);
    }
    return attribute;
}

static void put_text(Request *request, unsigned short type, const char *text)
{
    put_attribute(request, type, text, strlen(text) + 1);
}

static void put_number(Request *request, unsigned short type, uint32_t number)
{
    put_attribute(request, type, &number, sizeof number);
}

/* Attributes added until the group ends are nested in it. */
static struct rtattr *begin_group(Request *request, unsigned short type)
{
    return put_attribute(request, type, NULL, 0);
}

static void end_group(Request *request, struct rtattr *group)
{
    group->rta_len =
        (unsigned short)(request->bytes + request->head.nlmsg_len - (const char *)group);
}

static Request request_make(uint16_t type, uint16_t flags)
{
    return (Request){ .head = { .nlmsg_len = NLMSG_HDRLEN,
                                .nlmsg_type = type,
                                .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags) } };
}

/* --- The kernel ------------------------------------------------------------------------------ */

/* The errno in the kernel's answer; 0: success. */
static int ask(const Request *request)
{
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } answer;
    int descriptor = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (descriptor < 0) {
        return errno;
    }
    int number = EPROTO;
    if (send(descriptor, request, request->head.nlmsg_len, 0) < 0) {
        number = errno;
    } else {
        ssize_t len = recv(descriptor, &answer, sizeof answer, 0);
        if (len < 0) {
            number = errno;
        } else if (NLMSG_OK(&answer.head, (size_t)len) && answer.head.nlmsg_type == NLMSG_ERROR) {
            number = -((const struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;
        }
    }
    close(descriptor);
    return number;
}

static bool ask_for(const Request *request, const char *name, Error *err)
{
    int number = ask(request);
    return number == 0 || file_error(err, number, name);
}

/* 0 if not found. */
static int index_of(const char *name)
{
    return (int)if_nametoindex(name);
}

/* --- Links ----------------------------------------------------------------------------------- */

bool link_make_bridge(const char *name, Error *err)
{
    Request request = request_make(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    struct ifinfomsg info = { .ifi_family = AF_UNSPEC };
    put(&request, &info, sizeof info);
    put_text(&request, IFLA_IFNAME, name);
    struct rtattr *kind = begin_group(&request, IFLA_LINKINFO);
    put_text(&request, IFLA_INFO_KIND, "bridge");
    end_group(&request, kind);
    return ask_for(&request, name, err);
}

bool link_create_veth(const char *name, const char *bridge, const char *peer, pid_t process,
                      Error *err)
{
    Request request = request_make(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
    struct ifinfomsg raised = { .ifi_family = AF_UNSPEC,
                                .ifi_flags = IFF_UP,
                                .ifi_change = IFF_UP };
    struct ifinfomsg other = { .ifi_family = AF_UNSPEC };
    put(&request, &raised, sizeof raised);
    put_text(&request, IFLA_IFNAME, name);
    put_number(&request, IFLA_MASTER, (uint32_t)index_of(bridge));
    struct rtattr *kind = begin_group(&request, IFLA_LINKINFO);
    put_text(&request, IFLA_INFO_KIND, "veth");
    struct rtattr *data = begin_group(&request, IFLA_INFO_DATA);
    struct rtattr *end = begin_group(&request, VETH_INFO_PEER);
    put(&request, &other, sizeof other);
    put_text(&request, IFLA_IFNAME, peer);
    put_number(&request, IFLA_NET_NS_PID, (uint32_t)process);
    end_group(&request, end);
    end_group(&request, data);
    end_group(&request, kind);
    return ask_for(&request, name, err);
}

bool link_add_address(const char *name, const char *address, unsigned prefix, Error *err)
{
    Request request = request_make(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
    struct ifaddrmsg info = { .ifa_family = AF_INET,
                              .ifa_prefixlen = (uint8_t)prefix,
                              .ifa_index = (unsigned)index_of(name) };
    struct in_addr number;
    if (inet_pton(AF_INET, address, &number) != 1) {
        return error_set(err, ERROR_INVALID, "'%s' is not an IPv4 address", address);
    }
    put(&request, &info, sizeof info);
    put_attribute(&request, IFA_LOCAL, &number, sizeof number);
    put_attribute(&request, IFA_ADDRESS, &number, sizeof number);
    return ask_for(&request, name, err);
}

bool link_set_up(const char *name, Error *err)
{
    Request request = request_make(RTM_NEWLINK, 0);
    struct ifinfomsg info = { .ifi_family = AF_UNSPEC,
                              .ifi_index = index_of(name),
                              .ifi_flags = IFF_UP,
                              .ifi_change = IFF_UP };
    put(&request, &info, sizeof info);
    return ask_for(&request, name, err);
}
