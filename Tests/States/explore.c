/*
 * From each state each action, depth first; a state that was seen is not followed.
 *
 * 64 bits of hash stand for a state: the chance that a collision hides one of n is n² / 2^65, 3 in 10^6 for 10^7. A state's place
 * in the table is its number.
 *
 * From each state all must be able to come to its end without another trouble (a cut, say): else something has stopped, or
 * goes round and round. Most states show it when they are left, as one of those behind them does. Only of the others the
 * steps are kept, and walked backwards in the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "explore.h"

struct frame {
    uint8_t *block;
    struct world world;
    uint64_t block_hash;
    uint32_t slot, next[ACTIONS]; /* states behind it, without trouble */
    int action, count;            /* the action to try next; how many there are in next */
};

struct step {
    uint32_t from, to;
};

static struct frame *stack;
static int depth;
static uint64_t *states;
static uint32_t mask;
static uint8_t *comes_to_end; /* a bit for each state */
static uint64_t *worlds;
static uint32_t world_mask;
static struct step *steps;
static size_t step_count, step_room;
static uint8_t *beginning;

/* ---- Hashes */

uint64_t mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}

/* Four at a time: the processor does that side by side. */
static uint64_t hash_of(const void *bytes, size_t size, const uint8_t *ignored) {
    uint64_t lanes[4] = { 1, 2, 3, 4 };
    size_t words = size / 8;
    for (size_t i = 0; i < words; i++) {
        uint64_t word, without;
        memcpy(&word, (const uint8_t *)bytes + i * 8, 8);
        if (ignored) {
            memcpy(&without, ignored + i * 8, 8);
            word &= ~without;
        }
        lanes[i & 3] = mixed(lanes[i & 3], word);
    }
    return mixed(mixed(mixed(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

static uint64_t world_hash(void) {
    uint64_t hash = hash_of(&world, sizeof world, NULL);
    return hash ? hash : 1;
}

static uint64_t block_hash(void) { return hash_of(block, block_size, means_nothing); }

static uint64_t state_hash(uint64_t of_block, uint64_t of_world) {
    uint64_t hash = mixed(of_block, of_world);
    return hash ? hash : 1;
}

/* ---- Tables */

static void *room(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) {
        puts("no memory");
        exit(2);
    }
    return memory;
}

static uint32_t enter(uint64_t *table, uint32_t table_mask, uint64_t hash, int *is_new) {
    uint32_t slot = (uint32_t)(hash >> 20) & table_mask;
    while (table[slot] && table[slot] != hash) slot = (slot + 1) & table_mask;
    *is_new = !table[slot];
    table[slot] = hash;
    return slot;
}

static int is_new_world(uint64_t hash, uint64_t count) {
    int is_new;
    if (count > world_mask / 2) {
        uint32_t old_mask = world_mask;
        uint64_t *old = worlds;
        world_mask = world_mask * 2 + 1;
        worlds = room((size_t)world_mask + 1, sizeof *worlds);
        for (size_t i = 0; i <= old_mask; i++)
            if (old[i]) enter(worlds, world_mask, old[i], &is_new);
        free(old);
    }
    enter(worlds, world_mask, hash, &is_new);
    return is_new;
}

static int ends(uint32_t slot) { return comes_to_end[slot / 8] >> slot % 8 & 1; }

static void mark_end(uint32_t slot) { comes_to_end[slot / 8] |= (uint8_t)(1 << slot % 8); }

/* ---- The stack */

static void restore(const struct frame *frame) {
    if (block_changed) memcpy(block, frame->block, block_size);
    memcpy(&world, &frame->world, sizeof world);
    block_changed = 0;
}

static void push(uint64_t hash, uint32_t slot) {
    struct frame *frame = &stack[++depth];
    if (!frame->block) frame->block = room(1, block_size);
    memcpy(frame->block, block, block_size);
    memcpy(&frame->world, &world, sizeof world);
    frame->block_hash = hash;
    frame->slot = slot;
    frame->action = frame->count = 0;
    block_changed = 0;
}

static void pop(void) {
    struct frame *frame = &stack[depth--];
    block_changed = 1;
    if (ends(frame->slot)) return;
    for (int i = 0; i < frame->count; i++) {
        if (!ends(frame->next[i])) continue;
        mark_end(frame->slot);
        return;
    }
    for (int i = 0; i < frame->count; i++) {
        if (step_count == step_room) {
            step_room = step_room ? step_room * 2 : 1 << 16;
            steps = realloc(steps, step_room * sizeof *steps);
            if (!steps) exit(2);
        }
        steps[step_count++] = (struct step){ frame->slot, frame->next[i] };
    }
}

static uint64_t count_endless(void) {
    uint64_t count = 0;
    for (int goes_on = 1; goes_on;) {
        goes_on = 0;
        for (size_t i = step_count; i-- > 0;) {
            if (!ends(steps[i].to) || ends(steps[i].from)) continue;
            goes_on = 1;
            mark_end(steps[i].from);
        }
    }
    for (size_t i = 0; i <= mask; i++) count += states[i] && !ends((uint32_t)i);
    return count;
}

static int path_to_here(int *path) {
    for (int i = 0; i <= depth; i++) path[i] = stack[i].action - 1;
    return depth + 1;
}

/* ---- Where it begins */

void begin_again(void) {
    memcpy(block, beginning, block_size);
    memset(&world, 0, sizeof world);
    block_changed = 1;
}

/* ---- The exploration */

static const char *visit_all(struct result *result, const uint8_t *known_ends, int *path, int *path_length) {
    int is_new, is_possible = 0, best = LONGEST + 1;
    int limit = scene->depth ? scene->depth : LONGEST;
    depth = -1;
    begin_again();
    result->states = result->worlds = result->steps = result->complete = result->too_deep = 0;
    result->deepest = 0;
    uint64_t hash = block_hash(), of_world = world_hash();
    push(hash, enter(states, mask, state_hash(hash, of_world), &is_new));
    result->states = 1;
    result->worlds = (uint64_t)is_new_world(of_world, 0);
    while (depth >= 0) {
        struct frame *here = &stack[depth];
        if (here->action == action_count) {
            if (here->count == 0 && !is_complete(&here->world)) {
                *path_length = path_to_here(path) - 1;
                return "nothing can happen, and not all has come to its end";
            }
            pop();
            continue;
        }
        restore(here);
        int action = here->action++;
        result->steps++;
        const char *what = take_action(action, &is_possible);
        if (what) {
            *path_length = path_to_here(path);
            return what;
        }
        if (!is_possible) continue;
        hash = block_changed ? block_hash() : here->block_hash;
        of_world = world_hash();
        uint32_t slot = enter(states, mask, state_hash(hash, of_world), &is_new);
        if (slot != here->slot && !actions[action].is_trouble) here->next[here->count++] = slot;
        if (!is_new) continue;
        if (++result->states > mask / 8 * 7) {
            *path_length = 0;
            return "the table is full: bits of the scene";
        }
        result->worlds += (uint64_t)is_new_world(of_world, result->worlds);
        if (is_complete(&world)) {
            if ((what = left_behind())) {
                *path_length = path_to_here(path);
                return what;
            }
            result->complete++;
            mark_end(slot);
        }
        if (known_ends && depth + 1 < best && !(known_ends[slot / 8] >> slot % 8 & 1)) {
            best = *path_length = path_to_here(path);
        }
        if (depth + 1 >= limit) {
            result->too_deep++;
            continue;
        }
        push(hash, slot);
        if (depth > result->deepest) result->deepest = depth;
    }
    return NULL;
}

/* The states are found in the same order again, and have the same numbers: this time it is known which have no end. */
static const char *show_endless(struct result *result, int *path, int *length) {
    uint8_t *known = room((size_t)mask / 8 + 1, 1);
    memcpy(known, comes_to_end, (size_t)mask / 8 + 1);
    memset(states, 0, ((size_t)mask + 1) * sizeof *states);
    step_count = 0;
    struct result again = *result;
    (void)visit_all(&again, known, path, length);
    free(known);
    return result->too_deep ? "too deep, and from here the end was not seen" : "from here the end can never be reached";
}

struct result explore(void) {
    static int path[LONGEST + 1];
    struct result result;
    struct timespec start, end;
    int length = 0;
    memset(&result, 0, sizeof result);
    if (!make_client()) {
        result.violation = "the client cannot be made";
        return result;
    }
    mask = (uint32_t)(((uint64_t)1 << scene->bits) - 1);
    world_mask = (1 << 16) - 1;
    states = room((size_t)mask + 1, sizeof *states);
    worlds = room((size_t)world_mask + 1, sizeof *worlds);
    comes_to_end = room((size_t)mask / 8 + 1, 1);
    beginning = room(1, block_size);
    stack = room(LONGEST + 1, sizeof *stack);
    memcpy(beginning, block, block_size);
    steps = NULL;
    step_count = step_room = 0;
    list_actions();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    result.violation = find_what_means_nothing(&result);
    if (!result.violation) result.violation = visit_all(&result, NULL, path, &length);
    if (!result.violation && (result.endless = count_endless()) > 0)
        result.violation = show_endless(&result, path, &length);
    else if (result.violation && length > 0)
        shorten(path, &length, result.violation);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    result.seconds = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    if (result.violation && !scene->must_find) {
        printf("%s: VIOLATION: %s, after\n", scene->name, result.violation);
        print_path(path, length);
    }
    for (int i = 0; i <= LONGEST && stack[i].block; i++) free(stack[i].block);
    free(stack);
    free(states);
    free(worlds);
    free(comes_to_end);
    free(beginning);
    free(steps);
    return result;
}
