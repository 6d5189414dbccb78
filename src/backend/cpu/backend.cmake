find_path(HIGHWAY_INCLUDE hwy/highway.h REQUIRED)  # vectors by the headers of Highway alone: targets.cc has the rest
