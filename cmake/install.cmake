# cmake --install: the program, the static library, its headers, and what find_package(sixfold) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS sixfold_cli RUNTIME)
install(TARGETS sixfold EXPORT sixfold-targets ARCHIVE FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sixfold)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sixfold)
install(EXPORT sixfold-targets NAMESPACE sixfold:: DESTINATION ${package_dir})
write_basic_package_version_file(sixfold-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/sixfold-config.cmake ${PROJECT_BINARY_DIR}/sixfold-config-version.cmake
        DESTINATION ${package_dir})
