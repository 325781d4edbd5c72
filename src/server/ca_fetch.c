#include "server/ca_fetch.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/memory.h"
#include "membership/ca_files.h"
#include "pki/credential.h"
#include "service/servers_message.h"

#define FETCHED "ca-fetched.pem" /* until it is verified */

struct CaFetch {
    const Directory *directory;
    Authority *authority;
    Peers *peers;
    bool is_asking, is_freed;
};

/* A CA that is not here yet becomes the next one; which CA signs is recorded in the store. Sets
 * `*added` if it was new. */
static bool add_ca(const CaFetch *fetch, Str pem, bool *added, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    AUTO_CLEAR(Credential) ca = { 0 };
    AUTO(CaFiles) *files = NULL;
    arena_init(&arena, ARENA_UNLIMITED);
    if (!directory_write(fetch->directory, FETCHED, pem, true, err) ||
        !credential_load(fetch->directory, FETCHED, &arena, &ca, err) ||
        !ca_files_read(fetch->directory, &files, err)) {
        return false;
    }
    if (!ca.chain.items[0].is_ca) {
        return error_set(err, ERROR_INVALID,
                         "the server sent a certificate that is not a CA certificate");
    }
    if (ca_files_find(files, &ca.chain.items[0].pin) != NULL) {
        return true;
    }
    *added = true;
    return credential_save(fetch->directory, AUTHORITY_CA_NEXT, ca.key,
                           (CertificateSet){ ca.chain.items, 1 }, err);
}

static bool add_cas(const CaFetch *fetch, Str response, Error *err)
{
    static const BackupPartKind kinds[] = { BACKUP_CA, BACKUP_CA_NEXT };
    AUTO_CLEAR(Arena) arena;
    ServerFiles files;
    Error ignored;
    bool added = false;
    arena_init(&arena, ARENA_UNLIMITED);
    bool ok = server_files_decode(&arena, response, &files, err);
    for (size_t i = 0; ok && i < COUNT_OF(kinds); i++) {
        Str pem = files.contents[kinds[i]];
        ok = pem.len == 0 || add_ca(fetch, pem, &added, err);
    }
    (void)!directory_remove(fetch->directory, FETCHED, &ignored);
    return ok && (added || error_set(err, ERROR_NOT_FOUND, "the other server does not have it"));
}

static void fetched(void *context, Str response, const Error *err)
{
    CaFetch *fetch = context;
    Error failure;
    fetch->is_asking = false;
    if (fetch->is_freed) {
        free(fetch);
        return;
    }
    if (err == NULL) {
        err = add_cas(fetch, response, &failure) ? NULL : &failure;
    }
    if (err != NULL) {
        log_warning("cannot get the key of the CA from other servers", LOG_C("error", err->text));
        return;
    }
    log_info("the key of a CA was received from another server");
    authority_files_changed(fetch->authority);
}

CaFetch *ca_fetch_new(const Directory *directory, Authority *authority, Peers *peers)
{
    CaFetch *fetch = memory_new(sizeof *fetch);
    *fetch = (CaFetch){ .directory = directory, .authority = authority, .peers = peers };
    return fetch;
}

void ca_fetch_free(CaFetch *fetch)
{
    if (fetch == NULL) {
        return;
    }
    fetch->is_freed = true;
    if (!fetch->is_asking) {
        free(fetch);
    }
}

void ca_fetch_check(CaFetch *fetch)
{
    if (fetch != NULL && !fetch->is_asking && authority_is_missing(fetch->authority)) {
        fetch->is_asking = true;
        peers_call_any(fetch->peers, METHOD_SERVERS_FILES, STR_EMPTY, fetched, fetch);
    }
}
