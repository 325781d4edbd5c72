/* Reproducible random choices: the seed comes from the settings or from the template. */
#include "base/hash.h"
#include "lang/template/filter.h"

/* Draws from a seed in the template, or from the render's generator if there is none. */
typedef struct RandomSource {
    Render *r;
    bool seeded;
    uint64_t state;
} RandomSource;

static bool random_source_make(Render *r, const Args *args, uint32_t index, RandomSource *out)
{
    *out = (RandomSource){ .r = r, .seeded = arg_not_none(args, index) };
    Str seed;
    if (out->seeded) {
        if (!op_text(r, args->values[index], &seed)) {
            return false;
        }
        /* Not hash.h: the same seed must draw the same values on every machine. */
        out->state = 0xcbf29ce484222325u;
        for (size_t i = 0; i < seed.len; i++) {
            out->state = (out->state ^ (unsigned char)seed.data[i]) * 0x100000001b3u;
        }
    }
    return true;
}

/* Uses splitmix64 if the template provides the seed. */
static uint64_t random_source_draw(RandomSource *source, uint64_t bound)
{
    if (!source->seeded) {
        return render_random(source->r, bound);
    }
    uint64_t z = source->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % bound;
}

static bool random_number(Render *r, const Args *args, RandomSource *source, Value *out)
{
    int64_t end = args->values[0].integer, start, step;
    if (!arg_int(r, args, 1, 0, &start) || !arg_int(r, args, 2, 1, &step)) {
        return false;
    }
    if (step == 0 || (step > 0 ? start >= end : start <= end)) {
        return render_raise(r, FAULT_VALUE, "empty range for random (%lld, %lld, %lld)",
                            (long long)start, (long long)end, (long long)step);
    }
    uint64_t size = step > 0 ? (uint64_t)end - (uint64_t)start : (uint64_t)start - (uint64_t)end;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    uint64_t choice = random_source_draw(source, (size - 1) / stride + 1);
    *out = value_int((int64_t)((uint64_t)start + choice * (uint64_t)step));
    return true;
}

static bool filter_random(Render *r, const Args *args, Value *out)
{
    Value v = args->values[0];
    RandomSource source;
    int64_t length;
    if (!random_source_make(r, args, 3, &source)) {
        return false;
    }
    if (v.kind == VALUE_INT) {
        return random_number(r, args, &source, out);
    }
    if (!op_length(r, v, &length)) {
        return false;
    }
    if (length == 0) {
        *out = undefined_hint(r, "No random item, sequence was empty.");
        return true;
    }
    return op_get_item(r, v, value_int((int64_t)random_source_draw(&source, (uint64_t)length)),
                       out);
}

static bool filter_shuffle(Render *r, const Args *args, Value *out)
{
    RandomSource source;
    List *items;
    if (!random_source_make(r, args, 1, &source) || !iter_collect(r, args->values[0], &items)) {
        return false;
    }
    for (uint32_t i = items->len; i > 1; i--) {
        uint32_t other = (uint32_t)random_source_draw(&source, i);
        Value item = items->items[i - 1];
        items->items[i - 1] = items->items[other];
        items->items[other] = item;
    }
    *out = value_list(items);
    return true;
}

const Native filters_random[] = {
    { .name = "random",
      .call = filter_random,
      .params = { { "value" }, { "start", "0" }, { "step", "1" }, { "seed", "none" } },
      .flags = NATIVE_JINJA | NATIVE_PASS_THROUGH,
      .help =
          "Returns a random item from a sequence, or a number from `start` up to, but excluding, "
          "the value.",
      .example = "{{ [7] | random }} {{ 60 | random(seed='web-01') < 60 }}",
      .output = "7 True" },
    { .name = "shuffle",
      .call = filter_shuffle,
      .params = { { "value" }, { "seed", "none" } },
      .flags = NATIVE_PASS_THROUGH,
      .help = "Shuffles the items; a seed makes the order reproducible.",
      .example = "{{ [1, 2, 3] | shuffle(seed='web-01') | sort }}",
      .output = "[1, 2, 3]" },
    { 0 },
};
