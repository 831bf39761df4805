# What find_package(SwiftMQTT) and pkg-config read. Both find the rest from where they are themselves, so that what is
# installed may be moved.

foreach(directory IN ITEMS SWIFTMQTT_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
  if(IS_ABSOLUTE "${${directory}}")
    message(FATAL_ERROR "${directory} is '${${directory}}': it has to be below the prefix, and said without it")
  endif()
endforeach()

# ---- find_package(SwiftMQTT)

include(CMakePackageConfigHelpers)
set(config_dir ${SWIFTMQTT_LIBDIR}/cmake/SwiftMQTT)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/SwiftMQTTConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES cmake/SwiftMQTTConfig.cmake "${CMAKE_CURRENT_BINARY_DIR}/SwiftMQTTConfigVersion.cmake"
  DESTINATION ${config_dir})
set(_components shared static payload)
set(_pc_files swiftmqtt swiftmqtt-payload)
if(SWIFTMQTT_TLS)
  list(APPEND _components tls)
  list(APPEND _pc_files swiftmqtt-tls)
endif()
if(SWIFTMQTT_WITH_STOMP)
  list(APPEND _components stomp stomp_static)
  list(APPEND _pc_files swiftstomp)
endif()
foreach(component IN LISTS _components)
  install(EXPORT SwiftMQTT-${component} NAMESPACE SwiftMQTT:: DESTINATION ${config_dir})
endforeach()

# ---- pkg-config. Written while installing: only then the prefix is known (cmake --install --prefix).
# With /usr it is spelled out: only under that name pkg-config knows that the compiler looks there anyway.

string(REGEX REPLACE "[^/]+" ".." up "${SWIFTMQTT_LIBDIR}/pkgconfig")
list(JOIN _pc_files " " _pc_files_text)
install(CODE "
  set(prefix \"\\\${pcfiledir}/${up}\")
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    set(prefix /usr)
  endif()
  set(libdir \"\\\${prefix}/${SWIFTMQTT_LIBDIR}\")
  set(includedir \"\\\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\")
  set(PROJECT_VERSION \"${PROJECT_VERSION}\")
  foreach(name IN ITEMS ${_pc_files_text})
    configure_file(\"${CMAKE_CURRENT_SOURCE_DIR}/cmake/\${name}.pc.in\"
      \"${CMAKE_CURRENT_BINARY_DIR}/\${name}.pc\" @ONLY)
  endforeach()")
list(TRANSFORM _pc_files REPLACE "(.+)" "${CMAKE_CURRENT_BINARY_DIR}/\\1.pc")
install(FILES ${_pc_files} DESTINATION ${SWIFTMQTT_LIBDIR}/pkgconfig)
