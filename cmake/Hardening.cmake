# What makes mistakes in C, and jumps to where none should go, harder to use. Of the flags that the builder gives in
# CMAKE_C_FLAGS, as Debian's tools do, each goes before ours of the same kind.
#
#   swiftmqtt_harden(<target>…)    for C
#   SWIFTMQTT_SWIFT_HARDENING      for Swift, whose bounds the language checks
#
# The kernel makes use of CET (x86-64) and BTI (aarch64) only if all objects of a library or program say that they are
# made for it, so Swift's have to; what the compiler is told about its C headers reaches its own code.

include(CheckCCompilerFlag)

set(_hardening "")
function(_harden_with kind flag)
  if("${CMAKE_C_FLAGS}" MATCHES "${kind}")
    return()
  endif()
  string(MAKE_C_IDENTIFIER "SWIFTMQTT_HAS${flag}" known)
  check_c_compiler_flag(${flag} ${known})
  if(${known})
    list(APPEND _hardening ${flag})
    set(_hardening ${_hardening} PARENT_SCOPE)
  endif()
endfunction()

set(CMAKE_REQUIRED_QUIET ON)
_harden_with("-f(no-)?stack-protector" -fstack-protector-strong)
set(SWIFTMQTT_SWIFT_HARDENING "")
swiftmqtt_target_of(${CMAKE_SYSTEM_PROCESSOR} _processor)
if(_processor)
  swiftmqtt_target(hardening ${_processor} _flag)
endif()
if(_flag)
  separate_arguments(_flag UNIX_COMMAND "${_flag}")
  _harden_with(${_flag})
  list(GET _flag 1 _flag)
  set(SWIFTMQTT_SWIFT_HARDENING -Xcc ${_flag})
endif()
unset(CMAKE_REQUIRED_QUIET)

function(swiftmqtt_harden)
  foreach(target IN LISTS ARGN)
    target_compile_options(${target} PRIVATE ${_hardening} -Wformat -Werror=format-security)
    # It needs the optimizer.
    if(NOT "${CMAKE_C_FLAGS}" MATCHES "_FORTIFY_SOURCE")
      target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>)
    endif()
  endforeach()
endfunction()
