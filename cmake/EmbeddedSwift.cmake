# Compiles Embedded Swift modules with plain custom commands: CMake's own Swift support knows neither
# Embedded Swift nor a C compiler of another target beside it.
#
# In Embedded Swift a module's code is carried in its .swiftmodule and compiled into the object file of
# the module that uses it. So only the last module, the one that exports the C functions, gets an object.
#
#   embedded_swift_module(<Name> [VARIANT <condition>] [MODULES <Swift module>…] [C_MODULES <folder with module.modulemap>…])
#   embedded_swift_object(<Name> <variable for the object's path> [ALLOCATES] [VARIANT …] [MODULES …] [C_MODULES …])
#
# VARIANT: compiled with this condition (#if), in a folder of its own, on modules of the same variant.
# ALLOCATES is for programs: without it code that would allocate does not compile.
#
# A module sees what it names, and what that needs, and nothing else: an import that the design does not
# know does not compile.

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

set(_swift_flags_file "${CMAKE_CURRENT_LIST_DIR}/swift-flags.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_swift_flags_file}")
file(STRINGS "${_swift_flags_file}" _swift_flags REGEX "^-")
list(JOIN _swift_flags " " _swift_flags)
separate_arguments(_swift_flags UNIX_COMMAND "${_swift_flags}")
list(APPEND _swift_flags ${SWIFTMQTT_SWIFT_TARGET_FLAGS} ${SWIFTMQTT_SWIFT_HARDENING})
if(SWIFTMQTT_WERROR)
  list(APPEND _swift_flags -warnings-as-errors)
endif()

function(_embedded_swift_compile name object)
  cmake_parse_arguments(PARSE_ARGV 2 arg "ALLOCATES" "VARIANT" "MODULES;C_MODULES")
  set(flags ${_swift_flags})
  set(directory "${CMAKE_CURRENT_BINARY_DIR}/swift")
  if(arg_VARIANT)
    list(APPEND flags -D ${arg_VARIANT})
    string(APPEND directory "-${arg_VARIANT}")
  endif()
  if(arg_ALLOCATES)
    list(REMOVE_ITEM flags -no-allocations -O)
    list(APPEND flags -Osize)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/Sources/${name}/*.swift")
  if(NOT sources)
    message(FATAL_ERROR "Sources/${name} has no Swift file")
  endif()

  # What the named modules see themselves must be visible too: the compiler loads them all.
  set(modules ${arg_MODULES})
  set(c_modules ${arg_C_MODULES})
  foreach(module IN LISTS arg_MODULES)
    get_property(more GLOBAL PROPERTY SWIFTMQTT_MODULES_OF_${module})
    list(APPEND modules ${more})
    get_property(more GLOBAL PROPERTY SWIFTMQTT_C_MODULES_OF_${module})
    list(APPEND c_modules ${more})
  endforeach()
  list(REMOVE_DUPLICATES modules)
  list(REMOVE_DUPLICATES c_modules)
  set_property(GLOBAL PROPERTY SWIFTMQTT_MODULES_OF_${name} ${modules})
  set_property(GLOBAL PROPERTY SWIFTMQTT_C_MODULES_OF_${name} ${c_modules})

  set(depends ${sources} "${_swift_flags_file}")
  set(include "")
  foreach(module IN LISTS modules)
    list(APPEND include -I "${directory}/${module}")
    list(APPEND depends "${directory}/${module}/${module}.swiftmodule")
  endforeach()
  foreach(folder IN LISTS c_modules)
    list(APPEND include -I "${folder}")
    file(GLOB headers CONFIGURE_DEPENDS "${folder}/*.h" "${folder}/module.modulemap")
    list(APPEND depends ${headers})
  endforeach()
  if(SWIFTMQTT_SWIFT_FREESTANDING)
    list(APPEND include -I "${CMAKE_CURRENT_SOURCE_DIR}/cmake/freestanding")
  endif()

  file(MAKE_DIRECTORY "${directory}/${name}")
  if(object)
    set(output "${directory}/${name}/${name}.o")
    set(emit -c -o "${output}")
    # The compiler's note for its own incremental builds, a hash of paths among others: without it the same
    # sources give the same bytes everywhere.
    set(afterwards COMMAND ${CMAKE_OBJCOPY} --remove-section .swift_modhash "${output}")
  else()
    set(output "${directory}/${name}/${name}.swiftmodule")
    set(emit -emit-module -emit-module-path "${output}")
    set(afterwards "")
  endif()
  add_custom_command(
    OUTPUT "${output}"
    COMMAND "${SWIFTMQTT_SWIFTC}" ${flags} -module-cache-path "${directory}/cache"
      ${include} -module-name ${name} ${emit} ${sources}
    ${afterwards}
    DEPENDS ${depends}
    COMMENT "Swift ${name}"
    VERBATIM)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(embedded_swift_module name)
  _embedded_swift_compile(${name} OFF ${ARGN})
endfunction()

function(embedded_swift_object name variable)
  _embedded_swift_compile(${name} ON ${ARGN})
  set(${variable} "${output}" PARENT_SCOPE)
endfunction()
