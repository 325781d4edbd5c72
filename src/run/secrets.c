/* Computed texts wait in `computed` until something is scrubbed: most of them contain a known
 * secret, and finding that out takes a scrubber, which is created for all of them at once. */
#include "run/secrets.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"

enum {
    /* No hash or other text contains a secret of this length by chance. */
    SURE_LENGTH = 8,
    CUT_LENGTH = 64, /* no text is truncated to less than this */
};

struct Secrets {
    pthread_mutex_t lock;
    Arena arena; /* copies of known secrets */
    SecretSet known;
    Arena waiting; /* copies of computed texts */
    SecretSet computed;
    Scrubber *scrubber; /* NULL: no secret is known */
    uint32_t scrubbed;  /* number of secrets it was created from */
    bool too_many;      /* more than can be searched for: nothing is shown */
};

Secrets *secrets_new(void)
{
    Secrets *secrets = memory_new(sizeof *secrets);
    pthread_mutex_init(&secrets->lock, NULL);
    arena_init(&secrets->arena, ARENA_UNLIMITED);
    secret_set_init(&secrets->known, &secrets->arena);
    arena_init(&secrets->waiting, ARENA_UNLIMITED);
    secret_set_init(&secrets->computed, &secrets->waiting);
    return secrets;
}

void secrets_free(Secrets *secrets)
{
    if (secrets != NULL) {
        scrubber_free(secrets->scrubber);
        arena_clear(&secrets->arena);
        arena_clear(&secrets->waiting);
        pthread_mutex_destroy(&secrets->lock);
        free(secrets);
    }
}

static void update_scrubber(Secrets *secrets)
{
    Error err;
    if (secrets->known.texts.count != secrets->scrubbed) {
        scrubber_free(TAKE(secrets->scrubber));
        secrets->scrubbed = secrets->known.texts.count;
        secrets->too_many =
            secrets->too_many || !scrubber_new(&secrets->known, &secrets->scrubber, &err);
    }
}

static void add_known(void *context, Str secret)
{
    Secrets *secrets = context;
    if (!str_map_has(&secrets->known.texts, secret)) {
        secret_set_add_lines(&secrets->known, arena_copy(&secrets->arena, secret));
    }
}

/* A computed text is a secret by itself unless it contains one. If it contains one in another
 * spelling, that spelling is searched for too, because a program may encode it again. */
static void settle_computed(Secrets *secrets)
{
    if (secrets->computed.texts.count == 0) {
        return;
    }
    update_scrubber(secrets);
    uint32_t at = 0;
    for (const StrMapEntry *entry; (entry = str_map_next(&secrets->computed.texts, &at)) != NULL;) {
        ScrubberMatch found = { 0 };
        if (secrets->scrubber != NULL) {
            found = scrubber_find(secrets->scrubber, entry->key, add_known, secrets);
        }
        if (found.any_spelling == 0) {
            secret_set_add_lines(&secrets->known, arena_copy(&secrets->arena, entry->key));
        } else if (found.verbatim < SURE_LENGTH) {
            secret_set_add(&secrets->known, arena_copy(&secrets->arena, entry->key));
        }
    }
    arena_reset(&secrets->waiting);
    secret_set_init(&secrets->computed, &secrets->waiting);
}

static void add_computed(void *context, Str secret)
{
    Secrets *secrets = context;
    if (secret.len >= SCRUB_LENGTH_MIN && !str_map_has(&secrets->known.texts, secret) &&
        !str_map_has(&secrets->computed.texts, secret)) {
        secret_set_add(&secrets->computed, arena_copy(&secrets->waiting, secret));
        if (secrets->computed.bytes > SCRUB_BYTES_MAX) {
            settle_computed(secrets);
        }
    }
}

static void add(Secrets *secrets, Value value, SecretFound *found)
{
    if (!value_holds_secret(value)) {
        return;
    }
    Error err;
    AUTO_CLEAR(Arena) numbers;
    arena_init(&numbers, ARENA_UNLIMITED);
    pthread_mutex_lock(&secrets->lock);
    secrets->too_many = !secrets_find(value, &numbers, found, secrets, &err) || secrets->too_many;
    pthread_mutex_unlock(&secrets->lock);
}

void secrets_add(Secrets *secrets, Value value)
{
    add(secrets, value, add_known);
}

void secrets_add_computed(Secrets *secrets, Value value)
{
    add(secrets, value, add_computed);
}

static void found_secret(void *context, Value secret, bool computed)
{
    add(context, secret, computed ? add_computed : add_known);
}

SecretSink secrets_sink(Secrets *secrets)
{
    return (SecretSink){ found_secret, secrets };
}

Str secrets_scrub(Secrets *secrets, Str text, Arena *arena)
{
    pthread_mutex_lock(&secrets->lock);
    settle_computed(secrets);
    update_scrubber(secrets);
    Str clean = STR("(not shown: too many secrets to search for)");
    if (!secrets->too_many && secrets->scrubber == NULL) {
        clean = arena_copy(arena, text);
    } else if (!secrets->too_many) {
        Buf out = buf_make_in(arena, BUF_UNLIMITED);
        (text.len > CUT_LENGTH ? scrubber_apply_cut : scrubber_apply)(secrets->scrubber, text,
                                                                      &out);
        clean = buf_str(&out);
    }
    pthread_mutex_unlock(&secrets->lock);
    return clean;
}

static bool has_any(Secrets *secrets)
{
    pthread_mutex_lock(&secrets->lock);
    bool any = secrets->known.texts.count > 0 || secrets->computed.texts.count > 0;
    pthread_mutex_unlock(&secrets->lock);
    return any;
}

static Str shown_text(void *context, Str text, Arena *arena)
{
    return secrets_scrub(context, text, arena);
}

Value secrets_scrub_value(Secrets *secrets, Value value, Arena *arena)
{
    return has_any(secrets) ? secrets_replace(arena, value, shown_text, secrets)
                            : secrets_hide(arena, value);
}

void secrets_scrub_problem(Secrets *secrets, Problem *problem, Arena *arena)
{
    if (!has_any(secrets)) {
        return;
    }
    problem->message = secrets_scrub(secrets, problem->message, arena);
    problem->hint = secrets_scrub(secrets, problem->hint, arena);
    if (!str_eq(secrets_scrub(secrets, problem->fix.text, arena), problem->fix.text)) {
        problem->fix = (ProblemFix){ 0 };
    }
    for (ProblemNote *note = problem->notes; note != NULL; note = note->next) {
        note->message = secrets_scrub(secrets, note->message, arena);
    }
    if (!str_eq(secrets_scrub(secrets, problem->excerpt, arena), problem->excerpt)) {
        problem->excerpt = STR_EMPTY;
    }
}
