# cmake --install: the program, the recipes, the unit for systemd, the libraries, their headers, and what
# find_package(sixfold) reads. The components are those of cmake/packages.cmake; "program" is the default.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME program)

install(TARGETS sixfold_cli RUNTIME)
if(TARGET sixfold_mpi)
  install(TARGETS sixfold_mpi LIBRARY DESTINATION ${sixfold_module_dir} COMPONENT mpi)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/sixfold)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/sixfold.service DESTINATION lib/systemd/system)
install(TARGETS sixfold EXPORT sixfold-static ARCHIVE COMPONENT dev)
if(TARGET sixfold_shared)
  install(TARGETS sixfold_shared EXPORT sixfold-shared LIBRARY COMPONENT library NAMELINK_COMPONENT dev)
  install(TARGETS sixfold_c EXPORT sixfold-shared LIBRARY COMPONENT c NAMELINK_COMPONENT dev)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/src/c/c.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sixfold COMPONENT dev)

# The public headers (docs/library.md): <sixfold/NAME.h>, and what it is in src/. All others are below <sixfold/extend/>.
set(public_headers
    error=base/error.h runtime=runtime/predictor.h translator=tasks/translation/translator.h
    text_translator=tasks/translation/text_translator.h generator=tasks/language_model/generator.h
    classifier=tasks/classification/classifier.h mask_filler=tasks/masked_language_model/mask_filler.h
    embedder=tasks/embedding/embedder.h
    captioner=tasks/image_captioning/captioner.h question_answerer=tasks/question_answering/question_answerer.h
    glossary=text/glossary.h words=text/words.h image=formats/image_file.h tokenizer=text/tokenizers.h metrics=metrics/evaluation.h train=tasks/train.h)
set(header_copies ${PROJECT_BINARY_DIR}/installed_headers)
install(CODE "
  set(SOURCE \"${PROJECT_SOURCE_DIR}/src\")
  set(HEADERS \"${library_headers}\")
  set(PUBLIC \"${public_headers}\")
  set(COPIES \"${header_copies}\")
  include(\"${CMAKE_CURRENT_LIST_DIR}/install_headers.cmake\")" COMPONENT dev)
install(DIRECTORY ${header_copies}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sixfold)
install(EXPORT sixfold-static NAMESPACE sixfold:: DESTINATION ${package_dir} COMPONENT dev)
if(TARGET sixfold_shared)
  install(EXPORT sixfold-shared NAMESPACE sixfold:: DESTINATION ${package_dir} COMPONENT dev)
endif()
write_basic_package_version_file(sixfold-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_LIST_DIR}/sixfold-config.cmake ${PROJECT_BINARY_DIR}/sixfold-config-version.cmake
        DESTINATION ${package_dir} COMPONENT dev)

# What the program says of itself: manual pages and completion.
install(CODE "
  set(prefix \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND \"$<TARGET_FILE:sixfold_cli>\" man \"\${prefix}/${CMAKE_INSTALL_MANDIR}/man1\" COMMAND_ERROR_IS_FATAL ANY)
  foreach(place bash=bash-completion/completions/sixfold zsh=zsh/site-functions/_sixfold fish=fish/vendor_completions.d/sixfold.fish)
    string(REPLACE \"=\" \";\" place \${place})
    list(GET place 0 shell)
    list(GET place 1 file)
    get_filename_component(folder \"\${prefix}/${CMAKE_INSTALL_DATADIR}/\${file}\" DIRECTORY)
    file(MAKE_DIRECTORY \"\${folder}\")
    execute_process(COMMAND \"$<TARGET_FILE:sixfold_cli>\" completion \${shell} OUTPUT_FILE \"\${prefix}/${CMAKE_INSTALL_DATADIR}/\${file}\"
                    COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
