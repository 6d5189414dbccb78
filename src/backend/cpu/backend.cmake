# Vectors by Highway. Users of the library find it again by cmake/sixfold-config.cmake.
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
foreach(part IN LISTS sixfold_libraries)
  target_link_libraries(${part} PRIVATE PkgConfig::hwy)
endforeach()
