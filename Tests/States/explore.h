/*
 * Every state of the shipped object: what explores it. It knows no protocol: who includes it has the files of one beside it,
 * in mqtt/ or stomp/, and their world.h.
 *
 * A client is one block of memory. With a transport of the program's it has no descriptor, no thread, no clock and no pointer to
 * anything outside the block. So memcpy() saves it, a hash compares it, and memcpy() to the same address restores it. From each
 * state every action is tried, and each new state is taken once, until none is left. What is explored is not a model but the
 * machine code of the library.
 */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <stddef.h>
#include <stdint.h>

#include "world.h" /* struct scene, struct world, MESSAGES */

enum {
    BLOCK_BYTES = 16384,
    ACTIONS = 40,    /* at most, in one scene */
    LONGEST = 20000, /* path that is followed; what would be longer is an error */
};

/* scene.size */
enum {
    SMALL = 1, /* also under qemu-user, and for mutants */
    USUAL = 2, /* make test */
    LARGE = 3  /* make states, by hand */
};

/* Both protocols have these: name, about, size, bits (the table has room for 2 to the power of so many states), depth (the
 * longest path; 0: LONGEST), must_find (this violation, or the checker is blind). */
extern const struct scene scenes[];
extern const size_t scene_count;
extern const struct scene *scene; /* the one that is explored */
extern struct world world;

/* ---- The client (client.c) */

extern uint8_t block[BLOCK_BYTES];
extern size_t block_size;
extern int block_changed; /* since it was restored */
int make_client(void);    /* for the scene; 0: it cannot be had */

/* ---- The ledger (ledger.c) */

int is_complete(const struct world *world);
const char *left_behind(void); /* where all is complete; NULL: nothing */

/* ---- The actions (actions.c) */

struct action {
    const char *name;
    int (*take)(int argument); /* 0: not possible here; whatever it changed is forgotten then */
    int argument;
    int is_trouble; /* need not happen: without it, too, all must come to its end */
};

extern struct action actions[ACTIONS];
extern int action_count;
void list_actions(void); /* those of the scene */

/* ---- The exploration (explore.c) */

struct result {
    uint64_t states, worlds, steps, complete, too_deep, endless;
    int deepest, unset;    /* unset: bytes of the block that are never set */
    double seconds;        /* of processor time */
    const char *violation; /* NULL: none */
};

struct result explore(void);
void begin_again(void); /* back to the first state */
uint64_t mixed(uint64_t hash, uint64_t word);

/* ---- What means nothing (nothing.c) */

extern uint8_t means_nothing[BLOCK_BYTES]; /* all ones for a byte of the block that does not */
const char *find_what_means_nothing(struct result *result);

/* ---- Violations (violation.c) */

void watch(void);                           /* from now on calls that do not return, and traps, are violations, too */
_Noreturn void violation(const char *what); /* from within an action: leaves it */
/* What an action violates, or NULL; *possible is what it returned. */
const char *take_action(int action, int *possible);
const char *try_path(int *path, int *length);
void shorten(int *path, int *length, const char *what);
void print_path(const int *path, int length);

#endif
