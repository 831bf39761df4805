# Compiles Embedded Swift modules with plain custom commands: CMake's own Swift support knows neither
# Embedded Swift nor a C compiler of another target beside it. What there is, and what imports what, is in modules.txt.
#
# In Embedded Swift a module's code is carried in its .swiftmodule and compiled into the code of the module that uses
# it. So only the last module, the one that exports the C functions, gets code. It is assembly, which the C compiler makes
# an object of: here, and where there is no Swift (docs/decisions/0027).
#
#   embedded_swift_core([VARIANT <condition>])     the modules of the core
#   embedded_swift_assembly(<Name> <variable for the path of the assembly> [VARIANT <condition>])
#   embedded_swift_check(<target>)                 a target that compiles every module as far as the compiler finds
#                                                  mistakes, allocations among them, and makes no code of it
#
# VARIANT: compiled with this condition (#if), in a folder of its own, on modules of the same variant.
#
# A module sees what it imports, and what that imports: the compiler loads them all. Nothing else is in its search
# path, so what the design does not know does not compile.

find_program(SWIFTMQTT_SWIFTC swiftc DOC "The Swift compiler, 6.3 or newer")
if(NOT SWIFTMQTT_SWIFTC)
  message(FATAL_ERROR "swiftc was not found: Swift 6.3 or newer is needed (https://www.swift.org/install)")
endif()
execute_process(COMMAND "${SWIFTMQTT_SWIFTC}" --version
  OUTPUT_VARIABLE _swift_version ERROR_QUIET RESULT_VARIABLE _swift_result)
string(REGEX MATCH "Swift version ([0-9]+\\.[0-9]+)" _ "${_swift_version}")
if(NOT _swift_result EQUAL 0 OR CMAKE_MATCH_1 VERSION_LESS 6.3)
  message(FATAL_ERROR "${SWIFTMQTT_SWIFTC} is Swift '${CMAKE_MATCH_1}': Swift 6.3 or newer is needed")
endif()

include("${CMAKE_CURRENT_LIST_DIR}/SwiftTarget.cmake")

set(_portable "${CMAKE_CURRENT_LIST_DIR}/portable.awk")
set(_swift_flags_file "${CMAKE_CURRENT_LIST_DIR}/swift-flags.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_swift_flags_file}")
file(STRINGS "${_swift_flags_file}" _swift_flags REGEX "^-")
list(JOIN _swift_flags " " _swift_flags)
separate_arguments(_swift_flags UNIX_COMMAND "${_swift_flags}")
list(APPEND _swift_flags ${SWIFTMQTT_SWIFT_TARGET_FLAGS} ${SWIFTMQTT_SWIFT_HARDENING})
if(SWIFTMQTT_WERROR)
  list(APPEND _swift_flags -warnings-as-errors)
endif()

# The command that makes `output` of a module's sources, with `emit`, in a folder of its own below `directory`.
function(_embedded_swift_compile name directory output)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "" "FLAGS;EMIT;AFTERWARDS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/Sources/${name}/*.swift")
  if(NOT sources)
    message(FATAL_ERROR "Sources/${name} has no Swift file")
  endif()
  foreach(module IN LISTS SWIFTMQTT_SEES_${name})
    if(SWIFTMQTT_KIND_${module} STREQUAL shared)
      file(GLOB_RECURSE shared CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/Sources/${module}/*.swift")
      list(APPEND sources ${shared})
    endif()
  endforeach()
  set(depends ${sources} "${_swift_flags_file}" "${_portable}")
  set(include "")
  foreach(module IN LISTS SWIFTMQTT_SEES_${name})
    if(SWIFTMQTT_KIND_${module} STREQUAL c)
      set(folder "${CMAKE_CURRENT_SOURCE_DIR}/Sources/${module}/include")
      file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.h" "${folder}/module.modulemap")
      list(APPEND depends ${headers})
      list(APPEND include -I "${folder}")
    elseif(SWIFTMQTT_KIND_${module} STREQUAL core)
      list(APPEND depends "${directory}/${module}/${module}.swiftmodule")
      list(APPEND include -I "${directory}/${module}")
    endif()
  endforeach()
  if(SWIFTMQTT_SWIFT_FREESTANDING)
    list(APPEND include -I "${CMAKE_CURRENT_SOURCE_DIR}/cmake/freestanding")
  endif()
  file(MAKE_DIRECTORY "${directory}/${name}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${SWIFTMQTT_SWIFTC}" ${arg_FLAGS} -module-cache-path "${directory}/cache"
      ${include} -module-name ${name} ${arg_EMIT} ${sources}
    ${arg_AFTERWARDS}
    DEPENDS ${depends}
    COMMENT "Swift ${name}"
    VERBATIM)
endfunction()

# Sets `flags` and `directory` in the caller.
macro(_embedded_swift_variant variant)
  set(flags ${_swift_flags})
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/swift")
  if("${variant}" STREQUAL "")
    list(REMOVE_ITEM flags -O)
    list(APPEND flags ${SWIFTMQTT_OPTIMISATION} ${SWIFTMQTT_FEATURE_FLAGS})
  else()
    list(APPEND flags -D ${variant})
    string(APPEND directory "-${variant}")
  endif()
endmacro()

function(embedded_swift_core)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "VARIANT" "")
  _embedded_swift_variant("${arg_VARIANT}")
  foreach(name IN LISTS SWIFTMQTT_core)
    set(output "${directory}/${name}/${name}.swiftmodule")
    _embedded_swift_compile(${name} "${directory}" "${output}" FLAGS ${flags}
      EMIT -emit-module -emit-module-path "${output}")
  endforeach()
endfunction()

function(embedded_swift_assembly name variable)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "VARIANT" "")
  _embedded_swift_variant("${arg_VARIANT}")
  if(SWIFTMQTT_KIND_${name} STREQUAL program)
    set(flags ${_swift_flags} -Osize)
    list(REMOVE_ITEM flags -no-allocations -O)
  elseif(SWIFTMQTT_KIND_${name} STREQUAL stomp)
    list(REMOVE_ITEM flags -O)
    list(APPEND flags -Osize -Xfrontend -mergeable-traps)
  endif()
  set(output "${directory}/${name}/${name}.s")
  set(llvm "${directory}/${name}/llvm/${name}.s")
  file(MAKE_DIRECTORY "${directory}/${name}/llvm")
  _embedded_swift_compile(${name} "${directory}" "${output}" FLAGS ${flags} EMIT -S -o "${llvm}"
    AFTERWARDS COMMAND sh -c "awk -f \"$0\" \"$1\" >\"$2\"" "${_portable}" "${llvm}" "${output}")
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()

# Mistakes, allocations and unsafe code are found before anything is optimised. Of a program, which may allocate, all there is
# to see is seen when its types are checked. The drop-in's own packets (#if DROP_IN) are not looked at.
function(embedded_swift_check target)
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/swift-check")
  set(flags ${_swift_flags} ${SWIFTMQTT_FEATURE_FLAGS} -Onone)
  list(REMOVE_ITEM flags -O)
  set(outputs "")
  foreach(name IN LISTS SWIFTMQTT_core)
    set(output "${directory}/${name}/${name}.swiftmodule")
    _embedded_swift_compile(${name} "${directory}" "${output}" FLAGS ${flags}
      EMIT -emit-module -emit-module-path "${output}")
    list(APPEND outputs "${output}")
  endforeach()
  foreach(name IN LISTS SWIFTMQTT_library SWIFTMQTT_stomp SWIFTMQTT_drop-in SWIFTMQTT_program)
    set(output "${directory}/${name}/checked")
    set(own_flags ${flags})
    set(emit -emit-sil -o /dev/null)
    if(SWIFTMQTT_KIND_${name} STREQUAL program)
      list(REMOVE_ITEM own_flags -no-allocations)
      set(emit -typecheck)
    endif()
    _embedded_swift_compile(${name} "${directory}" "${output}" FLAGS ${own_flags} EMIT ${emit}
      AFTERWARDS COMMAND ${CMAKE_COMMAND} -E touch "${output}")
    list(APPEND outputs "${output}")
  endforeach()
  add_custom_target(${target} DEPENDS ${outputs})
endfunction()
