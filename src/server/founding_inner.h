/* Shared by founding.c and restoring.c: the steps to create a cluster on
 * this machine, whether its CA and its store are new or come from a backup. */
#pragma once

#include "membership/node_record.h"
#include "pki/credential.h"
#include "server/founding.h"
#include "sys/file_lock.h"

#define FOUNDING_LOCK "founding" /* in the agent's directory */

typedef struct Work {
    const Founding *founding;
    ServerSettings settings;
    Arena arena;
    Directory server, agent;
    FileLock lock; /* nobody else does the same here */
    Credential ca; /* the one that signs */
    NodeRecord node;
    Str report;         /* of what the node trusts */
    bool replaces_lost; /* a cluster that is there without its store is no cluster */
    bool has_state;     /* the agent was told that it is a node */
    Str revocations;    /* the list as it has to be; empty: it stays */
    Str others;         /* certificates of CAs that are trusted beside it; PEM */
} Work;

/* A key and the certificate of the node on this machine for it, as a file. */
typedef struct NodeMaking {
    const Directory *directory;
    const char *file;
    const Credential *ca;
    const ServerSettings *settings; /* whose node it is */
    Str enrolment;
    int64_t now_ms;
} NodeMaking;
MUST_CHECK bool node_make(Arena *arena, const NodeMaking *making, Certificate *out, Pin *pin,
                          Error *err);
/* Where the agent of this machine finds its server: on this machine. */
MUST_CHECK bool own_node_state_save(Arena *arena, const Directory *agent,
                                    const ServerSettings *settings, Error *err);

void work_init(Work *work, const Founding *founding);
void work_clear(Work *work);

typedef bool WorkStep(Work *work, Error *err);

/* The directories, made when they are missing; ERROR_CONFLICT where a cluster is already. */
MUST_CHECK bool work_open(Work *work, Error *err);
/* So that what is found next is either whole or not there. */
MUST_CHECK bool work_drop_leftover(const Work *work, Error *err);
/* Does a step as the user that the server is going to run as. */
MUST_CHECK bool work_as_server(Work *work, WorkStep *step, Error *err);
/* The node's record as far as it is known, and an id for the store. */
MUST_CHECK bool work_begin(Work *work, Error *err);
/* Keys and certificates of the server, by the CA; as the server. */
MUST_CHECK bool work_make_server(Work *work, Error *err);
/* Those of the agent of this machine, and what it knows. */
MUST_CHECK bool work_make_agent(Work *work, Error *err);
/* When one of the steps has failed: nothing takes this machine for a node. */
void work_undo(Work *work);
/* Puts the node into the store, without anything else that is there, or, with `keep`, beside it; as
 * the server. */
MUST_CHECK bool work_write_store(Work *work, bool keep, Error *err);
/* Last: from now on it is a cluster. As the server. */
MUST_CHECK bool work_write_settings(Work *work, Error *err);
