/* Any bytes as what an administrator writes about a repository: its address, host keys, signers;
 * and as what git prints about it. Nothing in a host or user is special to a shell, a line of a
 * file or an option. */
#include "base/bug.h"
#include "lang/json.h"
#include "source/git_access.h"
#include "source/git_default_branch.h"
#include "source/git_proposal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(Str text)
{
    for (size_t i = 0; i < text.len; i++) {
        BUG_IF(strchr(" '\"`$\\;&|<>()\n@/", text.data[i]) != NULL);
    }
    BUG_IF(text.len > 0 && text.data[0] == '-');
}

static void check_url(Arena *arena, Str text)
{
    GitUrl url, again;
    Error err = { 0 };
    if (!git_url_parse(text, &url, &err)) {
        BUG_IF(err.kind != ERROR_INVALID);
        return;
    }
    check_words(url.host);
    check_words(url.user);
    if (url.transport != GIT_LOCAL) {
        BUG_IF(url.host.len == 0 || url.port == 0);
        BUG_IF(!git_url_parse(git_url_origin(arena, &url), &again, &err));
        BUG_IF(again.port != url.port || again.transport != url.transport);
        BUG_IF(!str_eq(git_url_origin(arena, &url), git_url_origin(arena, &again)));
    }
}

static void check_spec(Arena *arena, Str text)
{
    GitSource source;
    Value spec;
    const char *field;
    Error err = { 0 };
    if (!json_parse_text(arena, text, NULL, &spec, &err) || spec.kind != VALUE_MAP ||
        !git_source_read(arena, STR("site"), spec, &source, &err)) {
        return;
    }
    if (!git_source_check(&source, &field, &err)) {
        BUG_IF(field == NULL || err.kind != ERROR_INVALID);
    }
}

static void check_output(Arena *arena, Str text)
{
    static const GitCredentials credentials = { .token = { "ghp_0123456789", 14 } };
    Error err = { 0 };
    BUG_IF(git_access_check_signature(text, &err) && !str_starts(text, STR("G")));
    Str reason = git_access_reason(arena, text);
    BUG_IF(memchr(reason.data, '\n', reason.len) != NULL);
    error_set(&err, ERROR_OS, "%" STR_FMT, STR_ARG(reason));
    git_access_scrub(&credentials, &err);
    BUG_IF(strstr(err.text, "ghp_0123456789") != NULL);
    Str branch;
    BUG_IF(git_default_branch(arena, text, &branch, &err) && !git_branch_check(branch, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_CLEAR(Arena) arena;
    arena_init(&arena, ARENA_UNLIMITED);
    Str text = str_from((const char *)data, size);
    check_url(&arena, text);
    check_spec(&arena, text);
    check_output(&arena, text);
    return 0;
}
