/*
 * A plugin of QEMU's user mode: counts the instructions that are executed outside the program itself, in the libraries
 * that it calls and in the loader, and at the end says on standard error how many there were.
 *
 *     qemu-arm -plugin file=/where/it/is/counter.so PROGRAM
 *
 * QEMU knows where the text of the program lies, however it was linked. Each instruction elsewhere adds one before it is
 * executed; so on Arm one whose condition is false counts, too, as it takes its cycle, too. Only for a program with one
 * thread: the addition is not atomic.
 *
 * Debian 12 has QEMU 7.2, and no header for plugins: what is used of version 1 of their API is declared here. QEMU 9 and
 * later know only later versions, and refuse this plugin with a line that says so.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

/* ---- QEMU's: handles, and the functions that take them */

typedef struct qemu_plugin_tb block;         /* some instructions one behind the other, translated together */
typedef struct qemu_plugin_insn instruction; /* lives as long as on_translation() */

enum {
    ADD = 0 /* of 64 bits; the only operation there is */
};

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t plugin, void (*)(uint64_t plugin, block *));
void qemu_plugin_register_vcpu_insn_exec_inline(instruction *, int operation, void *variable, uint64_t value);
void qemu_plugin_register_atexit_cb(uint64_t plugin, void (*)(uint64_t plugin, void *), void *);
size_t qemu_plugin_tb_n_insns(const block *);
instruction *qemu_plugin_tb_get_insn(const block *, size_t index);
uint64_t qemu_plugin_insn_vaddr(const instruction *);
uint64_t qemu_plugin_start_code(void); /* of the program's text; known once it is loaded */
uint64_t qemu_plugin_end_code(void);

/* ---- Ours */

EXPORTED extern int qemu_plugin_version;
EXPORTED int qemu_plugin_install(uint64_t plugin, const void *emulator, int argument_count, char **arguments);

int qemu_plugin_version = 1;
static uint64_t executed;

static void on_translation(uint64_t plugin, block *translated) {
    (void)plugin;
    uint64_t begin = qemu_plugin_start_code(), end = qemu_plugin_end_code();
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(translated); i++) {
        instruction *it = qemu_plugin_tb_get_insn(translated, i);
        uint64_t address = qemu_plugin_insn_vaddr(it);
        if (address < begin || address >= end) qemu_plugin_register_vcpu_insn_exec_inline(it, ADD, &executed, 1);
    }
}

static void on_end(uint64_t plugin, void *nothing) {
    (void)plugin;
    (void)nothing;
    fprintf(stderr, "counter: %" PRIu64 " instructions\n", executed);
}

int qemu_plugin_install(uint64_t plugin, const void *emulator, int argument_count, char **arguments) {
    (void)emulator;
    (void)argument_count;
    (void)arguments;
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_translation);
    qemu_plugin_register_atexit_cb(plugin, on_end, NULL);
    return 0;
}
