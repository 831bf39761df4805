# In place of EmbeddedSwift.cmake where the tree is that of `make dist`: what the Swift compiler makes is there already, for each
# of cmake/targets, in assembly/.

swiftmqtt_target_of(${CMAKE_SYSTEM_PROCESSOR} _assembly_for)
if(NOT _assembly_for)
  list(JOIN SWIFTMQTT_TARGETS ", " _known)
  message(FATAL_ERROR "CMAKE_SYSTEM_PROCESSOR is '${CMAKE_SYSTEM_PROCESSOR}': there is assembly for ${_known}. For another "
    "set SWIFTMQTT_SWIFTC to the Swift compiler, and SWIFTMQTT_SWIFT_TARGET_FLAGS.")
endif()
swiftmqtt_check_compiler(${_assembly_for})

function(embedded_swift_core)
endfunction()

function(embedded_swift_check target)
endfunction()

function(embedded_swift_assembly name variable)
  set(${variable} "${CMAKE_CURRENT_SOURCE_DIR}/assembly/${_assembly_for}/${name}.s" PARENT_SCOPE)
endfunction()
