#include "rpc/methods.h"

#include "rpc/run_append.h"
#include "rpc/session_message.h"

enum {
    METHOD_SMALL_MAX = 4 * 1024,
    METHOD_KEY_MAX = 16 * 1024,
    METHOD_RUN_LINES_MAX = RUN_LINES_MAX + METHOD_KEY_MAX,
    METHOD_BLOBS_MAX = 64 * 1024,       /* BLOB_IDS_MAX of 32 bytes, plus overhead */
    METHOD_STORE_MAX = 3 * 1024 * 1024, /* limit of the store, plus overhead */
};

const MethodRow method_rows[METHOD_COUNT] = {
#define METHOD(constant, service, method, kind, request_max, callers, help) \
    [METHOD_##constant] = { "/eden.v1." service "/" method, kind, request_max, callers, help },
#include "rpc/methods.def"
#undef METHOD
};
