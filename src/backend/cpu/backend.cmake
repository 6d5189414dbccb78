# Vectors by Highway, products in bf16 by oneDNN. gomp: oneDNN runs in threads of ours, and its OpenMP must be told to start
# none. Users of the library find Highway again by cmake/sixfold-config.cmake.
pkg_check_modules(hwy REQUIRED IMPORTED_TARGET libhwy)
find_path(DNNL_INCLUDE oneapi/dnnl/dnnl.hpp REQUIRED)
target_link_libraries(sixfold PRIVATE PkgConfig::hwy dnnl gomp)
