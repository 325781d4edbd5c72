/* An API on a separate Unix socket. */
#pragma once

#include "api/api.h"
#include "net/world.h"

static inline HttpServer *serve_by_socket(const World *world, Scratch *scratch, Api *api,
                                          Address *address)
{
    HttpServerOptions options = http_server_defaults();
    ListenerOptions listening = listener_defaults();
    const Listener *listener;
    Error err;
    options.loop = listening.loop = world->loop;
    api_serve(api, &options);
    HttpServer *server = http_server_new(&options);
    assert_true(address_parse(str_from_c(scratch_place(scratch, "socket")), 0, address, &err));
    assert_true(http_server_listen(server, &listening, address, &listener, &err));
    return server;
}
