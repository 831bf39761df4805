# The programs, their manual pages and their completion.

file(RELATIVE_PATH up "/${CMAKE_INSTALL_BINDIR}" "/${SWIFTMQTT_LIBDIR}")
foreach(program IN LISTS SWIFTMQTT_PROGRAMS)
  # It finds the library from where it is itself, so that what is installed may be moved. In /usr the loader does.
  # The built program gets both its places, and the one of the build is taken out here: CMake would do so by itself, but
  # fills up the former with colons, and an empty entry is the folder one happens to be in.
  install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT CMAKE_SKIP_RPATH AND NOT CMAKE_SKIP_INSTALL_RPATH)
    set_target_properties(${program} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN/..;\$ORIGIN/${up}")
    install(CODE "
      set(program \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/${program}\")
      if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
        file(RPATH_REMOVE FILE \"\${program}\")
      else()
        file(RPATH_CHANGE FILE \"\${program}\" OLD_RPATH \"\\\$ORIGIN/..:\\\$ORIGIN/${up}\" NEW_RPATH \"\\\$ORIGIN/${up}\")
      endif()")
  endif()
  file(GLOB manual CONFIGURE_DEPENDS docs/manual/${program}.1 docs/manual/${program}-*.1)
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES Sources/CommandLine/completion.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ${program})
endforeach()
