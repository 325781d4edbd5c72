/* A command-line interface to src/pki for tests: each command reads standard input and prints one
 * result.
 *
 *     pki_tool COMMAND FOLDER NOW [ARGUMENT...]
 *
 * FOLDER contains the CA as ca.pem; NOW is in seconds since 1970. On rejection the exit code is 1
 * and the reason is on standard error. */
#include <stdio.h>
#include <stdlib.h>

#include "pki/ca.h"
#include "pki/csr.h"
#include "pki/join_reply.h"
#include "pki/peer.h"
#include "sys/file.h"

typedef struct Tool {
    Arena *arena;
    Directory directory;
    int64_t now_ms;
    char **args;
    int arg_count;
} Tool;

static Str arg(const Tool *tool, int at)
{
    return str_from_c(at < tool->arg_count ? tool->args[at] : "");
}

static void print(Str text)
{
    fwrite(text.data, 1, text.len, stdout);
}

static bool read_input(const Tool *tool, Str *out, Error *err)
{
    return file_read(tool->arena, "-", 1 << 20, out, err);
}

static bool load_ca(const Tool *tool, const char *name, Credential *out, Error *err)
{
    return credential_load(&tool->directory, name, tool->arena, out, err);
}

/* CLUSTER [FILE]: creates a CA; prints its certificate. */
static bool run_ca(Tool *tool, Error *err)
{
    AUTO_CLEAR(Credential) ca = { 0 };
    const char *file = tool->arg_count > 1 ? tool->args[1] : "ca.pem";
    if (!ca_make(tool->arena, arg(tool, 0), tool->now_ms, &ca, err) ||
        !credential_save(&tool->directory, file, ca.key, ca.chain, err)) {
        return false;
    }
    print(certificate_pem(tool->arena, &ca.chain.items[0]));
    return true;
}

/* NAME [ENROLLMENT [LIFE-SECONDS [CA-FILE]]]: a certificate for the request on standard input. */
static bool run_node(Tool *tool, Error *err)
{
    AUTO_CLEAR(Credential) ca = { 0 };
    NodeCertificateSpec grant = { .enrollment = arg(tool, 1), .now_ms = tool->now_ms };
    int64_t life_s = 0;
    Str request;
    Certificate made;
    char drawn[ENROLLMENT_TEXT + 1];
    if (!enrollment_make(drawn, err)) {
        return false;
    }
    grant.enrollment = grant.enrollment.len == 0 ? str_from_c(drawn) : grant.enrollment;
    grant.lifetime_ms = str_to_i64(arg(tool, 2), &life_s) ? life_s * 1000 : 0;
    if (!load_ca(tool, tool->arg_count > 3 ? tool->args[3] : "ca.pem", &ca, err) ||
        !identity_make(str_from_offset(ca.chain.items[0].subject, strlen("CN=eden ")), arg(tool, 0),
                       &grant.identity, err) ||
        !read_input(tool, &request, err) || !csr_read(request, &grant.key, err) ||
        !ca_issue_node(tool->arena, &ca, &grant, &made, err)) {
        return false;
    }
    print(certificate_pem(tool->arena, &made));
    return true;
}

/* NAME...: an API server certificate for the request on standard input. */
static bool run_serving(Tool *tool, Error *err)
{
    AUTO_CLEAR(Credential) ca = { 0 };
    Str request, names[8];
    Certificate made;
    ServingCertificateSpec grant = { .names = names, .now_ms = tool->now_ms };
    for (int i = 0; i < tool->arg_count && i < (int)COUNT_OF(names); i++) {
        names[grant.name_count++] = arg(tool, i);
    }
    if (!load_ca(tool, "ca.pem", &ca, err) || !read_input(tool, &request, err) ||
        !csr_read(request, &grant.key, err) ||
        !ca_issue_serving(tool->arena, &ca, &grant, &made, err)) {
        return false;
    }
    print(certificate_pem(tool->arena, &made));
    return true;
}

/* FILE: the CA in FILE, signed by the one in ca.pem. */
static bool run_cross(Tool *tool, Error *err)
{
    AUTO_CLEAR(Credential) ca = { 0 }, other = { 0 };
    Certificate made;
    if (!load_ca(tool, "ca.pem", &ca, err) || !load_ca(tool, tool->args[0], &other, err) ||
        !ca_cross_sign(tool->arena, &ca, &other.chain.items[0], tool->now_ms, &made, err)) {
        return false;
    }
    print(certificate_pem(tool->arena, &made));
    return true;
}

/* client|server: whether the chain on standard input leads to the CA, and whose it is. */
static bool run_verify(Tool *tool, Error *err)
{
    AUTO_CLEAR(Credential) ca = { 0 };
    Str text;
    Certificate *chain;
    uint32_t count;
    CertificateUse use = str_eq_c(arg(tool, 0), "client") ? USE_CLIENT : USE_SERVER;
    static const RevocationList nobody;
    if (!load_ca(tool, "ca.pem", &ca, err) || !read_input(tool, &text, err) ||
        !certificates_from_pem(tool->arena, text, &chain, &count, err) ||
        !certificate_verify((CertificateSet){ chain, count }, ca.chain, use, tool->now_ms, err)) {
        return false;
    }
    PeerRules rules = {
        .cluster = str_from_offset(ca.chain.items[0].subject, strlen("CN=eden ")),
        .revoked = &nobody,
    };
    PresentedPeer peer = peer_of_certificate(chain);
    if (!peer_check(&peer, &rules, tool->now_ms, err)) {
        return false;
    }
    printf("%s %s %s\n", peer.identity.node, chain->serial, chain->enrollment);
    return true;
}

/* The pin of the certificate on standard input. */
static bool run_pin(Tool *tool, Error *err)
{
    Str text;
    Certificate *certificates;
    uint32_t count;
    char pin[PIN_TEXT + 1];
    if (!read_input(tool, &text, err) ||
        !certificates_from_pem(tool->arena, text, &certificates, &count, err)) {
        return false;
    }
    pin_text(&certificates->pin, pin);
    printf("%s\n", pin);
    return true;
}

/* A certificate request with the key on standard input. */
static bool run_csr(Tool *tool, Error *err)
{
    AUTO(P256Private) *key = NULL;
    Str text, request;
    if (!read_input(tool, &text, err) || !p256_private_from_pem(text, &key, err) ||
        !csr_make(tool->arena, key, &request, err)) {
        return false;
    }
    print(request);
    return true;
}

static bool run_key(Tool *tool, Error *err)
{
    AUTO(P256Private) *key = NULL;
    AUTO_CLEAR(KeyText) text = { 0 };
    if (!p256_private_make(&key, err) || !p256_private_text(key, &text, err)) {
        return false;
    }
    print(str_from(text.text, text.len));
    return true;
}

/* A token, and its record on the next line. */
static bool run_token(Tool *tool, Error *err)
{
    AUTO_CLEAR(Token) token = { 0 };
    TokenRecord record;
    char text[TOKEN_TEXT_MAX + 1];
    Buf printed = buf_make_in(tool->arena, 4096);
    if (!token_make(TOKEN_JOIN, &token, err) ||
        !token_record_make(&token, &(TokenTerms){ arg(tool, 0), tool->now_ms, PKI_DAY_MS, 1 },
                           &record, err)) {
        return false;
    }
    token_text(&token, text);
    token_record_print(&record, &printed);
    printf("%s\n%s\n", text, buf_c(&printed));
    return true;
}

/* NAME PIN [TOKEN]: the join request of a machine with the key on standard input. */
static bool run_join(Tool *tool, Error *err)
{
    AUTO(P256Private) *key = NULL;
    AUTO_CLEAR(Token) token = { 0 };
    JoinParams requested = { .name = arg(tool, 0), .now_ms = tool->now_ms };
    Str text, message;
    char nonce[JOIN_NONCE_TEXT + 1];
    if (tool->arg_count > 2) {
        if (!token_parse(TOKEN_JOIN, arg(tool, 2), &token, err)) {
            return false;
        }
        requested.token = &token;
    }
    if (!pin_parse(arg(tool, 1), &requested.ca, err) || !read_input(tool, &text, err) ||
        !p256_private_from_pem(text, &key, err)) {
        return false;
    }
    requested.key = key;
    if (!join_request_make(tool->arena, &requested, &message, nonce, err)) {
        return false;
    }
    print(message);
    return true;
}

static const struct {
    const char *name;
    bool (*run)(Tool *tool, Error *err);
} commands[] = {
    { "ca", run_ca },       { "node", run_node },     { "serving", run_serving },
    { "cross", run_cross }, { "verify", run_verify }, { "pin", run_pin },
    { "csr", run_csr },     { "key", run_key },       { "token", run_token },
    { "join", run_join },
};

int main(int argc, char **argv)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Error err = { 0 };
    int64_t now_s = 0;
    if (argc < 4 || !str_to_i64(str_from_c(argv[3]), &now_s)) {
        fprintf(stderr, "usage: pki_tool COMMAND FOLDER NOW [ARGUMENT...]\n");
        return 64;
    }
    Tool tool = { .arena = &arena,
                  .directory = { .descriptor = -1 },
                  .now_ms = now_s * 1000,
                  .args = argv + 4,
                  .arg_count = argc - 4 };
    bool ok = directory_make(argv[2], &tool.directory, &err);
    for (size_t i = 0; i < COUNT_OF(commands) && ok; i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            ok = commands[i].run(&tool, &err);
        }
    }
    directory_close(&tool.directory);
    if (!ok) {
        fprintf(stderr, "%s\n", err.text);
    }
    return ok ? 0 : 1;
}
