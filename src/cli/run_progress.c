#include "cli/run_progress.h"

#include "base/json_out.h"
#include "base/visible.h"
#include "sys/clock.h"

enum {
    KEEPALIVE_US = 10000000, /* interval of keepalive lines in a plain view */
    STEPS_SHOWN = 3,         /* maximum number of steps on the terminal's status line */
    MESSAGE_MAX = 240        /* maximum length of a step's message, in bytes */
};

typedef enum Activity {
    ACTIVITY_IDLE,
    ACTIVITY_RUNNING,
    ACTIVITY_WAITING,
    ACTIVITY_ENDED,
} Activity;

typedef struct StepProgress {
    Activity activity;
    int64_t since_us;
    int64_t until_us; /* time of the next evaluation of a wait */
    Str wait_reason;
    uint32_t busy_index; /* index in `busy` while it runs or waits */
} StepProgress;

struct RunProgress {
    Stream *stream;
    ProgressMode mode;
    const Steps *steps;
    const Run *run;
    StepProgress *by_step;
    uint32_t *busy; /* steps that are running or waiting */
    uint32_t busy_count;
    uint32_t ended;
    int64_t start_us, printed_us;
    bool has_status_line;  /* the status line is on the screen */
    uint32_t message_step; /* step that sent the last message */
    char message_text[MESSAGE_MAX];
    uint32_t message_len; /* 0: no message */
    int64_t message_us;   /* time when a plain view printed it */
};

bool progress_mode_from_name(Str name, bool can_redraw, ProgressMode *out)
{
    static const struct {
        const char *name;
        ProgressMode mode;
    } rows[] = {
        { "tty", PROGRESS_TTY },
        { "plain", PROGRESS_PLAIN },
        { "json", PROGRESS_JSON },
        { "none", PROGRESS_NONE },
    };
    if (str_eq_c(name, "auto")) {
        *out = can_redraw ? PROGRESS_TTY : PROGRESS_PLAIN;
        return true;
    }
    for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
        if (str_eq_c(name, rows[i].name)) {
            *out = rows[i].mode;
            return true;
        }
    }
    return false;
}

RunProgress *run_progress_new(Arena *arena, Stream *stream, ProgressMode mode, const Run *run)
{
    const Steps *steps = run_steps(run);
    RunProgress *progress = ARENA_NEW(arena, RunProgress);
    progress->run = run;
    progress->stream = stream;
    progress->mode = mode;
    progress->steps = steps;
    if (mode != PROGRESS_NONE) {
        progress->by_step = arena_alloc_zero(arena, (steps->count + 1) * sizeof(StepProgress));
        progress->busy = ARENA_ARRAY(arena, uint32_t, steps->count + 1);
    }
    progress->start_us = progress->printed_us = clock_monotonic_us();
    return progress;
}

static double seconds(int64_t us)
{
    return (double)us / 1e6;
}

static void wipe_line(RunProgress *progress)
{
    if (progress->has_status_line) {
        stream_put(progress->stream, STR("\r\033[K"));
        progress->has_status_line = false;
    }
}

/* Prints a line with the step's name. */
static void put_step(RunProgress *progress, uint32_t step, const char *what, Str why)
{
    Buf text = buf_make(BUF_UNLIMITED);
    visible_put(&text, progress->steps->items[step].id);
    if (why.len > 0) {
        buf_put(&text, STR(": "));
        visible_put(&text, why);
    }
    wipe_line(progress);
    stream_put_format(progress->stream, "%7.1f s  %-8s %" STR_FMT "\n",
                      seconds(clock_monotonic_us() - progress->start_us), what,
                      STR_ARG(buf_str(&text)));
    stream_flush(progress->stream);
    buf_clear(&text);
    progress->printed_us = clock_monotonic_us();
}

static void put_json(RunProgress *progress, uint32_t step, const char *event, Str result, Str why)
{
    Buf text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "{\"format\":\"eden.progress/1\",\"event\":\"%s\",\"step\":", event);
    json_text_put(&text, progress->steps->items[step].id);
    if (result.len > 0) {
        buf_put(&text, STR(",\"result\":"));
        json_text_put(&text, result);
    }
    if (why.len > 0) {
        buf_put(&text, STR(",\"reason\":"));
        json_text_put(&text, why);
    }
    buf_put_format(&text, ",\"ms\":%lld}\n",
                   (long long)(clock_monotonic_us() - progress->start_us) / 1000);
    stream_put(progress->stream, buf_str(&text));
    stream_flush(progress->stream);
    buf_clear(&text);
}

static void set_activity(RunProgress *progress, uint32_t step, Activity activity)
{
    StepProgress *state = &progress->by_step[step];
    bool was_busy = state->activity == ACTIVITY_RUNNING || state->activity == ACTIVITY_WAITING;
    bool busy = activity == ACTIVITY_RUNNING || activity == ACTIVITY_WAITING;
    if (busy && !was_busy) {
        state->busy_index = progress->busy_count;
        progress->busy[progress->busy_count++] = step;
    } else if (was_busy && !busy) {
        uint32_t last = progress->busy[--progress->busy_count];
        progress->busy[state->busy_index] = last;
        progress->by_step[last].busy_index = state->busy_index;
    }
    state->activity = activity;
    if (busy) {
        state->since_us = clock_monotonic_us();
    }
}

static void started(void *context, uint32_t step, WorkPhase phase)
{
    RunProgress *progress = context;
    set_activity(progress, step, ACTIVITY_RUNNING);
    if (progress->mode == PROGRESS_JSON) {
        put_json(progress, step, phase == PHASE_CHECK ? "check" : "start", STR_EMPTY, STR_EMPTY);
    }
}

static void waits(void *context, uint32_t step, Str why, int64_t until_us)
{
    RunProgress *progress = context;
    StepProgress *state = &progress->by_step[step];
    bool is_new = !str_eq(state->wait_reason, why);
    if (state->activity == ACTIVITY_ENDED) {
        return; /* a message of a step that has ended */
    }
    if (why.len == 0) {
        state->wait_reason = STR_EMPTY;
        set_activity(progress, step, ACTIVITY_RUNNING);
        return;
    }
    set_activity(progress, step, ACTIVITY_WAITING);
    state->wait_reason = why;
    state->until_us = until_us;
    if (progress->mode == PROGRESS_JSON) {
        put_json(progress, step, "wait", STR_EMPTY, why);
    } else if (progress->mode == PROGRESS_PLAIN && is_new) {
        put_step(progress, step, "waits", why);
    }
}

/* Returns the last message, if it is from this step. */
static Str message_of(const RunProgress *progress, uint32_t step)
{
    return progress->message_len > 0 && progress->message_step == step
               ? str_from(progress->message_text, progress->message_len)
               : STR_EMPTY;
}

/* A plain view may be a log, so it prints the first message of a step and only some of the
 * others. */
static void show_message(void *context, uint32_t step, Str message)
{
    RunProgress *progress = context;
    int64_t now = clock_monotonic_us();
    bool is_new = message_of(progress, step).len == 0 || now - progress->message_us >= KEEPALIVE_US;
    if (progress->by_step[step].activity != ACTIVITY_RUNNING) {
        return;
    }
    if (progress->mode == PROGRESS_JSON) {
        put_json(progress, step, "progress", STR_EMPTY, message);
    } else if (progress->mode == PROGRESS_PLAIN && is_new) {
        put_step(progress, step, "runs", message);
        progress->message_us = now;
    }
    message = str_slice(message, 0, MESSAGE_MAX);
    progress->message_step = step;
    progress->message_len = (uint32_t)message.len;
    memcpy(progress->message_text, message.data, message.len);
}

static const char *result_word(const RunProgress *progress, StepResult result)
{
    bool planning = run_config(progress->run)->planning;
    return planning && result == RESULT_CHANGED  ? "would change"
           : planning && result == RESULT_FAILED ? "would fail"
                                                 : step_result_name(result);
}

static void ended(void *context, uint32_t step, WorkPhase phase)
{
    RunProgress *progress = context;
    set_activity(progress, step, ACTIVITY_ENDED);
    progress->message_len = progress->message_step == step ? 0 : progress->message_len;
    if (phase == PHASE_CHECK) {
        return;
    }
    progress->ended += phase == PHASE_RUN;
    const StepReport *report = &run_reports(progress->run)[step];
    StepResult result = report->status.result;
    Str why = report->error != NULL ? report->error->message : report->reason;
    if (progress->mode == PROGRESS_JSON) {
        put_json(progress, step, "end", str_from_c(step_result_name(result)), why);
    } else if (result == RESULT_FAILED ||
               (progress->mode == PROGRESS_PLAIN && result == RESULT_CHANGED)) {
        put_step(progress, step, result_word(progress, result), why);
    }
}

/* Truncates the text to one line, because a wrapped line cannot be overwritten. The last column
 * stays free, since some terminals wrap there. */
static void put_truncated(Stream *stream, Str text)
{
    unsigned columns = stream_columns(stream), used = 1;
    for (size_t at = 0; at < text.len;) {
        VisiblePiece piece = visible_next(text, &at);
        used += piece.width;
        if (used > columns) {
            return;
        }
        stream_put(stream, str_from(piece.text, piece.bytes));
    }
}

/* Prints "stopping after web#slow; Ctrl-C again kills it". */
static void interrupted(void *context, bool again)
{
    RunProgress *progress = context;
    if (progress->mode == PROGRESS_JSON) {
        stream_put_format(progress->stream,
                          "{\"format\":\"eden.progress/1\",\"event\":\"%s\",\"ms\":%lld}\n",
                          again ? "cancel" : "interrupt",
                          (long long)(clock_monotonic_us() - progress->start_us) / 1000);
        stream_flush(progress->stream);
        return;
    }
    Buf names = buf_make(BUF_UNLIMITED);
    uint32_t count = 0;
    for (uint32_t i = 0; i < progress->busy_count; i++) {
        if (progress->by_step[progress->busy[i]].activity == ACTIVITY_RUNNING &&
            count++ < STEPS_SHOWN) {
            buf_put(&names, count == 1 ? STR_EMPTY : STR(", "));
            visible_put(&names, progress->steps->items[progress->busy[i]].id);
        }
    }
    if (count > STEPS_SHOWN) {
        buf_put_format(&names, " and %u more", count - STEPS_SHOWN);
    }
    wipe_line(progress);
    if (count == 0) {
        buf_put(&names, STR("nothing"));
    }
    stream_put_format(progress->stream,
                      again ? "killing %" STR_FMT "\n" : "stopping after %" STR_FMT,
                      STR_ARG(buf_str(&names)));
    if (!again) {
        stream_put(progress->stream,
                   count == 0 ? STR("\n") : STR("; press Ctrl-C again to kill it\n"));
    }
    stream_flush(progress->stream);
    buf_clear(&names);
}

/* Names the first busy steps; sorting them by duration is not worth it. */
static void put_line(RunProgress *progress)
{
    int64_t now = clock_monotonic_us();
    Buf text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%u/%u  %.0f s", progress->ended, progress->steps->count,
                   seconds(now - progress->start_us));
    for (uint32_t i = 0; i < progress->busy_count && i < STEPS_SHOWN; i++) {
        const StepProgress *state = &progress->by_step[progress->busy[i]];
        buf_put(&text, i == 0 ? STR("  ") : STR(", "));
        buf_put(&text, progress->steps->items[progress->busy[i]].id);
        if (state->activity == ACTIVITY_WAITING && state->until_us == 0) {
            buf_put(&text, STR(" waits: "));
            visible_put(&text, state->wait_reason);
        } else if (state->activity == ACTIVITY_WAITING) {
            buf_put_format(&text, " is waiting, next attempt in %.0f s",
                           seconds(state->until_us > now ? state->until_us - now : 0));
        } else {
            Str message = message_of(progress, progress->busy[i]);
            buf_put_format(&text, " %.0f s%s", seconds(now - state->since_us),
                           message.len > 0 ? ": " : "");
            visible_put(&text, message);
        }
    }
    if (progress->busy_count > STEPS_SHOWN) {
        buf_put_format(&text, " and %u more", progress->busy_count - STEPS_SHOWN);
    }
    stream_put(progress->stream, STR("\r"));
    put_truncated(progress->stream, buf_str(&text));
    stream_put(progress->stream, STR("\033[K"));
    stream_flush(progress->stream);
    buf_clear(&text);
    progress->has_status_line = true;
}

static void tick(void *context)
{
    RunProgress *progress = context;
    int64_t now = clock_monotonic_us();
    if (progress->mode == PROGRESS_TTY) {
        put_line(progress);
    } else if (progress->mode == PROGRESS_PLAIN && now - progress->printed_us >= KEEPALIVE_US &&
               progress->busy_count > 0) {
        const StepProgress *state = &progress->by_step[progress->busy[0]];
        bool waits = state->activity == ACTIVITY_WAITING;
        put_step(progress, progress->busy[0], waits ? "waits" : "runs",
                 waits ? state->wait_reason : message_of(progress, progress->busy[0]));
    }
}

RunView run_progress_view(RunProgress *progress)
{
    if (progress->mode == PROGRESS_NONE) {
        return (RunView){ 0 };
    }
    return (RunView){ .context = progress,
                      .started = started,
                      .waits = waits,
                      .progress = show_message,
                      .ended = ended,
                      .interrupted = interrupted,
                      .tick = tick };
}

void run_progress_end(RunProgress *progress)
{
    wipe_line(progress);
    stream_flush(progress->stream);
}
