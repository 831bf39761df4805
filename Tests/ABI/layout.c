/* Prints smq_abi_layout() as it comes: a line for each struct. */
#include <stdio.h>
#include <swiftmqtt.h>

int main(void) {
    const uint16_t *list = smq_abi_layout();
    printf("%u\n", (unsigned)sizeof(void *) * 8);
    while (*list != 0) {
        unsigned fields = list[1];
        printf("%u %u", list[0], fields);
        for (list += 2; fields > 0; fields--, list += 2) printf(" %u %u", list[0], list[1]);
        printf("\n");
    }
    return 0;
}
