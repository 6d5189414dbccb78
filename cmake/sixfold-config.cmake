# find_package(sixfold) makes the target sixfold::shared and, where the libraries that it is linked with are there,
# sixfold::sixfold, the static library.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
find_dependency(fmt)
include(${CMAKE_CURRENT_LIST_DIR}/sixfold-shared.cmake OPTIONAL)  # a build with sanitizers has none

# A function, so that no variable of the caller changes.
function(sixfold_find_static)
  find_package(yaml-cpp QUIET)
  find_package(ICU QUIET COMPONENTS uc i18n)
  find_package(ZLIB QUIET)
  find_package(PkgConfig QUIET)
  if(NOT (yaml-cpp_FOUND AND ICU_FOUND AND ZLIB_FOUND AND PKG_CONFIG_FOUND))
    return()
  endif()
  foreach(module sentencepiece=sentencepiece libpng=libpng turbojpeg=libturbojpeg gumbo=gumbo expat=expat md4c=md4c)
    string(REGEX MATCH "^(.*)=(.*)$" found ${module})
    set(name ${CMAKE_MATCH_1})
    pkg_check_modules(${name} QUIET IMPORTED_TARGET ${CMAKE_MATCH_2})
    if(NOT TARGET PkgConfig::${name})
      return()
    endif()
  endforeach()
  include(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/sixfold-static.cmake)
endfunction()
sixfold_find_static()
