#include "cli/run_progress.h"

#include "base/json_out.h"
#include "base/visible.h"
#include "sys/clock.h"

enum {
    ALIVE_US = 10000000, /* interval of keepalive lines in a plain view */
    NAMED = 3,           /* steps named on the terminal's status line */
    SAID_MAX = 240       /* in bytes, of a step's message */
};

typedef enum Standing {
    STANDING_IDLE,
    STANDING_RUNS,
    STANDING_WAITS,
    STANDING_ENDED,
} Standing;

typedef struct Seen {
    Standing standing;
    int64_t since_us;
    int64_t until_us; /* time of the next evaluation of a wait */
    Str why;
    uint32_t place; /* index in `busy` while it runs or waits */
} Seen;

struct RunProgress {
    Stream *stream;
    ProgressMode mode;
    const Steps *steps;
    const Run *run;
    Seen *seen;
    uint32_t *busy; /* steps that run or wait */
    uint32_t busy_count;
    uint32_t ended;
    int64_t start_us, told_us;
    bool line;        /* the status line is on the screen */
    uint32_t said_by; /* step that sent the last message */
    char said[SAID_MAX];
    uint32_t said_len; /* 0: no message */
    int64_t said_us;   /* time when a plain view printed it */
};

bool progress_mode_from_name(Str name, bool moving, ProgressMode *out)
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
        *out = moving ? PROGRESS_TTY : PROGRESS_PLAIN;
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
        progress->seen = arena_alloc_zero(arena, (steps->count + 1) * sizeof(Seen));
        progress->busy = ARENA_ARRAY(arena, uint32_t, steps->count + 1);
    }
    progress->start_us = progress->told_us = clock_monotonic_us();
    return progress;
}

static double seconds(int64_t us)
{
    return (double)us / 1e6;
}

static void wipe_line(RunProgress *progress)
{
    if (progress->line) {
        stream_put(progress->stream, STR("\r\033[K"));
        progress->line = false;
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
    progress->told_us = clock_monotonic_us();
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

static void set_standing(RunProgress *progress, uint32_t step, Standing standing)
{
    Seen *seen = &progress->seen[step];
    bool was_busy = seen->standing == STANDING_RUNS || seen->standing == STANDING_WAITS;
    bool busy = standing == STANDING_RUNS || standing == STANDING_WAITS;
    if (busy && !was_busy) {
        seen->place = progress->busy_count;
        progress->busy[progress->busy_count++] = step;
    } else if (was_busy && !busy) {
        uint32_t last = progress->busy[--progress->busy_count];
        progress->busy[seen->place] = last;
        progress->seen[last].place = seen->place;
    }
    seen->standing = standing;
    if (busy) {
        seen->since_us = clock_monotonic_us();
    }
}

static void started(void *context, uint32_t step, WorkPhase phase)
{
    RunProgress *progress = context;
    set_standing(progress, step, STANDING_RUNS);
    if (progress->mode == PROGRESS_JSON) {
        put_json(progress, step, phase == PHASE_CHECK ? "check" : "start", STR_EMPTY, STR_EMPTY);
    }
}

static void waits(void *context, uint32_t step, Str why, int64_t until_us)
{
    RunProgress *progress = context;
    Seen *seen = &progress->seen[step];
    bool news = !str_eq(seen->why, why);
    if (seen->standing == STANDING_ENDED) {
        return; /* printed just before */
    }
    if (why.len == 0) {
        seen->why = STR_EMPTY;
        set_standing(progress, step, STANDING_RUNS);
        return;
    }
    set_standing(progress, step, STANDING_WAITS);
    seen->why = why;
    seen->until_us = until_us;
    if (progress->mode == PROGRESS_JSON) {
        put_json(progress, step, "wait", STR_EMPTY, why);
    } else if (progress->mode == PROGRESS_PLAIN && news) {
        put_step(progress, step, "waits", why);
    }
}

/* The last message, if it is from this step. */
static Str said_by(const RunProgress *progress, uint32_t step)
{
    return progress->said_len > 0 && progress->said_by == step
               ? str_from(progress->said, progress->said_len)
               : STR_EMPTY;
}

/* A plain view, which may be a log, prints the first message of a step and then only some of
 * them. */
static void says(void *context, uint32_t step, Str words)
{
    RunProgress *progress = context;
    int64_t now = clock_monotonic_us();
    bool news = said_by(progress, step).len == 0 || now - progress->said_us >= ALIVE_US;
    if (progress->seen[step].standing != STANDING_RUNS) {
        return;
    }
    if (progress->mode == PROGRESS_JSON) {
        put_json(progress, step, "progress", STR_EMPTY, words);
    } else if (progress->mode == PROGRESS_PLAIN && news) {
        put_step(progress, step, "runs", words);
        progress->said_us = now;
    }
    words = str_slice(words, 0, SAID_MAX);
    progress->said_by = step;
    progress->said_len = (uint32_t)words.len;
    memcpy(progress->said, words.data, words.len);
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
    set_standing(progress, step, STANDING_ENDED);
    progress->said_len = progress->said_by == step ? 0 : progress->said_len;
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

/* Truncates to one line: a line that the terminal wraps cannot be overwritten. The last column
 * stays free, since some terminals wrap there. */
static void put_cut(Stream *stream, Str text)
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
        if (progress->seen[progress->busy[i]].standing == STANDING_RUNS && count++ < NAMED) {
            buf_put(&names, count == 1 ? STR_EMPTY : STR(", "));
            visible_put(&names, progress->steps->items[progress->busy[i]].id);
        }
    }
    if (count > NAMED) {
        buf_put_format(&names, " and %u more", count - NAMED);
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

/* Names the first ones: sorting by run time is not worth it. */
static void put_line(RunProgress *progress)
{
    int64_t now = clock_monotonic_us();
    Buf text = buf_make(BUF_UNLIMITED);
    buf_put_format(&text, "%u/%u  %.0f s", progress->ended, progress->steps->count,
                   seconds(now - progress->start_us));
    for (uint32_t i = 0; i < progress->busy_count && i < NAMED; i++) {
        const Seen *seen = &progress->seen[progress->busy[i]];
        buf_put(&text, i == 0 ? STR("  ") : STR(", "));
        buf_put(&text, progress->steps->items[progress->busy[i]].id);
        if (seen->standing == STANDING_WAITS && seen->until_us == 0) {
            buf_put(&text, STR(" waits: "));
            visible_put(&text, seen->why);
        } else if (seen->standing == STANDING_WAITS) {
            buf_put_format(&text, " waits, next attempt in %.0f s",
                           seconds(seen->until_us > now ? seen->until_us - now : 0));
        } else {
            Str said = said_by(progress, progress->busy[i]);
            buf_put_format(&text, " %.0f s%s", seconds(now - seen->since_us),
                           said.len > 0 ? ": " : "");
            visible_put(&text, said);
        }
    }
    if (progress->busy_count > NAMED) {
        buf_put_format(&text, " and %u more", progress->busy_count - NAMED);
    }
    stream_put(progress->stream, STR("\r"));
    put_cut(progress->stream, buf_str(&text));
    stream_put(progress->stream, STR("\033[K"));
    stream_flush(progress->stream);
    buf_clear(&text);
    progress->line = true;
}

static void tick(void *context)
{
    RunProgress *progress = context;
    int64_t now = clock_monotonic_us();
    if (progress->mode == PROGRESS_TTY) {
        put_line(progress);
    } else if (progress->mode == PROGRESS_PLAIN && now - progress->told_us >= ALIVE_US &&
               progress->busy_count > 0) {
        const Seen *seen = &progress->seen[progress->busy[0]];
        bool waits = seen->standing == STANDING_WAITS;
        put_step(progress, progress->busy[0], waits ? "waits" : "runs",
                 waits ? seen->why : said_by(progress, progress->busy[0]));
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
                      .progress = says,
                      .ended = ended,
                      .interrupted = interrupted,
                      .tick = tick };
}

void run_progress_end(RunProgress *progress)
{
    wipe_line(progress);
    stream_flush(progress->stream);
}
