# Run by cmake --install: writes the headers as users get them into COPIES, from those of SOURCE (HEADERS, by their
# paths there). In the source they include each other as "folder/name.h". Users get <sixfold/folder/name.h>, so that no name
# such as base/error.h is taken in their include path; and <sixfold/name.h> for each of ENTRIES.
file(REMOVE_RECURSE "${COPIES}")
foreach(header IN LISTS HEADERS)
  file(READ "${SOURCE}/${header}" text)
  string(REGEX REPLACE "#include \"([^\"]+)\"" "#include <sixfold/\\1>" text "${text}")
  file(WRITE "${COPIES}/sixfold/${header}" "${text}")
endforeach()
foreach(entry IN LISTS ENTRIES)
  get_filename_component(name "${entry}" NAME)
  file(WRITE "${COPIES}/sixfold/${name}" "#pragma once\n#include <sixfold/${entry}>\n")
endforeach()
