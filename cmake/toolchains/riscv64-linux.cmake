# 64-bit RISC-V Linux: Debian's cross gcc for C and the link, Swift's bare-metal triple for Swift, told the
# ABI that Debian uses (lp64d).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)

set(SWIFTMQTT_SWIFT_TARGET_FLAGS -target riscv64-none-none-eabi -Xcc -mabi=lp64d -Xcc -march=rv64gc)
# The bare-metal triple has no libc: let the Swift compiler read cmake/freestanding instead.
set(SWIFTMQTT_SWIFT_FREESTANDING ON)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64 -L /usr/riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
