#include "cluster/idempotency.h"

#include <stdlib.h>

#include "base/base64.h"
#include "base/bug.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "cluster/change.h"
#include "cluster/cluster_keys.h"
#include "pki/json_fields.h"

#define FORMAT "eden.idempotency/1"

enum {
    RECORD_MAX = 2 * IDEMPOTENCY_BODY_MAX,
    RECORD_NODES = 20,
};

DEFINE_ENUM_NAMES(
    IdempotencyState,
    idempotency_state, [IDEMPOTENCY_NEW] = "new", [IDEMPOTENCY_IN_FLIGHT] = "in flight",
    [IDEMPOTENCY_REPLAY] = "replay", [IDEMPOTENCY_OTHER] = "other", [IDEMPOTENCY_UNKEPT] = "unkept")

const char *idempotency_state_text(IdempotencyState state)
{
    switch (state) {
    case IDEMPOTENCY_IN_FLIGHT:
        return "a request with this Idempotency-Key is under way; try again later";
    case IDEMPOTENCY_OTHER: return "this Idempotency-Key was used for another request";
    case IDEMPOTENCY_UNKEPT:
        return "the request with this Idempotency-Key is done, and its answer, which held a secret "
               "or was too long, is not kept";
    default: return NULL;
    }
}

/* --- Requests -------------------------------------------------------------------------------- */

static void add_part(Sha256 *sha, Str part)
{
    /* With its length, so that no two lists of parts give the same bytes. */
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
                         "an Idempotency-Key is 1 to %d visible ASCII characters",
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

typedef struct Record {
    Str digest;
    bool has_body;
    IdempotencyAnswer answer; /* with status 0: it is under way */
} Record;

static void put_field(Buf *out, const char *name, Str text)
{
    if (text.len > 0) {
        buf_put_format(out, ",\"%s\":", name);
        json_text_put(out, text);
    }
}

static void put_record(const char *digest, const IdempotencyAnswer *answer, bool has_body, Buf *out)
{
    buf_put_format(out, "{\"format\":\"" FORMAT "\",\"digest\":\"%s\",\"status\":%d", digest,
                   answer->status);
    if (has_body) {
        put_field(out, "etag", answer->etag);
        put_field(out, "location", answer->location);
        buf_put_c(out, ",\"body\":\"");
        base64_put(out, answer->body);
        buf_put_char(out, '"');
    }
    buf_put_char(out, '}');
}

static bool read_record(Arena *arena, Str text, Record *out, Error *err)
{
    Value object, said, digest, status, body = value_missing();
    Value etag = value_string(STR_EMPTY), location = value_string(STR_EMPTY);
    const JsonField fields[] = {
        { "format", VALUE_STRING, false, &said },      { "digest", VALUE_STRING, false, &digest },
        { "status", VALUE_INT, false, &status },       { "etag", VALUE_STRING, true, &etag },
        { "location", VALUE_STRING, true, &location }, { "body", VALUE_STRING, true, &body },
    };
    if (!json_object_read(arena, text, RECORD_MAX, RECORD_NODES, &object, err) ||
        !json_format_check(object, FORMAT, err) ||
        !json_fields_read(object, fields, COUNT_OF(fields), err)) {
        return error_wrap(err, "the record of an earlier request");
    }
    *out = (Record){ .digest = value_str(digest), .has_body = value_is_string(body) };
    if (status.integer < 0 || status.integer > 999 ||
        (out->has_body && !base64_decode(arena, value_str(body), &out->answer.body))) {
        return error_set(err, ERROR_INVALID,
                         "the record of an earlier request: a field is out of its range");
    }
    out->answer.status = (int)status.integer;
    out->answer.etag = value_str(etag);
    out->answer.location = value_str(location);
    return true;
}

/* --- Claiming -------------------------------------------------------------------------------- */

/* What a claim counts. */
enum {
    COUNT_ALL,
    COUNT_OWN
};

typedef struct Claim {
    IdempotentRequest request;
    IdempotencyState state;
    IdempotencyAnswer answer; /* in the arena of the change */
    IdempotencyDone *done;
    void *context;
} Claim;

static bool claim_new(const Claim *claim, Change *change, Error *err)
{
    if (change_count(change, COUNT_OWN) >= IDEMPOTENCY_OWN_MAX) {
        return error_set(err, ERROR_LIMIT,
                         "%d of your requests with an Idempotency-Key are kept, each for a day; "
                         "make this one without, or later",
                         IDEMPOTENCY_OWN_MAX);
    }
    if (change_count(change, COUNT_ALL) >= IDEMPOTENCY_MAX) {
        return error_set(err, ERROR_LIMIT, "too many requests with an Idempotency-Key are kept");
    }
    Buf text = buf_make_in(change_arena(change), BUF_UNLIMITED);
    put_record(claim->request.digest, &(IdempotencyAnswer){ .status = 0 }, false, &text);
    change_put(change, change_key(change, 0), buf_str(&text), IDEMPOTENCY_PENDING_S);
    return true;
}

static bool claim_decide(void *context, Change *change, Error *err)
{
    Claim *claim = context;
    Record record;
    claim->state = IDEMPOTENCY_NEW;
    if (!change_has(change, 0)) {
        return claim_new(claim, change, err);
    }
    if (!read_record(change_arena(change), change_value(change, 0), &record, err)) {
        return false;
    }
    if (!str_eq_c(record.digest, claim->request.digest)) {
        claim->state = IDEMPOTENCY_OTHER;
    } else if (record.answer.status == 0) {
        claim->state = IDEMPOTENCY_IN_FLIGHT;
    } else if (!record.has_body) {
        claim->state = IDEMPOTENCY_UNKEPT;
    } else {
        claim->state = IDEMPOTENCY_REPLAY;
        claim->answer = record.answer;
    }
    return true;
}

static void claim_done(void *context, Change *change, const Error *err)
{
    Claim *claim = context;
    bool replays = err == NULL && claim->state == IDEMPOTENCY_REPLAY;
    claim->done(claim->context, claim->state, replays ? &claim->answer : NULL, err);
    free(claim);
}

void idempotency_claim(const ClusterStore *at, const IdempotentRequest *request,
                       IdempotencyDone *done, void *context)
{
    AUTO_CLEAR(Arena) arena;
    Claim *claim = memory_new(sizeof *claim);
    arena_init(&arena, ARENA_UNLIMITED);
    claim->request = *request;
    claim->done = done;
    claim->context = context;
    Change *change;
    Str key = cluster_key_idempotency(&arena, at->prefix, str_from_c(request->name));
    Str all = cluster_key_idempotency_all(&arena, at->prefix);
    Str own = arena_join(&arena, all, str_from(request->name, IDEMPOTENCY_WHO_TEXT), STR_EMPTY);
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .counted = { [COUNT_ALL] = all, [COUNT_OWN] = own },
                                .decide = claim_decide,
                                .done = claim_done,
                                .context = claim },
                 &change);
}

/* --- Ending ---------------------------------------------------------------------------------- */

typedef struct Ending {
    Arena arena;
    char digest[SHA256_HEX + 1];
    Str record; /* empty: none, it goes */
    ClusterDone *done;
    void *context;
} Ending;

/* Only of the request that has claimed it: the claim may have run out, and another has it now. */
static bool ending_decide(void *context, Change *change, Error *err)
{
    const Ending *ending = context;
    Record record;
    bool is_own = change_has(change, 0) &&
                  read_record(change_arena(change), change_value(change, 0), &record, err) &&
                  str_eq_c(record.digest, ending->digest) && record.answer.status == 0;
    if (ending->record.len > 0 && (is_own || !change_has(change, 0))) {
        change_put(change, change_key(change, 0), ending->record, IDEMPOTENCY_KEPT_S);
    } else if (ending->record.len == 0 && is_own) {
        change_delete(change, change_key(change, 0));
    }
    return true;
}

static void ending_done(void *context, Change *change, const Error *err)
{
    Ending *ending = context;
    ending->done(ending->context, err);
    arena_clear(&ending->arena);
    free(ending);
}

static void end(const ClusterStore *at, const IdempotentRequest *request, Str record,
                ClusterDone *done, void *context)
{
    Ending *ending = memory_new(sizeof *ending);
    arena_init(&ending->arena, ARENA_UNLIMITED);
    memcpy(ending->digest, request->digest, sizeof ending->digest);
    ending->record = arena_copy(&ending->arena, record);
    ending->done = done;
    ending->context = context;
    Change *change;
    Str key = cluster_key_idempotency(&ending->arena, at->prefix, str_from_c(request->name));
    change_start(&(ChangeSpec){ .store = at->store,
                                .keys = &key,
                                .key_count = 1,
                                .decide = ending_decide,
                                .done = ending_done,
                                .context = ending },
                 &change);
}

void idempotency_finish(const ClusterStore *at, const IdempotentRequest *request,
                        const IdempotencyAnswer *answer, bool holds_secret, ClusterDone *done,
                        void *context)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    bool is_kept = !holds_secret && answer->body.len <= IDEMPOTENCY_BODY_MAX;
    BUG_IF(answer->status < 100 || answer->status > 999);
    put_record(request->digest, answer, is_kept, &text);
    end(at, request, buf_str(&text), done, context);
}

void idempotency_forget(const ClusterStore *at, const IdempotentRequest *request, ClusterDone *done,
                        void *context)
{
    end(at, request, STR_EMPTY, done, context);
}
