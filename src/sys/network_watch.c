#include "sys/network_watch.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include "base/bug.h"
#include "base/memory.h"
#include "sys/file_io.h"

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
