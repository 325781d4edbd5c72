/* Input: records of runs and site versions, which may come from servers and nodes of other
 * versions, and the messages that carry events and files between them. Invariants: the result is a
 * record or an error; an accepted record, printed, reads back the same. */
#include "base/bug.h"
#include "fleet/records.h"
#include "rpc/run_append.h"
#include "service/blob_message.h"
#include "source/version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_fault(const Error *err)
{
    BUG_IF(err->kind != ERROR_INVALID && err->kind != ERROR_LIMIT);
    BUG_IF(err->text[0] == '\0');
}

/* Parses `text` as a record of the type, and parses the printed form again. */
#define CHECK_RECORD(Type, name, checks)                               \
    static void read_##name(Arena *arena, Str text)                    \
    {                                                                  \
        Buf printed = buf_make_in(arena, BUF_UNLIMITED);               \
        Buf second = buf_make_in(arena, BUF_UNLIMITED);                \
        Type *record = ARENA_NEW(arena, Type);                         \
        Error err = { 0 };                                             \
        if (!name##_read(arena, text, record, &err)) {                 \
            check_fault(&err);                                         \
            return;                                                    \
        }                                                              \
        checks(record);                                                \
        name##_print(record, &printed);                                \
        bool ok = name##_read(arena, buf_str(&printed), record, &err); \
        BUG_IF(!ok);                                                   \
        name##_print(record, &second);                                 \
        BUG_IF(!str_eq(buf_str(&printed), buf_str(&second)));          \
    }

static void check_order(const Order *order)
{
    Error err;
    BUG_IF(!run_id_check(str_from_c(order->run), &err));
    BUG_IF(!manifest_id_check(str_from_c(order->manifest), &err));
    BUG_IF((order->kind == RUN_KIND_EXEC) != (order->command_count > 0));
    BUG_IF(order->job_count > ORDER_JOBS_MAX || order->command_count > ORDER_COMMAND_MAX);
}

static void check_result(const NodeResult *result)
{
    BUG_IF(node_outcome_name(result->outcome) == NULL);
    BUG_IF(result->reason.len > FLEET_REASON_MAX || result->error.len > NODE_ERROR_MAX);
}

static void check_run(const FleetRun *run)
{
    Order order = fleet_run_order(run);
    check_order(&order);
    BUG_IF(run->target_count > FLEET_TARGETS_MAX);
    for (uint32_t i = 1; i < run->target_count; i++) {
        BUG_IF(str_compare(run->targets[i - 1], run->targets[i]) >= 0);
    }
}

static void check_version(const Version *version)
{
    BUG_IF(strlen(version->manifest) > BLOB_ID_TEXT);
}

static void check_current(const CurrentVersion *current)
{
    Error err;
    BUG_IF(!version_name_check(str_from_c(current->version), &err));
}

CHECK_RECORD(Order, order, check_order)
CHECK_RECORD(NodeResult, node_result, check_result)
CHECK_RECORD(FleetRun, fleet_run, check_run)
CHECK_RECORD(Version, version, check_version)
CHECK_RECORD(CurrentVersion, current_version, check_current)

static void read_events(Arena *arena, Str bytes)
{
    Buf packed = buf_make_in(arena, BUF_UNLIMITED);
    RunAppend request, again;
    uint64_t next, same;
    Error err = { 0 };
    if (run_append_decode(arena, bytes, &request, &err)) {
        run_append_encode(&request, &packed);
        bool ok = run_append_decode(arena, buf_str(&packed), &again, &err);
        BUG_IF(!ok || !str_eq(request.run, again.run) || !str_eq(request.lines, again.lines) ||
               request.from != again.from);
    } else {
        check_fault(&err);
    }
    buf_reset(&packed);
    if (run_append_reply_decode(bytes, &next, &err)) {
        run_append_reply_encode(next, &packed);
        bool ok = run_append_reply_decode(buf_str(&packed), &same, &err);
        BUG_IF(!ok || next != same);
    } else {
        check_fault(&err);
    }
}

static void read_blobs(Arena *arena, Str bytes)
{
    Buf packed = buf_make_in(arena, BUF_UNLIMITED);
    BlobRequest request, again;
    BlobChunk chunk, same;
    Error err = { 0 };
    if (blob_request_decode(arena, bytes, &request, &err)) {
        BUG_IF(!blob_id_is_valid(request.manifest) || request.count > BLOB_IDS_MAX);
        blob_request_encode(&request, &packed);
        bool ok = blob_request_decode(arena, buf_str(&packed), &again, &err);
        BUG_IF(!ok || request.count != again.count);
        for (uint32_t i = 0; i < request.count; i++) {
            BUG_IF(!blob_id_is_valid(request.ids[i]) || !str_eq(request.ids[i], again.ids[i]));
        }
    } else {
        check_fault(&err);
    }
    buf_reset(&packed);
    if (blob_chunk_decode(arena, bytes, &chunk, &err)) {
        BUG_IF(!blob_id_is_valid(chunk.id) || chunk.data.len > BLOB_CHUNK_MAX);
        blob_chunk_encode(&chunk, &packed);
        bool ok = blob_chunk_decode(arena, buf_str(&packed), &same, &err);
        BUG_IF(!ok || !str_eq(chunk.data, same.data) || chunk.is_last != same.is_last);
    } else {
        check_fault(&err);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    read_order(&arena, text);
    read_node_result(&arena, text);
    read_fleet_run(&arena, text);
    read_version(&arena, text);
    read_current_version(&arena, text);
    read_events(&arena, text);
    read_blobs(&arena, text);
    return 0;
}
