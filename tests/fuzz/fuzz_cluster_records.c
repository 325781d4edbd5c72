/* Input: data that the store and the machines of a cluster keep about nodes, objects and trust,
 * which may come from nodes, servers of other versions or backups: records, notices and reports in
 * JSON, and certificate messages in protobuf. Invariants: the result is a value or an error; an
 * accepted value, printed, reads back the same. */
#include "base/bug.h"
#include "cluster/stored_object.h"
#include "membership/node_record.h"
#include "membership/node_state.h"
#include "membership/nodes.h"
#include "pki/trust_notice.h"
#include "service/pki_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fault(const Error *err)
{
    BUG_IF(err->kind == ERROR_NONE || err->text[0] == '\0');
}

static void read_node(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    NodeRecord node;
    Error err = { 0 };
    if (node_record_read(arena, text, &node, &err)) {
        node_record_print(&node, &printed);
        BUG_IF(!node_record_read(arena, buf_str(&printed), &node, &err));
        node_record_print(&node, &second);
        BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
        BUG_IF(node.labels.kind != VALUE_MAP || node.annotations.kind != VALUE_MAP);
    } else {
        check_fault(&err);
    }
    NodeEntry entry = { 0 };
    node_entry_read_session(&entry, text);
    StateEntry from = { .value = text, .mod_revision = 7 };
    PendingEntry asking;
    pending_entry_read(arena, STR("web1"), &from, 0, &asking);
    BUG_IF(strcmp(asking.record.name, "web1") != 0 && asking.error.len > 0);
}

static void read_joining(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    PendingRecord joining;
    Error err = { 0 };
    if (!pending_record_read(arena, text, &joining, &err)) {
        check_fault(&err);
        return;
    }
    pending_record_print(&joining, &printed);
    BUG_IF(!pending_record_read(arena, buf_str(&printed), &joining, &err));
    pending_record_print(&joining, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
}

static void read_object(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    StoredObject object;
    Error err = { 0 };
    if (!stored_object_read(arena, text, &object, &err)) {
        check_fault(&err);
        return;
    }
    stored_object_print(&object, &printed);
    BUG_IF(!stored_object_read(arena, buf_str(&printed), &object, &err));
    stored_object_print(&object, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
}

static void read_state(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    NodeState state;
    Error err = { 0 };
    if (!node_state_read(arena, text, &state, &err)) {
        check_fault(&err);
        return;
    }
    BUG_IF(state.server_count == 0 || state.server_count > NODE_SERVERS_MAX);
    node_state_print(&state, &printed);
    BUG_IF(!node_state_read(arena, buf_str(&printed), &state, &err));
    node_state_print(&state, &second);
    BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
}

static void read_trust(Arena *arena, Str text)
{
    Buf printed = buf_make_in(arena, BUF_UNLIMITED), second = buf_make_in(arena, BUF_UNLIMITED);
    TrustNotice notice;
    TrustReport *report = ARENA_NEW(arena, TrustReport);
    CertificateSet bundle;
    Error err = { 0 };
    if (trust_notice_read(arena, text, &notice, &bundle, &err)) {
        BUG_IF(bundle.count == 0);
        trust_notice_print(&notice, &printed);
        BUG_IF(!trust_notice_read(arena, buf_str(&printed), &notice, &bundle, &err));
    } else {
        check_fault(&err);
    }
    buf_reset(&printed);
    if (trust_report_read(arena, text, report, &err)) {
        trust_report_print(report, &printed);
        BUG_IF(!trust_report_read(arena, buf_str(&printed), report, &err));
        trust_report_print(report, &second);
        BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));
    } else {
        check_fault(&err);
    }
}

static void read_messages(Arena *arena, Str bytes)
{
    Buf packed = buf_make_in(arena, BUF_UNLIMITED);
    RenewReply reply, again;
    Str csr, same;
    Error err = { 0 };
    if (renew_request_decode(arena, bytes, &csr, &err)) {
        renew_request_encode(csr, &packed);
        BUG_IF(!renew_request_decode(arena, buf_str(&packed), &same, &err) || !str_eq(csr, same));
    } else {
        check_fault(&err);
    }
    buf_reset(&packed);
    if (renew_reply_decode(arena, bytes, &reply, &err)) {
        renew_reply_encode(&reply, &packed);
        bool ok = renew_reply_decode(arena, buf_str(&packed), &again, &err);
        BUG_IF(!ok || !str_eq(reply.certificate, again.certificate) ||
               !str_eq(reply.bundle, again.bundle));
    } else {
        check_fault(&err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    read_node(&arena, text);
    read_joining(&arena, text);
    read_object(&arena, text);
    read_state(&arena, text);
    read_trust(&arena, text);
    read_messages(&arena, text);
    return 0;
}
