#include "run/waiting.h"

enum {
    NOTES_MAX = 16, /* messages between two ticks; more are not shown */
    TEXT_MAX = 1000 /* in bytes */
};

typedef struct Note {
    uint32_t step;
    bool is_progress; /* otherwise what it is waiting for */
    uint32_t len;
    char text[TEXT_MAX];
} Note;

typedef struct Notes {
    Note items[NOTES_MAX];
    uint32_t count;
} Notes;

static const SharedKind notes_kind = { sizeof(Notes), NULL };

static void note(Shared *shared, uint32_t step, bool is_progress, Str text)
{
    Notes *notes = shared_lock(shared, &notes_kind);
    uint32_t at = 0;
    while (at < notes->count &&
           (notes->items[at].step != step || notes->items[at].is_progress != is_progress)) {
        at++;
    }
    /* Truncation could leave a part of a secret that would not be found. */
    if (at < NOTES_MAX && text.len <= TEXT_MAX) {
        Note *kept = &notes->items[at];
        kept->step = step;
        kept->is_progress = is_progress;
        kept->len = (uint32_t)text.len;
        memcpy(kept->text, text.data, text.len);
        notes->count += at == notes->count;
    }
    shared_unlock(shared, &notes_kind);
}

void waiting_note(Shared *shared, uint32_t step, Str why)
{
    note(shared, step, false, why);
}

void waiting_note_progress(Shared *shared, uint32_t step, Str line)
{
    note(shared, step, true, line);
}

static Str without_secrets(const RunCoreSettings *settings, const Note *note, Arena *arena)
{
    Str text = arena_copy(arena, str_from(note->text, note->len));
    return settings->environment.scrub == NULL
               ? text
               : settings->environment.scrub(settings->environment.context, text, arena);
}

void waiting_tick(const RunCoreSettings *settings, Arena *arena)
{
    Shared *shared = host_shared(settings->host);
    Notes *notes = shared_lock(shared, &notes_kind);
    Notes taken = *notes;
    notes->count = 0;
    shared_unlock(shared, &notes_kind);
    const RunView *view = &settings->view;
    AUTO_CLEAR(Arena) transient; /* not for wait reasons, which are shown until the wait ends */
    arena_init(&transient, ARENA_UNLIMITED);
    for (uint32_t i = 0; i < taken.count; i++) {
        const Note *one = &taken.items[i];
        if (graph_step(settings->graph, one->step)->spec->secret) {
            continue;
        }
        if (one->is_progress && view->progress != NULL) {
            view->progress(view->context, one->step, without_secrets(settings, one, &transient));
        } else if (!one->is_progress && view->waits != NULL) {
            view->waits(view->context, one->step, without_secrets(settings, one, arena), 0);
        }
    }
    if (view->tick != NULL) {
        view->tick(view->context);
    }
}
