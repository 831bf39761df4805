set(target armv7)
include("${CMAKE_CURRENT_LIST_DIR}/debian.cmake")
