/* A spool user, to be killed; see test_spool.py.
 *
 *     spool_writer work DIRECTORY SEED FIRST COUNT
 *         adds records with ids from FIRST on, until it is killed, or COUNT times (0: no limit):
 *           sent EPOCH SEQUENCE ID     stored, so that it may have been sent
 *           ack ID                     records up to this one are not needed any more
 *     spool_writer dump DIRECTORY
 *           spool EPOCH LAST
 *           record SEQUENCE ID         all records in the spool */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/spool.h"
#include "base/bug.h"

typedef struct World {
    Loop *loop;
    Directory directory;
    Spool *spool;
    uint64_t random_value;
    uint64_t sent_sequence, sent_id;
} World;

static void check(bool holds, const Error *err)
{
    if (!holds) {
        fprintf(stderr, "spool_writer: %s\n", err->text);
        exit(1);
    }
}

static uint64_t random_below(World *world, uint64_t below)
{
    world->random_value ^= world->random_value << 13;
    world->random_value ^= world->random_value >> 7;
    world->random_value ^= world->random_value << 17;
    return world->random_value % below;
}

/* In a single write, so that a printed line is always complete. */
static void print_line(const char *line)
{
    size_t len = strlen(line);
    BUG_IF(write(STDOUT_FILENO, line, len) != (ssize_t)len);
}

static void stored(void *context)
{
}

static void open_spool(World *world, const char *directory)
{
    Error err;
    world->loop = loop_new_virtual(world->random_value);
    check(directory_make(directory, &world->directory, &err), &err);
    check(spool_open(&(SpoolOptions){ .loop = world->loop,
                                      .directory = &world->directory,
                                      .stored = stored,
                                      .context = world },
                     &world->spool, &err),
          &err);
}

static uint64_t id_of(const Record *record)
{
    return strtoull(record->body.data, NULL, 10);
}

static void send_all(World *world)
{
    Outbox *outbox = spool_outbox(world->spool);
    const Record *record;
    while ((record = outbox_peek(outbox)) != NULL) {
        char line[120];
        world->sent_sequence = record->sequence;
        world->sent_id = id_of(record);
        snprintf(line, sizeof line, "sent %016" PRIx64 " %" PRIu64 " %" PRIu64 "\n",
                 outbox_epoch(outbox), record->sequence, world->sent_id);
        print_line(line);
        outbox_advance(outbox);
    }
}

static void add(World *world, uint64_t id)
{
    static char body[5000];
    memset(body, '.', sizeof body);
    int len = snprintf(body, sizeof body, "%" PRIu64 " ", id);
    uint64_t sequence;
    Error err;
    check(outbox_add(spool_outbox(world->spool), RECORD_RESULT, STR("key"),
                     str_from(body, (size_t)len + random_below(world, 4000)), &sequence, &err),
          &err);
}

static void acknowledge(World *world)
{
    if (world->sent_sequence > 0) {
        char line[40];
        snprintf(line, sizeof line, "ack %" PRIu64 "\n", world->sent_id);
        print_line(line);
        outbox_acknowledge(spool_outbox(world->spool), world->sent_sequence);
    }
}

static void work(World *world, const char *directory, char **argv)
{
    world->random_value = strtoull(argv[0], NULL, 10) | 1;
    uint64_t id = strtoull(argv[1], NULL, 10), left = strtoull(argv[2], NULL, 10);
    left = left == 0 ? UINT64_MAX : left;
    open_spool(world, directory);
    while (left-- > 0) {
        for (uint64_t i = random_below(world, 6); i > 0; i--) {
            add(world, id++);
        }
        loop_run_virtual_until(world->loop,
                               loop_now_ms(world->loop) + (int64_t)random_below(world, 30));
        send_all(world);
        if (random_below(world, 4) == 0 ||
            outbox_counts(spool_outbox(world->spool)).bytes > 200000) {
            acknowledge(world);
        }
        if (random_below(world, 60) == 0) {
            outbox_restart(spool_outbox(world->spool), loop_random(world->loop) | 1);
            world->sent_sequence = 0;
        }
    }
    _exit(0);
}

static void dump(World *world, const char *directory, char **argv)
{
    open_spool(world, directory);
    Outbox *outbox = spool_outbox(world->spool);
    printf("spool %016" PRIx64 " %" PRIu64 "\n", outbox_epoch(outbox),
           outbox_last_sequence(outbox));
    const Record *record;
    while ((record = outbox_peek(outbox)) != NULL) {
        printf("record %" PRIu64 " %" PRIu64 "\n", record->sequence, id_of(record));
        outbox_advance(outbox);
    }
    spool_close(world->spool);
    directory_close(&world->directory);
    loop_free(world->loop);
}

int main(int argc, char **argv)
{
    static World world;
    world.random_value = 1;
    if (argc == 6 && strcmp(argv[1], "work") == 0) {
        work(&world, argv[2], argv + 3);
    } else if (argc == 3 && strcmp(argv[1], "dump") == 0) {
        dump(&world, argv[2], argv + 3);
    } else {
        fprintf(stderr, "usage: spool_writer work|dump DIRECTORY ...\n");
        return 64;
    }
    return 0;
}
