/* Appending to the audit log, listing and verifying it.
 *
 * Entries wait in a queue; one transaction at a time appends a batch and moves the head, comparing
 * the revision of the head. If another server has appended in between, the head is read again and
 * the same batch is linked after it. Entries are completed in order, after they are on disk. */
#include "audit/audit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "cluster/cluster_keys.h"
#include "cluster/state.h"

enum {
    BOUNDED_RETAINED = 256,
    BOUNDED_MS = 60 * 1000,
    VERIFY_PAGE = 500,
};

typedef struct QueuedEntry QueuedEntry;
struct QueuedEntry {
    Arena arena;
    AuditEntry entry;
    size_t size; /* size of the text, known once the entry is linked */
    AuditDone *done;
    void *context;
    QueuedEntry *next;
};

typedef struct Queue {
    QueuedEntry *first, *last;
    uint32_t count;
} Queue;

typedef struct RateSlot {
    char credential[CREDENTIAL_ID_MAX + 1]; /* empty: slot is free */
    int64_t since_ms;
    uint32_t counts[AUDIT_LIMIT_COUNT]; /* since then */
} RateSlot;

/* A caller waiting for a verification. */
typedef struct VerifyWaiter {
    AuditVerified *done;
    void *context;
    struct VerifyWaiter *next;
} VerifyWaiter;

struct Audit {
    ClusterStore cluster_store;
    Arena arena;
    Str head_key;
    struct Verification *verifying; /* verification in progress, or NULL */
    VerifyWaiter *waiters;          /* callers waiting for the next verification */
    AuditHead head;
    Arena head_arena;
    int64_t head_revision; /* revision of the head key; 0: it does not exist yet */
    bool head_is_known;
    Queue waiting, in_flight;
    bool is_busy; /* a store call or callback is in progress */
    bool is_freed;
    RateSlot rate_slots[BOUNDED_RETAINED];
};

static const Error stopping = { ERROR_UNAVAILABLE, "the server is stopping" };

/* --- Queues ---------------------------------------------------------------------------------- */

static void queue_add(Queue *queue, QueuedEntry *waiting)
{
    waiting->next = NULL;
    if (queue->last == NULL) {
        queue->first = waiting;
    } else {
        queue->last->next = waiting;
    }
    queue->last = waiting;
    queue->count++;
}

static QueuedEntry *queue_take(Queue *queue)
{
    QueuedEntry *first = queue->first;
    if (first != NULL) {
        queue->first = first->next;
        queue->last = queue->first == NULL ? NULL : queue->last;
        queue->count--;
    }
    return first;
}

/* Appends `other`, which becomes empty. */
static void queue_join(Queue *queue, Queue *other)
{
    for (QueuedEntry *entry = queue_take(other); entry != NULL; entry = queue_take(other)) {
        queue_add(queue, entry);
    }
}

static void queued_entry_free(QueuedEntry *waiting)
{
    arena_clear(&waiting->arena);
    free(waiting);
}

/* Completes all entries of the queue. Callbacks may append entries or free the log. */
static void complete_all(Queue *queue, const Error *err)
{
    for (QueuedEntry *entry = queue_take(queue); entry != NULL; entry = queue_take(queue)) {
        if (entry->done != NULL) {
            entry->done(entry->context, err == NULL ? entry->entry.sequence : 0, err);
        }
        queued_entry_free(entry);
    }
}

/* Takes ownership of all entries. Callbacks may free the log. */
static void complete_waiters(VerifyWaiter *waiters, const AuditChain *chain, const Error *err)
{
    for (VerifyWaiter *next; waiters != NULL; waiters = next) {
        next = waiters->next;
        waiters->done(waiters->context, chain, err);
        free(waiters);
    }
}

/* --- Writing --------------------------------------------------------------------------------- */

static void audit_destroy(Audit *audit)
{
    arena_clear(&audit->arena);
    arena_clear(&audit->head_arena);
    free(audit);
}

static void pump(Audit *audit);

/* Completes the current batch and continues, unless a callback has freed the log. */
static void finish(Audit *audit, const Error *err)
{
    Queue completed = audit->in_flight;
    audit->in_flight = (Queue){ 0 };
    complete_all(&completed, err);
    audit->is_busy = false;
    if (audit->is_freed) {
        audit_destroy(audit);
    } else {
        pump(audit);
    }
}

/* Whatever the cause, callers must be rejected for now. */
static void reject_all(Audit *audit, const Error *why)
{
    Error err;
    error_set(&err, ERROR_UNAVAILABLE, "cannot write the audit log: %s", why->text);
    audit->head_is_known = false;
    queue_join(&audit->in_flight, &audit->waiting);
    finish(audit, &err);
}

static bool read_head(Audit *audit, const StoreOpReply *reply, Error *err)
{
    arena_clear(&audit->head_arena);
    audit_head_init(&audit->head);
    audit->head_revision = 0;
    if (reply->kv_count > 0) {
        if (!audit_head_read(&audit->head_arena, reply->kvs[0].value, &audit->head, err)) {
            return false;
        }
        audit->head_revision = reply->kvs[0].mod_revision;
    }
    audit->head_is_known = true;
    return true;
}

static void written(void *context, const StoreReply *reply, const Error *err)
{
    Audit *audit = context;
    Error failure;
    if (err != NULL) {
        reject_all(audit, err);
        return;
    }
    if (reply->succeeded) {
        for (const QueuedEntry *entry = audit->in_flight.first; entry != NULL;
             entry = entry->next) {
            audit->head.bytes += entry->size;
        }
        audit->head.sequence = audit->in_flight.last->entry.sequence;
        memcpy(audit->head.hash, audit->in_flight.last->entry.hash.data, AUDIT_HASH_TEXT);
        audit->head_revision = reply->revision;
        finish(audit, NULL);
        return;
    }
    /* Another server has appended: append after its entries. */
    if (audit->is_freed) {
        reject_all(audit, &stopping);
    } else if (!read_head(audit, &reply->ops[0], &failure)) {
        reject_all(audit, &failure);
    } else {
        Queue batch = audit->in_flight;
        audit->in_flight = (Queue){ 0 };
        queue_join(&batch, &audit->waiting);
        audit->waiting = batch;
        audit->is_busy = false;
        pump(audit);
    }
}

/* Assigns each entry its position in the chain. */
static Str link_entry(Arena *arena, QueuedEntry *waiting, AuditHead *head)
{
    char hash[AUDIT_HASH_TEXT + 1];
    Buf text = buf_make_in(arena, BUF_UNLIMITED);
    waiting->entry.sequence = head->sequence + 1;
    waiting->entry.previous = str_from(head->hash, AUDIT_HASH_TEXT);
    audit_entry_print(&waiting->entry, &text, hash);
    waiting->entry.hash = arena_copy(&waiting->arena, str_from(hash, AUDIT_HASH_TEXT));
    waiting->size = text.len;
    head->sequence++;
    head->bytes += text.len;
    memcpy(head->hash, hash, sizeof head->hash);
    return buf_str(&text);
}

static bool write_batch(Audit *audit, Error *err)
{
    AUTO_CLEAR(Arena) arena;
    StoreOp ops[AUDIT_BATCH_MAX + 1];
    uint32_t count = 0;
    AuditHead head = audit->head;
    arena_init(&arena, ARENA_UNLIMITED);
    while (count < AUDIT_BATCH_MAX && audit->waiting.count > 0) {
        QueuedEntry *entry = queue_take(&audit->waiting);
        queue_add(&audit->in_flight, entry);
        Str text = link_entry(&arena, entry, &head);
        ops[count++] = (StoreOp){ .kind = STORE_PUT,
                                  .key = cluster_key_audit(&arena, audit->cluster_store.prefix,
                                                           entry->entry.sequence),
                                  .value = text };
    }
    Buf text = buf_make_in(&arena, BUF_UNLIMITED);
    audit_head_print(&head, &text);
    ops[count++] = (StoreOp){ .kind = STORE_PUT, .key = audit->head_key, .value = buf_str(&text) };
    StoreCompare compare = { .target = STORE_MOD_REVISION,
                             .relation = STORE_EQUAL,
                             .key = audit->head_key,
                             .number = audit->head_revision };
    StoreOp read_op = { .kind = STORE_RANGE, .key = audit->head_key };
    StoreTxn txn = { .urgent = true, /* even operations that free space must be recorded first */
                     .compares = &compare,
                     .compare_count = 1,
                     .success = ops,
                     .success_count = count,
                     .failure = &read_op,
                     .failure_count = 1 };
    return store_txn_confirmed(audit->cluster_store.store, &txn, written, audit, err);
}

static void on_head(void *context, const StoreReply *reply, const Error *err)
{
    Audit *audit = context;
    Error failure;
    if (err != NULL) {
        reject_all(audit, err);
    } else if (audit->is_freed) {
        reject_all(audit, &stopping);
    } else if (!read_head(audit, &reply->ops[0], &failure)) {
        reject_all(audit, &failure);
    } else {
        audit->is_busy = false;
        pump(audit);
    }
}

static void pump(Audit *audit)
{
    Error err;
    if (audit->is_busy || audit->waiting.count == 0) {
        return;
    }
    audit->is_busy = true;
    bool ok = audit->head_is_known
                  ? write_batch(audit, &err)
                  : store_get(audit->cluster_store.store, audit->head_key, on_head, audit, &err);
    if (!ok) {
        reject_all(audit, &err);
    }
}

Audit *audit_new(const ClusterStore *cluster_store)
{
    Audit *audit = memory_new(sizeof *audit);
    arena_init(&audit->arena, ARENA_UNLIMITED);
    arena_init(&audit->head_arena, ARENA_UNLIMITED);
    audit->cluster_store = *cluster_store;
    audit->cluster_store.prefix = arena_copy(&audit->arena, cluster_store->prefix);
    audit->head_key = cluster_key_audit_head(&audit->arena, cluster_store->prefix);
    return audit;
}

static void verification_unref(struct Verification *verifying);

void audit_free(Audit *audit)
{
    if (audit == NULL) {
        return;
    }
    verification_unref(TAKE(audit->verifying));
    VerifyWaiter *waiters = TAKE(audit->waiters);
    Queue completed = audit->waiting;
    audit->waiting = (Queue){ 0 };
    bool is_busy = audit->is_busy;
    audit->is_freed = true;
    complete_all(&completed, &stopping);
    complete_waiters(waiters, NULL, &stopping);
    if (!is_busy) {
        audit_destroy(audit);
    }
}

static Str copy_truncated(Arena *arena, Str text, size_t max)
{
    /* the additional byte is needed to find the end of the last complete character */
    return arena_copy(arena, str_slice(text, 0, max + 1));
}

void audit_append(Audit *audit, const AuditEntry *entry, AuditDone *done, void *context)
{
    Error err;
    if (audit->is_freed || audit->waiting.count >= AUDIT_WAITING_MAX) {
        error_set(&err, ERROR_UNAVAILABLE,
                  "too many entries are waiting to be written to the audit log");
        if (done != NULL) {
            done(context, 0, &err);
        }
        return;
    }
    QueuedEntry *waiting = memory_new(sizeof *waiting);
    Arena *arena = &waiting->arena;
    arena_init(arena, ARENA_UNLIMITED);
    waiting->done = done;
    waiting->context = context;
    waiting->entry = (AuditEntry){
        .time_ms = loop_wall_ms(audit->cluster_store.loop),
        .who = copy_truncated(arena, entry->who, PRINCIPAL_WHO_MAX),
        .principal_kind = entry->principal_kind,
        .address = copy_truncated(arena, entry->address, AUDIT_WORD_MAX),
        .verb = copy_truncated(arena, entry->verb, AUDIT_WORD_MAX),
        .kind = copy_truncated(arena, entry->kind, AUDIT_WORD_MAX),
        .name = copy_truncated(arena, entry->name, AUDIT_NAME_MAX),
        .reason = copy_truncated(arena, entry->reason, AUDIT_REASON_MAX),
        .request = copy_truncated(arena, entry->request, AUDIT_WORD_MAX),
        .outcome = entry->outcome,
        .detail = copy_truncated(arena, entry->detail, AUDIT_REASON_MAX),
    };
    queue_add(&audit->waiting, waiting);
    pump(audit);
}

bool audit_is_full(const Audit *audit)
{
    return audit->head_is_known &&
           audit_head_is_full(&audit->head, store_status(audit->cluster_store.store).disk_bytes);
}

/* The slot of the credential, otherwise the least recently used slot. */
static RateSlot *find_rate_slot(Audit *audit, Str credential)
{
    RateSlot *slot = &audit->rate_slots[0];
    for (uint32_t i = 0; i < BOUNDED_RETAINED; i++) {
        RateSlot *entry = &audit->rate_slots[i];
        if (entry->credential[0] != '\0' && str_eq_c(credential, entry->credential)) {
            return entry;
        }
        if (slot->credential[0] != '\0' &&
            (entry->credential[0] == '\0' || entry->since_ms < slot->since_ms)) {
            slot = entry;
        }
    }
    *slot = (RateSlot){ .since_ms = INT64_MIN / 2 };
    snprintf(slot->credential, sizeof slot->credential, "%" STR_FMT, STR_ARG(credential));
    return slot;
}

AuditAllowance audit_allowance(Audit *audit, Str credential, AuditLimit what)
{
    static const uint32_t limits[AUDIT_LIMIT_COUNT] = {
        [AUDIT_LIMIT_READ] = 1,
        [AUDIT_LIMIT_CHANGE] = AUDIT_DENIED_CHANGES,
        [AUDIT_LIMIT_SESSION] = AUDIT_SESSIONS,
        [AUDIT_LIMIT_FULL] = AUDIT_DENIED_CHANGES,
    };
    int64_t now_ms = loop_now_ms(audit->cluster_store.loop);
    RateSlot *slot = find_rate_slot(audit, credential);
    if (now_ms - slot->since_ms >= BOUNDED_MS) {
        slot->since_ms = now_ms;
        memset(slot->counts, 0, sizeof slot->counts);
    }
    uint32_t *count = &slot->counts[what];
    if (*count == limits[what]) {
        return AUDIT_ALLOWANCE_NONE;
    }
    return ++*count == limits[what] ? AUDIT_ALLOWANCE_LAST : AUDIT_ALLOWANCE_MORE;
}

Str audit_last_detail(Arena *arena, Str detail)
{
    return arena_join(arena, detail, detail.len > 0 ? STR(" ") : STR_EMPTY,
                      STR("(more of these within this minute are not recorded)"));
}

/* --- Listing --------------------------------------------------------------------------------- */

/* The sequence number in a key; returns false if the key is not an entry's. */
static bool sequence_of(Arena *arena, Str prefix, Str key, uint64_t *out)
{
    Str parts[KEYS_PARTS_MAX];
    KeyKind kind;
    if (!key_parse(arena, prefix, key, &kind, parts) || kind != KEY_AUDIT ||
        !str_to_u64(parts[0], out)) {
        return false;
    }
    return str_eq(key_sequence(arena, *out), parts[0]);
}

typedef struct Listing {
    Arena arena;
    Str prefix;
    bool newest_first;
    AuditListed *done;
    void *context;
} Listing;

static void listing_end(Listing *listing, const AuditPage *page, const Error *err)
{
    listing->done(listing->context, page, err);
    arena_clear(&listing->arena);
    free(listing);
}

static void listed(void *context, const StoreReply *reply, const Error *err)
{
    Listing *listing = context;
    AuditPage page = { 0 };
    uint64_t sequence = 0, last = 0;
    Error ignored;
    if (err != NULL) {
        listing_end(listing, NULL, err);
        return;
    }
    const StoreOpReply *head = &reply->ops[0], *range = &reply->ops[1];
    if (head->kv_count == 0 ||
        !audit_head_read(&listing->arena, head->kvs[0].value, &page.head, &ignored)) {
        audit_head_init(&page.head);
    }
    AuditEntry *entries = ARENA_ARRAY(&listing->arena, AuditEntry, range->kv_count);
    for (uint32_t i = 0; i < range->kv_count; i++) {
        const StoreKv *kv = &range->kvs[i];
        bool is_ours = sequence_of(&listing->arena, listing->prefix, kv->key, &sequence);
        last = is_ours ? sequence : last;
        if (is_ours &&
            audit_entry_read(&listing->arena, kv->value, &entries[page.count], &ignored)) {
            entries[page.count].text = kv->value;
            entries[page.count++].revision = kv->mod_revision;
        } else {
            page.unreadable++;
        }
    }
    page.entries = entries;
    page.revision = reply->revision;
    page.next = !range->more || last == 0 ? 0 : listing->newest_first ? last - 1 : last + 1;
    listing_end(listing, &page, NULL);
}

void audit_list(const ClusterStore *cluster_store, const AuditQuery *query, AuditListed *done,
                void *context)
{
    Listing *listing = memory_new(sizeof *listing);
    Arena *arena = &listing->arena;
    Error err;
    arena_init(arena, ARENA_UNLIMITED);
    listing->prefix = arena_copy(arena, cluster_store->prefix);
    listing->newest_first = query->newest_first;
    listing->done = done;
    listing->context = context;
    if (query->limit == 0 || query->limit > AUDIT_PAGE_MAX) {
        error_set(&err, ERROR_INVALID, "the page size must be between 1 and %d", AUDIT_PAGE_MAX);
        listing_end(listing, NULL, &err);
        return;
    }
    Str all = cluster_key_audit_all(arena, cluster_store->prefix),
        all_end = store_prefix_end(arena, all);
    bool is_bounded = query->from > 0 && query->from < UINT64_MAX;
    bool newest_first = query->newest_first;
    StoreOp ops[] = {
        { .kind = STORE_RANGE, .key = cluster_key_audit_head(arena, cluster_store->prefix) },
        { .kind = STORE_RANGE,
          .key = is_bounded && !newest_first
                     ? cluster_key_audit(arena, cluster_store->prefix, query->from)
                     : all,
          .end = is_bounded && newest_first
                     ? cluster_key_audit(arena, cluster_store->prefix, query->from + 1)
                     : all_end,
          .limit = query->limit,
          .descending = newest_first },
    };
    if (!cluster_read(cluster_store, ops, COUNT_OF(ops), listed, listing, &err)) {
        listing_end(listing, NULL, &err);
    }
}

/* --- Verification ---------------------------------------------------------------------------- */

/* Verification reads the entire log, so only one runs at a time. Callers that arrive in the
 * meantime share the next one, which starts after their call. */
typedef struct Verification {
    Audit *audit; /* NULL once the log is freed */
    ClusterStore cluster_store;
    Arena arena, page; /* `arena` holds the prefix; `page` is reset for each page */
    Str all, all_end;
    int64_t revision; /* 0: before the first page */
    AuditChain chain;
    VerifyWaiter *waiters;
} Verification;

static void verification_unref(Verification *verifying)
{
    if (verifying != NULL) {
        verifying->audit = NULL;
    }
}

static void verify_next(Audit *audit);

static void verification_end(Verification *verifying, const Error *err)
{
    complete_waiters(TAKE(verifying->waiters), err == NULL ? &verifying->chain : NULL, err);
    Audit *audit = verifying->audit;
    arena_clear(&verifying->arena);
    arena_clear(&verifying->page);
    free(verifying);
    if (audit != NULL) {
        audit->verifying = NULL;
        verify_next(audit);
    }
}

static void start_chain(Verification *verifying, const StoreOpReply *reply)
{
    AuditHead head;
    Error err = { 0 };
    audit_head_init(&head);
    bool ok =
        reply->kv_count == 0 || audit_head_read(&verifying->page, reply->kvs[0].value, &head, &err);
    audit_chain_start(&verifying->chain, &head);
    if (!ok) {
        verifying->chain.is_broken = true;
        snprintf(verifying->chain.what, sizeof verifying->chain.what, "%.199s", err.text);
    }
}

static void add_page(Verification *verifying, const StoreOpReply *range)
{
    AuditChain *chain = &verifying->chain;
    for (uint32_t i = 0; i < range->kv_count && !chain->is_broken; i++) {
        uint64_t sequence;
        if (sequence_of(&verifying->page, verifying->cluster_store.prefix, range->kvs[i].key,
                        &sequence)) {
            audit_chain_add(chain, sequence, range->kvs[i].value);
        } else {
            chain->is_broken = true;
            chain->broken_at = chain->sequence + 1;
            snprintf(chain->what, sizeof chain->what, "a key that is not an entry");
        }
    }
}

static void read_next_page(Verification *verifying, Str from);

static void on_page(void *context, const StoreReply *reply, const Error *err)
{
    Verification *verifying = context;
    Error late;
    if (err != NULL) {
        if (err->kind == ERROR_NOT_FOUND) {
            error_set(&late, ERROR_UNAVAILABLE,
                      "the history of the store was compacted concurrently; try again");
            err = &late;
        }
        verification_end(verifying, err);
        return;
    }
    arena_reset(&verifying->page);
    if (verifying->revision == 0) {
        verifying->revision = reply->revision;
        start_chain(verifying, &reply->ops[0]);
    }
    const StoreOpReply *range = &reply->ops[1];
    add_page(verifying, range);
    if (range->more && range->kv_count > 0 && !verifying->chain.is_broken) {
        read_next_page(verifying, range->kvs[range->kv_count - 1].key);
    } else {
        audit_chain_end(&verifying->chain);
        verification_end(verifying, NULL);
    }
}

/* `from`: continue after this key; empty: from the beginning. */
static void read_next_page(Verification *verifying, Str from)
{
    Error err;
    Str key =
        from.len == 0 ? verifying->all : arena_join(&verifying->page, from, STR("\0"), STR_EMPTY);
    StoreOp ops[] = {
        { .kind = STORE_RANGE,
          .key = cluster_key_audit_head(&verifying->page, verifying->cluster_store.prefix),
          .revision = verifying->revision },
        { .kind = STORE_RANGE,
          .key = key,
          .end = verifying->all_end,
          .limit = VERIFY_PAGE,
          .revision = verifying->revision },
    };
    if (!cluster_read(&verifying->cluster_store, ops, COUNT_OF(ops), on_page, verifying, &err)) {
        verification_end(verifying, &err);
    }
}

static void verify_next(Audit *audit)
{
    if (audit->waiters == NULL) {
        return;
    }
    Verification *verifying = memory_new(sizeof *verifying);
    arena_init(&verifying->arena, ARENA_UNLIMITED);
    arena_init(&verifying->page, ARENA_UNLIMITED);
    verifying->audit = audit;
    verifying->cluster_store = audit->cluster_store;
    verifying->cluster_store.prefix = arena_copy(&verifying->arena, audit->cluster_store.prefix);
    verifying->all = cluster_key_audit_all(&verifying->arena, audit->cluster_store.prefix);
    verifying->all_end = store_prefix_end(&verifying->arena, verifying->all);
    verifying->waiters = TAKE(audit->waiters);
    audit->verifying = verifying;
    read_next_page(verifying, STR_EMPTY);
}

void audit_verify(Audit *audit, AuditVerified *done, void *context)
{
    VerifyWaiter *waiter = memory_new(sizeof *waiter);
    *waiter = (VerifyWaiter){ done, context, audit->waiters };
    audit->waiters = waiter;
    if (audit->verifying == NULL) {
        verify_next(audit);
    }
}
