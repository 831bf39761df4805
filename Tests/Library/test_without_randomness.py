"""A system that has no random numbers."""

from __future__ import annotations

import pytest
from Support.preloaded import preloaded


NO_RANDOMNESS = """
    #include <errno.h>
    #include <fcntl.h>
    #include <stdarg.h>
    #include <stddef.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/syscall.h>
    #include <sys/types.h>
    #include <unistd.h>
    static int calls, opened;
    int getrandom_calls(void) { return calls; }
    int urandom_calls(void) { return opened; }
    int open(const char *path, int flags, ...) {
        va_list list;
        va_start(list, flags);
        int mode = flags & O_CREAT ? va_arg(list, int) : 0;
        va_end(list);
        if (!strcmp(path, "/dev/urandom")) {
            opened++;
            if (getenv("NO_URANDOM")) return errno = ENOENT, -1;
        }
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    }
    ssize_t getrandom(void *buffer, size_t size, unsigned flags) {
        (void)buffer, (void)size, (void)flags;
        calls++;
        errno = ENOSYS;
        return -1;
    }
"""


TEN_IDS = """
    import ctypes, os, sys
    if sys.argv[1:] == ["nor /dev/urandom"]:
        os.environ["NO_URANDOM"] = "1"
    from Support import smq

    clients = [smq.Client(url="mqtt://h", client_id="%%%%%%%%") for _ in range(10)]
    assert ctypes.CDLL(None).getrandom_calls() > 0, "it was not asked"
    assert ctypes.CDLL(None).urandom_calls() > 0, "it was not asked either"
    print(*(client.id.decode() for client in clients))
"""


@pytest.mark.parametrize("without", ["getrandom", "nor /dev/urandom"])
def test_client_ids_differ_without_randomness(tmp_path, without):
    """A kernel before 3.17 has no getrandom(), a sandbox may forbid it, and a chroot may have no /dev."""
    ids = [id for _ in range(2) for id in preloaded(tmp_path, NO_RANDOMNESS, TEN_IDS, without).split()]
    assert all(len(id) == 16 for id in ids)
    assert len(set(ids)) == 20
