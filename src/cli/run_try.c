#include "cli/run_try.h"

#include "base/visible.h"
#include "sys/file.h"
#include "sys/overlay.h"
#include "sys/throwaway.h"

typedef struct Try {
    Invocation *invocation;
    const RunConfig *config;
} Try;

static int fail(Invocation *invocation, Error *err)
{
    Inputs inputs;
    inputs_init(&inputs, invocation->arena);
    error_wrap(err, "cannot try");
    return run_tell_error(invocation, &inputs, err);
}

/* Without what eden itself writes, into its state directory. */
static void print_changes(const Invocation *invocation, const char *state,
                          const OverlayChanges *changes)
{
    AUTO_CLEAR(Buf) text = buf_make(BUF_UNLIMITED);
    uint32_t shown = 0;
    Str own = file_absolute(invocation->arena, state);
    for (uint32_t i = 0; i < changes->count; i++) {
        Str path = changes->items[i].path;
        if (str_eq(path, own) ||
            (str_starts(path, own) && path.len > own.len && path.data[own.len] == '/')) {
            continue;
        }
        buf_put_format(&text, "  %-8s ", overlay_change_name(changes->items[i].kind));
        visible_put(&text, path);
        buf_put_char(&text, '\n');
        shown++;
    }
    Stream *out = invocation_prints(invocation, "text") ? invocation->out : invocation->err;
    stream_put_format(out, shown == 1 ? "%u path would differ%s\n" : "%u paths would differ%s\n",
                      shown, shown > 0 ? ":" : "");
    if (changes->cut) {
        buf_put(&text, STR("  and more\n"));
    }
    stream_put(out, buf_str(&text));
}

static int apply_inside(const Try *attempt, const char *folder)
{
    Invocation *invocation = attempt->invocation;
    OverlaySettings settings = { .folder = folder,
                                 .network = invocation_flag(invocation, "network") };
    Overlay *overlay;
    OverlayChanges changes;
    Error err;
    if (!overlay_enter(invocation->arena, &settings, &overlay, &err)) {
        return fail(invocation, &err);
    }
    int code = run_command(invocation, attempt->config, &(RunOrder){ 0 });
    if (!overlay_changes(overlay, invocation->arena, &changes, &err)) {
        return run_tell_late(invocation, &err);
    }
    print_changes(invocation, attempt->config->state, &changes);
    return code;
}

/* In a process of its own, with everything that it changes and says. */
static int inside(void *context, const char *folder)
{
    const Try *attempt = context;
    int code = apply_inside(attempt, folder);
    (void)stream_flush(attempt->invocation->out);
    (void)stream_flush(attempt->invocation->err);
    return code;
}

int run_try(Invocation *invocation, const RunConfig *config)
{
    Error err;
    int code;
    RunConfig inside_only = *config;
    inside_only.stays = true; /* its services are this machine's */
    Try attempt = { invocation, &inside_only };
    return throwaway_run(inside, &attempt, &code, &err) ? code : fail(invocation, &err);
}
