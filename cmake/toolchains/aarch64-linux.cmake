# 64-bit Arm Linux: Debian's cross gcc for C and the link, Swift's bare-metal triple for Swift.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(SWIFTMQTT_SWIFT_TARGET_FLAGS -target aarch64-none-none-elf)
# The bare-metal triple has no libc: let the Swift compiler read cmake/freestanding instead.
set(SWIFTMQTT_SWIFT_FREESTANDING ON)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
