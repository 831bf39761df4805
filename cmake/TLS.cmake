# libswiftmqtt-tls.so: TLS for libswiftmqtt, on OpenSSL 3. It is C alone, knows libswiftmqtt's headers, and links nothing of it.
#
#   SWIFTMQTT_TLS      whether it is built: where OpenSSL can be linked with, unless one says otherwise
#   OPENSSL_ROOT_DIR   where OpenSSL is, as a variable or in the environment, if the compiler does not find it by itself

include(CheckSourceCompiles)

# A cross compiler may find the headers of this machine: what counts is that a program can be linked.
function(swiftmqtt_links_openssl result)
  set(CMAKE_REQUIRED_LIBRARIES ${ARGN})
  set(CMAKE_REQUIRED_QUIET ON)
  check_source_compiles(C "
    #include <openssl/ssl.h>
    #if OPENSSL_VERSION_MAJOR < 3
    #error
    #endif
    int main(void) { return SSL_CTX_new(TLS_client_method()) == NULL; }" ${result})
  if(NOT ${result})
    unset(${result} CACHE) # it may be installed before the next time
  endif()
endfunction()

# OpenSSL::SSL and OpenSSL::Crypto, if there is an OpenSSL 3 for the processor. A macro: its targets are of the caller's scope.
macro(swiftmqtt_find_openssl)
  foreach(_root IN ITEMS "${OPENSSL_ROOT_DIR}" "$ENV{OPENSSL_ROOT_DIR}")
    if(CMAKE_CROSSCOMPILING AND _root)
      list(APPEND CMAKE_FIND_ROOT_PATH "${_root}") # otherwise it is looked for below the toolchain's own directory
    endif()
  endforeach()
  find_package(OpenSSL 3.0 QUIET)
  if(OPENSSL_FOUND)
    swiftmqtt_links_openssl(SWIFTMQTT_LINKS_OPENSSL OpenSSL::SSL OpenSSL::Crypto)
  elseif(CMAKE_CROSSCOMPILING)
    # Debian's cross compilers find what is installed for their processor (libssl-dev:armhf), and CMake does not.
    swiftmqtt_links_openssl(SWIFTMQTT_LINKS_OPENSSL ssl crypto)
    if(SWIFTMQTT_LINKS_OPENSSL)
      add_library(OpenSSL::Crypto INTERFACE IMPORTED)
      add_library(OpenSSL::SSL INTERFACE IMPORTED)
      target_link_libraries(OpenSSL::Crypto INTERFACE crypto)
      target_link_libraries(OpenSSL::SSL INTERFACE ssl OpenSSL::Crypto)
    endif()
  endif()
endmacro()

set(_without "")
if(SWIFTMQTT_TLS OR NOT DEFINED SWIFTMQTT_TLS AND PROJECT_IS_TOP_LEVEL AND NOT SWIFTMQTT_SMALL)
  swiftmqtt_find_openssl()
  if(NOT SWIFTMQTT_LINKS_OPENSSL)
    if(CMAKE_CROSSCOMPILING)
      set(_without "OpenSSL 3 for ${CMAKE_SYSTEM_PROCESSOR} is missing")
    else()
      set(_without "OpenSSL 3 is missing")
    endif()
  endif()
endif()
if(SWIFTMQTT_TLS AND _without)
  message(FATAL_ERROR "SWIFTMQTT_TLS is on, but ${_without}: install it (Debian: libssl-dev), or set OPENSSL_ROOT_DIR")
elseif(NOT DEFINED SWIFTMQTT_TLS AND _without)
  # It is not remembered: once OpenSSL is there, the next time has TLS.
  set(SWIFTMQTT_TLS OFF)
  message(STATUS "Without libswiftmqtt-tls: ${_without}")
else()
  set(_default OFF)
  if(PROJECT_IS_TOP_LEVEL AND NOT SWIFTMQTT_SMALL)
    set(_default ON)
  endif()
  option(SWIFTMQTT_TLS "Build libswiftmqtt-tls, which needs OpenSSL 3" ${_default})
  set(_without "")
endif()
# Read by the Makefile.
set(SWIFTMQTT_WITHOUT_TLS "${_without}" CACHE INTERNAL "why there is no TLS, although it was not turned off")

if(SWIFTMQTT_TLS)
  find_package(Threads REQUIRED)
  file(GLOB _tls_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/tls/openssl/*.c")
  set(_tls_map "${CMAKE_CURRENT_SOURCE_DIR}/cmake/swiftmqtt-tls.map")
  # The drop-in for libmosquitto has the same objects.
  add_library(swiftmqtt_openssl OBJECT ${_tls_sources})
  target_include_directories(swiftmqtt_openssl PRIVATE ${include})
  target_compile_definitions(swiftmqtt_openssl PRIVATE _POSIX_C_SOURCE=200809L)
  target_compile_options(swiftmqtt_openssl PRIVATE ${warnings} -fvisibility=hidden -ffunction-sections -fdata-sections)
  swiftmqtt_harden(swiftmqtt_openssl)
  target_link_libraries(swiftmqtt_openssl PRIVATE OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
  set_target_properties(swiftmqtt_openssl PROPERTIES
    C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  add_library(swiftmqtt_tls SHARED $<TARGET_OBJECTS:swiftmqtt_openssl>)
  add_library(SwiftMQTT::tls ALIAS swiftmqtt_tls)
  target_include_directories(swiftmqtt_tls PUBLIC $<BUILD_INTERFACE:${include}>)
  target_link_libraries(swiftmqtt_tls PRIVATE OpenSSL::SSL OpenSSL::Crypto Threads::Threads)
  set_target_properties(swiftmqtt_tls PROPERTIES
    LINKER_LANGUAGE C
    OUTPUT_NAME swiftmqtt-tls VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} EXPORT_NAME tls
    LINK_DEPENDS "${_tls_map}")
  target_link_options(swiftmqtt_tls PRIVATE
  -nostartfiles # they would be without the marks of IBT and SHSTK, and the library has no constructors
    "LINKER:--version-script=${_tls_map}"
    LINKER:--gc-sections,--no-undefined,--as-needed,--hash-style=gnu,--build-id=sha1
    # nodelete: OpenSSL keeps what it was given of ours.
    LINKER:-z,text,-z,now,-z,relro,-z,noexecstack,-z,nodelete)
endif()
