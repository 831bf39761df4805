# libswiftmqtt-tls.so: TLS for libswiftmqtt, on OpenSSL 3. It is C alone, knows libswiftmqtt's headers, and links nothing of it.
#
#   SWIFTMQTT_TLS   whether it is built: where OpenSSL can be linked with, unless one says otherwise

include(CheckSourceCompiles)

# A cross compiler may find the headers of this machine: what counts is that a program can be linked.
set(_has_openssl OFF)
if(PROJECT_IS_TOP_LEVEL AND NOT SWIFTMQTT_SMALL OR SWIFTMQTT_TLS)
  find_package(OpenSSL 3.0 QUIET)
  if(OPENSSL_FOUND)
    set(CMAKE_REQUIRED_LIBRARIES OpenSSL::SSL)
    set(CMAKE_REQUIRED_QUIET ON)
    check_source_compiles(C "
      #include <openssl/ssl.h>
      int main(void) { return SSL_CTX_new(TLS_client_method()) == NULL; }" SWIFTMQTT_LINKS_OPENSSL)
    unset(CMAKE_REQUIRED_LIBRARIES)
    unset(CMAKE_REQUIRED_QUIET)
    if(SWIFTMQTT_LINKS_OPENSSL AND PROJECT_IS_TOP_LEVEL AND NOT SWIFTMQTT_SMALL)
      set(_has_openssl ON)
    endif()
  endif()
endif()
option(SWIFTMQTT_TLS "Build libswiftmqtt-tls, which needs OpenSSL 3" ${_has_openssl})

if(SWIFTMQTT_TLS)
  find_package(OpenSSL 3.0 REQUIRED)
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
