/* Prints smq_abi_layout() as it comes, or sst_abi_layout(): a line for each struct. */
#include <stdio.h>
#ifdef LIBRARY_sst
#include <swiftstomp.h>
#define layout_of_library sst_abi_layout
#else
#include <swiftmqtt.h>
#define layout_of_library smq_abi_layout
#endif

int main(void) {
    const uint16_t *list = layout_of_library();
    printf("%u\n", (unsigned)sizeof(void *) * 8);
    while (*list != 0) {
        unsigned fields = list[1];
        printf("%u %u", list[0], fields);
        for (list += 2; fields > 0; fields--, list += 2) printf(" %u %u", list[0], list[1]);
        printf("\n");
    }
    return 0;
}
