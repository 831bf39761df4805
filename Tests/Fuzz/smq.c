/*
 * The command line of smq: what its parser makes of words, of files of options, and of what is in the environment, up to the
 * options of a client, which the library checks. No file is opened and nothing is printed.
 */
#include "fuzz.h"

#include "tool.h"

/* Tests/Fuzz/CommandLine.swift, which is compiled with the sources of smq. 0: the words are a mistake; 1: they are a command. */
int32_t fuzz_command_line(int32_t command, const uint8_t *words, size_t size);

/* ---- Files: what is in all of them. The linker has these called instead of those in Sources/CTool and Sources/CPlatform. */

static const uint8_t *file;
static size_t file_size, file_at;

int32_t __wrap_tool_open(const void *path) {
    if (strlen(path) % 5 == 4) return -2; /* ENOENT */
    file_at = 0;
    return 1000;
}

int64_t __wrap_tool_read(int32_t fd, void *buffer, size_t size) {
    if (fd != 1000) return -9; /* EBADF */
    if (size > file_size - file_at) size = file_size - file_at;
    memcpy(buffer, file + file_at, size);
    file_at += size;
    return (int64_t)size;
}

int32_t __wrap_tool_write(int32_t fd, const void *data, size_t size) {
    (void)fd;
    (void)data;
    (void)size;
    return 0;
}

void __wrap_platform_close(int32_t fd) { (void)fd; }

int LLVMFuzzerInitialize(int *count, char ***values) {
    (void)count;
    (void)values;
    return setenv("XDG_CONFIG_HOME", "/fuzz", 1);
}

/* The first byte is the command, the second how many of the others are the files. Words end with a zero. */
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size) {
    if (size < 2 || size > 2048) return 0;
    file_size = input[1] < size - 2 ? input[1] : size - 2;
    file = exact_copy(input + 2, file_size);
    size_t words_size = size - 2 - file_size;
    uint8_t *words = exact_copy(input + 2 + file_size, words_size);
    fuzz_command_line(input[0] % 5, words, words_size);
    free((void *)file);
    free(words);
    return 0;
}
