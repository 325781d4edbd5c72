/* Loads libsystemd at run time. It is never unloaded: the library is not designed for that. */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "sys/bus_inner.h"

#define LIBRARY "libsystemd.so.0"

#ifdef EDEN_STATIC

bool bus_library_open(BusLibrary *out, Error *err)
{
    return error_set(err, ERROR_UNAVAILABLE,
                     "this program is statically linked and cannot load " LIBRARY
                     ", which it needs to talk to system services");
}

#else

bool bus_library_open(BusLibrary *out, Error *err)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return error_set(err, ERROR_UNAVAILABLE,
                         "eden needs " LIBRARY " to talk to system services: %s", dlerror());
    }
    const char *missing = NULL;
#define FIND(name)                               \
    *(void **)&out->name = dlsym(handle, #name); \
    missing = out->name == NULL ? #name : missing;
    BUS_FUNCTIONS(FIND)
#undef FIND
    return missing == NULL ||
           error_set(err, ERROR_UNAVAILABLE, LIBRARY " is too old: it lacks %s", missing);
}

#endif

bool bus_failure(Error *err, int result, const char *what)
{
    ErrorKind kind = ERROR_OS;
    char text[128];
    switch (-result) {
    case EACCES:
    case EPERM: kind = ERROR_DENIED; break;
    case EINVAL:
    case EBADMSG: kind = ERROR_INVALID; break;
    case ETIMEDOUT: kind = ERROR_TIMEOUT; break;
    case ENOBUFS: kind = ERROR_LIMIT; break;
    case ENOENT:
    case ENOTDIR:
    case ECONNREFUSED:
    case ECONNRESET:
    case ENOTCONN:
    case EPIPE:
    case ESHUTDOWN: kind = ERROR_UNAVAILABLE; break;
    default: break;
    }
    return error_set(err, kind, "%s: %s", what, strerror_r(-result, text, sizeof text));
}
