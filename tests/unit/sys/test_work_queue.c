/* Work on another thread: in order, owners in turns, and completed on the loop. */
#include "sys/work_queue.h"

#include <stdlib.h>

#include "unit.h"

typedef struct Job {
    WorkItem item;
    Loop *loop;
    char *log; /* of the test */
    char letter;
    bool is_last;
} Job;

static void run(WorkItem *item)
{
    Job *job = (Job *)item;
    strncat(job->log, &job->letter, 1);
}

static void done(WorkItem *item)
{
    Job *job = (Job *)item;
    if (job->is_last && !item->is_canceled) {
        loop_stop(job->loop);
    }
    free(job);
}

static void add(WorkQueue *queue, Loop *loop, char *log, char letter, bool is_last)
{
    Job *job = calloc(1, sizeof *job);
    *job = (Job){ { .run = run, .done = done }, loop, log, letter, is_last };
    work_queue_add(queue, &job->item);
}

static void check_order(Loop *loop)
{
    AUTO(WorkQueue) *queue = work_queue_new(loop);
    char log[64] = "";
    for (int letter = 'a'; letter <= 'z'; letter++) {
        add(queue, loop, log, (char)letter, letter == 'z');
    }
    assert_int_equal(work_queue_length(queue), 26);
    loop_run(loop);
    assert_string_equal(log, "abcdefghijklmnopqrstuvwxyz");
    assert_int_equal(work_queue_length(queue), 0);
}

static void test_items_are_executed_in_order(void **state)
{
    AUTO(Loop) *loop = loop_new();
    check_order(loop);
}

static void test_a_virtual_loop_executes_them_itself(void **state)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    check_order(loop);
}

/* Letters of the same case belong to the same owner. */
static void test_owners_take_turns(void **state)
{
    const char *letters = "abcdeAB1f";
    AUTO(Loop) *loop = loop_new_virtual(1);
    AUTO(WorkQueue) *queue = work_queue_new(loop);
    char log[64] = "";
    for (const char *letter = letters; *letter != '\0'; letter++) {
        Job *job = calloc(1, sizeof *job);
        *job = (Job){ { .run = run, .done = done }, loop, log, *letter, *letter == 'f' };
        job->item.owner = *letter == '1' ? 0 : *letter >= 'a' ? 1 : UINT64_MAX;
        work_queue_add(queue, &job->item);
    }
    loop_run(loop);
    assert_string_equal(log, "aA1bBcdef");
}

static void test_what_is_waiting_is_canceled(void **state)
{
    AUTO(Loop) *loop = loop_new_virtual(1);
    char log[64] = "";
    WorkQueue *queue = work_queue_new(loop);
    add(queue, loop, log, 'a', true);
    add(queue, loop, log, 'b', true);
    work_queue_free(queue);
    assert_string_equal(log, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_items_are_executed_in_order),
        cmocka_unit_test(test_a_virtual_loop_executes_them_itself),
        cmocka_unit_test(test_owners_take_turns),
        cmocka_unit_test(test_what_is_waiting_is_canceled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
