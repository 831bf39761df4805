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

set(_swift "")
swiftmqtt_target_of(${CMAKE_SYSTEM_PROCESSOR} _processor)
if(_processor)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_targets}/${_processor}")
  swiftmqtt_target(swift ${_processor} _swift)
endif()
if(NOT _swift)
  list(JOIN SWIFTMQTT_TARGETS ", " _known)
  message(FATAL_ERROR "CMAKE_SYSTEM_PROCESSOR is '${CMAKE_SYSTEM_PROCESSOR}': libswiftmqtt is built for ${_known} "
    "(hard-float). For another set SWIFTMQTT_SWIFT_TARGET_FLAGS.")
endif()
separate_arguments(SWIFTMQTT_SWIFT_TARGET_FLAGS UNIX_COMMAND "${_swift}")
set(SWIFTMQTT_SWIFT_FREESTANDING ON)

swiftmqtt_check_compiler(${_processor})
