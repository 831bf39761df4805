#define _GNU_SOURCE
#include "platform.h"
#include "programs.h"

#include <errno.h>
#include <netdb.h>

/* If a kernel has other numbers, platform.h and programs.h have to have them, too. */
_Static_assert(PLATFORM_EAI_NONAME == EAI_NONAME, "EAI_NONAME");
/* EventText.swift of SwiftMQTT has words for these, and for those in between. */
_Static_assert(EAI_NONAME == -2 && EAI_AGAIN == -3 && EAI_FAIL == -4, "EAI_NONAME to EAI_FAIL");
_Static_assert(EADDRINUSE == 98 && ECONNREFUSED == 111 && EHOSTUNREACH == 113, "EADDRINUSE to EHOSTUNREACH");
_Static_assert(PLATFORM_ENOMEM == ENOMEM, "ENOMEM");
_Static_assert(PLATFORM_EINVAL == EINVAL, "EINVAL");
_Static_assert(PLATFORM_EPIPE == EPIPE, "EPIPE");
_Static_assert(PLATFORM_ENAMETOOLONG == ENAMETOOLONG, "ENAMETOOLONG");
_Static_assert(PLATFORM_EOPNOTSUPP == EOPNOTSUPP, "EOPNOTSUPP");
_Static_assert(PLATFORM_ECONNRESET == ECONNRESET, "ECONNRESET");
_Static_assert(PLATFORM_ETIMEDOUT == ETIMEDOUT, "ETIMEDOUT");
_Static_assert(PLATFORM_ENOENT == ENOENT, "ENOENT");
_Static_assert(PLATFORM_EINTR == EINTR, "EINTR");
_Static_assert(PLATFORM_EWOULDBLOCK == EWOULDBLOCK, "EWOULDBLOCK");
_Static_assert(PLATFORM_EAGAIN == EAGAIN, "EAGAIN");
_Static_assert(PLATFORM_EPROTOTYPE == EPROTOTYPE, "EPROTOTYPE");

void platform_set_error(int32_t error) { errno = error; }
