/* What a node trusts and what it shows: its certificate and the CAs, on the disk and in the TLS of
 * its connections. Loop thread.
 *
 * The certificate is renewed at two thirds of its life, or when another CA signs, by the connection
 * that stands. CAs come with the watch "trust" and with every renewal. What is new is on the disk
 * before it is used; connections that stand are not touched, new ones use it. After every change the
 * node says what it has (pki/trust_notice.h), so that a rotation of the CA knows.
 *
 *     bundle    ca.pem, by one rename
 *     renewal   ca.pem, then node.pem with key and certificate, each by one rename: a crash leaves a
 *               certificate and its key, old or new, and CAs that know it */
#pragma once

#include "net/grpc_client.h"
#include "pki/credential.h"
#include "pki/renewal.h"
#include "sys/directory.h"

/* The session's watch that trust_notice is for. Its position need not be kept: what it says is one
 * small value, told anew with every connection. */
#define TRUST_WATCH "trust"
/* The key of the reports, which are records of the kind STATUS. */
#define TRUST_RECORD "trust"

typedef struct Trust Trust;

typedef struct TrustOptions {
    Loop *loop;
    const Directory *directory; /* of the agent; borrowed */
    TlsVerify *verify;          /* of servers; may be NULL */
    void *verify_context;
    /* The connection to a server, if one stands; else NULL. */
    GrpcClient *(*client)(void *context);
    /* To be told to the server, as a record; when that fails it comes again. */
    bool (*report)(void *context, Str body, Error *err);
    void *context;
} TrustOptions;

/* Fails as reading the files does. Nothing is called within. */
MUST_CHECK bool trust_open(const TrustOptions *options, Trust **out, Error *err);
void trust_free(Trust *trust); /* NULL is fine */
DEFINE_AUTO(Trust, trust_free)

/* For connections to servers: protocol "h2". Lives as long as the trust. */
TlsContext *trust_tls(const Trust *trust);

/* The value of the watch. What is none is told in the log and changes nothing. */
void trust_notice(Trust *trust, Str value);
/* A connection stands: what waited for one goes on. */
void trust_connected(Trust *trust);

/* The server knows nothing of this node's trust any more, as after a backup was restored: it is
 * reported again. */
void trust_repeat(Trust *trust);

typedef void TrustDone(void *context, const Error *err);
/* Renews at once, whatever the age. `done` is called once, unless the trust is freed before.
 * ERROR_UNAVAILABLE without a connection, ERROR_CONFLICT while it is being done. */
void trust_renew(Trust *trust, TrustDone *done, void *context);

typedef struct TrustStatus {
    const Certificate *certificate; /* its own */
    CertificateSet bundle;
    RenewalPlan plan;
    bool renewing;
    uint32_t failures; /* in a row */
    const Error *why;  /* of the last one; else NULL */
} TrustStatus;
TrustStatus trust_status(const Trust *trust);
