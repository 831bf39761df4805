# Linux on another processor, with Debian's cross gcc: cmake/targets has what each is called.
include("${CMAKE_CURRENT_LIST_DIR}/../Targets.cmake")
swiftmqtt_target(tools ${target} _tools)
swiftmqtt_target(qemu ${target} _qemu)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${target})
set(CMAKE_C_COMPILER ${_tools}-gcc)

set(CMAKE_CROSSCOMPILING_EMULATOR ${_qemu} -L /usr/${_tools})
set(CMAKE_FIND_ROOT_PATH /usr/${_tools})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
