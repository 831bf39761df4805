/*
 * Explores scenes, and prints a line for each:
 *
 *     scene, states, worlds, steps tried, longest path, bytes of the block that are never set, seconds, violation,
 *     whether that is as it should be
 *
 *     states [--size N] [SCENE…]     those named, or all of this size and smaller
 *     states --list                  name, size, and what it is about
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore.h"

static int is_wanted(int size, int count, char **names) {
    if (count == 0) return scene->size <= size;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], scene->name) == 0) return 1;
    return 0;
}

static int is_as_expected(const struct result *result) {
    if (scene->must_find) return result->violation && strcmp(result->violation, scene->must_find) == 0;
    return !result->violation && !result->too_deep;
}

int main(int count, char **arguments) {
    int size = USUAL, failed = 0, done = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    count--, arguments++;
    if (count == 1 && strcmp(arguments[0], "--list") == 0) {
        for (size_t i = 0; i < scene_count; i++)
            printf("%s\t%d\t%s\n", scenes[i].name, scenes[i].size, scenes[i].about);
        return 0;
    }
    if (count >= 2 && strcmp(arguments[0], "--size") == 0) {
        size = atoi(arguments[1]);
        count -= 2, arguments += 2;
    }
    watch();
    for (size_t i = 0; i < scene_count; i++) {
        scene = &scenes[i];
        if (!is_wanted(size, count, arguments)) continue;
        struct result result = explore();
        failed |= !is_as_expected(&result);
        done++;
        printf("%s\t%llu\t%llu\t%llu\t%d\t%d\t%.1f\t%s\t%d\n", scene->name, (unsigned long long)result.states,
               (unsigned long long)result.worlds, (unsigned long long)result.steps, result.deepest, result.unset,
               result.seconds, result.violation ? result.violation : "none", is_as_expected(&result));
    }
    if (done == 0) return fputs("no such scene: --list\n", stderr), 2;
    return failed;
}
