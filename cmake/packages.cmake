# cpack -G DEB: the Debian packages (docs/packages.md). `install` sorts files into these components.
set(CPACK_PACKAGE_CONTACT "The Sixfold authors <sixfold@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Transformer models: train, evaluate, translate and serve")
