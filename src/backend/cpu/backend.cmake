# Vectors by the headers of Highway alone: targets.cc has the rest. Its namespace has another name, so that a program may
# use Highway itself, also another version.
find_path(HIGHWAY_INCLUDE hwy/highway.h REQUIRED)
target_include_directories(sixfold_flags SYSTEM INTERFACE ${HIGHWAY_INCLUDE})
target_compile_definitions(sixfold_flags INTERFACE hwy=sixfold_hwy)
