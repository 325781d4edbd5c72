/* A minimal journal user, to be killed and to fill its disk.
 *
 *     journal_writer work STATE WORLD SEED RUNS    changes things, RUNS times (0: no limit)
 *     journal_writer settle STATE WORLD            performs all owed actions
 *     journal_writer check STATE WORLD             checks that no owed action was forgotten
 *
 * There are several causes, each with a file that contains a version; each cause has a reactor with
 * a file that contains the version that it processed last. If a cause is ahead of its reactor, the
 * journal must contain the owed action: this is what is checked. `work` prints a dot after each
 * action. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "run/journal.h"
#include "run/lock.h"

enum {
    CAUSES = 6
};

typedef struct World {
    Arena arena;
    Directory state, files;
    Journal *journal;
    FileLock lock;
    Problems problems;
    Debt edges[CAUSES];
    uint64_t random;
} World;

static void fail(const Error *err)
{
    fprintf(stderr, "journal_writer: %s\n", err->text);
    exit(1);
}

static uint32_t random_below(World *world, uint32_t below)
{
    world->random = world->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(world->random >> 33) % below;
}

static const char *name(World *world, const char *kind, int i)
{
    return arena_format(&world->arena, "%s%d%c", kind, i, '\0').data;
}

static int64_t version(World *world, const char *kind, int i)
{
    Str text;
    Error err;
    int64_t number = -1;
    if (!directory_read(&world->files, &world->arena, name(world, kind, i), 1000, &text, &err)) {
        if (err.kind != ERROR_NOT_FOUND) {
            fail(&err);
        }
        return 0;
    }
    if (!str_to_i64(text, &number)) {
        fprintf(stderr, "journal_writer: %s%d is torn\n", kind, i);
        exit(1);
    }
    return number;
}

static bool set_version(World *world, const char *kind, int i, int64_t number)
{
    Error err;
    Str text = arena_format(&world->arena, "%lld", (long long)number);
    return directory_write(&world->files, name(world, kind, i), text, false, &err);
}

static void open_world(World *world, const char *state, const char *files)
{
    Error err;
    arena_init(&world->arena, ARENA_UNLIMITED);
    problems_init(&world->problems, &world->arena);
    if (!directory_make(state, &world->state, &err) ||
        !directory_make(files, &world->files, &err) ||
        !run_lock_take(&world->state, STR("journal_writer"), &world->lock, &world->problems,
                       &err) ||
        !journal_open(&world->state, STR("boot"), &world->journal, &world->problems, &err)) {
        fail(&err);
    }
    for (int i = 0; i < CAUSES; i++) {
        world->edges[i] = (Debt){ .step = str_from_c(name(world, "reactor", i)),
                                  .cause = str_from_c(name(world, "cause", i)),
                                  .kind = REQUISITE_WATCH };
    }
}

static void begin(World *world)
{
    journal_begin(world->journal, &(JournalRun){ .id = STR("run"),
                                                 .site = STR("site"),
                                                 .command = STR("journal_writer"),
                                                 .edges = world->edges,
                                                 .edge_count = CAUSES });
}

static void dot(void)
{
    (void)!write(STDOUT_FILENO, ".", 1);
}

/* As in the executor: the record comes before the effect. */
static void change(World *world, int i)
{
    Error err;
    Str cause = world->edges[i].cause;
    if (!journal_act(world->journal, cause, STR("file.managed"), &err)) {
        return;
    }
    dot();
    bool changed = set_version(world, "cause", i, version(world, "cause", i) + 1);
    dot();
    (void)!journal_done(world->journal, cause, STR("changed"), changed, &err);
    dot();
}

static void react(World *world, int i)
{
    Error err;
    if (set_version(world, "reactor", i, version(world, "cause", i))) {
        dot();
        (void)!journal_paid(world->journal, world->edges[i].step, 0, STR_EMPTY, &err);
        dot();
    }
}

static void work(World *world, uint64_t runs)
{
    for (uint64_t run = 0; runs == 0 || run < runs; run++) {
        Error err;
        begin(world);
        for (int n = 0; n < 20; n++) {
            int i = (int)random_below(world, CAUSES);
            if (random_below(world, 3) > 0) {
                change(world, i);
            } else if (debt_book_kinds(journal_debts(world->journal), world->edges[i].step) != 0) {
                react(world, i);
            }
        }
        if (!journal_end(world->journal, STR("changed"), &err)) {
            return; /* the disk is full: nothing more can be done */
        }
        dot();
    }
}

static void settle(World *world)
{
    Error err;
    begin(world);
    for (int i = 0; i < CAUSES; i++) {
        if (debt_book_kinds(journal_debts(world->journal), world->edges[i].step) != 0) {
            react(world, i);
        }
    }
    if (!journal_end(world->journal, STR("ok"), &err)) {
        fail(&err);
    }
    if (debt_book_count(journal_debts(world->journal)) != 0) {
        error_set(&err, ERROR_BUG, "still owed");
        fail(&err);
    }
}

static void check(World *world)
{
    for (int i = 0; i < CAUSES; i++) {
        int64_t cause = version(world, "cause", i), reactor = version(world, "reactor", i);
        bool owed = debt_book_kinds(journal_debts(world->journal), world->edges[i].step) != 0;
        if (cause != reactor && !owed) {
            fprintf(stderr, "journal_writer: cause %d is at %lld, reactor at %lld, nothing owed\n",
                    i, (long long)cause, (long long)reactor);
            exit(1);
        }
    }
    for (uint32_t i = 0; i < world->problems.count; i++) {
        printf("%.*s\n", STR_ARG(world->problems.items[i].code));
    }
}

int main(int argc, char **argv)
{
    World world = { .state = { .descriptor = -1 }, .files = { .descriptor = -1 } };
    if (argc < 4) {
        return 64;
    }
    open_world(&world, argv[2], argv[3]);
    if (strcmp(argv[1], "work") == 0 && argc == 6) {
        world.random = strtoull(argv[4], NULL, 10);
        work(&world, strtoull(argv[5], NULL, 10));
    } else if (strcmp(argv[1], "settle") == 0) {
        settle(&world);
    } else {
        check(&world);
    }
    journal_close(world.journal);
    file_lock_release(&world.lock);
    directory_close(&world.files);
    directory_close(&world.state);
    arena_clear(&world.arena);
    return 0;
}
