/*
 * Which bytes of the block mean nothing, so that states that differ in them alone are one.
 *
 * Padding takes what lies on the stack. Random paths are walked twice, over different stacks: bytes that differ mean nothing,
 * as all else has to be the same.
 */
#include <string.h>

#include "explore.h"

enum {
    PATHS = 100,
    STEPS = 250
};

uint8_t means_nothing[BLOCK_BYTES];

static __attribute__((noinline)) void dirty_stack(uint8_t with) {
    uint8_t bytes[8192];
    memset(bytes, with, sizeof bytes);
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

const char *find_what_means_nothing(struct result *result) {
    static uint8_t one[BLOCK_BYTES], other[BLOCK_BYTES], other_then[BLOCK_BYTES];
    static struct world before, then;
    uint64_t chance = 1;
    memset(means_nothing, 0, sizeof means_nothing);
    for (int path = 0; path < PATHS; path++) {
        begin_again();
        memcpy(one, block, block_size);
        memcpy(other, block, block_size);
        before = world;
        for (int step = 0; step < STEPS; step++) {
            int possible = 0, possible_then = 0;
            chance = mixed(chance, (uint64_t)step);
            int action = (int)((chance >> 33) % (uint64_t)action_count);
            memcpy(block, other, block_size);
            dirty_stack(0xAA);
            if (take_action(action, &possible)) return NULL; /* the exploration will find that, too */
            memcpy(other_then, block, block_size);
            then = world;
            memcpy(block, one, block_size);
            world = before;
            dirty_stack(0x55);
            if (take_action(action, &possible_then) || possible != possible_then ||
                (possible && memcmp(&world, &then, sizeof world) != 0))
                return "bytes that were never set matter";
            if (!possible) {
                world = before;
                continue;
            }
            before = world;
            memcpy(one, block, block_size);
            memcpy(other, other_then, block_size);
            for (size_t i = 0; i < block_size; i++) {
                if (one[i] == other[i] || means_nothing[i]) continue;
                means_nothing[i] = 0xFF;
                result->unset++;
            }
        }
    }
    return NULL;
}
