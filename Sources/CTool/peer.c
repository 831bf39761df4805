#include "tool.h"

#include <netdb.h>
#include <stdio.h>
#include <sys/socket.h>

/* Returns the number of bytes written, or 0 if the descriptor is no connected socket with a port. */
static int write_peer(int fd, char *buffer, size_t capacity) {
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getpeername(fd, (struct sockaddr *)&peer, &size) != 0) return 0;
    if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) return 0;
    if (getnameinfo((struct sockaddr *)&peer, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return 0;
    int length = snprintf(buffer, capacity, "%s port %s", host, port);
    return length > 0 && (size_t)length < capacity ? length : 0;
}

int32_t tool_peer(int32_t epoll, void *buffer, size_t capacity) {
    char path[40], line[200];
    int found = 0, fd;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", (int)epoll);
    /* A line for each that is watched: proc(5). */
    FILE *list = fopen(path, "re");
    if (!list) return 0;
    while (found == 0 && fgets(line, sizeof line, list))
        if (sscanf(line, "tfd: %d", &fd) == 1) found = write_peer(fd, buffer, capacity);
    fclose(list);
    return found;
}
