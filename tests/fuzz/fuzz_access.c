/* Input: arbitrary bytes as authentication and audit data: the Cookie header, the rules of a role,
 * an audit log entry or archive, and records of the store. Invariants: the result is a value or an
 * error; an accepted value prints exactly as it was read; error messages never repeat what could be
 * a secret. */
#include "access/browser_session.h"
#include "access/credential_items.h"
#include "audit/audit_archive.h"
#include "base/bug.h"
#include "cluster/idempotency.h"
#include "lang/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The name of the cookie is not secret, and is shorter than a secret. */
static void check_silent(const Error *err, Str text)
{
    BUG_IF(err->text[0] == '\0');
    BUG_IF(text.len > 24 && memmem(err->text, strlen(err->text), text.data, text.len) != NULL);
}

static void read_cookies(Str text)
{
    BrowserSecret secret;
    char hash[BROWSER_HASH_TEXT + 1], csrf[BROWSER_CSRF_TEXT + 1];
    Error err = { 0 };
    if (!browser_secret_from_cookies(text, &secret, &err)) {
        BUG_IF(err.kind != ERROR_INVALID && err.kind != ERROR_NOT_FOUND);
        check_silent(&err, text);
        return;
    }
    BUG_IF(strlen(secret.text) != BROWSER_SECRET_TEXT);
    BUG_IF(str_find(text, str_from_c(secret.text), 0) == STR_NOT_FOUND);
    browser_secret_hash(&secret, hash);
    browser_secret_csrf(&secret, csrf);
    BUG_IF(!browser_csrf_equal(str_from_c(csrf), csrf) || browser_csrf_equal(text, csrf));
}

static void use_role(Arena *arena, const AccessRole *role)
{
    AccessDecision decision;
    Error err = { 0 };
    Buf text = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    BUG_IF(!access_covers(&role, 1, role, &err));
    access_decide(&role, 1, STR("approve"), STR("Node"), &decision);
    BUG_IF(decision.verdict != ACCESS_ALLOWED && decision.reason[0] == '\0');
    bool allows = access_decision_allows(&decision, STR("web1"), NULL);
    BUG_IF(decision.verdict == ACCESS_DENIED && allows);
    /* Printed, it reads back the same. */
    Value value = access_role_value(arena, role);
    RuleFaults *faults = ARENA_NEW(arena, RuleFaults);
    AccessRole again;
    faults->arena = arena;
    BUG_IF(!access_role_parse(arena, role->name, value, STR(""), NULL, &again, faults));
    BUG_IF(!json_print(&text, value, NULL, &err));
    BUG_IF(!json_print(&second, access_role_value(arena, &again), NULL, &err));
    BUG_IF(!str_eq(buf_str(&text), buf_str(&second)));
}

static void read_role(Arena *arena, Str text)
{
    static const Str verbs[] = { STR("get"), STR("approve") }, kinds[] = { STR("Node") };
    const AccessVocabulary known = { verbs, COUNT_OF(verbs), kinds, COUNT_OF(kinds) };
    const JsonOptions options = { .limits = { .size = 1 << 16, .depth = 10, .nodes = 5000 } };
    RuleFaults *faults = ARENA_NEW(arena, RuleFaults);
    AccessRole role;
    Value rules;
    Error err = { 0 };
    faults->arena = arena;
    if (!json_parse_text(arena, text, &options, &rules, &err)) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        faults->count = 0;
        if (access_role_parse(arena, STR("x"), rules, STR("/spec/rules"), i == 0 ? &known : NULL,
                              &role, faults)) {
            BUG_IF(faults->count != 0);
            use_role(arena, &role);
        } else {
            BUG_IF(faults->count == 0 || faults->items[0].detail.len == 0 ||
                   !str_starts(faults->items[0].pointer, STR("/spec/rules")));
        }
    }
}

static void read_audit(Arena *arena, Str text)
{
    AuditEntry entry, again;
    AuditHead head;
    AuditChain chain;
    char hash[AUDIT_HASH_TEXT + 1];
    Error err = { 0 };
    if (audit_head_read(arena, text, &head, &err)) {
        Buf printed = buf_make_in(arena, BUF_UNLIMITED);
        audit_head_print(&head, &printed);
        BUG_IF(!audit_head_read(arena, buf_str(&printed), &head, &err));
    }
    audit_head_init(&head);
    head.sequence = 1;
    audit_chain_start(&chain, &head);
    bool is_good = audit_chain_add(&chain, 1, text);
    BUG_IF(!is_good && (!chain.is_broken || chain.what[0] == '\0'));
    if (!audit_entry_read(arena, text, &entry, &err)) {
        BUG_IF(err.text[0] == '\0' || is_good);
        return;
    }
    Buf printed = buf_make_in(arena, BUF_UNLIMITED);
    audit_entry_print(&entry, &printed, hash);
    BUG_IF(!audit_entry_read(arena, buf_str(&printed), &again, &err));
    BUG_IF(again.sequence != entry.sequence || again.outcome != entry.outcome);
    /* Printed entries form a hash chain. */
    head.sequence = entry.sequence;
    head.floor_sequence = entry.sequence - 1;
    memcpy(head.floor_hash, entry.previous.data, AUDIT_HASH_TEXT);
    memcpy(head.hash, hash, AUDIT_HASH_TEXT);
    audit_chain_start(&chain, &head);
    BUG_IF(!audit_chain_add(&chain, entry.sequence, buf_str(&printed)) || !audit_chain_end(&chain));
}

/* Reading gives the same result in one chunk and byte by byte. */
static void read_archive(Str text)
{
    AUTO_CLEAR(AuditArchiveReader) whole;
    AUTO_CLEAR(AuditArchiveReader) slow;
    Error err = { 0 }, again = { 0 };
    audit_archive_reader_init(&whole);
    audit_archive_reader_init(&slow);
    bool ok =
        audit_archive_reader_feed(&whole, text, &err) && audit_archive_reader_finish(&whole, &err);
    bool same = true;
    for (size_t i = 0; same && i < text.len; i++) {
        same = audit_archive_reader_feed(&slow, str_slice(text, i, i + 1), &again);
    }
    same = same && audit_archive_reader_finish(&slow, &again);
    BUG_IF(same != ok || (!ok && (err.text[0] == '\0' || strcmp(err.text, again.text) != 0)));
    BUG_IF(ok && whole.line != whole.archive.last - whole.archive.first + 2);
    if (ok) {
        Buf line = buf_make(BUF_UNLIMITED);
        audit_archive_print(&whole.archive, &line);
        audit_archive_reader_clear(&slow);
        audit_archive_reader_init(&slow);
        BUG_IF(!audit_archive_reader_feed(&slow, buf_str(&line), &again));
        BUG_IF(slow.archive.first != whole.archive.first ||
               slow.archive.last != whole.archive.last ||
               strcmp(slow.archive.cluster, whole.archive.cluster) != 0 ||
               strcmp(slow.archive.previous, whole.archive.previous) != 0 ||
               strcmp(slow.archive.hash, whole.archive.hash) != 0);
        buf_clear(&line);
    }
}

static void read_records(Str text)
{
    static const char *const names[ITEM_KIND_COUNT] = {
        [ITEM_TOKEN] = "abcdefgh",
        [ITEM_CERTIFICATE] = "40112233445566778899aabbccddeeff",
        [ITEM_ROLE] = "web-team",
        [ITEM_SESSION] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
    };
    StoreKv kv = { .value = text };
    for (ItemKind kind = 0; kind < ITEM_KIND_COUNT; kind++) {
        void *item;
        Error err = { 0 };
        if (item_read(kind, str_from_c(names[kind]), &kv, &item, &err)) {
            BUG_IF(strcmp(((TableName *)item)->text, names[kind]) != 0);
            item_free(kind, item);
        } else {
            BUG_IF(err.kind == ERROR_NONE || err.text[0] == '\0');
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    IdempotentRequest request;
    Error err;
    Str text = str_from((const char *)data, size);
    arena_init(&arena, ARENA_UNLIMITED);
    read_cookies(text);
    read_role(&arena, text);
    read_audit(&arena, text);
    read_archive(text);
    read_records(text);
    BUG_IF(idempotent_request_make(STR("local:0"), text, STR("POST"), STR("/"), STR_EMPTY, &request,
                                   &err) &&
           size > IDEMPOTENCY_KEY_MAX);
    return 0;
}
