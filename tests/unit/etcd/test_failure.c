/* What the errors of etcd mean for the caller. */
#include "etcd/failure.h"
#include "unit.h"

static void errors_of_etcd_are_classified(void **state)
{
    const struct {
        GrpcStatus status;
        const char *text;
        EtcdVerdict verdict;
        bool is_member_fault;
        ErrorKind kind;
    } rows[] = {
        { GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted",
          ETCD_REJECTED, false, ERROR_NOT_FOUND },
        { GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision",
          ETCD_REJECTED, false, ERROR_INVALID },
        { GRPC_NOT_FOUND, "etcdserver: requested lease not found", ETCD_REJECTED, false,
          ERROR_NOT_FOUND },
        { GRPC_FAILED_PRECONDITION, "etcdserver: lease already exists", ETCD_REJECTED, false,
          ERROR_CONFLICT },
        { GRPC_RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", ETCD_REJECTED,
          false, ERROR_UNAVAILABLE },
        { GRPC_INVALID_ARGUMENT, "etcdserver: key is not provided", ETCD_REJECTED, false,
          ERROR_INVALID },
        { GRPC_PERMISSION_DENIED, "etcdserver: permission denied", ETCD_REJECTED, false,
          ERROR_DENIED },
        { GRPC_RESOURCE_EXHAUSTED, "etcdserver: too many requests", ETCD_RETRY, false,
          ERROR_UNAVAILABLE },
        { GRPC_UNAVAILABLE, "etcdserver: no leader", ETCD_RETRY, true, ERROR_UNAVAILABLE },
        { GRPC_UNAVAILABLE, "etcdserver: leader changed", ETCD_UNKNOWN, false, ERROR_UNAVAILABLE },
        { GRPC_UNAVAILABLE,
          "etcdserver: request timed out, possibly due to previous leader failure", ETCD_UNKNOWN,
          true, ERROR_UNAVAILABLE },
        /* From the connection, or from us. */
        { GRPC_UNAVAILABLE, "the connection was closed", ETCD_UNKNOWN, true, ERROR_UNAVAILABLE },
        { GRPC_DEADLINE_EXCEEDED, "timed out", ETCD_UNKNOWN, true, ERROR_UNAVAILABLE },
        { GRPC_CANCELLED, "the client was closed", ETCD_UNKNOWN, true, ERROR_UNAVAILABLE },
        { GRPC_RESOURCE_EXHAUSTED, "the message is too large", ETCD_UNKNOWN, false, ERROR_LIMIT },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        EtcdFailure failure = etcd_failure(rows[i].status, str_from_c(rows[i].text));
        assert_int_equal(failure.verdict, rows[i].verdict);
        assert_int_equal(failure.is_member_fault, rows[i].is_member_fault);
        assert_int_equal(failure.err.kind, rows[i].kind);
        assert_string_equal(failure.err.text, rows[i].text);
    }
}

/* An error that nobody has thought of must not make a write look as if it never happened. */
static void other_errors_leave_the_outcome_unknown(void **state)
{
    const GrpcStatus statuses[] = { GRPC_UNKNOWN, GRPC_ABORTED, GRPC_INTERNAL, GRPC_DATA_LOSS,
                                    GRPC_UNAVAILABLE };
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        EtcdFailure failure = etcd_failure(statuses[i], STR("etcdserver: something new"));
        assert_int_equal(failure.verdict, ETCD_UNKNOWN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_etcd_are_classified),
        cmocka_unit_test(other_errors_leave_the_outcome_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
