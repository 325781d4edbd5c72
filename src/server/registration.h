/* Announces this server to the cluster: its record (membership/server_record.h), which nodes and
 * other servers use to connect to it, and a key that exists while it runs. Detects that it was
 * removed. Loop thread only. */
#pragma once

#include "cluster/cluster_store.h"
#include "membership/server_record.h"

typedef struct Registration Registration;

enum {
    REGISTRATION_LEASE_S = 15, /* time after which a crashed server is considered silent */
};

typedef struct RegistrationOptions {
    ClusterStore cluster_store;
    bool is_shared; /* other servers may use the store */
    /* Fills in the record, whose strings must be valid during the call to servers_register(). */
    void (*describe)(void *context, Arena *arena, ServerRecord *out);
    /* This server was removed from the cluster: ERROR_DENIED. Called once. */
    void (*removed)(void *context, const Error *err);
    void *context;
} RegistrationOptions;

/* The options must be valid until it is freed. No callback runs during this call but `describe`. */
Registration *registration_new(const RegistrationOptions *options, Str server);
/* The record may have changed. NULL is allowed. */
void registration_update(Registration *registration);
/* For a clean stop: other servers notice immediately that this server has stopped. NULL is
 * allowed. */
void registration_end(Registration *registration);
/* Must be called before the state and the store are freed. NULL is allowed. */
void registration_free(Registration *registration);
DEFINE_AUTO(Registration, registration_free)
