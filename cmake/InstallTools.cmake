# smq, its manual pages and its completion.

# It finds the library from where it is itself, so that what is installed may be moved. In /usr the loader does.
# The built program gets both its places, and the one of the build is taken out here: CMake would do so by itself, but
# fills up the former with colons, and an empty entry is the folder one happens to be in.
file(RELATIVE_PATH up "/${CMAKE_INSTALL_BINDIR}" "/${SWIFTMQTT_LIBDIR}")
install(TARGETS smq RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(NOT CMAKE_SKIP_RPATH AND NOT CMAKE_SKIP_INSTALL_RPATH)
  set_target_properties(smq PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "\$ORIGIN/..;\$ORIGIN/${up}")
  install(CODE "
    set(smq \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}/smq\")
    if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      file(RPATH_REMOVE FILE \"\${smq}\")
    else()
      file(RPATH_CHANGE FILE \"\${smq}\" OLD_RPATH \"\\\$ORIGIN/..:\\\$ORIGIN/${up}\" NEW_RPATH \"\\\$ORIGIN/${up}\")
    endif()")
endif()

file(GLOB manual CONFIGURE_DEPENDS docs/manual/*.1)
install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES Sources/smq/smq.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME smq)
