/* Parses URLs of repositories strictly: parts become arguments of ssh and lines of git's
 * configuration, so no part may look like an option or contain a newline. */
#include "source/git_url.h"

#include <string.h>

#include "base/ascii_case.h"
#include "base/utf8.h"

enum {
    HOST_MAX = 255,
    USER_MAX = 100,
    PORT_HTTPS = 443,
    PORT_SSH = 22,
};

static bool is_host(Str host, bool is_bracketed)
{
    bool ok = host.len > 0 && host.len <= HOST_MAX && host.data[0] != '-';
    for (size_t i = 0; ok && i < host.len; i++) {
        char c = host.data[i];
        ok = ascii_is_alpha(c) || ascii_is_digit(c) ||
             strchr(is_bracketed ? ".:" : ".-_", c) != NULL;
    }
    return ok;
}

/* The text becomes an argument of ssh and a line of git's configuration. */
static bool is_user(Str user)
{
    bool ok = user.len > 0 && user.len <= USER_MAX && user.data[0] != '-';
    for (size_t i = 0; ok && i < user.len; i++) {
        char c = user.data[i];
        ok = ascii_is_alpha(c) || ascii_is_digit(c) || strchr("._-+", c) != NULL;
    }
    return ok;
}

static bool parse_port(Str text, uint16_t *out)
{
    int64_t port;
    if (!str_to_i64(text, &port) || port < 1 || port > UINT16_MAX) {
        return false;
    }
    *out = (uint16_t)port;
    return true;
}

/* "host", "host:22" or "[::1]:22"; `port` is unchanged if the text contains none. */
static bool parse_host(Str text, Str *host, uint16_t *port)
{
    bool is_bracketed = str_starts(text, STR("["));
    size_t end = str_find(text, is_bracketed ? STR("]") : STR(":"), 0);
    *host = str_slice(text, is_bracketed, end);
    Str rest = end == STR_NOT_FOUND ? STR_EMPTY : str_from_offset(text, end + is_bracketed);
    return (!is_bracketed || end != STR_NOT_FOUND) && is_host(*host, is_bracketed) &&
           (rest.len == 0 || (rest.data[0] == ':' && parse_port(str_from_offset(rest, 1), port)));
}

/* The part before the path: "user@host:port". */
static bool parse_authority(Str text, GitUrl *out, Error *err)
{
    size_t at = str_find(text, STR("@"), 0);
    Str host = at == STR_NOT_FOUND ? text : str_from_offset(text, at + 1);
    out->user = at == STR_NOT_FOUND ? STR_EMPTY : str_slice(text, 0, at);
    if (str_find(out->user, STR(":"), 0) != STR_NOT_FOUND) {
        return error_set(
            err, ERROR_INVALID,
            "must not contain a password: everyone who can list sources could read it");
    }
    return ((at == STR_NOT_FOUND || is_user(out->user)) &&
            parse_host(host, &out->host, &out->port)) ||
           error_set(err, ERROR_INVALID,
                     "must have a host as in https://git.example.net/site.git, "
                     "and no special characters in user and host");
}

/* "host:path" or "user@host:path", as git understands it: no slash before the first colon. */
static bool is_scp_address(Str url, size_t *colon)
{
    size_t slash = str_find(url, STR("/"), 0), bracket = str_find(url, STR("]"), 0);
    bool is_bracketed = str_find(url, STR("["), 0) < slash && bracket < slash;
    *colon = str_find(url, STR(":"), is_bracketed ? bracket : 0);
    return *colon != STR_NOT_FOUND && *colon > 0 && *colon + 1 < url.len && *colon < slash &&
           !str_starts(str_from_offset(url, *colon), STR("::")) &&
           !str_starts(str_from_offset(url, *colon), STR("://"));
}

/* git itself rejects other transports (GIT_ALLOW_PROTOCOL). */
bool git_url_parse(Str url, GitUrl *out, Error *err)
{
    static const struct {
        const char *scheme;
        GitTransport transport;
        uint16_t port;
    } schemes[] = { { "https://", GIT_HTTPS, PORT_HTTPS },
                    { "ssh://", GIT_SSH, PORT_SSH },
                    { "file:///", GIT_LOCAL, 0 } };
    size_t colon;
    *out = (GitUrl){ 0 };
    if (url.len == 0 || !utf8_is_plain(url) || url.data[0] == '-' ||
        memchr(url.data, ' ', url.len) != NULL) {
        return error_set(err, ERROR_INVALID, "must be a URL without spaces");
    }
    for (size_t i = 0; i < COUNT_OF(schemes); i++) {
        if (str_starts(url, str_from_c(schemes[i].scheme))) {
            Str rest = str_from_offset(url, strlen(schemes[i].scheme));
            *out = (GitUrl){ .transport = schemes[i].transport, .port = schemes[i].port };
            return out->transport == GIT_LOCAL ||
                   parse_authority(str_slice(rest, 0, str_find(rest, STR("/"), 0)), out, err);
        }
    }
    if (url.data[0] == '/') {
        return true;
    }
    if (is_scp_address(url, &colon)) {
        *out = (GitUrl){ .transport = GIT_SSH, .port = PORT_SSH };
        return parse_authority(str_slice(url, 0, colon), out, err);
    }
    return error_set(err, ERROR_INVALID,
                     "must begin with https://, ssh:// or file:///, or be user@host:path or an "
                     "absolute path");
}

Str git_url_origin(Arena *arena, const GitUrl *url)
{
    static const char *const schemes[] = {
        [GIT_LOCAL] = "file", [GIT_HTTPS] = "https", [GIT_SSH] = "ssh"
    };
    bool is_v6 = str_find(url->host, STR(":"), 0) != STR_NOT_FOUND;
    char *host = arena_copy_c(arena, url->host);
    for (char *c = host; *c != '\0'; c++) {
        *c = ascii_lower(*c);
    }
    return arena_format(arena, is_v6 ? "%s://[%s]:%u" : "%s://%s:%u", schemes[url->transport], host,
                        url->port);
}
