# What the Swift compiler is told about the processor that CMake builds for:
#   SWIFTMQTT_SWIFT_TARGET_FLAGS  the triple, and the ABI of its C
#   SWIFTMQTT_SWIFT_FREESTANDING  the triple has no libc: the compiler reads cmake/freestanding instead
# Any toolchain file will do that sets CMAKE_SYSTEM_NAME, CMAKE_SYSTEM_PROCESSOR and CMAKE_C_COMPILER, ours, those of
# a distribution's build system or your own. One that knows better sets the two itself.

if(DEFINED SWIFTMQTT_SWIFT_TARGET_FLAGS)
  return()
endif()

# The host's own embedded standard library is for its linux-gnu triple.
if(NOT CMAKE_CROSSCOMPILING OR CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(SWIFTMQTT_SWIFT_TARGET_FLAGS -target ${CMAKE_SYSTEM_PROCESSOR}-unknown-linux-gnu)
  return()
endif()

# There is none for other Linux processors: the one of the bare-metal triple does (docs/decisions/0007).
set(_aarch64 -target aarch64-none-none-elf)
# Bare metal would pass floats in integer registers and pack enums into bytes; Linux does neither. Every
# armv7 has Thumb-2, which takes a third less room, and is what Debian's own armhf is made of. NEON not every armv7 has:
# as armhf does, ours makes do with VFPv3 and 16 registers.
set(_armv7 -target armv7-none-none-eabi -Xcc -mfloat-abi=hard -Xcc -mfpu=vfpv3-d16 -Xcc -mthumb -Xcc -fno-short-enums)
# The ABI that Debian uses (lp64d).
set(_riscv64 -target riscv64-none-none-eabi -Xcc -mabi=lp64d -Xcc -march=rv64gc)

set(_aarch64_called "^(aarch64|arm64)$")
set(_armv7_called "^(arm|armhf|armv[78].*)$")
set(_riscv64_called "^riscv64$")
foreach(_name IN ITEMS aarch64 armv7 riscv64)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "${_${_name}_called}")
    set(_processor ${_name})
  endif()
endforeach()
if(NOT _processor)
  message(FATAL_ERROR "CMAKE_SYSTEM_PROCESSOR is '${CMAKE_SYSTEM_PROCESSOR}': libswiftmqtt is built for x86_64, "
    "aarch64, armv7 (hard-float) and riscv64. For another set SWIFTMQTT_SWIFT_TARGET_FLAGS.")
endif()
set(SWIFTMQTT_SWIFT_TARGET_FLAGS ${_${_processor}})
set(SWIFTMQTT_SWIFT_FREESTANDING ON)

# A C compiler that is set to an older processor or another ABI would link with it, and the board find out.
set(_aarch64_macros "defined __aarch64__ && defined __LP64__ && !defined __AARCH64EB__")
set(_armv7_macros "__ARM_ARCH >= 7 && defined __ARM_PCS_VFP && !defined __ARMEB__")
set(_riscv64_macros "defined __riscv_float_abi_double && defined __riscv_compressed && __riscv_xlen == 64")
block()
  include(CheckCSourceCompiles)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  set(CMAKE_REQUIRED_QUIET ON)
  check_c_source_compiles("#if !(${_${_processor}_macros})\n#error\n#endif\nint answer;" SWIFTMQTT_C_FITS_${_processor})
  if(NOT SWIFTMQTT_C_FITS_${_processor})
    message(FATAL_ERROR "${CMAKE_C_COMPILER} with CMAKE_C_FLAGS '${CMAKE_C_FLAGS}' compiles for another processor or ABI "
      "than Swift does, which is ${_processor}: ${_${_processor}_macros}")
  endif()
endblock()
