#pragma once

/// Marks what the shared library exports: the classes and functions of the public headers (docs/library.md).
#define SIXFOLD_API __attribute__((visibility("default")))
