# example_<name>_library: what an example needs besides libswiftmqtt. Empty: it is not here, and the example is not built.

include(CheckSourceCompiles)

set(example_sensord_library swiftmqtt_payload)

set(example_tls_library "")
if(SWIFTMQTT_TLS)
  set(example_tls_library swiftmqtt_tls)
endif()

# A cross compiler may find the headers of this machine: what counts is that a program can be linked.
set(example_tls_bearssl_library "")
if(NOT SWIFTMQTT_SMALL)
  set(CMAKE_REQUIRED_LIBRARIES bearssl)
  set(CMAKE_REQUIRED_QUIET ON)
  check_source_compiles(C "
    #include <bearssl.h>
    int main(void) { br_ssl_client_context client; br_ssl_client_zero(&client); return 0; }" SWIFTMQTT_LINKS_BEARSSL)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_QUIET)
  if(SWIFTMQTT_LINKS_BEARSSL)
    set(example_tls_bearssl_library bearssl)
  endif()
endif()
