# libswiftmqtt-payload.a: the writers of swiftmqtt-payload.h. It is C alone, and links nothing: not libswiftmqtt either.

file(GLOB _payload_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/payload/*.c")
add_library(swiftmqtt_payload STATIC ${_payload_sources})
add_library(SwiftMQTT::payload ALIAS swiftmqtt_payload)
target_include_directories(swiftmqtt_payload PUBLIC $<BUILD_INTERFACE:${include}>)
target_compile_options(swiftmqtt_payload PRIVATE ${warnings} -ffunction-sections -fdata-sections -fno-unwind-tables
  -fno-asynchronous-unwind-tables)
swiftmqtt_harden(swiftmqtt_payload)
# It may go into a shared library of the program's.
set_target_properties(swiftmqtt_payload PROPERTIES
  OUTPUT_NAME swiftmqtt-payload EXPORT_NAME payload
  C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
