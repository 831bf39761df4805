# swiftmqtt_tls_mbedtls: the engine on mbedTLS, static or shared as BUILD_SHARED_LIBS says. It is not installed: what it can do
# depends on the mbedTLS of the program, which is often one of its own.
#
#   SWIFTMQTT_TLS_MBEDTLS   whether it is built
#   MbedTLS_ROOT            where its include and lib, or library, are, if not where the compiler looks

option(SWIFTMQTT_TLS_MBEDTLS "Build swiftmqtt_tls_mbedtls, which needs mbedTLS 2.28 or 3.x" OFF)

if(SWIFTMQTT_TLS_MBEDTLS)
  if(NOT TARGET MbedTLS::mbedtls)
    # Debian's 2.28 comes without a package file for CMake, and so do sources that were built with make.
    find_path(MBEDTLS_INCLUDE_DIR mbedtls/ssl.h HINTS "${MbedTLS_ROOT}" PATH_SUFFIXES include REQUIRED)
    set(_mbedtls "")
    foreach(name IN ITEMS mbedtls mbedx509 mbedcrypto)
      find_library(MBEDTLS_${name} ${name} HINTS "${MbedTLS_ROOT}" PATH_SUFFIXES lib library REQUIRED)
      list(APPEND _mbedtls "${MBEDTLS_${name}}")
    endforeach()
    add_library(MbedTLS::mbedtls INTERFACE IMPORTED)
    set_target_properties(MbedTLS::mbedtls PROPERTIES
      INTERFACE_INCLUDE_DIRECTORIES "${MBEDTLS_INCLUDE_DIR}" INTERFACE_LINK_LIBRARIES "${_mbedtls}")
  endif()
  find_package(Threads REQUIRED)
  file(GLOB _mbedtls_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tls/mbedtls/*.c")
  add_library(swiftmqtt_tls_mbedtls ${_mbedtls_sources})
  target_include_directories(swiftmqtt_tls_mbedtls PUBLIC $<BUILD_INTERFACE:${include}>)
  target_compile_definitions(swiftmqtt_tls_mbedtls PRIVATE _POSIX_C_SOURCE=200809L)
  target_compile_options(swiftmqtt_tls_mbedtls PRIVATE ${warnings} -fvisibility=hidden -ffunction-sections -fdata-sections)
  swiftmqtt_harden(swiftmqtt_tls_mbedtls)
  # Public: a program with a block of its own hands it to the same mbedTLS.
  target_link_libraries(swiftmqtt_tls_mbedtls PUBLIC MbedTLS::mbedtls PRIVATE Threads::Threads)
  set_target_properties(swiftmqtt_tls_mbedtls PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
endif()
