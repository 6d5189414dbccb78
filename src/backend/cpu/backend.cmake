# Vectors by Highway. Users of the library find it again by cmake/sixfold-config.cmake.
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
target_link_libraries(sixfold PRIVATE PkgConfig::hwy)
