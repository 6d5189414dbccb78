# Writes the source file OUTPUT with the bytes of FILES (a list with commas): cmake -DOUTPUT=... -DFILES=... -P embed_files.cmake
string(REPLACE "," ";" FILES "${FILES}")
set(arrays "")
set(table "")
set(number 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char file${number}[] = {${bytes}0};\n")
  string(APPEND table "    {\"${name}\", std::string_view(reinterpret_cast<const char*>(file${number}), sizeof file${number} - 1)},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"serve/http/page_files.h\"\n\nnamespace sixfold::serve {\nnamespace {\n${arrays}}  // namespace\n
std::span<const PageFile> page_files() {
  static const PageFile files[] = {\n${table}  };\n  return files;\n}\n\n}  // namespace sixfold::serve\n")
