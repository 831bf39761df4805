#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;
static int changed = -1;

void tool_terminal_restore(void) {
    if (changed >= 0) {
        tcsetattr(changed, TCSADRAIN, &before);
        changed = -1;
    }
}

int32_t tool_terminal_keys(int32_t fd) {
    if (tcgetattr(fd, &before) < 0) {
        return errno;
    }
    struct termios keys = before;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    keys.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
    keys.c_cc[VMIN] = 1;
    keys.c_cc[VTIME] = 0;
    if (tcsetattr(fd, TCSADRAIN, &keys) < 0) {
        return errno;
    }
    if (changed < 0) {
        atexit(tool_terminal_restore);
    }
    changed = fd;
    return 0;
}

void tool_terminal_size(int32_t fd, int32_t *rows, int32_t *columns) {
    struct winsize size;
    int known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *rows = known ? size.ws_row : 24;
    *columns = known ? size.ws_col : 80;
}
