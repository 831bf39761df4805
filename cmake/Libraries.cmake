# A library of the project, shared and static, of the assembly that Swift has made and of C files.
#
#   swiftmqtt_library(<name> <prefix> <objects>…)   the targets <name> and <name>_static, of which only <prefix>_* is
#                                                   global: the functions of include/<name>.h

# No start files: the libraries have no constructors, and they would import symbols for nothing. nodelete: a look-up may
# outlive dlclose().
function(swiftmqtt_library name prefix)
  set(objects ${ARGN})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  add_library(${name} SHARED ${objects})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  set(map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/${name}.map")
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE C VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS "${map}")
  target_link_options(${name} PRIVATE
    -nostartfiles "LINKER:--version-script=${map}" LINKER:--gc-sections LINKER:--no-undefined LINKER:--as-needed
    LINKER:--hash-style=gnu LINKER:--build-id=sha1 LINKER:-z,text,-z,now,-z,relro,-z,noexecstack,-z,nodelete)

  # One object, in which only the functions of the header are global, so that it meets nobody else's symbols.
  file(READ include/${name}.h header)
  string(TOUPPER ${prefix} macro)
  string(REGEX MATCHALL "\n${macro}_API [^;]*" functions "${header}")
  list(TRANSFORM functions REPLACE ".*[ *](${prefix}_[a-z0-9_]+)\\(.*" "-Wl,-u,\\1")
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${name}.o")
  add_custom_command(
    OUTPUT "${object}"
    COMMAND ${CMAKE_C_COMPILER} -r -nostdlib -Wl,--gc-sections -Wl,--force-group-allocation ${functions}
      -o "${object}" ${objects}
    COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=${prefix}_* --strip-unneeded "${object}"
    DEPENDS ${ARGN} ${objects}
    COMMENT "Linking ${name}.o"
    COMMAND_EXPAND_LISTS VERBATIM)
  set_source_files_properties("${object}" PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
  add_library(${name}_static STATIC "${object}")
  target_include_directories(${name}_static PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  target_link_options(${name}_static INTERFACE -pthread)
  set_target_properties(${name}_static PROPERTIES LINKER_LANGUAGE C OUTPUT_NAME ${name})
endfunction()
