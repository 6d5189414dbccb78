# Run by cmake --install: writes the headers as users get them into COPIES, from those of SOURCE (HEADERS, by their
# paths there). In the source they include each other as "folder/name.h". Users get <sixfold/extend/folder/name.h>, so that no
# name such as base/error.h is taken in their include path; and <sixfold/name.h> for each name=path of PUBLIC.
file(REMOVE_RECURSE "${COPIES}")
foreach(header IN LISTS HEADERS)
  file(READ "${SOURCE}/${header}" text)
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <sixfold/extend/\\1>" text "${text}")
  file(WRITE "${COPIES}/sixfold/extend/${header}" "${text}")
endforeach()
foreach(entry IN LISTS PUBLIC)
  string(REGEX MATCH "^(.*)=(.*)$" found "${entry}")
  file(WRITE "${COPIES}/sixfold/${CMAKE_MATCH_1}.h" "#pragma once\n#include <sixfold/extend/${CMAKE_MATCH_2}>\n")
endforeach()
