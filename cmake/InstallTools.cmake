# smq, its manual pages and its completion.

# It finds the library from where it is itself, so that what is installed may be moved. In /usr the loader does.
file(RELATIVE_PATH up "/${CMAKE_INSTALL_BINDIR}" "/${SWIFTMQTT_LIBDIR}")
set_target_properties(smq PROPERTIES INSTALL_RPATH "\$ORIGIN/${up}")
install(TARGETS smq RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "
  if(CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
    file(RPATH_REMOVE FILE \"\$ENV{DESTDIR}/usr/${CMAKE_INSTALL_BINDIR}/smq\")
  endif()")

file(GLOB manual CONFIGURE_DEPENDS docs/manual/*.1)
install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES Sources/smq/smq.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME smq)
