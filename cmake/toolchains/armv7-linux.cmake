# 32-bit Arm Linux, hard-float: Debian's cross gcc for C and the link, Swift's bare-metal triple for Swift.
# Bare metal would pass floats in integer registers and pack enums into bytes; Linux does neither. Every
# armv7 has Thumb-2, which takes a third less room, and is what Debian's own armhf is made of. NEON not every armv7 has:
# as armhf does, ours makes do with VFPv3 and 16 registers.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-linux-gnueabihf-gcc)

set(SWIFTMQTT_SWIFT_TARGET_FLAGS -target armv7-none-none-eabi -Xcc -mfloat-abi=hard -Xcc -mfpu=vfpv3-d16 -Xcc -mthumb -Xcc -fno-short-enums)
# The bare-metal triple has no libc: let the Swift compiler read cmake/freestanding instead.
set(SWIFTMQTT_SWIFT_FREESTANDING ON)

set(CMAKE_CROSSCOMPILING_EMULATOR qemu-arm -L /usr/arm-linux-gnueabihf)
set(CMAKE_FIND_ROOT_PATH /usr/arm-linux-gnueabihf)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
