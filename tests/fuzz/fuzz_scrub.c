/* Input: secrets, one per line up to an empty line, and a text. Invariants: the scrubber removes
 * everything that a plain search finds, and no other literal text; no spelling of a secret
 * survives; a truncated text ends with fewer than SCRUB_LENGTH_MIN bytes of a secret. */
#include "base/bug.h"
#include "base/utf8.h"
#include "lang/scrub.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    SECRETS_MAX = 8,
    SECRET_MAX = 64 /* bytes */
};

typedef struct World {
    Arena arena;
    Str secrets[SECRETS_MAX];
    uint32_t count;
    bool is_ascii; /* all of them */
    Scrubber *scrubber;
} World;

static Str folded(World *world, Str text)
{
    char *copy = arena_alloc(&world->arena, text.len + 1);
    for (size_t i = 0; i < text.len; i++) {
        copy[i] = ascii_lower(text.data[i]);
    }
    return str_from(copy, text.len);
}

static Str scrubbed(World *world, Str text, bool cut)
{
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    (cut ? scrubber_apply_cut : scrubber_apply)(world->scrubber, text, &out);
    return buf_str(&out);
}

/* Not with a format: secrets may contain NUL. */
static Str joined(World *world, const char *before, Str text, const char *behind)
{
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    buf_put_c(&out, before);
    buf_put(&out, text);
    buf_put_c(&out, behind);
    return buf_str(&out);
}

/* Length of the longest secret in it, by the simplest possible search. */
static size_t longest(World *world, Str text)
{
    size_t found = 0;
    Str low = folded(world, text);
    for (uint32_t i = 0; i < world->count; i++) {
        Str secret = folded(world, world->secrets[i]);
        if (secret.len > found && str_find(low, secret, 0) != STR_NOT_FOUND) {
            found = secret.len;
        }
    }
    return found;
}

static void put_base64(Buf *out, Str data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < data.len; i += 3) {
        unsigned char bytes[3] = { 0 };
        memcpy(bytes, data.data + i, data.len - i < 3 ? data.len - i : 3);
        uint32_t word = (uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 8 | bytes[2];
        for (size_t j = 0; j < 4; j++) {
            buf_put_char(out, j <= data.len - i ? digits[word >> (18 - 6 * j) & 63] : '=');
        }
    }
}

static void put_base32(Buf *out, Str data)
{
    for (size_t bit = 0; bit < data.len * 8; bit += 5) {
        unsigned value = 0;
        for (size_t i = bit; i < bit + 5; i++) {
            unsigned byte = i / 8 < data.len ? (unsigned char)data.data[i / 8] : 0;
            value = value << 1 | (byte >> (7 - i % 8) & 1);
        }
        buf_put_char(out, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[value]);
    }
}

typedef enum Spelling {
    SPELLED_BASE64,
    SPELLED_BASE64_LATER, /* one byte into longer data */
    SPELLED_HEX,
    SPELLED_PERCENT,
    SPELLED_JSON,
    SPELLED_OCTAL,
    SPELLED_ENTITY,
    SPELLED_LINES,
    SPELLED_HEX_LIST,
    SPELLED_DECIMAL_LIST,
    SPELLED_OCTAL_LIST,
    SPELLED_MAIL,
    SPELLED_CHARACTERS,
    SPELLED_QUOTED, /* a list of characters */
    SPELLED_DUMP,
    SPELLED_BASE32,
    SPELLINGS
} Spelling;

static Str any_spelling(World *world, Str secret, Spelling spelling)
{
    Buf out = buf_make_in(&world->arena, BUF_UNLIMITED);
    if (spelling == SPELLED_BASE64) {
        put_base64(&out, secret);
    } else if (spelling == SPELLED_BASE64_LATER) {
        put_base64(&out, joined(world, "~", secret, ""));
    } else if (spelling == SPELLED_BASE32) {
        put_base32(&out, secret);
    }
    for (size_t i = 0; i < secret.len; i++) {
        unsigned byte = (unsigned char)secret.data[i];
        switch (spelling) {
        case SPELLED_HEX: buf_put_format(&out, "%02x", byte); break;
        case SPELLED_PERCENT: buf_put_format(&out, "%%%02X", byte); break;
        case SPELLED_JSON: buf_put_format(&out, byte < 0x80 ? "\\u%04x" : "\\x%02x", byte); break;
        case SPELLED_OCTAL: buf_put_format(&out, "\\%03o", byte); break;
        case SPELLED_ENTITY:
            if (byte < 0x80) {
                buf_put_format(&out, "&#%u;", byte);
            } else {
                buf_put_char(&out, (char)byte);
            }
            break;
        case SPELLED_LINES:
            buf_put_char(&out, (char)byte);
            buf_put_c(&out, i % 3 == 2 ? "\n  " : "");
            break;
        case SPELLED_HEX_LIST: buf_put_format(&out, "0x%02x, ", byte); break;
        case SPELLED_DECIMAL_LIST: buf_put_format(&out, "%u, ", byte); break;
        case SPELLED_OCTAL_LIST: buf_put_format(&out, "%03o ", byte); break;
        case SPELLED_MAIL: buf_put_format(&out, "=%02X", byte); break;
        case SPELLED_CHARACTERS:
            buf_put_char(&out, (char)byte);
            buf_put_c(&out, "\n");
            break;
        case SPELLED_QUOTED:
            buf_put_c(&out, "'");
            buf_put_char(&out, (char)byte);
            buf_put_c(&out, "', ");
            break;
        case SPELLED_DUMP:
            if (i % 16 == 0) {
                buf_put_format(&out, "\n%08zx ", i);
            }
            buf_put_format(&out, " %02x", byte);
            buf_put_c(&out, i % 16 == 15 || i + 1 == secret.len ? "  |text|" : "");
            break;
        default: break;
        }
    }
    return buf_str(&out);
}

/* Whether enough remains without blanks, or with only letters and digits. */
static bool is_kept(Str secret, bool marks)
{
    size_t kept = 0;
    for (size_t i = 0; i < secret.len; i++) {
        unsigned char byte = (unsigned char)secret.data[i];
        bool word =
            byte >= 0x80 || ascii_is_alpha(secret.data[i]) || ascii_is_digit(secret.data[i]);
        kept += word || (marks && byte > ' ' && byte != 0x7f);
    }
    return kept >= SCRUB_LENGTH_MIN;
}

static bool is_expected(Str secret, Spelling spelling)
{
    switch (spelling) {
    case SPELLED_LINES: /* terminal escape sequences are skipped */
        return is_kept(secret, true) && str_find(secret, STR("\033["), 0) == STR_NOT_FOUND;
    case SPELLED_CHARACTERS: return is_kept(secret, true);
    case SPELLED_QUOTED: return is_kept(secret, false);
    default: return true;
    }
}

static void check_respelled(void *context, Str part)
{
    World *world = context;
    BUG_IF(part.len < SCRUB_LENGTH_MIN);
    BUG_IF(str_find(scrubbed(world, part, false), STR(SCRUB_MARK), 0) == STR_NOT_FOUND);
}

static void check_spelling(World *world, Str secret, Spelling spelling)
{
    if (!is_expected(secret, spelling)) {
        return;
    }
    Str text = joined(world, "<", any_spelling(world, secret, spelling), ">");
    Str clean = scrubbed(world, text, false);
    BUG_IF(str_find(clean, STR(SCRUB_MARK), 0) == STR_NOT_FOUND);
    BUG_IF(scrubber_find(world->scrubber, text, check_respelled, world).any_spelling <
           SCRUB_LENGTH_MIN);
    for (size_t cut = 0; cut < text.len; cut += 1 + text.len / 16) {
        (void)scrubbed(world, str_slice(text, 0, cut), true);
    }
}

static void check_cut(World *world, Str secret)
{
    for (size_t len = SCRUB_LENGTH_MIN; len < secret.len; len++) {
        Str text = joined(world, "<", str_slice(secret, 0, len), "");
        BUG_IF(!str_ends(scrubbed(world, text, true), STR(SCRUB_MARK)));
    }
}

static void read_secrets(World *world, Str *rest)
{
    Str line;
    SecretSet set;
    Error err;
    secret_set_init(&set, &world->arena);
    while (str_split_next(rest, '\n', &line) && line.len > 0) {
        if (world->count < SECRETS_MAX && line.len >= SCRUB_LENGTH_MIN && line.len <= SECRET_MAX) {
            world->secrets[world->count++] = line;
            world->is_ascii = world->is_ascii && utf8_is_ascii(line);
            secret_set_add(&set, line);
        }
    }
    BUG_IF(!scrubber_new(&set, &world->scrubber, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    World world = { .is_ascii = true };
    arena_init(&world.arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    read_secrets(&world, &text);
    ScrubberMatch found = scrubber_find(world.scrubber, text, check_respelled, &world);
    Str clean = scrubbed(&world, text, false);
    /* Letters beyond ASCII also match in the other case, which the simple search does not
     * handle. */
    BUG_IF(found.verbatim < longest(&world, text));
    BUG_IF(world.is_ascii && found.verbatim != longest(&world, text));
    BUG_IF(found.any_spelling < found.verbatim);
    BUG_IF(found.any_spelling == 0 && !str_eq(clean, text));
    BUG_IF(found.any_spelling > 0 && str_find(clean, STR(SCRUB_MARK), 0) == STR_NOT_FOUND);
    (void)scrubbed(&world, text, true);
    for (uint32_t i = 0; i < world.count; i++) {
        for (int spelling = 0; spelling < SPELLINGS; spelling++) {
            check_spelling(&world, world.secrets[i], (Spelling)spelling);
        }
        check_cut(&world, world.secrets[i]);
    }
    scrubber_free(world.scrubber);
    arena_clear(&world.arena);
    return 0;
}
