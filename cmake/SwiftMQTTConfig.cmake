# find_package(SwiftMQTT 1 [COMPONENTS shared static tls payload stomp stomp_static]): SwiftMQTT::swiftmqtt is the shared
# library, SwiftMQTT::static the one that goes into the program, SwiftMQTT::tls is libswiftmqtt-tls, SwiftMQTT::payload
# libswiftmqtt-payload.a, SwiftMQTT::stomp libswiftstomp, and SwiftMQTT::stomp_static the one that goes into the program.
# Without components there is whichever is installed.

set(_swiftmqtt_shared libswiftmqtt.so)
set(_swiftmqtt_static libswiftmqtt.a)
set(_swiftmqtt_tls libswiftmqtt-tls.so)
set(_swiftmqtt_payload libswiftmqtt-payload.a)
set(_swiftmqtt_stomp libswiftstomp.so)
set(_swiftmqtt_stomp_static libswiftstomp.a)
foreach(_component IN ITEMS shared static tls payload stomp stomp_static)
  # Distributions put the two into packages of their own, and this file into one of them.
  if(EXISTS "${CMAKE_CURRENT_LIST_DIR}/../../${_swiftmqtt_${_component}}")
    include("${CMAKE_CURRENT_LIST_DIR}/SwiftMQTT-${_component}.cmake")
    set(SwiftMQTT_${_component}_FOUND TRUE)
  endif()
endforeach()

foreach(_component IN LISTS SwiftMQTT_FIND_COMPONENTS)
  if(SwiftMQTT_FIND_REQUIRED_${_component} AND NOT SwiftMQTT_${_component}_FOUND)
    set(SwiftMQTT_FOUND FALSE)
    set(SwiftMQTT_NOT_FOUND_MESSAGE
      "there is no component '${_component}': SwiftMQTT has shared, static, tls, payload, stomp and stomp_static, each where \
it is installed")
  endif()
endforeach()
