# What libswiftmqtt has: all of it, or less (cmake/features.txt). smq and the drop-in always have all.
#
#   SWIFTMQTT_FEATURE_FLAGS  what the Swift compiler is told of it
#   SWIFTMQTT_OPTIMISATION   how the library is optimised

option(SWIFTMQTT_SMALL "Build the small profile of the library: optimised for size, without what cmake/features.txt lists" OFF)
set(SWIFTMQTT_WITHOUT "" CACHE STRING "What to leave out: names of cmake/features.txt, separated by semicolons")

set(_features_file "${CMAKE_CURRENT_LIST_DIR}/features.txt")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_features_file}")
file(STRINGS "${_features_file}" _features REGEX "^[A-Z]")
list(TRANSFORM _features REPLACE " .*" "")

set(SWIFTMQTT_OPTIMISATION -O)
set(_left_out ${SWIFTMQTT_WITHOUT})
if(SWIFTMQTT_SMALL)
  set(_left_out ${_features})
  # One trap for each function, and functions in one place, not in each that calls them.
  set(SWIFTMQTT_OPTIMISATION -Osize -Xfrontend -mergeable-traps -Xfrontend -ignore-always-inline
    -Xllvm -sil-inline-overall-caller-block-limit=10 -Xllvm -inline-threshold=0)
endif()

set(SWIFTMQTT_FEATURE_FLAGS "")
foreach(_feature IN LISTS _left_out)
  if(NOT _feature IN_LIST _features)
    list(JOIN _features ", " _known)
    message(FATAL_ERROR "SWIFTMQTT_WITHOUT: '${_feature}' is none of ${_known}")
  endif()
  list(APPEND SWIFTMQTT_FEATURE_FLAGS -D WITHOUT_${_feature})
endforeach()
