# cmake/targets has a file for each processor that the library is built and tested for: a line is a name and a value. This,
# Make, .ci, packaging and the tests (Tests/lists.py) read them.
#
#   called       what CMAKE_SYSTEM_PROCESSOR may be, a regular expression
#   swift        what the Swift compiler is told in a cross build. The host's own embedded standard library is for its
#                linux-gnu triple; for other processors that of the bare-metal triple does (docs/decisions/0007)
#   macros       what the preprocessor of a C compiler for the same processor and ABI finds true
#   hardening    the kind of a flag of the C compiler, and the flag, which is for Swift's C compiler, too
#   tools        the prefix of Debian's cross tools
#   qemu         qemu-user's program
#   cpu          what it is to be when instructions are counted: a usual one, as libc chooses its memcpy() by what it has
#   debian       Debian's name of the architecture
#   loader       the dynamic loader's name and version
#   wheel, elf   what Python calls the machine, and what readelf does
#   text, data   the most bytes of text (code and constants), and of data and bss, that libswiftmqtt.so may take. To raise
#                one, say in the commit what the bytes buy.
#   stomp        the same for the text of libswiftstomp.so, whose data and bss may take no more than libswiftmqtt.so's
#   small        the same for the text of libswiftmqtt.so in the small profile, and
#   smallest     of the smallest client, linked with its libswiftmqtt.a: where the small profile is tested
#
#   SWIFTMQTT_TARGETS                             their names
#   swiftmqtt_target(<key> <name> <variable>)     the value of a key; empty if there is none
#   swiftmqtt_target_of(<processor> <variable>)   the name of CMake's processor; empty if it is none of them
#   swiftmqtt_check_compiler(<name>)              fails if the C compiler's processor or ABI is another

set(_targets "${CMAKE_CURRENT_LIST_DIR}/targets")
file(GLOB SWIFTMQTT_TARGETS RELATIVE "${_targets}" "${_targets}/*")

function(swiftmqtt_target key name variable)
  file(STRINGS "${_targets}/${name}" line REGEX "^${key} ")
  string(REGEX REPLACE "^${key} +" "" value "${line}")
  set(${variable} "${value}" PARENT_SCOPE)
endfunction()

function(swiftmqtt_target_of processor variable)
  set(${variable} "" PARENT_SCOPE)
  foreach(name IN LISTS SWIFTMQTT_TARGETS)
    swiftmqtt_target(called ${name} called)
    if(processor MATCHES "${called}")
      set(${variable} ${name} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# A C compiler that is set to an older processor or another ABI would link with it, and the board find out.
function(swiftmqtt_check_compiler name)
  include(CheckCSourceCompiles)
  swiftmqtt_target(macros ${name} macros)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
  set(CMAKE_REQUIRED_QUIET ON)
  check_c_source_compiles("#if !(${macros})\n#error\n#endif\nint answer;" SWIFTMQTT_C_FITS_${name})
  if(NOT SWIFTMQTT_C_FITS_${name})
    message(FATAL_ERROR "${CMAKE_C_COMPILER} with CMAKE_C_FLAGS '${CMAKE_C_FLAGS}' compiles for another processor or ABI "
      "than Swift does, which is ${name}: ${macros}")
  endif()
endfunction()
