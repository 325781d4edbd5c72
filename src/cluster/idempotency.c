/* A claim is a record under the hash of caller and key, written by the request that is executed. It
 * has a lease of IDEMPOTENCY_PENDING_S while the request is in progress, so that a crashed server
 * does not block retries forever; finishing replaces it with the response, which is stored for a
 * day. */
#include "cluster/idempotency.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/bug.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "lang/record.h"

enum {
    RECORD_MAX = 2 * IDEMPOTENCY_BODY_MAX, /* maximum size in bytes */
};

DEFINE_ENUM_NAMES(IdempotencyState, idempotency_state, [IDEMPOTENCY_NEW] = "new",
                  [IDEMPOTENCY_IN_FLIGHT] = "in flight", [IDEMPOTENCY_REPLAY] = "replay",
                  [IDEMPOTENCY_OTHER] = "other", [IDEMPOTENCY_NOT_STORED] = "unkept")

const char *idempotency_state_text(IdempotencyState state)
{
    switch (state) {
    case IDEMPOTENCY_IN_FLIGHT:
        return "a request with this Idempotency-Key is still in progress; try again later";
    case IDEMPOTENCY_OTHER: return "this Idempotency-Key was used for another request";
    case IDEMPOTENCY_NOT_STORED:
        return "the request with this Idempotency-Key has completed; its response was not stored "
               "because it contained a secret or was too long";
    default: return NULL;
    }
}

/* --- Requests -------------------------------------------------------------------------------- */

static void add_part(Sha256 *sha, Str part)
{
    /* Hashes the length as well, so that different lists of parts never produce the same bytes. */
    uint64_t len = part.len;
    sha256_add(sha, str_from((const char *)&len, sizeof len));
    sha256_add(sha, part);
}

bool idempotent_request_make(Str credential, Str key, Str method, Str target, Str body,
                             IdempotentRequest *out, Error *err)
{
    bool ok = key.len > 0 && key.len <= IDEMPOTENCY_KEY_MAX;
    for (size_t i = 0; ok && i < key.len; i++) {
        ok = key.data[i] > ' ' && key.data[i] < 0x7f;
    }
    if (!ok) {
        return error_set(err, ERROR_INVALID,
                         "an Idempotency-Key must have 1 to %d visible ASCII characters",
                         IDEMPOTENCY_KEY_MAX);
    }
    Sha256 sha;
    char who[SHA256_HEX + 1];
    sha256_start(&sha);
    add_part(&sha, credential);
    sha256_finish(&sha, who);
    sha256_start(&sha);
    add_part(&sha, credential);
    add_part(&sha, key);
    sha256_finish(&sha, out->name);
    memcpy(out->name, who, IDEMPOTENCY_WHO_TEXT);
    sha256_start(&sha);
    add_part(&sha, method);
    add_part(&sha, target);
    add_part(&sha, body);
    sha256_finish(&sha, out->digest);
    return true;
}

/* --- Records --------------------------------------------------------------------------------- */

typedef struct StoredBody {
    bool is_stored;
    Str bytes;
} StoredBody;

typedef struct RequestRecord {
    Str digest;
    int status; /* 0: in progress */
    Str etag, location;
    StoredBody body;
    Value unknown;
} RequestRecord;

static bool body_decode(Arena *arena, Value value, void *member, Error *err)
{
    StoredBody *body = member;
    body->is_stored = true;
    return base64_decode(arena, value_str(value), &body->bytes) ||
           error_set(err, ERROR_INVALID, "must be base64");
}

static void body_encode(const void *member, Buf *out)
{
    const StoredBody *body = member;
    buf_put_char(out, '"');
    base64_encode(out, body->bytes);
    buf_put_char(out, '"');
}

static bool body_is_empty(const void *member)
{
    return !((const StoredBody *)member)->is_stored;
}

static const RecordCodec body_codec = { body_decode, body_encode, body_is_empty };

static const RecordField request_fields[] = {
    { "digest", RECORD_TEXT, RECORD_STR_AT(RequestRecord, digest), .is_required = true,
      .help = "digest of the request" },
    { "status", RECORD_INT, RECORD_INT_AT(RequestRecord, status), .is_required = true, .max = 999,
      .help = "status of the response; 0: the request is in progress" },
    { "etag", RECORD_TEXT, RECORD_STR_AT(RequestRecord, etag), .help = "its ETag" },
    { "location", RECORD_TEXT, RECORD_STR_AT(RequestRecord, location), .help = "its Location" },
    { "body", RECORD_TEXT, RECORD_CODED_AT(RequestRecord, body, StoredBody, body_codec),
      .help = "its body, in base64" },
    { RECORD_UNKNOWN_AT(RequestRecord, unknown) },
    { 0 },
};

static const RecordFormat request_format = {
    .format = "eden.idempotency/1",
    .what = "the record of an earlier request",
    .fields = request_fields,
    .size = sizeof(RequestRecord),
    .text_max = RECORD_MAX,
};

static bool read_record(Change *change, RequestRecord *out, Error *err)
{
    return record_read(&request_format, change_arena(change), change_value(change, 0),
                       RECORD_STORED, out, err);
}

/* --- Claiming -------------------------------------------------------------------------------- */

/* Indexes of the counts of a claim. */
enum {
    COUNT_ALL,
    COUNT_OWN
};

typedef struct Claim {
    IdempotentRequest request;
    IdempotencyState state;
    IdempotentResponse response; /* allocated in the arena of the change */
    IdempotencyDone *done;
    void *context;
} Claim;

static bool claim_new(const Claim *claim, Change *change, Error *err)
{
    if (change_count(change, COUNT_OWN) >= IDEMPOTENCY_OWN_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "%d of your requests with an Idempotency-Key are stored, each for a day; "
                         "send this one without the header, or later",
                         IDEMPOTENCY_OWN_MAX);
    }
    if (change_count(change, COUNT_ALL) >= IDEMPOTENCY_MAX) {
        return error_set(err, ERROR_LIMIT, "too many requests with an Idempotency-Key are stored");
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    record_print(&request_format, &(RequestRecord){ .digest = str_from_c(claim->request.digest) },
                 &text);
    change_put(change, change_key(change, 0), buf_str(&text), IDEMPOTENCY_PENDING_S);
    return true;
}

static bool claim_decide(void *context, Change *change, Error *err)
{
    Claim *claim = context;
    RequestRecord record;
    claim->state = IDEMPOTENCY_NEW;
    if (!change_has(change, 0)) {
        return claim_new(claim, change, err);
    }
    if (!read_record(change, &record, err)) {
        return false;
    }
    if (!str_eq_c(record.digest, claim->request.digest)) {
        claim->state = IDEMPOTENCY_OTHER;
    } else if (record.status == 0) {
        claim->state = IDEMPOTENCY_IN_FLIGHT;
    } else if (!record.body.is_stored) {
        claim->state = IDEMPOTENCY_NOT_STORED;
    } else {
        claim->state = IDEMPOTENCY_REPLAY;
        claim->response = (IdempotentResponse){ .status = record.status,
                                                .body = record.body.bytes,
                                                .etag = record.etag,
                                                .location = record.location };
    }
    return true;
}

static void claim_done(void *context, Change *change, const Error *err)
{
    Claim *claim = context;
    bool replays = err == NULL && claim->state == IDEMPOTENCY_REPLAY;
    claim->done(claim->context, claim->state, replays ? &claim->response : NULL, err);
    free(claim);
}

void idempotency_claim(const ClusterStore *cluster_store, const IdempotentRequest *request,
                       IdempotencyDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Claim *claim = memory_new(sizeof *claim);
    arena_init(&arena, ARENA_UNLIMITED);
    claim->request = *request;
    claim->done = done;
    claim->context = context;
    Change *change;
    Str key = cluster_key_idempotency(&arena, cluster_store->prefix, str_from_c(request->name));
    Str all = cluster_key_idempotency_all(&arena, cluster_store->prefix);
    Str principal_prefix =
        arena_join(&arena, all, str_from(request->name, IDEMPOTENCY_WHO_TEXT), STR_EMPTY);
    change_start(&(ChangeSpec){ .cluster_store = *cluster_store,
                                .keys = &key,
                                .key_count = 1,
                                .counted = { [COUNT_ALL] = all, [COUNT_OWN] = principal_prefix },
                                .decide = claim_decide,
                                .done = claim_done,
                                .context = claim },
                 &change);
}

/* --- Finishing ------------------------------------------------------------------------------- */

typedef struct Completion {
    ChangeRequest base;
    char digest[SHA256_HEX + 1];
    bool is_stored;       /* false: the claim is deleted */
    RequestRecord record; /* in the arena of the request, with its digest */
} Completion;

/* Only if this request still has the claim: it may have expired, and another may have it now. */
static bool completion_decide(void *context, Change *change, Error *err)
{
    const Completion *completion = context;
    RequestRecord claimed, record = completion->record;
    bool is_own = change_has(change, 0) && read_record(change, &claimed, err) &&
                  str_eq_c(claimed.digest, completion->digest) && claimed.status == 0;
    if (completion->is_stored && (is_own || !change_has(change, 0))) {
        Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
        record.unknown = is_own ? claimed.unknown : value_missing();
        record_print(&request_format, &record, &text);
        change_put(change, change_key(change, 0), buf_str(&text), IDEMPOTENCY_RETAINED_S);
    } else if (!completion->is_stored && is_own) {
        change_delete(change, change_key(change, 0));
    }
    return true;
}

/* NULL: nothing is stored. */
static void end(const ClusterStore *cluster_store, const IdempotentRequest *request,
                const RequestRecord *record, ClusterDone *done, void *context)
{
    Completion *completion = change_request_new(sizeof *completion, cluster_store, done, context);
    Arena *arena = &completion->base.arena;
    memcpy(completion->digest, request->digest, sizeof completion->digest);
    if (record != NULL) {
        completion->is_stored = true;
        completion->record = (RequestRecord){ .digest = str_from_c(completion->digest),
                                              .status = record->status,
                                              .etag = arena_copy(arena, record->etag),
                                              .location = arena_copy(arena, record->location),
                                              .body = record->body };
        completion->record.body.bytes = arena_copy(arena, record->body.bytes);
    }
    Str key = cluster_key_idempotency(arena, cluster_store->prefix, str_from_c(request->name));
    change_request_start(
        &completion->base,
        &(ChangeSpec){ .keys = &key, .key_count = 1, .decide = completion_decide });
}

void idempotency_finish(const ClusterStore *cluster_store, const IdempotentRequest *request,
                        const IdempotentResponse *response, bool holds_secret, ClusterDone *done,
                        void *context)
{
    bool is_stored = !holds_secret && response->body.len <= IDEMPOTENCY_BODY_MAX;
    BUG_IF(response->status < 100 || response->status > 999);
    RequestRecord record = { .status = response->status };
    if (is_stored) {
        record.etag = response->etag;
        record.location = response->location;
        record.body = (StoredBody){ true, response->body };
    }
    end(cluster_store, request, &record, done, context);
}

void idempotency_forget(const ClusterStore *cluster_store, const IdempotentRequest *request,
                        ClusterDone *done, void *context)
{
    end(cluster_store, request, NULL, done, context);
}
