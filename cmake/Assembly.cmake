# In place of EmbeddedSwift.cmake where the tree is that of `make dist`: what the Swift compiler makes is there already, for each
# of cmake/targets, in assembly/.

swiftmqtt_target_of(${CMAKE_SYSTEM_PROCESSOR} _assembly_for)
if(NOT _assembly_for)
  list(JOIN SWIFTMQTT_TARGETS ", " _known)
  message(FATAL_ERROR "CMAKE_SYSTEM_PROCESSOR is '${CMAKE_SYSTEM_PROCESSOR}': there is assembly for ${_known}. For another "
    "set SWIFTMQTT_SWIFTC to the Swift compiler, and SWIFTMQTT_SWIFT_TARGET_FLAGS.")
endif()
swiftmqtt_check_compiler(${_assembly_for})

if(SWIFTMQTT_SMALL OR SWIFTMQTT_WITHOUT)
  message(FATAL_ERROR "The assembly is of the whole library: SWIFTMQTT_SMALL and SWIFTMQTT_WITHOUT need a Swift compiler, "
    "named by SWIFTMQTT_SWIFTC.")
endif()

function(embedded_swift_core)
endfunction()

function(embedded_swift_check target)
endfunction()

function(embedded_swift_assembly name variable)
  set(${variable} "${CMAKE_CURRENT_SOURCE_DIR}/assembly/${_assembly_for}/${name}.s" PARENT_SCOPE)
endfunction()
