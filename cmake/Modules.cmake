# What modules.txt says.
#
#   SWIFTMQTT_<kind>         the modules of a kind, from the ground up
#   SWIFTMQTT_KIND_<module>  its kind
#   SWIFTMQTT_SEES_<module>  what it imports, and what that imports
#   swiftmqtt_c_of(<module> <sources> <includes> [WITHOUT <module>])
#                            sets the C files of what it sees, without those of what another sees, and the folders of headers

set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/modules.txt")
file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/modules.txt" _rows REGEX "^[A-Za-z]")
foreach(_row IN LISTS _rows)
  separate_arguments(_row UNIX_COMMAND "${_row}")
  list(POP_FRONT _row _name _kind)
  list(APPEND SWIFTMQTT_${_kind} ${_name})
  set(SWIFTMQTT_KIND_${_name} ${_kind})
  set(SWIFTMQTT_SEES_${_name} "")
  foreach(_import IN LISTS _row)
    if(NOT DEFINED SWIFTMQTT_KIND_${_import})
      message(FATAL_ERROR "cmake/modules.txt: ${_name} imports ${_import}, which does not stand above it")
    endif()
    list(APPEND SWIFTMQTT_SEES_${_name} ${_import} ${SWIFTMQTT_SEES_${_import}})
  endforeach()
  list(REMOVE_DUPLICATES SWIFTMQTT_SEES_${_name})
endforeach()

function(swiftmqtt_c_of module sources includes)
  cmake_parse_arguments(PARSE_ARGV 3 arg "" "WITHOUT" "")
  set(${sources} "")
  set(${includes} "")
  foreach(name IN LISTS SWIFTMQTT_SEES_${module})
    if(SWIFTMQTT_KIND_${name} STREQUAL c)
      set(folder "${CMAKE_CURRENT_SOURCE_DIR}/Sources/${name}")
      list(APPEND ${includes} "${folder}/include")
      if(NOT name IN_LIST SWIFTMQTT_SEES_${arg_WITHOUT})
        file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*.c")
        list(APPEND ${sources} ${files})
      endif()
    endif()
  endforeach()
  list(SORT ${sources})
  set(${sources} ${${sources}} PARENT_SCOPE)
  set(${includes} ${${includes}} PARENT_SCOPE)
endfunction()
