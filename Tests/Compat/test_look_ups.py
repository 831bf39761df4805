"""mosquitto_connect() to another server while the name of the one before is still being looked up."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

# Who looks "slow" up waits until the pipe is closed, which is never before the test is over.
NAMES = """
    #include <arpa/inet.h>
    #include <netdb.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>

    int getaddrinfo(const char *name, const char *s, const struct addrinfo *h, struct addrinfo **list) {
        (void)s, (void)h;
        if (strcmp(name, "slow") == 0) {
            char byte;
            (void)!write(atoi(getenv("ASKED")), "?", 1);
            while (read(atoi(getenv("ANSWER")), &byte, 1) > 0) {
            }
        }
        struct addrinfo *info = calloc(1, sizeof *info + sizeof(struct sockaddr_in));
        struct sockaddr_in *in = (struct sockaddr_in *)(info + 1);
        in->sin_family = AF_INET;
        inet_pton(AF_INET, "127.0.0.1", &in->sin_addr);
        info->ai_family = AF_INET;
        info->ai_addr = (struct sockaddr *)in;
        info->ai_addrlen = sizeof *in;
        *list = info;
        return 0;
    }
    void freeaddrinfo(struct addrinfo *list) { free(list); }
"""

TWO_SERVERS = """
    import ctypes, os, socket, sys, threading

    library = ctypes.CDLL(sys.argv[1])
    library.mosquitto_new.restype = ctypes.c_void_p
    library.mosquitto_lib_init()
    client = ctypes.c_void_p(library.mosquitto_new(b"names", True, None))
    first, second = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
    port = lambda server: server.getsockname()[1]
    threading.Thread(target=library.mosquitto_connect, args=(client, b"slow", port(first), 60), daemon=True).start()
    os.read(int(sys.argv[2]), 1)  # the name is being looked up
    print(library.mosquitto_connect(client, b"fast", port(second), 60))
    connection, _ = second.accept()
    connection.recv(1)
    first.setblocking(False)
    try:
        first.accept()
        print("the first was connected to")
    except BlockingIOError:
        print("the second")
    sys.stdout.flush()
    os._exit(0)
"""


def test_another_server_during_a_look_up(our_path: Path, tmp_path: Path) -> None:
    """It is the one that is connected to, and nobody waits for the name of the first."""
    source, names = tmp_path / "names.c", tmp_path / "names.so"
    source.write_text(textwrap.dedent(NAMES))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", names, source], check=True, timeout=60)
    asked, says = os.pipe()
    answer, never = os.pipe()
    try:
        result = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(TWO_SERVERS), our_path, str(asked)],
            env={"LD_PRELOAD": str(names), "ASKED": str(says), "ANSWER": str(answer), "PATH": "/usr/bin:/bin"},
            pass_fds=(asked, says, answer), capture_output=True, text=True, timeout=60)
    finally:
        for end in (asked, says, answer, never):
            os.close(end)
    assert (result.returncode, result.stdout) == (0, "0\nthe second\n"), result.stderr
